//! Reading packets, in nearly the order in which their chunks came.
//!
//! Two scans, one inside the other. The buffer scan goes over the memory from the oldest chunk to the newest.
//! For each chunk it meets, the *target*, a sequence scan reads the target's sequence from its lowest
//! id up to the target, wherever those chunks lie. A chunk that was read to its end becomes padding.
//!
//! ```text
//!  buffer scan:  | a1 | padding | b4 | a2 | b3 | ...       sequence scan, for b4:  b3, then b4
//!                  ^ oldest         newest ^
//! ```

use super::consume::ConsumeReason;
use super::fragment::{Next, next};
use super::record::{Record, Stored};
use super::scan::{BufferScan, Found, SequenceScan};
use super::step::SequenceStep;
use super::{Buffer, add};
use crate::buffer::memory::{HEADER, Memory};
use crate::buffer::ring::Common;
use crate::buffer::scan_budget::ScanBudget;
use crate::buffer::{PacketRef, TakePacket};
use crate::packet::Slices;
use abi::shm::ChunkFlags;

/// The reader.
impl Buffer {
    pub(super) fn begin_scan(&mut self) {
        if let Some(scan) = &mut self.scan {
            // Nothing came since the last batch: what it could not read cannot be read now either.
            scan.resumed = true;
            return;
        }
        self.generation = self.generation.wrapping_add(1);
        let used = self.common.memory.used();
        let oldest = if self.common.write_off == used { 0 } else { self.common.write_off };
        self.scan = Some(BufferScan {
            at: (used > 0).then_some(oldest),
            sequence: None,
            padding_from: None,
            unfinished: 0,
            resumed: false,
            wrapped: false,
        });
    }

    pub(super) fn find_in_scan(&mut self, budget: &mut ScanBudget) -> Option<Found> {
        let mut scan = self.scan?;
        if scan.resumed {
            scan.resumed = false;
            // A new scan would meet them again.
            add(&mut self.common.stats.readaheads_failed, scan.unfinished);
        }
        let found = self.next_of_buffer(&mut scan, budget);
        self.scan = Some(scan);
        found
    }

