//! What reading and eviction share: the next step along a sequence, consuming fragments, and removing chunks.

use super::record::Record;
use super::scan::SequenceScan;
use super::sequences::Consumed;
use super::step::{Fragment, SequenceStep, next_step};
use super::{Buffer, add};
use crate::buffer::loss;
use crate::buffer::ring::Common;

/// Why fragments are consumed: which counters move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConsumeReason {
    Read,
    Overwritten,
}

/// What the reader and the eviction share: carrying out a step.
impl Buffer {
    /// The next step of a scan, and the chunk it starts in.
    #[inline(always)]
    pub(super) fn step(&mut self, scan: &SequenceScan) -> Option<(SequenceStep, Record)> {
        let Self { common, sequences, parts, .. } = self;
        let record = common.memory.chunk(scan.off)?;
        let sequence = sequences.slot(scan.slot)?;
        Some((next_step(&common.memory, sequence, (scan.off, &record), parts), record))
    }

    /// Consumes a packet over several chunks.
    pub(super) fn consume_joined(&mut self, fate: ConsumeReason) {
        add(&mut self.common.stats.readaheads_succeeded, 1);
        self.consume_parts(fate);
        self.parts.retain(|part| part.span.len > 0);
    }

    /// Consumes what is here of a packet that cannot become whole.
    pub(super) fn consume_broken(&mut self, scan: &SequenceScan, reason: u32, fate: ConsumeReason) {
        add(&mut self.common.stats.readaheads_failed, 1);
        self.consume_parts(fate);
        self.record_loss(scan, reason);
    }

    pub(super) fn consume_orphan(
        &mut self,
        scan: &SequenceScan,
        orphan: Fragment,
        fate: ConsumeReason,
    ) {
        self.record_loss(scan, loss::ORPHAN_CONTINUATION);
        self.consume(scan.off, orphan.taken, fate);
    }

    pub(super) fn note_corruption(&mut self, scan: &SequenceScan, corrupted: bool) {
        if corrupted {
            self.record_loss(scan, loss::CHUNK_CORRUPTED);
        }
    }

    fn record_loss(&mut self, scan: &SequenceScan, reason: u32) {
        if let Some(sequence) = self.sequences.slot_mut(scan.slot) {
            sequence.record_loss(reason);
        }
    }

    fn consume_parts(&mut self, fate: ConsumeReason) {
        let parts = core::mem::take(&mut self.parts);
        for part in &parts {
            self.consume(part.chunk_off, part.taken, fate);
        }
        self.parts = parts;
    }

    /// Consumes the next `taken` bytes of a chunk.
    #[inline]
    pub(super) fn consume(&mut self, off: u32, taken: usize, fate: ConsumeReason) {
        let Common { memory, stats, .. } = &mut self.common;
        let Some(record) = memory.chunk(off) else { return };
        let unread = usize::from(record.unread).saturating_sub(taken);
        memory.put_unread(off, u16::try_from(unread).unwrap_or(0));
        if unread > 0 {
            return;
        }
        let (chunks, bytes) = match fate {
            ConsumeReason::Read => (&mut stats.chunks_read, &mut stats.bytes_read),
            ConsumeReason::Overwritten => {
                (&mut stats.chunks_overwritten, &mut stats.bytes_overwritten)
            }
        };
        add(chunks, 1);
        add(bytes, record.outer());
    }

    /// Removes the chunk that was read to its end, and goes to the next one of the sequence. None if it
    /// was the target, or the last.
    pub(super) fn leave_chunk(&mut self, scan: &mut SequenceScan, record: Record) -> Option<()> {
        let is_target = usize::try_from(scan.off).ok()? == scan.target;
        let next = self.sequences.slot(scan.slot)?.after(record.chunk);
        self.remove_chunk(scan.slot, scan.off, record);
        if is_target {
            return None;
        }
        let sequence = self.sequences.slot_mut(scan.slot)?;
        let next = next?;
        sequence.note_gap(next);
        scan.off = sequence.chunks.get(next)?;
        Some(())
    }

    /// Removes a chunk: it becomes padding.
    pub(super) fn remove_chunk(&mut self, slot: u32, off: u32, record: Record) {
        let consumed =
            Consumed { id: record.chunk, used: record.used, incomplete: record.incomplete };
        self.sequences.remove(slot, consumed);
        if let Ok(off) = usize::try_from(off) {
            self.common.memory.put_padding(off, record.outer());
        }
    }
}
