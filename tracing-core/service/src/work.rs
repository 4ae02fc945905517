//! Work that is done in pieces, so that one peer does not make others wait.
//!
//! ```text
//!                        has an allowance left              uses it up
//!   request ──> handle ───────────────────────> done       ────────────> waits in line
//!                                                                            │
//!   handle_timeout: each of the line in turn gets another allowance <───────┘
//! ```
//!
//! Work is counted in bytes that are copied ([`limits::WORK_PER_ENTRY`]). A producer may cause as much at once as its
//! allowance, which grows with time. What exceeds it waits, and with it all that the producer sends behind: its
//! requests keep their order, and a flush is acknowledged after the chunks before it. The service is due while
//! a producer is in line. One timeout does a bounded amount of the work, and takes turns between the producers, so each
//! gets the same share, and a producer that asks for little never waits for one that asks for much.

use std::collections::VecDeque;

use protos::CommitDataRequest;

use crate::limits;
use crate::port::ProducerRequest;
use abi::ids::{CallId, ProducerId, SessionId};

/// Something that a producer asked for, and that waits.
#[derive(Debug)]
pub(crate) enum Todo {
    Request(Option<CallId>, Box<ProducerRequest>),
    /// A commit whose first entries are done: so many.
    Commit(Option<CallId>, Box<CommitDataRequest>, usize),
    /// It left. Its memory is scraped up to this page.
    Leave(usize),
}

/// The work of one producer.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) todo: VecDeque<Todo>,
    /// What it used of its allowance.
    used: u64,
    /// When that was, boot time, ns.
    at_ns: u64,
    pub(crate) in_line: bool,
}

impl Work {
    /// What it may still cause now. The allowance grows by a byte in a nanosecond, about as fast as memory is copied.
    pub(crate) fn left(&mut self, now_ns: u64, allowance: u64) -> u64 {
        let elapsed = now_ns.saturating_sub(self.at_ns);
        self.at_ns = now_ns;
        self.used = self.used.saturating_sub(elapsed);
        allowance.saturating_sub(self.used)
    }

    pub(crate) fn spend(&mut self, work: u64) {
        self.used = self.used.saturating_add(work);
    }

    /// Its turn has come: it gets another allowance. Returns what it may do with it.
    pub(crate) fn next_turn(&mut self, allowance: u64) -> u64 {
        self.used = self.used.saturating_sub(allowance);
        allowance.saturating_sub(self.used)
    }

    /// Whether it has to wait.
    pub(crate) fn must_wait(&self, allowance: u64) -> bool {
        !self.todo.is_empty() || self.used >= allowance
    }
}

/// The producers that wait, the next one first.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) waiting: VecDeque<ProducerId>,
    pub(crate) per_peer: u64,
    pub(crate) per_turn: u64,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            per_peer: limits::WORK_PER_PEER,
            per_turn: limits::WORK_PER_TURN,
        }
    }
}

/// How many effects came before, and what a session began to compress, for its file or not.
type BegunPass = (usize, SessionId, bool, Vec<u8>);

/// The sessions that have something to compress, the next one first.
#[derive(Debug)]
pub(crate) struct Compressions {
    pub(crate) waiting: VecDeque<SessionId>,
    /// Bytes that are compressed in one turn.
    pub(crate) piece_bytes: usize,
    /// Bytes that were compressed so far.
    pub(crate) bytes: u64,
    /// For tests.
    pub(crate) begun: Option<Vec<BegunPass>>,
}

impl Default for Compressions {
    fn default() -> Self {
        let piece_bytes = limits::COMPRESS_PIECE_BYTES;
        Self { waiting: VecDeque::new(), piece_bytes, bytes: 0, begun: None }
    }
}
