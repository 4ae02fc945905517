//! Frames that wait to be sent, some with a descriptor on their first byte.
//!
//! Short frames are joined: a frame in the queue takes far more memory than its bytes, and a peer that reads nothing
//! chooses how many short ones there are.

use std::collections::VecDeque;
use std::io::IoSlice;

/// Frames sent with one call at most; two parts each stay well below the kernel's limit of 1024.
const FRAMES_PER_SEND: usize = 32;
/// A frame of so many bytes, or less, is copied behind the one before, up to [`JOINED_BYTES_MAX`].
const JOINED_FRAME_BYTES_MAX: usize = 1024;
/// No frame is copied behind so many bytes, or more.
const JOINED_BYTES_MAX: usize = 4096;
/// Places that an empty queue keeps.
const PLACES_KEPT: usize = 2 * FRAMES_PER_SEND;

#[derive(Debug)]
struct Waiting<F, M> {
    head: Vec<u8>,
    /// The response message of a reply, which follows.
    message: Option<M>,
    /// Bytes of both that were sent.
    sent: usize,
    /// Sent with the first byte.
    fd: Option<F>,
}

/// A queue of bytes and descriptors. It has no bound of its own: its owner checks [`len`](Self::len). `M` is the
/// memory of response messages.
#[derive(Debug)]
pub struct Outbox<F, M = Vec<u8>> {
    frames: VecDeque<Waiting<F, M>>,
    len: usize,
}

impl<F, M> Default for Outbox<F, M> {
    fn default() -> Self {
        Self { frames: VecDeque::new(), len: 0 }
    }
}

impl<F, M: AsRef<[u8]>> Waiting<F, M> {
    /// Its bytes that were not sent, in two parts.
    fn parts(&self) -> [&[u8]; 2] {
        let message = self.message.as_ref().map_or(&[][..], M::as_ref);
        let message_sent = self.sent.saturating_sub(self.head.len());
        [self.head.get(self.sent..).unwrap_or(&[]), message.get(message_sent..).unwrap_or(&[])]
    }

    /// Bytes that were not sent.
    fn len(&self) -> usize {
        self.parts().iter().fold(0, |len, part| len.saturating_add(part.len()))
    }

    /// All of its bytes.
    fn whole_len(&self) -> usize {
        let message_len = self.message.as_ref().map_or(0, |message| message.as_ref().len());
        self.head.len().saturating_add(message_len)
    }

    /// Puts another frame behind it.
    fn join(&mut self, next: &Self) {
        if let Some(message) = self.message.take() {
            self.head.extend_from_slice(message.as_ref());
        }
        next.parts().into_iter().for_each(|part| self.head.extend_from_slice(part));
    }
}

impl<F, M: AsRef<[u8]>> Outbox<F, M> {
    pub(super) fn push(&mut self, head: Vec<u8>, message: Option<M>, fd: Option<F>) {
        let frame = Waiting { head, message, sent: 0, fd };
        let len = frame.len();
        self.len = self.len.saturating_add(len);
        let last = self.frames.back_mut().filter(|last| last.whole_len() < JOINED_BYTES_MAX);
        match last {
            Some(last) if frame.fd.is_none() && len <= JOINED_FRAME_BYTES_MAX => last.join(&frame),
            _ => self.frames.push_back(frame),
        }
    }

    /// Bytes that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// About how much memory the queue takes, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let places = self.frames.capacity().saturating_mul(size_of::<Waiting<F, M>>());
        self.len.saturating_add(places)
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
        let mut add = |frame: &'a Waiting<F, M>| {
            for part in frame.parts() {
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

    /// The same; `recycle` gets the response messages that have left whole, for their memory, but not those of short
    /// frames, which were copied.
    pub fn advance_with(&mut self, mut sent: usize, mut recycle: impl FnMut(M)) {
        self.len = self.len.saturating_sub(sent);
        while sent > 0
            && let Some(frame) = self.frames.front_mut()
        {
            // The kernel has its own reference now, and a second send must not pass the descriptor again.
            frame.fd = None;
            let left = frame.len();
            frame.sent = frame.sent.saturating_add(sent.min(left));
            sent = sent.saturating_sub(left);
            if frame.len() > 0 {
                break;
            }
            if let Some(message) = self.frames.pop_front().and_then(|frame| frame.message) {
                recycle(message);
            }
        }
        if self.frames.is_empty() && self.frames.capacity() > PLACES_KEPT {
            self.frames = VecDeque::new();
        }
    }

    /// Drops everything that waits.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.len = 0;
    }
}
