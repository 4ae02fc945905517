//! Compresses what sessions wait for. Users take turns, and the sessions of each user.
//!
//! One timeout compresses one piece of one session, whose cost is bounded: the service takes other events between the
//! pieces, and a session whose packet is as large as its buffer delays no other one for long.

use super::Service;
use crate::accounts::User;
use crate::compression_queue::BegunPass;
use crate::limits;
use crate::session::compressing::Compressing;
use crate::session::stop;
use crate::step::Step;
use abi::ids::SessionId;

impl Service {
    /// Queues a session that has something to compress.
    pub(super) fn queue_compressing(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(id) else { return };
        let compressing = session.compression.pass.as_ref();
        let Some((stream, to_file)) = compressing.and_then(Compressing::stream) else { return };
        self.compression_queue.push(session.uid, id);
        if let Some(begun) = &mut self.compression_queue.begun {
            let (effects_before, stream) = (self.cx.out.len(), stream.to_vec());
            begun.push(BegunPass { effects_before, session: id, to_file, stream });
        }
    }

    /// Compresses a piece of the next session.
    pub(super) fn compress_piece(&mut self) {
        while let Some(id) = self.compression_queue.pop() {
            let Some(session) = self.sessions.get_mut(id) else { continue };
            let compressing = session.compression.pass.as_mut();
            let Some(compressing) = compressing.filter(|compressing| compressing.is_due()) else {
                continue;
            };
            let user = User::local(session.uid);
            self.cx.out.about = Some(session.uid);
            if let Err(why) = compressing.charge(user, &mut self.cx.accounts) {
                session.compression.note_refusal(session.id, why, &mut self.cx.out);
                return self.continue_pass(id);
            }
            match compressing.step(self.compression_queue.piece_bytes) {
                Some(bytes) => {
                    let bytes = bytes as u64;
                    self.compression_queue.bytes =
                        self.compression_queue.bytes.saturating_add(bytes);
                    self.cx.spend(bytes.saturating_mul(limits::WORK_PER_COMPRESSED_BYTE));
                }
                None => {
                    session.compression.codec = None;
                    let text = "the codec failed, the trace goes on uncompressed";
                    self.cx.out.error(format!("session {id}: {text}"));
                }
            }
            if let Some(compressing) = session.compression.pass.as_mut().filter(|c| !c.is_due()) {
                compressing.release(user, &mut self.cx.accounts);
            }
            if session.life.is_freed() {
                stop::limit_file_stall(id, &mut self.cx);
            }
            return self.continue_pass(id);
        }
    }

    /// The pass of a session goes on: to the codec, or to where it was read for.
    fn continue_pass(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get(id) else { return };
        if session.compression.pass.as_ref().is_some_and(Compressing::is_due) {
            self.compression_queue.push(session.uid, id);
        } else if session.file.is_some() {
            self.cx.then(Step::ContinueFile(id));
        } else if let Some(client) = session.consumer {
            self.continue_read(client);
        }
    }
}
