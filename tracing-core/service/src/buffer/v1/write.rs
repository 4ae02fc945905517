//! Storing chunks: extending those that came before, evicting the oldest, padding.

use super::record::{RECORD_MAX, Record, record_len};
use super::{Buffer, add};
use crate::buffer::memory::HEADER;
use crate::buffer::ring::Ring as _;
use crate::buffer::{ChunkMeta, Policy};
use abi::ids::ChunkId;
use abi::shm::{ChunkFlags, Packets};

/// An id that is further ahead of the last one than this (ids wrap around) counts as lower.
const AHEAD_MAX: u32 = 0x7fff_ffff;

/// A chunk that is to be stored.
struct Incoming {
    fragments: u16,
    flags: ChunkFlags,
    complete: bool,
    record_len: u16,
}

/// There is no space, and the policy is [`Policy::Discard`].
struct Full;

impl Buffer {
    pub(super) fn take_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        let len = record_len(payload.len())
            .filter(|len| *len <= self.common.memory.size().min(RECORD_MAX));
        let Some(record_len) = len.and_then(|len| u16::try_from(len).ok()) else {
            self.note_violation();
            return;
        };
        self.common.has_data = true;
        let mut incoming = Incoming {
            fragments: meta.fragments.min(Packets::COUNT_MAX),
            flags: meta.flags,
            complete: meta.complete,
            record_len,
        };
        if !meta.complete && meta.fragments > 0 {
            // The last fragment may be half written, so it does not count, nor do the flags about it.
            incoming.fragments = incoming.fragments.saturating_sub(1);
            let of_last = ChunkFlags::CONTINUES_ON_NEXT.with(ChunkFlags::NEEDS_PATCHING);
            incoming.flags = meta.flags.without(of_last);
        }
        let slot = self.index.find_of_owner(meta.producer, meta.writer, meta.identity);
        let known = slot.and_then(|slot| Some((slot, self.index.sequence(slot)?)));
        let stored = known.and_then(|(slot, known)| Some((slot, known.chunks.get(meta.chunk)?)));
        if let Some((slot, off)) = stored {
            if self.rewrite(slot, off, &incoming, payload).is_none() {
                self.note_violation();
            }
            return;
        }
        if self.common.discarding || self.store(slot, meta, &incoming, payload).is_err() {
            self.common.discarding = true;
            add(&mut self.common.stats.chunks_discarded, 1);
        }
    }

    /// A chunk came again. None if it breaks a rule: its size is fixed, and a writer
    /// only adds fragments to it.
    fn rewrite(&mut self, slot: u32, off: u32, incoming: &Incoming, payload: &[u8]) -> Option<()> {
        let mut stored = self.common.memory.record_at(off)?;
        let sequence = self.index.sequence_mut(slot)?;
        if stored.len != incoming.record_len
            || incoming.fragments < stored.fragments
            || !incoming.flags.contains(stored.flags)
        {
            return None;
        }
        // No new fragment: nothing changes, not even an incomplete chunk that is complete now. So one
        // without fragments stays incomplete, as upstream (`trace_buffer_v1.cc`).
        if incoming.fragments == stored.fragments {
            return Some(());
        }
        // Fragments of this chunk must not be read after fragments of the next one.
        let successor = sequence.chunks.get(stored.chunk.next());
        if successor.and_then(|off| self.common.memory.record_at(off)).is_some_and(|c| c.read > 0) {
            return None;
        }
        stored.fragments = incoming.fragments;
        stored.flags = incoming.flags;
        stored.complete = incoming.complete;
        sequence.resume = None;
        sequence.forget_stall_at(stored.chunk);
        let off = usize::try_from(off).ok()?;
        self.common.memory.put(off, stored.len.into(), stored.header(), payload);
        add(&mut self.common.stats.chunks_rewritten, 1);
        Some(())
    }

    /// Makes space for a chunk that is not in the buffer, and stores it.
    fn store(
        &mut self,
        slot: Option<u32>,
        meta: &ChunkMeta,
        incoming: &Incoming,
        payload: &[u8],
    ) -> Result<(), Full> {
        let len = usize::from(incoming.record_len);
        let to_end = self.common.memory.size().saturating_sub(self.common.write_off);
        if len > to_end {
            self.evict_for(to_end)?;
            self.pad(to_end);
            self.common.note_written(to_end);
            self.common.write_off = 0;
            add(&mut self.common.stats.write_wrap_count, 1);
        }
        let gap = self.evict_for(len)?;
        let slot = slot.or_else(|| self.index.create(meta.producer, meta.writer, meta.identity));
        let (Some(slot), Ok(off)) = (slot, u32::try_from(self.common.write_off)) else {
            return Ok(());
        };
        let record = Record {
            chunk: meta.chunk,
            slot,
            len: incoming.record_len,
            fragments: incoming.fragments,
            read: 0,
            next: 0,
            flags: incoming.flags,
            complete: incoming.complete,
            last_skipped: false,
            padding: false,
        };
        self.common.memory.put(self.common.write_off, len, record.header(), payload);
        add(&mut self.common.stats.chunks_written, 1);
        add(&mut self.common.stats.bytes_written, incoming.record_len);
        self.index.insert(slot, meta.chunk, off);
        self.common.write_off = self.common.write_off.saturating_add(len);
        self.common.note_written(len);
        if self.common.write_off >= self.common.memory.size() {
            self.common.write_off = 0;
            add(&mut self.common.stats.write_wrap_count, 1);
        }
        self.note_order(slot, meta.chunk);
        if gap > 0 {
            self.pad(gap);
        }
        if self.index.entries().exceed(self.common.index_max) {
            self.evict_for_index();
        }
        if self.index.has_empty_above(self.common.empty_max) {
            add(&mut self.common.evicted, self.index.forget_empty());
        }
        Ok(())
    }

    /// Notes the id of a new chunk: the highest one ends the sequence.
    fn note_order(&mut self, slot: u32, id: ChunkId) {
        let Some(sequence) = self.index.sequence_mut(slot) else { return };
        let ahead = id.get().wrapping_sub(sequence.last.get());
        // Only the chunk after the last one leaves the sequence without a hole up to the place to resume.
        if ahead != 1 {
            sequence.resume = None;
        }
        if ahead < AHEAD_MAX {
            sequence.last = id;
        } else {
            add(&mut self.common.stats.chunks_committed_out_of_order, 1);
        }
    }

    /// Writes a padding record of `len` bytes at the write position, which does not move.
    fn pad(&mut self, len: usize) {
        let Ok(short) = u16::try_from(len) else { return };
        let header = Record::padding(short).header();
        if self.common.write_off == self.common.memory.used() {
            self.common.memory.put(self.common.write_off, len, header, &[]);
        } else {
            // Only the header: the rest of a padding record is never read.
            self.common.memory.put_header(self.common.write_off, header);
        }
        add(&mut self.common.stats.padding_bytes_written, short);
    }

    /// Evicts the oldest records, until the index is small enough. A buffer that discards takes no more chunks.
    #[cold]
    fn evict_for_index(&mut self) {
        if self.common.policy == Policy::Discard {
            self.common.discarding = true;
            return;
        }
        while self.index.entries().exceed(self.common.index_max)
            && let Some(at) = self.common.oldest()
            && let Some(record) = self.common.memory.record(at)
        {
            if !record.padding {
                self.evict(&record);
                self.common.memory.put_header(at, Record::padding(record.len).header());
                add(&mut self.common.stats.padding_bytes_written, record.len);
            }
            add(&mut self.common.evicted, 1);
            self.common.note_cleared(usize::from(record.len).max(HEADER));
        }
    }

    // As Index::remove.
    #[inline(always)]
    fn evict(&mut self, record: &Record) {
        self.index.remove(record.slot, record.chunk);
        if record.is_unread() {
            add(&mut self.common.stats.chunks_overwritten, 1);
            add(&mut self.common.stats.bytes_overwritten, record.len);
        }
    }

    /// Evicts the records in the next `len` bytes. Returns how many bytes of the last one are behind them.
    ///
    /// A discarding buffer evicts nothing if one of the records has unread fragments.
    fn evict_for(&mut self, len: usize) -> Result<usize, Full> {
        let start = self.common.write_off;
        let end = start.saturating_add(len);
        if self.common.policy == Policy::Discard && self.holds_unread(start, end) {
            return Err(Full);
        }
        let mut at = start;
        while at < end {
            // Neither this nor the memory behind it was ever written.
            let Some(record) = self.common.memory.record(at) else { return Ok(0) };
            if record.padding {
                add(&mut self.common.stats.padding_bytes_cleared, record.len);
            } else {
                self.evict(&record);
            }
            add(&mut self.common.evicted, 1);
            at = at.saturating_add(usize::from(record.len).max(HEADER));
        }
        Ok(at.saturating_sub(end))
    }

    fn holds_unread(&self, start: usize, end: usize) -> bool {
        let mut at = start;
        while at < end {
            let Some(record) = self.common.memory.record(at) else { return false };
            if !record.padding && record.is_unread() {
                return true;
            }
            at = at.saturating_add(usize::from(record.len).max(HEADER));
        }
        false
    }
}
