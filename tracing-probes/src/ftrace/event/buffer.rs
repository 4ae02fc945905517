//! Encoded fields, in memory that is used again for the next packet.

use protozero::wire::{tag, varint};

use crate::ftrace::comm::{COMM, comm_len};
use crate::ftrace::table::plan::Tag;
use crate::ftrace::varint::{LONG_END, SHORT_END, long, short};

/// Bytes that a tag and a varint take at most, rounded up to what is stored at once.
const WINDOW: usize = 16;
/// Bytes that the begin of an event takes at most, rounded up so.
const BEGIN_WINDOW: usize = 48;
/// Bytes that a name takes at most, rounded up so.
const COMM_WINDOW: usize = 32;
/// Bytes that six fields with short tags take at most, rounded up so.
const SIX_WINDOW: usize = 80;

/// `FtraceEventBundle.event`.
const EVENT: Tag = Tag::of(2, tag::LEN);
/// Fields of `FtraceEvent`.
const TIMESTAMP: Tag = Tag::of(1, tag::VARINT);
const PID: Tag = Tag::of(2, tag::VARINT);

/// Grows as it is written; keeps its memory when it is cleared.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// Zeros, or what an earlier packet left, from `at` on.
    bytes: Vec<u8>,
    at: usize,
}

/// An event that is being written: where its body begins, and that of its message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    event: usize,
    message: usize,
}

impl Buffer {
    /// What was written since the last [`Buffer::clear`].
    pub(crate) fn written(&self) -> &[u8] {
        self.bytes.get(..self.at).unwrap_or_default()
    }

    pub(crate) fn clear(&mut self) {
        self.at = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.at
    }

