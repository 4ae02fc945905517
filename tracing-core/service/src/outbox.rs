//! The queue of effects, and the few shapes they come in.

use std::collections::VecDeque;

use bytes::Bytes;

use super::output::{Boost, FileSync, LogLevel, Output, Rejected};
use super::spares::Spares;
use crate::limits;
use abi::ids::{CallId, ClientId, FileId};
use abi::shm::Region;

/// How often the log had something to say about a peer. It may be made to at will, so there is an end to it.
#[derive(Debug, Default)]
pub(super) struct Grumbles {
    said: u32,
    unsaid: u64,
}

impl Grumbles {
    /// Whether there may be one more line.
    pub(super) fn may_say(&mut self) -> bool {
        let may = self.said < limits::LOG_LINES_PER_PEER_MAX;
        if may {
            self.said += 1;
        } else {
            self.unsaid += 1;
        }
        may
    }

    /// The last word: how much was not said.
    pub(super) fn sum_up(&self, out: &mut Outbox, who: std::fmt::Arguments<'_>) {
        if self.unsaid > 0 {
            out.error(format!("{who} left; {} more errors of it were not logged", self.unsaid));
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: VecDeque<Output>,
    doomed: Vec<ClientId>,
    pub(super) spares: Spares,
}

impl Outbox {
    pub(super) fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    /// Notes that a connection is to be closed when the turn is over, and its client forgotten.
    pub(super) fn doom(&mut self, client: ClientId) {
        if !self.doomed.contains(&client) {
            self.doomed.push(client);
        }
    }

    pub(super) fn next_doomed(&mut self) -> Option<ClientId> {
        self.doomed.pop()
    }

    pub(super) fn disconnect(&mut self, client: ClientId) {
        self.queue.push_back(Output::Disconnect { client });
    }

    /// Answers a call for good; a caller that wants no reply gets none.
    pub(super) fn reply(&mut self, client: ClientId, call: Option<CallId>, response: Bytes) {
        if let Some(call) = call {
            self.stream(client, call, response, false);
        }
    }

    /// Answers a call with success and an empty message.
    pub(super) fn done(&mut self, client: ClientId, call: Option<CallId>) {
        self.reply(client, call, Bytes::new());
    }

    /// One reply of a stream; `has_more` false ends it.
    pub(super) fn stream(
        &mut self,
        client: ClientId,
        call: CallId,
        response: Bytes,
        has_more: bool,
    ) {
        let (result, region, paced) = (Ok(response), None, false);
        self.queue.push_back(Output::Reply { client, call, result, has_more, region, paced });
    }

    /// The same for packets, which pause by themselves.
    pub(super) fn packets(
        &mut self,
        client: ClientId,
        call: CallId,
        response: Bytes,
        has_more: bool,
    ) {
        let (result, region, paced) = (Ok(response), None, true);
        self.queue.push_back(Output::Reply { client, call, result, has_more, region, paced });
    }

    /// One command of a producer's stream, with the shared memory it speaks of.
    pub(super) fn command(
        &mut self,
        client: ClientId,
        call: CallId,
        response: Bytes,
        region: Option<Region>,
    ) {
        let (result, has_more, paced) = (Ok(response), true, false);
        self.queue.push_back(Output::Reply { client, call, result, has_more, region, paced });
    }

    pub(super) fn reject(&mut self, client: ClientId, call: Option<CallId>) {
        if let Some(call) = call {
            let result = Err(Rejected);
            let (has_more, region, paced) = (false, None, false);
            self.queue.push_back(Output::Reply { client, call, result, has_more, region, paced });
        }
    }

    pub(super) fn create_file(&mut self, token: u64, path: String) {
        self.queue.push_back(Output::CreateFile { token, path });
    }

    pub(super) fn write_file(&mut self, file: FileId, data: Bytes, sync: FileSync, close: bool) {
        self.queue.push_back(Output::WriteFile { file, data, sync, close });
    }

    pub(super) fn copy_file(&mut self, from: FileId, to: FileId) {
        self.queue.push_back(Output::CopyFile { from, to });
    }

    pub(super) fn abandon_file(&mut self, file: FileId) {
        self.queue.push_back(Output::AbandonFile { file });
    }

    pub(super) fn set_priority(&mut self, token: u64, boost: Option<Boost>) {
        self.queue.push_back(Output::SetPriority { token, boost });
    }

    /// Gives back a file that nobody needs.
    pub(super) fn close_file(&mut self, file: FileId) {
        self.write_file(file, Bytes::new(), FileSync::No, true);
    }

    pub(super) fn error(&mut self, text: impl Into<String>) {
        self.log(LogLevel::Error, text.into());
    }

    pub(super) fn info(&mut self, text: impl Into<String>) {
        self.log(LogLevel::Info, text.into());
    }

    fn log(&mut self, level: LogLevel, text: String) {
        // Names come from peers: a line end in one must not forge a second line.
        let text = if text.contains(char::is_control) {
            text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
        } else {
            text
        };
        self.queue.push_back(Output::Log { level, text });
    }
}
