//! Reading packets, sequence by sequence.
//!
//! ```text
//!  id 4                 id 5              id 6                     (7 missing)
//!  | A | B | C.. (CON)  | (CFP) ..C.. (CON) | (CFP) ..C | D |
//!    ^   ^   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^      ^
//!    whole packets   a packet over three chunks: read whole or not at all
//! ```
//!
//! What is read is never read again. [`Cursor`] is the state of the reader; what happens in a sequence is decided by
//! [`next_step`], which changes nothing, and carried out by two drivers: [`SequenceScan::next_packet`] for every
//! kind of step, [`run`] for whole packets, which are nearly all.
//!
//! ```text
//!  state         event or step                      next state
//!  any           begin_read                         NextSequence, before the first
//!  any           copy_chunk, patch                  Idle
//!  Idle          -                                  Idle: no packet
//!  NextSequence  a sequence with chunks follows     InSequence, at its first chunk or where reading may resume
//!                none follows                       Idle: no packet
//!  InSequence    enters a chunk that needs patches  NextSequence
//!                Whole: consumes a fragment         InSequence: a packet, unless it is empty
//!                Orphan: consumes a fragment        InSequence: a loss
//!                Joined: consumes its fragments     InSequence, at the packet's end: a packet, or a loss if one is bad
//!                Unfinished                         NextSequence: the next pass looks on from there
//!                NextChunk, which is here           InSequence, in that chunk
//!                NextChunk, which is missing        NextSequence
//!                End                                NextSequence
//! ```

mod fragment;
mod run;
mod step;

use self::fragment::Fragment;
pub(super) use self::fragment::Span;
use self::step::{SequenceStep, next_step};
use super::Buffer;
use super::cursor::{Cursor, Found, SequenceScan};
use super::index::{Index, Resume, Sequence};
use super::record::Record;
use crate::buffer::PacketRef;
use crate::buffer::memory::Memory;
use crate::buffer::ring::{Common, add};
use crate::buffer::scan_budget::ScanBudget;
use crate::packet::Slices;
use abi::ids::ChunkId;
use abi::shm::ChunkFlags;

/// What a sequence gave.
enum Outcome {
    /// A packet: one range, or several in `parts`.
    Packet(Option<Span>),
    /// The budget is used up.
    Paused,
    /// Nothing more in this pass.
    SequenceEnd,
}

impl Buffer {
    pub(super) fn find_in_sequences(&mut self, budget: &mut ScanBudget) -> Option<Found> {
        let Self { common, index, cursor, parts } = self;
        loop {
            let mut scan = match *cursor {
                Cursor::Idle => return None,
                Cursor::InSequence(scan) => scan,
                Cursor::NextSequence(key) => {
                    let Some(scan) = SequenceScan::begin(index, &common.memory, key) else {
                        *cursor = Cursor::Idle;
                        return None;
                    };
                    scan
                }
            };
            let slot = scan.slot;
            let sequence = index.sequence_mut(slot)?;
            match scan.next_packet(common, sequence, parts, budget) {
                Outcome::Packet(one) => {
                    *cursor = Cursor::InSequence(scan);
                    return Some(Found { slot, one, dropped: scan.dropped });
                }
                Outcome::Paused => {
                    *cursor = Cursor::InSequence(scan);
                    return None;
                }
                Outcome::SequenceEnd => *cursor = Cursor::NextSequence(Some(sequence.key)),
            }
        }
    }

    pub(super) fn packet_at(&self, found: Found) -> Option<PacketRef<'_>> {
        let memory = &self.common.memory;
        let slices = match found.one {
            Some(span) => Slices::one(span.of(memory)),
            None => self.parts.iter().map(|span| span.of(memory)).collect(),
        };
        let sequence = self.index.sequence(found.slot)?;
        Some(PacketRef {
            slices,
            producer: sequence.producer,
            writer: sequence.writer,
            identity: sequence.identity,
            dropped: u32::from(found.dropped),
        })
    }
}

/// A chunk of a sequence and its offset.
#[inline]
fn chunk_of(memory: &Memory, sequence: &Sequence, id: ChunkId) -> Option<(u32, Record)> {
    let off = sequence.chunks.get(id)?;
    Some((off, memory.record_at(off)?))
}

impl SequenceScan {
    /// At the start of the first sequence after `key` that has chunks: its first chunk, or the one from which on
    /// reading may resume.
    fn begin(index: &Index, memory: &Memory, key: Option<u64>) -> Option<Self> {
        let slot = index.next_sequence(key)?;
        let sequence = index.sequence(slot)?;
        let first = sequence.chunks.first_after(sequence.last)?;
        let (chunk, dropped) = match sequence.resume {
            // Corrected as soon as a chunk is met of which something was read.
            None => (first, true),
            Some(resume) => {
                let read = resume.read.and_then(|id| chunk_of(memory, sequence, id));
                (resume.at, read.is_none_or(|(_, chunk)| chunk.last_skipped))
            }
        };
        let off = sequence.chunks.get(chunk).unwrap_or_default();
        Some(Self { slot, first, chunk, off, resume_blocked: false, dropped })
    }

