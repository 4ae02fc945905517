//! One step along a sequence: what comes next, found out without changing anything.

use crate::buffer::memory::Memory;
use crate::buffer::v1::index::{Sequence, Stall};
use crate::buffer::v1::record::Record;
use abi::ids::ChunkId;
use abi::shm::ChunkFlags;

/// What comes next in a sequence, at a chunk of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum SequenceStep {
    /// A fragment that is a packet, or nothing if it is empty.
    Whole,
    /// A fragment that continues a packet whose begin is missing.
    Orphan,
    /// The begin of a packet that is all here: it ends in this chunk.
    Joined(ChunkId),
    /// The begin of a packet that is not all here.
    Unfinished(Stall),
    /// The chunk has no more fragments; the sequence goes on in the next one, if that is here.
    NextChunk,
    /// The sequence has nothing more: this was its last chunk, or the chunk may come again with more fragments.
    End,
}

/// The step at `chunk`.
#[inline(always)]
pub(super) fn next_step(memory: &Memory, sequence: &Sequence, chunk: &Record) -> SequenceStep {
    if chunk.read >= chunk.fragments {
        let is_end = chunk.chunk == sequence.last || !chunk.complete;
        return if is_end { SequenceStep::End } else { SequenceStep::NextChunk };
    }
    debug_assert!(chunk.read < chunk.fragments, "a fragment that is not there");
    if chunk.read == 0 && chunk.flags.contains(ChunkFlags::CONTINUES_FROM_PREV) {
        return SequenceStep::Orphan;
    }
    let is_last = chunk.read.saturating_add(1) == chunk.fragments;
    if !(is_last && chunk.flags.contains(ChunkFlags::CONTINUES_ON_NEXT)) {
        return SequenceStep::Whole;
    }
    let from = chunk.chunk;
    let at = sequence.stalled.filter(|stall| stall.from == from).map_or(from, |stall| stall.at);
    match end_of_packet(memory, sequence, at) {
        Ok(end) => SequenceStep::Joined(end),
        Err(at) => SequenceStep::Unfinished(Stall { from, at }),
    }
}

/// The chunk in which a packet ends that goes on through chunk `at`.
///
/// # Errors
/// The last chunk that the packet goes on through, if its end is not here.
#[inline(never)]
fn end_of_packet(
    memory: &Memory,
    sequence: &Sequence,
    mut at: ChunkId,
) -> Result<ChunkId, ChunkId> {
    let chunk = |id| memory.record_at(sequence.chunks.get(id)?);
    let mut complete = chunk(at).is_some_and(|chunk: Record| chunk.complete);
    loop {
        if at == sequence.last || !complete {
            return Err(at);
        }
        let next = at.next();
        let Some(chunk) = chunk(next) else { return Err(at) };
        if chunk.fragments > 0 {
            if !chunk.flags.contains(ChunkFlags::CONTINUES_FROM_PREV)
                || chunk.flags.contains(ChunkFlags::NEEDS_PATCHING)
            {
                return Err(at);
            }
            if chunk.fragments > 1 || !chunk.flags.contains(ChunkFlags::CONTINUES_ON_NEXT) {
                return Ok(next);
            }
        }
        (at, complete) = (next, chunk.complete);
    }
}
