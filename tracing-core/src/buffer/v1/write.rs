//! Taking chunks in: overriding, evicting, padding.

use super::Buffer;
use super::index::Chunk;
use super::read::Cursor;
use super::ring::{RECORD_MAX, Record, record_len};
use crate::buffer::{ChunkMeta, Policy};
use crate::ids::ChunkId;
use crate::shm::ChunkFlags;

/// An id this far ahead of the last (wrapping) or further counts as behind it.
const AHEAD_MAX: u32 = 0x7fff_ffff;

/// What is known of a chunk that is about to be stored.
struct Incoming {
    fragments: u16,
    flags: ChunkFlags,
    complete: bool,
    record_len: u16,
}

/// No room, and the policy is to refuse.
struct Full;

impl Buffer {
    pub(in crate::buffer) fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        self.cursor = Cursor::Idle;
        let len = record_len(payload.len()).filter(|len| *len <= self.ring.size().min(RECORD_MAX));
        let Some(record_len) = len.and_then(|len| u16::try_from(len).ok()) else {
            self.violation();
            return;
        };
        self.has_data = true;
        let mut incoming = Incoming {
            fragments: meta.fragments,
            flags: meta.flags,
            complete: meta.complete,
            record_len,
        };
        if !meta.complete && meta.fragments > 0 {
            // Its last fragment may be half written, so neither it nor what is said of it counts.
            incoming.fragments = meta.fragments.saturating_sub(1);
            let of_last = ChunkFlags::CONTINUES_ON_NEXT.with(ChunkFlags::NEEDS_PATCHING);
            incoming.flags = meta.flags.without(of_last);
        }
        let slot = self.index.find(meta.producer, meta.writer);
        let known = slot.and_then(|slot| self.index.sequence(slot));
        if let Some(slot) = slot
            && known.is_some_and(|s| s.chunks.get(meta.chunk).is_some())
        {
            if self.rewrite(slot, meta.chunk, &incoming, payload).is_none() {
                self.violation();
            }
            return;
        }
        if self.discarding || self.store(meta, &incoming, payload).is_err() {
            self.discarding = true;
            self.stats.chunks_discarded = self.stats.chunks_discarded.wrapping_add(1);
        }
    }

    fn violation(&mut self) {
        self.stats.abi_violations = self.stats.abi_violations.wrapping_add(1);
    }

    /// A chunk came again. None if that breaks a rule: its place in a page is fixed, and a writer
    /// only ever adds to it.
    fn rewrite(
        &mut self,
        slot: u32,
        id: ChunkId,
        incoming: &Incoming,
        payload: &[u8],
    ) -> Option<()> {
        let sequence = self.index.sequence_mut(slot)?;
        let successor_begun = sequence.chunks.get(id.next()).is_some_and(|c| c.read > 0);
        let chunk = sequence.chunks.get_mut(id)?;
        let offset = usize::try_from(chunk.offset).ok()?;
        let stored = self.ring.record(offset)?;
        if stored.len != incoming.record_len
            || incoming.fragments < chunk.fragments
            || !incoming.flags.contains(chunk.flags)
        {
            return None;
        }
        // The same again, or finished without another fragment: nothing to take over. (The latter
        // leaves a chunk without fragments unfinished; upstream does the same.)
        if incoming.fragments == chunk.fragments {
            return Some(());
        }
        // What was read of the next chunk must not be followed by something older.
        if successor_begun {
            return None;
        }
        chunk.fragments = incoming.fragments;
        chunk.flags = incoming.flags;
        chunk.complete = incoming.complete;
        sequence.resume = None;
        sequence.forget_stall_over(id);
        self.ring.put(offset, stored, payload);
        self.stats.chunks_rewritten = self.stats.chunks_rewritten.wrapping_add(1);
        Some(())
    }

    /// A chunk that is not here: makes room and stores it.
    fn store(&mut self, meta: &ChunkMeta, incoming: &Incoming, payload: &[u8]) -> Result<(), Full> {
        let len = usize::from(incoming.record_len);
        let to_end = self.ring.to_end();
        if len > to_end {
            self.make_room(to_end)?;
            self.pad(to_end);
            self.ring.rewind();
            self.stats.write_wrap_count = self.stats.write_wrap_count.wrapping_add(1);
        }
        let gap = self.make_room(len)?;
        let Some(slot) = self.index.find_or_create(meta.producer, meta.writer) else {
            return Ok(());
        };
        let Ok(offset) = u32::try_from(self.ring.at()) else { return Ok(()) };
        let record = Record { chunk: meta.chunk, slot, len: incoming.record_len, padding: false };
        self.ring.put(self.ring.at(), record, payload);
        self.stats.chunks_written = self.stats.chunks_written.wrapping_add(1);
        self.stats.bytes_written =
            self.stats.bytes_written.wrapping_add(u64::from(incoming.record_len));
        let chunk = Chunk {
            identity: meta.identity,
            offset,
            record_len: incoming.record_len,
            fragments: incoming.fragments,
            read: 0,
            next: 0,
            flags: incoming.flags,
            complete: incoming.complete,
            last_skipped: false,
        };
        self.index.insert(slot, meta.chunk, chunk);
        if self.ring.advance(len) {
            self.stats.write_wrap_count = self.stats.write_wrap_count.wrapping_add(1);
        }
        self.note_order(slot, meta.chunk);
        if gap > 0 {
            self.pad(gap);
        }
        Ok(())
    }

    /// Keeps the highest id of a sequence.
    fn note_order(&mut self, slot: u32, id: ChunkId) {
        let Some(sequence) = self.index.sequence_mut(slot) else { return };
        let ahead = id.0.wrapping_sub(sequence.last.0);
        // Only a chunk that follows the last one leaves the walk up to there as it was.
        if ahead != 1 {
            sequence.resume = None;
        }
        if ahead < AHEAD_MAX {
            sequence.last = id;
        } else {
            let count = &mut self.stats.chunks_committed_out_of_order;
            *count = count.wrapping_add(1);
        }
    }

    fn pad(&mut self, len: usize) {
        self.ring.pad(len);
        let len = u64::try_from(len).unwrap_or(0);
        self.stats.padding_bytes_written = self.stats.padding_bytes_written.wrapping_add(len);
    }

    /// Evicts the records on the next `len` bytes. Returns how far the last one reached beyond.
    ///
    /// A discarding buffer evicts nothing if one of them is unread.
    fn make_room(&mut self, len: usize) -> Result<usize, Full> {
        let start = self.ring.at();
        let end = start.saturating_add(len);
        if self.policy == Policy::Discard && self.holds_unread(start, end) {
            return Err(Full);
        }
        let mut at = start;
        while at < end {
            // Nothing was ever written here, nor behind.
            let Some(record) = self.ring.record(at) else { return Ok(0) };
            let record_len = u64::from(record.len);
            if record.padding {
                self.stats.padding_bytes_cleared =
                    self.stats.padding_bytes_cleared.wrapping_add(record_len);
            } else if let Some(chunk) = self.index.remove(record.slot, record.chunk)
                && chunk.read < chunk.fragments
            {
                self.stats.chunks_overwritten = self.stats.chunks_overwritten.wrapping_add(1);
                self.stats.bytes_overwritten =
                    self.stats.bytes_overwritten.wrapping_add(record_len);
            }
            at = at.saturating_add(usize::from(record.len).max(super::ring::HEADER));
        }
        Ok(at.saturating_sub(end))
    }

    fn holds_unread(&self, start: usize, end: usize) -> bool {
        let mut at = start;
        while at < end {
            let Some(record) = self.ring.record(at) else { return false };
            let sequence = self.index.sequence(record.slot).filter(|_| !record.padding);
            if let Some(chunk) = sequence.and_then(|s| s.chunks.get(record.chunk))
                && chunk.read < chunk.fragments
            {
                return true;
            }
            at = at.saturating_add(usize::from(record.len).max(super::ring::HEADER));
        }
        false
    }
}