    /// Carries out steps until there is a packet.
    #[inline]
    fn next_packet(
        &mut self,
        common: &mut Common,
        sequence: &mut Sequence,
        parts: &mut Vec<Span>,
        budget: &mut ScanBudget,
    ) -> Outcome {
        let Some(mut chunk) = self.enter(common, sequence, self.chunk) else {
            return Outcome::SequenceEnd;
        };
        loop {
            let fragment = match next_step(&common.memory, sequence, &chunk) {
                SequenceStep::Whole => common.read_fragment(sequence, self.off, &mut chunk),
                SequenceStep::Orphan => {
                    common.read_fragment(sequence, self.off, &mut chunk);
                    Fragment::Invalid
                }
                SequenceStep::Joined(end) => {
                    sequence.stalled = None;
                    let is_whole = self.read_joined(common, sequence, parts, end);
                    let Some((off, last)) = chunk_of(&common.memory, sequence, end) else {
                        return Outcome::SequenceEnd;
                    };
                    (self.chunk, self.off, chunk) = (end, off, last);
                    if is_whole {
                        add(&mut common.stats.readaheads_succeeded, 1);
                        self.note_reached(sequence, &chunk);
                        return Outcome::Packet(None);
                    }
                    Fragment::Invalid
                }
                SequenceStep::Unfinished(stall) => {
                    add(&mut common.stats.readaheads_failed, 1);
                    sequence.stalled = Some(stall);
                    return Outcome::SequenceEnd;
                }
                SequenceStep::NextChunk => {
                    self.note_reached(sequence, &chunk);
                    let Some(next) = self.enter(common, sequence, self.chunk.next()) else {
                        return Outcome::SequenceEnd;
                    };
                    chunk = next;
                    continue;
                }
                SequenceStep::End => {
                    self.note_reached(sequence, &chunk);
                    return Outcome::SequenceEnd;
                }
            };
            match fragment {
                Fragment::Data(span) => {
                    self.note_reached(sequence, &chunk);
                    return Outcome::Packet(Some(span));
                }
                Fragment::Empty | Fragment::Invalid => {
                    self.dropped |= matches!(fragment, Fragment::Invalid);
                    // No packet that could report a loss: the next one has to, also in another batch.
                    chunk.last_skipped = self.dropped;
                    common.memory.put_chunk(self.off, chunk);
                }
            }
            if budget.charge() {
                self.note_reached(sequence, &chunk);
                return Outcome::Paused;
            }
        }
    }

    /// Goes to a chunk. None if it is not here, or needs patches.
    #[inline]
    fn enter(&mut self, common: &Common, sequence: &mut Sequence, id: ChunkId) -> Option<Record> {
        let (off, chunk) = chunk_of(&common.memory, sequence, id)?;
        if chunk.flags.contains(ChunkFlags::NEEDS_PATCHING) {
            return None;
        }
        (self.chunk, self.off) = (id, off);
        if chunk.read > 0 {
            self.dropped = chunk.last_skipped;
            self.note_reached(sequence, &chunk);
        }
        Some(chunk)
    }

    /// Notes that the next pass may resume at this chunk, of which something was read if it holds anything.
    #[inline]
    fn note_reached(&self, sequence: &mut Sequence, chunk: &Record) {
        if !self.resume_blocked {
            let at = chunk.chunk;
            let before = sequence.resume.and_then(|resume| resume.read);
            let read = if chunk.read > 0 { Some(at) } else { before };
            sequence.resume = Some(Resume { first: self.first, at, read });
        }
    }

    /// Reads one fragment of each chunk from the current one to `end` into `parts`. Returns false if one was invalid:
    /// all are consumed nevertheless.
    fn read_joined(
        &mut self,
        common: &mut Common,
        sequence: &mut Sequence,
        parts: &mut Vec<Span>,
        end: ChunkId,
    ) -> bool {
        parts.clear();
        let mut is_whole = true;
        let mut id = self.chunk;
        loop {
            let Some((off, mut chunk)) = chunk_of(&common.memory, sequence, id) else {
                return false;
            };
            if id != self.chunk && chunk.read > 0 {
                // The middle or end of this packet was read as an orphan, before its begin came. The next fragment
                // of this chunk belongs to another packet.
                is_whole = false;
            } else if chunk.fragments > 0 {
                match common.read_fragment(sequence, off, &mut chunk) {
                    Fragment::Data(span) => parts.push(span),
                    Fragment::Empty => {}
                    Fragment::Invalid => is_whole = false,
                }
            } else {
                self.resume_blocked |= chunk.flags.contains(ChunkFlags::NEEDS_PATCHING);
            }
            if id == end {
                return is_whole;
            }
            id = id.next();
        }
    }
}

#[cfg(test)]
mod tests;
