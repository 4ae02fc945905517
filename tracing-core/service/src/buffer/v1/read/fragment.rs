//! Fragments as they lie in a chunk: a length of at most four bytes, and as many bytes as it says.

use crate::buffer::memory::{HEADER, Memory};
use crate::buffer::ring::{Common, add};
use crate::buffer::v1::index::Sequence;
use crate::buffer::v1::record::Record;
use abi::shm::header::PACKET_DROPPED;
use protozero::wire::{hostile, trusted};

/// A range of the memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::buffer::v1) struct Span {
    off: usize,
    len: usize,
}

/// A fragment that was read.
pub(super) enum Fragment {
    Data(Span),
    Empty,
    /// Its length is impossible, or says that the writer dropped the packet. The rest of the chunk is skipped.
    Invalid,
}

impl Common {
    /// Reads the next fragment of a chunk, which must have an unread one.
    pub(super) fn read_fragment(
        &mut self,
        sequence: &mut Sequence,
        off: u32,
        chunk: &mut Record,
    ) -> Fragment {
        let Some((span, next)) = next_fragment(&self.memory, off, chunk) else {
            if is_dropped_packet(&self.memory, off, chunk) {
                add(&mut self.stats.trace_writer_packet_loss, 1);
            } else {
                add(&mut self.stats.abi_violations, 1);
            }
            chunk.next = 0;
            chunk.read = chunk.fragments;
            self.memory.put_chunk(off, *chunk);
            if chunk.complete {
                self.count_read(chunk);
            }
            return Fragment::Invalid;
        };
        chunk.next = next;
        chunk.read = chunk.read.saturating_add(1);
        // An empty fragment is no packet that could report the loss: the next packet has to.
        chunk.last_skipped &= span.len == 0;
        self.note_progress(sequence, off, chunk);
        if span.len == 0 { Fragment::Empty } else { Fragment::Data(span) }
    }

    /// Stores how far a chunk was read, and counts the chunk if that is its end.
    #[inline]
    pub(super) fn note_progress(&mut self, sequence: &mut Sequence, off: u32, chunk: &Record) {
        self.memory.put_chunk(off, *chunk);
        if chunk.read == chunk.fragments && chunk.complete {
            self.count_read(chunk);
            let name = sequence.name();
            self.histograms.add(name, &mut sequence.histogram, chunk.next.into());
        }
    }

    fn count_read(&mut self, chunk: &Record) {
        add(&mut self.stats.chunks_read, 1);
        add(&mut self.stats.bytes_read, chunk.len);
    }
}

impl Span {
    #[inline]
    pub(super) fn of(self, memory: &Memory) -> &[u8] {
        memory.between(self.off, self.off.saturating_add(self.len))
    }
}

/// The range of a chunk that was not read: where its next fragment begins, and where the record ends.
#[inline]
pub(super) fn unread(off: u32, chunk: &Record) -> Option<(usize, usize)> {
    let record = usize::try_from(off).ok()?;
    let start = record.checked_add(HEADER)?.checked_add(chunk.next.into())?;
    Some((start, record.checked_add(chunk.len.into())?))
}

/// The next fragment of a chunk, and where in the payload the one after it begins. None if it leads out of the chunk.
#[inline]
fn next_fragment(memory: &Memory, off: u32, chunk: &Record) -> Option<(Span, u16)> {
    let (start, end) = unread(off, chunk)?;
    let rest = memory.between(start, end);
    let (len, length_len) = fragment_len(rest)?;
    let taken = len.checked_add(length_len).filter(|taken| *taken <= rest.len())?;
    let next = chunk.next.checked_add(u16::try_from(taken).ok()?)?;
    Some((Span { off: start.checked_add(length_len)?, len }, next))
}

/// Whether the length of an invalid fragment is the mark of a packet that its writer dropped.
#[cold]
fn is_dropped_packet(memory: &Memory, off: u32, chunk: &Record) -> bool {
    let len = unread(off, chunk).and_then(|(start, end)| fragment_len(memory.between(start, end)));
    len.is_some_and(|(len, _)| u32::try_from(len).is_ok_and(|len| len == PACKET_DROPPED))
}

/// A fragment's length, and the bytes that the length takes, of which there may be four at most.
#[inline]
fn fragment_len(bytes: &[u8]) -> Option<(usize, usize)> {
    // Our client's writers shorten the lengths of small packets to a byte; all others take four.
    if let Some(&len @ ..0x80) = bytes.first() {
        return Some((len.into(), 1));
    }
    match bytes.first_chunk().copied().and_then(trusted::padded) {
        Some(len) => Some((usize::try_from(len).ok()?, 4)),
        None => unusual_len(bytes),
    }
}

/// The next fragment, and the bytes behind it. None if it is longer than what is there.
///
/// One function for each size of length, so that it is a constant in the loop that reads packets: lengths take four
/// bytes, but our client's writers shorten those of small packets to one.
#[inline]
pub(super) fn split_fragment(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some((len, rest)) = bytes.split_first_chunk()
        && let Some(len) = trusted::padded(*len)
    {
        return rest.split_at_checked(usize::try_from(len).ok()?);
    }
    if let Some((&len @ ..0x80, rest)) = bytes.split_first() {
        return rest.split_at_checked(len.into());
    }
    let (len, length_len) = unusual_len(bytes)?;
    bytes.get(length_len..)?.split_at_checked(len)
}

/// [`fragment_len`] of a length in two or three bytes. Out of line: with it, the function is too large to be inlined
/// into the loop that reads packets.
#[inline(never)]
fn unusual_len(bytes: &[u8]) -> Option<(usize, usize)> {
    let (len, rest) = hostile::varint_within::<4>(bytes).ok()?;
    Some((usize::try_from(len).ok()?, bytes.len().saturating_sub(rest.len())))
}