    pub(super) fn packet_at(&mut self, found: Found) -> Option<PacketRef<'_>> {
        let sequence = self.sequences.slot_mut(found.slot)?;
        let memory = &self.common.memory;
        let slices = match found.one {
            Some(span) => Slices::one(span.of(memory)),
            None => self.parts.iter().map(|part| part.span.of(memory)).collect(),
        };
        Some(PacketRef {
            slices,
            producer: sequence.producer,
            writer: sequence.writer,
            identity: sequence.identity,
            dropped: core::mem::take(&mut sequence.loss),
        })
    }

    /// Reads packets of one fragment each, from the current position to the end of the chunk.
    #[inline]
    pub(super) fn read_chunk_run(&mut self, take: &mut impl TakePacket) -> bool {
        let Self { common: Common { memory, stats, .. }, sequences, scan, .. } = self;
        let Some(SequenceScan { slot, off, .. }) = scan.and_then(|scan| scan.sequence) else {
            return true;
        };
        let Some(sequence) = sequences.slot(slot) else { return true };
        let Some(mut record) = memory.chunk(off) else { return true };
        let before = record.unread;
        // A packet of this chunk was found before this run, and has reported all losses before it.
        debug_assert!(
            before < record.used && sequence.loss == 0,
            "a run without a packet before it"
        );
        let (producer, writer, identity) = (sequence.producer, sequence.writer, sequence.identity);
        let more = record.give_whole(memory, off, &mut |packet| {
            take.take(PacketRef {
                slices: Slices::one(packet),
                producer,
                writer,
                identity,
                dropped: 0,
            })
        });
        if record.unread < before {
            memory.put_unread(off, record.unread);
            if record.unread == 0 {
                add(&mut stats.chunks_read, 1);
                add(&mut stats.bytes_read, record.outer());
            }
        }
        more
    }

    fn next_of_buffer(&mut self, scan: &mut BufferScan, budget: &mut ScanBudget) -> Option<Found> {
        loop {
            if let Some(sequence) = &mut scan.sequence {
                if let Some(found) = self.next_of_sequence(sequence, budget) {
                    return Some(found);
                }
                if budget.is_used_up() {
                    return None;
                }
                scan.unfinished = scan.unfinished.wrapping_add(sequence.unfinished.into());
                scan.sequence = None;
                self.skip_target(scan);
            }
            let at = scan.at?;
            match self.common.memory.stored(at)? {
                Stored::Padding { skip, .. } => {
                    scan.padding_from.get_or_insert(at);
                    self.go_to(scan, at.saturating_add(skip));
                }
                Stored::Chunk(record) => {
                    self.note_padding(scan, at);
                    scan.sequence = SequenceScan::begin(&mut self.sequences, record.slot, at);
                    if scan.sequence.is_none() {
                        debug_assert!(false, "the sequence of a chunk does not list it");
                        return None;
                    }
                }
            }
        }
    }

    /// Goes on behind the target, which was read to its end, or as far as possible.
    fn skip_target(&mut self, scan: &mut BufferScan) {
        let Some(at) = scan.at else { return };
        let len = match self.common.memory.stored(at) {
            None => return,
            Some(Stored::Padding { len, .. }) => {
                scan.padding_from.get_or_insert(at);
                len
            }
            Some(Stored::Chunk(record)) => {
                scan.padding_from = None;
                record.outer()
            }
        };
        self.go_to(scan, at.saturating_add(len));
    }

    /// Goes to the record at `next`. The scan wraps around where the written memory ends, and ends at the write
    /// position.
    fn go_to(&mut self, scan: &mut BufferScan, next: usize) {
        let wraps = next >= self.common.memory.used();
        let is_over = next == self.common.write_off || wraps && self.common.write_off == 0;
        if is_over || wraps {
            self.note_padding(scan, next);
            scan.padding_from = None;
        }
        debug_assert!(!(wraps && scan.wrapped), "a scan goes round twice");
        scan.wrapped |= wraps;
        scan.at = if is_over { None } else { Some(if wraps { 0 } else { next }) };
    }

    /// Leaves a shortcut for the next scan: there is only padding up to `end`.
    fn note_padding(&mut self, scan: &BufferScan, end: usize) {
        if let Some(start) = scan.padding_from
            && start < end
        {
            self.common.memory.put_skip(start, end.saturating_sub(start));
        }
    }

    /// The next packet of a sequence, up to the end of the target. None also when the budget is used up.
    fn next_of_sequence(
        &mut self,
        scan: &mut SequenceScan,
        budget: &mut ScanBudget,
    ) -> Option<Found> {
        if self.sequences.slot(scan.slot)?.stalled_in == self.generation {
            return None;
        }
        while !budget.is_used_up() {
            let (step, record) = self.step(scan)?;
            match step {
                SequenceStep::Packet(fragment) => {
                    self.consume(scan.off, fragment.taken, ConsumeReason::Read);
                    if fragment.span.len > 0 {
                        return Some(Found { slot: scan.slot, one: Some(fragment.span) });
                    }
                }
                SequenceStep::Joined => {
                    self.consume_joined(ConsumeReason::Read);
                    return Some(Found { slot: scan.slot, one: None });
                }
                SequenceStep::Unfinished => {
                    add(&mut self.common.stats.readaheads_failed, 1);
                    scan.unfinished = true;
                    return self.stall(scan);
                }
                SequenceStep::Broken(reason) => {
                    self.consume_broken(scan, reason, ConsumeReason::Read)
                }
                SequenceStep::Orphan(fragment) => {
                    self.consume_orphan(scan, fragment, ConsumeReason::Read)
                }
                SequenceStep::ChunkEnd { corrupted } => {
                    self.note_corruption(scan, corrupted);
                    if record.incomplete {
                        return self.stall(scan);
                    }
                    self.leave_chunk(scan, record)?;
                    continue;
                }
            }
            budget.charge();
        }
        None
    }

    /// What comes next may still come: the sequence is not tried again in this pass over the buffer.
    fn stall(&mut self, scan: &SequenceScan) -> Option<Found> {
        self.sequences.slot_mut(scan.slot)?.stalled_in = self.generation;
        None
    }
}

impl Record {
    /// Gives fragments that are packets to `take` and consumes them, until one is something else or
    /// `take` returns false, which is returned. Not for the first fragment of a chunk.
    #[inline]
    fn give_whole<'m>(
        &mut self,
        memory: &'m Memory,
        off: u32,
        take: &mut impl FnMut(&'m [u8]) -> bool,
    ) -> bool {
        let Ok(off) = usize::try_from(off) else { return true };
        let end = off.saturating_add(HEADER).saturating_add(self.used.into());
        let start = end.saturating_sub(self.unread.into());
        memory.prefetch(start, end);
        let mut rest = memory.between(start, end);
        let goes_on = self.flags.contains(ChunkFlags::CONTINUES_ON_NEXT);
        let mut more = true;
        while more
            && let Next::Fragment { len, taken } = next(rest)
            && len > 0
            && !(goes_on && taken == rest.len())
            && let Some((fragment, behind)) = rest.split_at_checked(taken)
            && let Some(packet) = fragment.get(taken.wrapping_sub(len)..)
        {
            rest = behind;
            more = take(packet);
        }
        self.unread = u16::try_from(rest.len()).unwrap_or(0);
        more
    }
}
