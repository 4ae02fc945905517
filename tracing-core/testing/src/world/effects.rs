//! Carries out the outputs of the service, some of which fail, and checks them.

use protos::{GetAsyncCommandResponse, GetAsyncCommandResponseCmd as Cmd};
use protozero::Message as _;

use super::model::Known;
use super::sessions::Facts;
use super::{Actor, World};
use crate::net::Event;
use crate::shell::Reply;
use crate::workload::producer_name;
use abi::ids::{ClientId, SessionId};
use service::limits;
use service::{BegunPass, FileError, Input, Output};

/// What the model may look at while it is borrowed mutably.
macro_rules! known {
    ($world:ident) => {
        Known {
            sessions: &$world.sessions,
            history: &$world.history,
            marks: &mut $world.report.marks,
        }
    };
}

impl World {
    fn count_memory(&mut self, client: ClientId) -> Result<(), String> {
        match self.memory_of_gone.insert(client) {
            true => Ok(()),
            false => Err(format!("memory of {client:?} is counted twice")),
        }
    }

    pub(super) fn carry_out(&mut self) -> Result<(), String> {
        let now = self.clock.boot_ns();
        let mut compressing = self.service.take_compressing().into_iter().peekable();
        for index in 0.. {
            while let Some(pass) = compressing.next_if(|pass| pass.effects_before <= index) {
                let BegunPass { session, to_file, stream, .. } = pass;
                self.model.compresses(&mut known!(self), session, to_file, &stream)?;
            }
            let Some(output) = self.service.poll_output() else { break };
            self.report.outputs += 1;
            self.report.marks.output(&output);
            self.digest(&output);
            match output {
                Output::Reply { client, call, result, has_more, region, .. } => {
                    let reply = Reply { call, response: result.ok(), has_more, region };
                    self.answer(client, reply)?;
                }
                Output::Disconnect { client } => self.cut_off(client),
                Output::Log { .. } => {}
                Output::CountMemory { client, .. } => self.count_memory(client)?,
                Output::ReleaseMemory { client, .. } => drop(self.memory_of_gone.remove(&client)),
                Output::CreateFile { token, .. } => {
                    let result = if self.effect_fails(30) {
                        Err(FileError { text: "Permission denied".into() })
                    } else {
                        let session = self.service.session_waiting(token);
                        let facts = session.and_then(|id| self.sessions.get(id.get()));
                        let config = facts.ok_or("a file for nobody")?.config.clone();
                        Ok(self.new_file(None, &config))
                    };
                    let input = Input::FileCreated { token, result };
                    self.net.soon(now, Event::ToService(input));
                }
                Output::WriteFile { file, data, close, .. } => {
                    let session = self.sessions.of_file(&self.service, file);
                    let mut known = known!(self);
                    self.model.file(&mut known, session, &data)?;
                    if let Some(session) = session
                        && let Some(view) = self.service.view(SessionId::new(session.id))
                        && view.file_was_full
                    {
                        self.model.note_told_full(session.id);
                    }
                    let result = self.write(file, &data, close)?;
                    self.net.file_written(now, file, result);
                }
                Output::CopyFile { from, to } => {
                    let result = self.copy(from, to)?;
                    // A large file or a slow disk: the session may end before.
                    let slow_ns =
                        if self.rng.chance(30) { self.rng.below(20_000_000_000) } else { 0 };
                    self.net.file_written(now + slow_ns, to, result);
                }
                Output::AbandonFile { file } => {
                    let Some(file) = self.files.get_mut(&file) else {
                        return Err("unknown file".into());
                    };
                    file.closed = true;
                    file.abandoned = true;
                }
                Output::SetPriority { token, .. } => {
                    let fails = self.effect_fails(30);
                    let result = if fails { Err("Operation not permitted".into()) } else { Ok(()) };
                    self.net.soon(now, Event::ToService(Input::PrioritySet { token, result }));
                }
            }
        }
        Ok(())
    }

    /// Sends a reply to its client.
    fn answer(&mut self, client: ClientId, reply: Reply) -> Result<(), String> {
        self.check_memory_given(client, &reply)?;
        let (call, last) = (reply.call, !reply.has_more);
        let bytes = reply.response.as_deref().unwrap_or_default();
        let session = self.sessions.of_client(&self.service, client);
        let mut known = known!(self);
        self.model.reply(&mut known, session, (call, bytes, last))?;
        let Some(connection) = self.connections.get_mut(&client) else { return Ok(()) };
        if !connection.open.contains_key(&call) {
            return Err(format!("a reply to {call:?}, which is answered already"));
        }
        if last {
            connection.open.remove(&call);
        }
        connection.in_transit += bytes.len();
        let max = limits::READ_WINDOW_BYTES + 4 * limits::IPC_FRAME_BYTES_MAX;
        if connection.in_transit > max && connection.is_consumer {
            return Err(format!("{} bytes in transit", connection.in_transit));
        }
        self.net.send_down(self.clock.boot_ns(), client, reply);
        Ok(())
    }

    /// Checks that an honest producer gets memory of the size that a session's config or the producer asked for.
    fn check_memory_given(&mut self, client: ClientId, reply: &Reply) -> Result<(), String> {
        let (Some(region), Some(bytes)) = (&reply.region, &reply.response) else { return Ok(()) };
        let Some(connection) = self.connections.get(&client) else { return Ok(()) };
        let Some(Actor::Producer(producer)) = self.actors.get(connection.actor) else {
            return Ok(());
        };
        if producer.hostile() {
            return Ok(());
        }
        let response = GetAsyncCommandResponse::decode(bytes).map_err(|e| e.to_string())?;
        let Some(Cmd::SetupTracing(setup)) = response.cmd else {
            return Err(format!("memory with {response:?}"));
        };
        let page = u64::from(setup.shared_buffer_page_size_kb.unwrap_or(0)) * 1024;
        let got = (region.len() as u64, page);
        let name = producer_name(producer.uid.cast_unsigned());
        let hints = producer.smb_hints;
        let asks = |session: &Facts| session.smb_of(&name, hints);
        if !self.sessions.all().any(|session| asks(session) == got) {
            return Err(format!("{name} got {got:?}, its hints are {hints:?}"));
        }
        if Facts::smb_for(None, hints) != got {
            self.report.marks.event("a config sets the shared memory of a producer");
        }
        Ok(())
    }

    /// At the end, no packet may be left that should have been read.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        let mut known = known!(self);
        self.model.end(&mut known)
    }

    /// Whether the next effect fails: by its number, or at random on a bad disk.
    pub(super) fn effect_fails(&mut self, percent: u64) -> bool {
        self.effects += 1;
        self.failing == Some(self.effects - 1) || self.disk_fails && self.rng.chance(percent)
    }

    /// Hashes an output (FNV-1a): two runs of one seed must agree.
    fn digest(&mut self, output: &Output) {
        let mut digest = self.report.digest ^ 0xcbf2_9ce4_8422_2325;
        let mut hash_bytes = |bytes: &[u8]| {
            for byte in bytes {
                digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        match output {
            Output::Reply { client, call, result, has_more, .. } => {
                hash_bytes(&client.get().to_le_bytes());
                hash_bytes(&call.get().to_le_bytes());
                hash_bytes(&[u8::from(*has_more), u8::from(result.is_ok())]);
                hash_bytes(result.as_deref().unwrap_or_default());
            }
            Output::WriteFile { data, .. } => hash_bytes(data),
            other => hash_bytes(format!("{other:?}").as_bytes()),
        }
        self.report.digest = digest;
    }
}
