//! The queue of effects. A line of the log loses its control characters on the way in.

use std::collections::VecDeque;

use bytes::Bytes;

use super::buffer_pool::BufferPool;
use super::output::{Boost, FileSync, LogLevel, Output, Rejected};
use abi::ids::{CallId, ClientId, FileId, ShellToken};
use abi::shm::Region;

/// Who is answered: a connection, and its call. Without a call it wants no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) client: ClientId,
    pub(crate) call: Option<CallId>,
}

/// Effects that the shell has not taken yet, and connections that are to be closed when the turn is over.
#[derive(Debug, Default)]
pub(crate) struct EffectQueue {
    queue: VecDeque<Output>,
    to_disconnect: Vec<ClientId>,
    /// The user that causes what is logged, unless that is the peer of the input.
    pub(crate) about: Option<u32>,
    pub(crate) pool: BufferPool,
}

impl EffectQueue {
    pub(crate) fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    /// How many effects there are.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Closes a connection when the turn is over; its client is forgotten then.
    pub(crate) fn queue_disconnect(&mut self, client: ClientId) {
        if !self.to_disconnect.contains(&client) {
            self.to_disconnect.push(client);
        }
    }

    pub(crate) fn next_to_disconnect(&mut self) -> Option<ClientId> {
        self.to_disconnect.pop()
    }

    pub(crate) fn disconnect(&mut self, client: ClientId) {
        self.queue.push_back(Output::Disconnect { client });
    }

    /// The only reply to a call; none if the caller wants no reply.
    pub(crate) fn reply(&mut self, caller: Caller, response: Bytes) {
        if let Some(call) = caller.call {
            self.stream(caller.client, call, response, false);
        }
    }

    /// Answers a call with success and an empty message.
    pub(crate) fn reply_empty(&mut self, caller: Caller) {
        self.reply(caller, Bytes::new());
    }

    /// One reply of a stream; `has_more` false ends it.
    pub(crate) fn stream(
        &mut self,
        client: ClientId,
        call: CallId,
        response: Bytes,
        has_more: bool,
    ) {
        let (result, region, paced) = (Ok(response), None, false);
        self.queue.push_back(Output::Reply { client, call, result, has_more, region, paced });
    }

    /// A reply with packets. Their stream pauses by itself when the consumer reads slowly.
    pub(crate) fn packets(
        &mut self,
        client: ClientId,
        call: CallId,
        response: Bytes,
        has_more: bool,
    ) {
        let (result, region, paced) = (Ok(response), None, true);
        self.queue.push_back(Output::Reply { client, call, result, has_more, region, paced });
    }

    /// One command of a producer's stream, with the shared memory that belongs to it.
    pub(crate) fn command(
        &mut self,
        client: ClientId,
        call: CallId,
        response: Bytes,
        region: Option<Region>,
    ) {
        let (result, has_more, paced) = (Ok(response), true, false);
        self.queue.push_back(Output::Reply { client, call, result, has_more, region, paced });
    }

    pub(crate) fn reject(&mut self, caller: Caller) {
        if let Some(call) = caller.call {
            let (client, result) = (caller.client, Err(Rejected));
            let (has_more, region, paced) = (false, None, false);
            self.queue.push_back(Output::Reply { client, call, result, has_more, region, paced });
        }
    }

    pub(crate) fn create_file(
        &mut self,
        token: ShellToken,
        client: ClientId,
        uid: u32,
        path: String,
    ) {
        self.queue.push_back(Output::CreateFile { token, client, uid, path });
    }

    pub(crate) fn write_file(&mut self, file: FileId, data: Bytes, sync: FileSync, close: bool) {
        self.queue.push_back(Output::WriteFile { file, data, sync, close });
    }

    pub(crate) fn copy_file(&mut self, from: FileId, to: FileId) {
        self.queue.push_back(Output::CopyFile { from, to });
    }

    pub(crate) fn abandon_file(&mut self, file: FileId) {
        self.queue.push_back(Output::AbandonFile { file });
    }

    pub(crate) fn set_priority(&mut self, token: ShellToken, boost: Option<Boost>) {
        self.queue.push_back(Output::SetPriority { token, boost });
    }

    pub(crate) fn count_memory(&mut self, client: ClientId, uid: u32) {
        self.queue.push_back(Output::CountMemory { client, uid });
    }

    pub(crate) fn release_memory(&mut self, client: ClientId, uid: u32, region: Region) {
        self.queue.push_back(Output::ReleaseMemory { client, uid, region });
    }

    /// Closes a file without writing to it.
    pub(crate) fn close_file(&mut self, file: FileId) {
        self.write_file(file, Bytes::new(), FileSync::No, true);
    }

    pub(crate) fn error(&mut self, text: impl Into<String>) {
        self.log(LogLevel::Error, text.into());
    }

    pub(crate) fn info(&mut self, text: impl Into<String>) {
        self.log(LogLevel::Info, text.into());
    }

    fn log(&mut self, level: LogLevel, text: String) {
        // Names come from peers: a line end in a name must not forge a second line.
        let text = if text.contains(char::is_control) {
            text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
        } else {
            text
        };
        self.queue.push_back(Output::Log { level, text, uid: self.about });
    }
}
