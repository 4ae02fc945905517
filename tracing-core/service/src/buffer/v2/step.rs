//! One step along a sequence: what comes next, found out without changing anything.
//!
//! Two drivers carry out steps: the reader ([`read`](super::read)), for which missing data may still come, and the
//! eviction ([`write`](super)), for which it is lost.

use super::fragment::{Next, next};
use super::record::Record;
use super::sequences::Sequence;
use crate::buffer::loss;
use crate::buffer::memory::{HEADER, Memory};
use abi::shm::ChunkFlags;

/// A range of the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) off: usize,
    pub(super) len: usize,
}

/// A fragment of a packet that lies in several chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Offset of its chunk.
    pub(super) chunk_off: u32,
    pub(super) span: Span,
    /// Bytes of the fragment, its length included.
    pub(super) taken: usize,
}

/// The next fragment of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub(super) span: Span,
    /// Bytes of the fragment, its length included.
    pub(super) taken: usize,
    /// A packet begins with it.
    begins: bool,
    /// A packet ends with it.
    ends: bool,
}

/// What a chunk has next.
enum InChunk {
    Fragment(Fragment),
    Nothing { corrupted: bool },
}

/// What comes next in a sequence.
pub(super) enum SequenceStep {
    /// A packet in one fragment, which may be empty.
    Packet(Fragment),
    /// A packet over several chunks: all its fragments are in `parts`.
    Joined,
    /// The begin of a packet whose other fragments are not all here, or not patched. What is here is in `parts`.
    Unfinished,
    /// The begin of a packet that can never become whole, with the [`loss`] bit that says why. What is here of it is
    /// in `parts`.
    Broken(u32),
    /// A fragment that continues a packet whose begin is missing.
    Orphan(Fragment),
    /// The chunk has no more fragments.
    ChunkEnd { corrupted: bool },
}

/// The next step from `record` on, the chunk of `sequence` at `off`.
#[inline(always)]
pub(super) fn next_step(
    memory: &Memory,
    sequence: &Sequence,
    (off, record): (u32, &Record),
    parts: &mut Vec<Part>,
) -> SequenceStep {
    match memory.next_in_chunk(off, record) {
        InChunk::Nothing { corrupted } => SequenceStep::ChunkEnd { corrupted },
        InChunk::Fragment(fragment) if !fragment.begins => SequenceStep::Orphan(fragment),
        InChunk::Fragment(fragment) if fragment.ends => SequenceStep::Packet(fragment),
        InChunk::Fragment(fragment) => {
            parts.clear();
            parts.push(Part { chunk_off: off, span: fragment.span, taken: fragment.taken });
            collect_parts(memory, sequence, record, parts)
        }
    }
}

/// Collects the fragments of the packet that begins at the end of `record`, from the chunks after it.
#[inline(never)]
fn collect_parts(
    memory: &Memory,
    sequence: &Sequence,
    record: &Record,
    parts: &mut Vec<Part>,
) -> SequenceStep {
    let is_patched = |record: &Record| !record.flags.contains(ChunkFlags::NEEDS_PATCHING);
    if !is_patched(record) {
        return SequenceStep::Unfinished;
    }
    let mut id = record.chunk;
    loop {
        let Some(next) = sequence.after(id) else { return SequenceStep::Unfinished };
        let Some(off) = sequence.chunks.get(next) else { return SequenceStep::Unfinished };
        let Some(record) = memory.chunk(off).filter(is_patched) else {
            return SequenceStep::Unfinished;
        };
        if next != id.next() {
            return SequenceStep::Broken(loss::REASSEMBLY_GAP);
        }
        id = next;
        match memory.next_in_chunk(off, &record) {
            InChunk::Nothing { corrupted: true } => {
                return SequenceStep::Broken(loss::CHUNK_CORRUPTED);
            }
            // The writer may be adding the next fragment to this chunk.
            InChunk::Nothing { .. } if record.incomplete => return SequenceStep::Unfinished,
            InChunk::Nothing { .. } => {}
            InChunk::Fragment(fragment) if fragment.begins => {
                return SequenceStep::Broken(loss::REASSEMBLY_BROKEN_CHAIN);
            }
            InChunk::Fragment(fragment) => {
                parts.push(Part { chunk_off: off, span: fragment.span, taken: fragment.taken });
                if fragment.ends {
                    return SequenceStep::Joined;
                }
            }
        }
    }
}

impl Memory {
    /// Length of the next fragment of a chunk, if there is one.
    pub(super) fn next_len(&self, off: usize, record: &Record) -> Option<usize> {
        match self.next_in_chunk(u32::try_from(off).ok()?, record) {
            InChunk::Fragment(fragment) => Some(fragment.span.len),
            InChunk::Nothing { .. } => None,
        }
    }

    /// What a chunk has next.
    #[inline]
    fn next_in_chunk(&self, off: u32, record: &Record) -> InChunk {
        let Ok(off) = usize::try_from(off) else { return InChunk::Nothing { corrupted: true } };
        let end = off.saturating_add(HEADER).saturating_add(record.used.into());
        let start = end.saturating_sub(record.unread.into());
        match next(self.between(start, end)) {
            Next::Fragment { len, taken } => {
                let stop = start.saturating_add(taken);
                let is_first = record.unread == record.used;
                let goes_on = stop == end && record.flags.contains(ChunkFlags::CONTINUES_ON_NEXT);
                InChunk::Fragment(Fragment {
                    span: Span { off: stop.saturating_sub(len), len },
                    taken,
                    begins: !(is_first && record.flags.contains(ChunkFlags::CONTINUES_FROM_PREV)),
                    ends: !goes_on,
                })
            }
            Next::End | Next::PacketDropped => InChunk::Nothing { corrupted: false },
            Next::Corrupted => InChunk::Nothing { corrupted: true },
        }
    }
}

impl Span {
    #[inline]
    pub(super) fn of(self, memory: &Memory) -> &[u8] {
        memory.between(self.off, self.off.saturating_add(self.len))
    }
}
