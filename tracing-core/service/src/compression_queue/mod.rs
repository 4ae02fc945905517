//! Which session compresses the next piece: users take turns, and the sessions of each user.

use std::collections::VecDeque;

use crate::limits;
use abi::ids::SessionId;

/// A pass that a session began to compress, for tests.
#[derive(Debug)]
pub struct BegunPass {
    /// How many effects were in their queue then.
    pub effects_before: usize,
    /// The session.
    pub session: SessionId,
    /// It is for the file of the session.
    pub to_file: bool,
    /// The packets, as fields of a trace.
    pub stream: Vec<u8>,
}

/// The sessions that have something to compress.
#[derive(Debug)]
pub(crate) struct CompressionQueue {
    /// The next user, and the next session of a user, first. No user is without sessions.
    waiting: VecDeque<(u32, VecDeque<SessionId>)>,
    /// Bytes that are compressed in one turn.
    pub(crate) piece_bytes: usize,
    /// Bytes that were compressed so far.
    pub(crate) bytes: u64,
    /// For tests.
    pub(crate) begun: Option<Vec<BegunPass>>,
}

impl Default for CompressionQueue {
    fn default() -> Self {
        let piece_bytes = limits::COMPRESS_PIECE_BYTES;
        Self { waiting: VecDeque::new(), piece_bytes, bytes: 0, begun: None }
    }
}

impl CompressionQueue {
    /// Puts a session of the user `uid` into the queue, unless it is there.
    pub(crate) fn push(&mut self, uid: u32, id: SessionId) {
        match self.waiting.iter_mut().find(|(of, _)| *of == uid) {
            None => self.waiting.push_back((uid, VecDeque::from([id]))),
            Some((_, sessions)) if !sessions.contains(&id) => sessions.push_back(id),
            Some(_) => {}
        }
    }

    /// Takes the next session off the queue.
    pub(crate) fn pop(&mut self) -> Option<SessionId> {
        let (uid, mut sessions) = self.waiting.pop_front()?;
        let id = sessions.pop_front();
        if !sessions.is_empty() {
            self.waiting.push_back((uid, sessions));
        }
        id
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests;