    /// Forgets all bytes behind the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.at = self.at.min(len);
    }

    /// Appends a field that is a varint.
    #[inline]
    pub(crate) fn uint(&mut self, tag: Tag, value: u64) {
        let free = self.bytes.get_mut(self.at..).and_then(|free| free.first_chunk_mut::<WINDOW>());
        let Some(to) = free.filter(|_| value < LONG_END) else { return self.uint_slow(tag, value) };
        let (word, len) = long(value);
        // The mask, for the compiler: it sees that both stores are within the window.
        let tag_len = usize::from(tag.len & 7);
        to[..4].copy_from_slice(&tag.bytes.to_le_bytes());
        to[tag_len..tag_len + 8].copy_from_slice(&word.to_le_bytes());
        self.at += tag_len + len;
    }

    /// [`Buffer::uint`] of a value that takes nine or ten bytes, such as a negative one, or one that needs more memory.
    #[inline(never)]
    fn uint_slow(&mut self, tag: Tag, value: u64) {
        let (low, len) = if value < LONG_END {
            let (word, len) = long(value);
            (u128::from(word), len)
        } else {
            let (word, end, len) = varint::wide(value);
            (u128::from(end) << 64 | u128::from(word), len)
        };
        let whole = u128::from(tag.bytes) | low << (8 * u32::from(tag.len));
        self.store(whole, usize::from(tag.len) + len);
    }

    /// Appends six fields of one number.
    #[inline]
    pub(crate) fn six(&mut self, tag: Tag, values: [u64; 6]) {
        let bits = values.iter().fold(0, |bits, value| bits | value);
        let free = self.bytes.get_mut(self.at..).and_then(|f| f.first_chunk_mut::<SIX_WINDOW>());
        let Some(to) = free.filter(|_| bits < LONG_END && tag.len == 1) else {
            return values.into_iter().for_each(|value| self.uint(tag, value));
        };
        let mut at = 0;
        for value in values {
            let (word, len) = long(value);
            // The remainder, for the compiler: all is within the window.
            let begin = at % 64;
            to[begin] = tag.bytes as u8;
            to[begin + 1..begin + 9].copy_from_slice(&word.to_le_bytes());
            at += 1 + len;
        }
        self.at += at;
    }

    /// Appends the begin of an event of the bundle, with a time and a thread, and of its message.
    #[inline(always)]
    pub(crate) fn begin_event(&mut self, time: u64, pid: i32, message: Tag) -> Open {
        let begin = self.at;
        let pid = i64::from(pid).cast_unsigned();
        let free = self.bytes.get_mut(begin..).and_then(|f| f.first_chunk_mut::<BEGIN_WINDOW>());
        let Some(to) = free.filter(|_| time < LONG_END && pid < SHORT_END) else {
            return self.begin_event_slow(time, pid, message);
        };
        // A length of one byte each is between the tags; stores of eight bytes are overwritten by the next one.
        to[..4].copy_from_slice(&[EVENT.bytes as u8, 0, TIMESTAMP.bytes as u8, 0]);
        let (word, len) = long(time);
        to[3..11].copy_from_slice(&word.to_le_bytes());
        let at = 3 + (len & 15);
        let (word, len) = short(pid as u32);
        let field = u64::from(PID.bytes) | u64::from(word) << 8;
        to[at..at + 8].copy_from_slice(&field.to_le_bytes());
        let at = at + 1 + (len & 7);
        to[at..at + 8].copy_from_slice(&u64::from(message.bytes).to_le_bytes());
        let at = at + usize::from(message.len & 7) + 1;
        self.at = begin + at;
        Open { event: begin + 2, message: begin + at }
    }

    #[cold]
    #[inline(never)]
    fn begin_event_slow(&mut self, time: u64, pid: u64, message: Tag) -> Open {
        let event = self.begin(EVENT);
        self.uint(TIMESTAMP, time);
        self.uint(PID, pid);
        let message = self.begin(message);
        // The next event finds the memory that it needs at once.
        self.reserve(BEGIN_WINDOW);
        Open { event, message }
    }

    /// Ends the event.
    #[inline]
    pub(crate) fn end_event(&mut self, open: Open) {
        let (event, message) = (self.at - open.event, self.at - open.message);
        if event < 128
            && let Some([byte, ..]) = self.bytes.get_mut(open.message.wrapping_sub(1)..)
        {
            *byte = message as u8;
            if let Some(byte) = self.bytes.get_mut(open.event.wrapping_sub(1)) {
                *byte = event as u8;
            }
        } else {
            self.end(open.message);
            self.end(open.event);
        }
    }

    /// Appends a field that is bytes or text.
    #[inline]
    pub(crate) fn bytes(&mut self, tag: Tag, bytes: &[u8]) {
        self.uint(tag, bytes.len() as u64);
        self.raw(bytes);
    }

    /// Appends a field that is a text in sixteen bytes, which ends before its first NUL.
    #[inline]
    pub(crate) fn comm(&mut self, tag: Tag, comm: [u8; COMM]) {
        let len = comm_len(u128::from_le_bytes(comm));
        let free = self.bytes.get_mut(self.at..).and_then(|f| f.first_chunk_mut::<COMM_WINDOW>());
        let Some(to) = free else {
            return self.bytes(tag, comm.get(..len).unwrap_or_default());
        };
        let tag_len = usize::from(tag.len & 7);
        to[..4].copy_from_slice(&tag.bytes.to_le_bytes());
        to[tag_len] = len as u8;
        to[tag_len + 1..tag_len + 1 + COMM].copy_from_slice(&comm);
        self.at += tag_len + 1 + len;
    }

    /// Appends encoded fields.
    #[inline]
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        if self.bytes.len() < end {
            self.grow(end);
        }
        if let Some(to) = self.bytes.get_mut(self.at..end) {
            to.copy_from_slice(bytes);
            self.at = end;
        }
    }

    /// Appends the tag of a nested message, and a byte for its length. [`Buffer::end`] takes what it returns.
    #[inline]
    pub(crate) fn begin(&mut self, tag: Tag) -> usize {
        self.store(tag.bytes.into(), usize::from(tag.len) + 1);
        self.at
    }

    /// Ends the message that begins at `body`: stores its length. A body of more than 127 bytes is moved.
    #[inline]
    pub(crate) fn end(&mut self, body: usize) {
        let len = self.at - body;
        match self.bytes.get_mut(body.wrapping_sub(1)) {
            Some(byte) if len < 128 => *byte = len as u8,
            _ => self.end_long(body, len),
        }
    }

    fn end_long(&mut self, body: usize, len: usize) {
        let (word, more) = varint::word(len as u64);
        let (from, to) = (body, body + more - 1);
        self.reserve(more);
        self.bytes.copy_within(from..from + len, to);
        let head = self.bytes.get_mut(body - 1..to).unwrap_or_default();
        head.copy_from_slice(word.to_le_bytes().get(..more).unwrap_or_default());
        self.at = to + len;
    }

    /// Stores sixteen bytes, of which the first `len` count.
    #[inline]
    fn store(&mut self, word: u128, len: usize) {
        self.reserve(WINDOW);
        if let Some(to) = self.bytes.get_mut(self.at..).and_then(|free| free.first_chunk_mut()) {
            *to = word.to_le_bytes();
            self.at += len;
        }
    }

    #[inline]
    fn reserve(&mut self, more: usize) {
        let end = self.at + more;
        if self.bytes.len() < end {
            self.grow(end);
        }
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        self.bytes.resize(end.next_power_of_two().max(4096), 0);
    }
}
