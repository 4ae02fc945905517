//! Frames that wait to be sent, some with a descriptor on their first byte.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

/// Frames sent with one call at most; two parts each stay well below the kernel's limit of 1024.
const FRAMES_PER_SEND: usize = 32;

#[derive(Debug)]
struct Waiting<F> {
    head: Bytes,
    tail: Bytes,
    /// Sent with the first byte.
    fd: Option<F>,
}

/// A queue of bytes and descriptors. It has no bound of its own: its owner checks [`len`](Self::len).
#[derive(Debug)]
pub struct Outbox<F> {
    frames: VecDeque<Waiting<F>>,
    len: usize,
}

impl<F> Default for Outbox<F> {
    fn default() -> Self {
        Self { frames: VecDeque::new(), len: 0 }
    }
}

impl<F> Outbox<F> {
    pub(super) fn push(&mut self, head: Bytes, tail: Bytes, fd: Option<F>) {
        self.len = self.len.saturating_add(head.len()).saturating_add(tail.len());
        self.frames.push_back(Waiting { head, tail, fd });
    }

    /// Bytes that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The input of the next send: appends the bytes to `parts` and returns the descriptor that goes with the
    /// first of them. One send takes the frames up to the next one with a descriptor.
    pub fn next<'a>(&'a self, parts: &mut Vec<IoSlice<'a>>) -> Option<&'a F> {
        let mut frames = self.frames.iter();
        let first = frames.next()?;
        let mut add = |frame: &'a Waiting<F>| {
            for part in [&frame.head, &frame.tail] {
                if !part.is_empty() {
                    parts.push(IoSlice::new(part));
                }
            }
        };
        add(first);
        frames.take(FRAMES_PER_SEND).take_while(|frame| frame.fd.is_none()).for_each(add);
        first.fd.as_ref()
    }

    /// Removes `sent` bytes, which were sent, and the descriptor that went with the first of them.
    pub fn advance(&mut self, sent: usize) {
        self.advance_with(sent, drop);
    }

    /// The same; `recycle` gets the messages that have left whole, now empty, for their memory.
    pub fn advance_with(&mut self, mut sent: usize, mut recycle: impl FnMut(Bytes)) {
        self.len = self.len.saturating_sub(sent);
        while let Some(frame) = self.frames.front_mut().filter(|_| sent > 0) {
            // The kernel has its own reference now, and a second send must not pass the descriptor again.
            frame.fd = None;
            for part in [&mut frame.head, &mut frame.tail] {
                let gone = part.len().min(sent);
                part.advance(gone);
                sent = sent.saturating_sub(gone);
            }
            if frame.head.is_empty()
                && frame.tail.is_empty()
                && let Some(frame) = self.frames.pop_front()
            {
                recycle(frame.tail);
            }
        }
    }

    /// Drops everything that waits.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.len = 0;
    }
}
