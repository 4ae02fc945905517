//! Reading a session: its packets, or the bytes of a trace file, at the speed of the caller.

use core::fmt;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::MutexGuard;

use client::consumer::{ConsumerError, OpenRead, ReadPacket};

use super::error::{IN_FILE, NOT_STARTED, SessionError};
use super::shared::{Inner, Shared, State, TIMEOUT};

/// How many bytes are collected before they are written.
const WRITE_BYTES: usize = 256 * 1024;

/// A read that goes on. It keeps one reply of the service, and the service sends a few ahead.
struct Replies<'s> {
    shared: &'s Shared,
    _turn: Option<MutexGuard<'s, ()>>,
    read: Option<OpenRead>,
    is_done: bool,
}

impl<'s> Replies<'s> {
    fn new(shared: &'s Shared) -> Self {
        Self { shared, _turn: shared.begin_reading(), read: None, is_done: false }
    }

    /// Passes the packets of the next reply. False if there is none.
    fn next(
        &mut self,
        take: impl FnMut(ReadPacket<'_>) -> io::Result<()>,
    ) -> Result<bool, SessionError> {
        if self.is_done {
            return Ok(false);
        }
        // No second attempt after an error: it would not continue where this one has ended.
        self.is_done = true;
        // For one reply: other threads have requests of their own.
        let mut inner = self.shared.lock()?;
        check_readable(&inner)?;
        let consumer = &mut inner.consumer;
        let read = match &mut self.read {
            Some(read) => read,
            none => none.insert(consumer.begin_read()?),
        };
        let has_more = consumer.continue_read(read, TIMEOUT, take)?;
        self.is_done = !has_more;
        Ok(has_more)
    }
}

/// A service answers that there is no packet, which would look like an empty trace.
fn check_readable(inner: &Inner) -> Result<(), SessionError> {
    match inner.state {
        State::SetUp | State::Armed => Err(SessionError::Order(NOT_STARTED)),
        State::Started | State::Stopped if inner.writes_file => Err(SessionError::Order(IN_FILE)),
        State::Started | State::Stopped => Ok(()),
    }
}

impl Shared {
    /// Reads the trace into `out`. Other threads can use the session while `out` is slow.
    pub(super) fn read_into(&self, out: &mut dyn Write) -> Result<(), SessionError> {
        let mut replies = Replies::new(self);
        // As `TraceFileWriter`, but nothing is written while the session is locked.
        let mut gathered = Vec::new();
        loop {
            let take = |packet: ReadPacket<'_>| {
                gathered.extend_from_slice(packet.framed());
                Ok(())
            };
            let has_more = replies.next(take);
            let is_last = !matches!(has_more, Ok(true));
            if !is_last && gathered.len() < WRITE_BYTES {
                continue;
            }
            // Whole packets, also after an error. If they cannot be written, the rest is discarded.
            let mut written = out.write_all(&gathered);
            gathered.clear();
            if is_last {
                written = written.and_then(|()| out.flush());
            }
            let has_more = has_more?;
            written.map_err(ConsumerError::Output)?;
            if !has_more {
                return Ok(());
            }
        }
    }
}

/// The trace of a session as the bytes of a file: see [`Session::reader`](super::Session::reader).
///
/// ```no_run
/// use std::io::{self, Write};
/// use tracing_sdk::session::{Reader, Session};
///
/// fn send(session: &mut Session, to: &mut impl Write) -> io::Result<u64> {
///     let mut trace: Reader<'_> = session.reader();
///     io::copy(&mut trace, to)
/// }
/// ```
pub struct Reader<'s> {
    replies: Replies<'s>,
    buffer: Vec<u8>,
    /// The read part of `buffer`.
    read_len: usize,
}

impl<'s> Reader<'s> {
    pub(super) fn new(shared: &'s Shared) -> Self {
        Self { replies: Replies::new(shared), buffer: Vec::new(), read_len: 0 }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.read_len == self.buffer.len() {
            self.buffer.clear();
            self.read_len = 0;
            let buffer = &mut self.buffer;
            let take = |packet: ReadPacket<'_>| {
                buffer.extend_from_slice(packet.framed());
                Ok(())
            };
            if !self.replies.next(take).map_err(io::Error::other)? {
                return Ok(0);
            }
        }
        let rest = self.buffer.get(self.read_len..).unwrap_or_default();
        let len = rest.len().min(out.len());
        let (to, from) = (out.get_mut(..len), rest.get(..len));
        if let (Some(to), Some(from)) = (to, from) {
            to.copy_from_slice(from);
        }
        self.read_len += len;
        Ok(len)
    }
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

/// The packets of a session: see [`Session::packets`](super::Session::packets).
///
/// ```no_run
/// use tracing_sdk::session::{Packets, Session, SessionError};
///
/// fn bytes(session: &mut Session) -> Result<usize, SessionError> {
///     let packets: Packets<'_> = session.packets();
///     packets.map(|packet| Ok(packet?.len())).sum()
/// }
/// ```
pub struct Packets<'s> {
    replies: Replies<'s>,
    waiting: VecDeque<Vec<u8>>,
}

impl<'s> Packets<'s> {
    pub(super) fn new(shared: &'s Shared) -> Self {
        Self { replies: Replies::new(shared), waiting: VecDeque::new() }
    }
}

impl Iterator for Packets<'_> {
    type Item = Result<Vec<u8>, SessionError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(packet) = self.waiting.pop_front() {
                return Some(Ok(packet));
            }
            let waiting = &mut self.waiting;
            let take = |packet: ReadPacket<'_>| {
                waiting.push_back(packet.bytes().to_vec());
                Ok(())
            };
            match self.replies.next(take) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl fmt::Debug for Packets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packets")
    }
}
