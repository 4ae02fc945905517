//! Storing chunks: late ones, those that come again, evicting the oldest.

use super::consume::ConsumeReason;
use super::fragment::{Next, next};
use super::record::{Record, Stored, outer_len};
use super::scan::SequenceScan;
use super::step::SequenceStep;
use super::{Buffer, add};
use crate::buffer::memory::HEADER;
use crate::buffer::ring::Common;
use crate::buffer::{ChunkMeta, Policy, loss};
use abi::ids::ChunkId;
use abi::shm::ChunkFlags;

/// A chunk that was checked.
struct Incoming<'a> {
    id: ChunkId,
    flags: ChunkFlags,
    incomplete: bool,
    /// Its valid fragments.
    fragments: &'a [u8],
    used: u16,
    /// Bytes that it may grow to.
    capacity: u16,
    /// Bytes that were read when the chunk came before.
    consumed: u16,
    /// Its writer dropped a packet.
    packet_dropped: bool,
}

/// What to do with a chunk.
enum Place {
    /// Store it. So many bytes of it were read before.
    New { consumed: u16 },
    /// It came before, and the stored one was extended.
    AlreadyStored,
    /// It breaks a rule.
    Violation,
    /// A later chunk of the sequence was read before.
    Late,
}

impl Buffer {
    pub(super) fn take_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        if self.common.discarding {
            add(&mut self.common.stats.chunks_discarded, 1);
            return;
        }
        let Some(mut incoming) = self.check(meta, payload) else {
            add(&mut self.common.stats.abi_violations, 1);
            return;
        };
        let slot = self.sequences.find_or_create(meta.producer, meta.writer, meta.identity);
        let sequence = slot.and_then(|slot| self.sequences.slot_mut(slot));
        let (Some(slot), Some(sequence)) = (slot, sequence) else { return };
        let (histogram, used) = (&mut sequence.histogram, incoming.used.into());
        self.common.histograms.add(meta.sequence(), histogram, used);
        if incoming.packet_dropped {
            add(&mut self.common.stats.trace_writer_packet_loss, 1);
            sequence.record_loss(loss::WRITER_ABORT);
        }
        match self.place(slot, &incoming) {
            Place::New { consumed } => {
                incoming.consumed = consumed;
                self.store(slot, &incoming);
                let looked_at = self.sequences.forget_empty();
                add(&mut self.common.evicted, looked_at);
            }
            Place::AlreadyStored => {}
            Place::Violation => add(&mut self.common.stats.abi_violations, 1),
            Place::Late => add(&mut self.common.stats.chunks_discarded, 1),
        }
    }

    /// Checks a chunk. None if it can never be stored.
    fn check<'a>(&mut self, meta: &ChunkMeta, payload: &'a [u8]) -> Option<Incoming<'a>> {
        let payload_len = u16::try_from(payload.len()).ok()?;
        let (mut count, mut flags) = (meta.fragments, meta.flags);
        if !meta.complete && count > 0 {
            // The last fragment may be half written, so it does not count, nor do the flags about it.
            count = count.saturating_sub(1);
            flags =
                flags.without(ChunkFlags::CONTINUES_ON_NEXT).without(ChunkFlags::NEEDS_PATCHING);
        }
        let mut packet_dropped = false;
        let mut rest = payload;
        for _ in 0..count {
            match next(rest) {
                Next::Fragment { taken, .. } => rest = rest.get(taken..).unwrap_or_default(),
                Next::PacketDropped => {
                    packet_dropped = true;
                    break;
                }
                Next::End | Next::Corrupted => {
                    add(&mut self.common.stats.abi_violations, 1);
                    break;
                }
            }
        }
        let fragments = payload.get(..payload.len().saturating_sub(rest.len()))?;
        let used = u16::try_from(fragments.len()).ok()?;
        let capacity = if meta.complete { used } else { payload_len };
        if outer_len(capacity.into()) > self.common.memory.size() {
            return None;
        }
        let (id, incomplete) = (meta.chunk, !meta.complete);
        Some(Incoming {
            id,
            flags,
            incomplete,
            fragments,
            used,
            capacity,
            consumed: 0,
            packet_dropped,
        })
    }

    /// Decides what to do with a chunk, and extends one that came before.
    fn place(&mut self, slot: u32, incoming: &Incoming<'_>) -> Place {
        let Self { sequences, common: Common { memory, stats, policy, .. }, .. } = self;
        let Some(sequence) = sequences.slot_mut(slot) else { return Place::Late };
        let id = incoming.id;
        let mut consumed = 0;
        match sequence.consumed {
            Some(c) if c.id == id && c.incomplete && incoming.used > c.used => consumed = c.used,
            Some(c) if id.distance(c.id) <= 0 => return Place::Late,
            _ => {}
        }
        let Some(off) = sequence.chunks.get(id) else {
            let place = Place::New { consumed };
            return if sequence.in_range(id) { place } else { Place::Late };
        };
        let Some(mut stored) = memory.chunk(off) else { return Place::Late };
        if incoming.used < stored.used
            || incoming.used > stored.capacity
            || !incoming.flags.contains(stored.flags)
        {
            return Place::Violation;
        }
        let grown = incoming.used.saturating_sub(stored.used);
        let read_to_its_end = stored.incomplete && stored.unread == 0;
        if read_to_its_end
            && !incoming.incomplete
            && grown > 0
            && sequence.first() == Some(id)
            && *policy == Policy::Ring
        {
            // A scan in the order of writing has passed it: its new fragments go to the write position.
            add(&mut stats.chunks_relocated, 1);
            self.remove_chunk(slot, off, stored);
            return Place::New { consumed: stored.used };
        }
        stored.incomplete &= incoming.incomplete;
        if grown > 0 {
            stored.used = incoming.used;
            stored.unread = stored.unread.saturating_add(grown);
            stored.flags = stored.flags.with(incoming.flags);
            stored.changed = true;
            memory.put_fragments(off, incoming.fragments);
            add(&mut stats.chunks_rewritten, 1);
        }
        memory.put_record(off, stored);
        Place::AlreadyStored
    }

    /// Makes space for a chunk that is not in the buffer, and stores it.
    fn store(&mut self, slot: u32, incoming: &Incoming<'_>) {
        let outer = outer_len(incoming.capacity.into());
        let to_end = self.common.memory.size().saturating_sub(self.common.write_off);
        if outer > to_end {
            if self.common.policy == Policy::Discard {
                self.common.discarding = true;
                add(&mut self.common.stats.chunks_discarded, 1);
                return;
            }
            self.evict(to_end);
            self.common.note_written(to_end);
            self.common.write_off = 0;
            add(&mut self.common.stats.write_wrap_count, 1);
        }
        self.evict(outer);
        let Ok(off) = u32::try_from(self.common.write_off) else { return };
        let record = Record {
            chunk: incoming.id,
            slot,
            capacity: incoming.capacity,
            used: incoming.used,
            unread: incoming.used.saturating_sub(incoming.consumed),
            flags: incoming.flags,
            incomplete: incoming.incomplete,
            changed: incoming.consumed > 0,
        };
        self.common.memory.put(self.common.write_off, outer, record.header(), incoming.fragments);
        if self.sequences.insert(slot, incoming.id, off) {
            add(&mut self.common.stats.chunks_committed_out_of_order, 1);
        }
        self.common.write_off = self.common.write_off.saturating_add(outer);
        self.common.note_written(outer);
        self.common.has_data = true;
        add(&mut self.common.stats.chunks_written, 1);
        add(&mut self.common.stats.bytes_written, outer);
        if self.sequences.entries().exceed(self.common.index_max) {
            self.evict_for_index();
        }
    }

    /// Evicts the oldest records, until the index is small enough. A buffer that discards takes no more chunks.
    #[cold]
    fn evict_for_index(&mut self) {
        if self.common.policy == Policy::Discard {
            self.common.discarding = true;
            return;
        }
        while self.sequences.entries().exceed(self.common.index_max)
            && let Some(at) = self.common.oldest()
            && let Some(len) = self.evict_record(at)
        {
            add(&mut self.common.evicted, 1);
            self.common.note_cleared(len);
        }
    }

    /// Evicts the record at an offset, if it is a chunk. Returns its length. None where nothing was ever written.
    fn evict_record(&mut self, at: usize) -> Option<usize> {
        let record = match self.common.memory.stored(at)? {
            Stored::Padding { len, .. } => return Some(len.max(HEADER)),
            Stored::Chunk(record) => record,
        };
        if self.evict_first(at, record).is_none() {
            self.evict_chunk(at, record.slot);
        }
        Some(record.outer().max(HEADER))
    }

    /// Evicts the records in the next `len` bytes. The bytes of the last one behind them become padding.
    ///
    /// Each chunk there is read to its end, after the earlier chunks of its sequence: only reading
    /// tells what its loss means for the chunks that stay.
    fn evict(&mut self, len: usize) {
        let end = self.common.write_off.saturating_add(len);
        let mut at = self.common.write_off;
        while at < end {
            let (len, record) = match self.common.memory.stored(at) {
                None => return,
                Some(Stored::Padding { len, .. }) => {
                    add(&mut self.common.stats.padding_bytes_cleared, len);
                    (len, None)
                }
                Some(Stored::Chunk(record)) => (record.outer(), Some(record)),
            };
            if let Some(record) = record
                && self.evict_first(at, record).is_none()
            {
                self.evict_chunk(at, record.slot);
            }
            add(&mut self.common.evicted, 1);
            at = at.saturating_add(len.max(HEADER));
        }
        let rest = at.saturating_sub(end);
        if rest > 0 {
            self.common.memory.put_padding(end, rest);
            add(&mut self.common.stats.padding_bytes_written, rest);
        }
    }

    /// Evicts a chunk without reading it, if it is the first of its sequence and all its fragments are whole packets,
    /// as nearly always. Reading would only tell that they are lost. None: it is another chunk.
    fn evict_first(&mut self, at: usize, record: Record) -> Option<()> {
        let parts = ChunkFlags::CONTINUES_FROM_PREV.with(ChunkFlags::CONTINUES_ON_NEXT);
        if record.unread == 0 || record.changed || record.flags.0 & parts.0 != 0 {
            return None;
        }
        let off = u32::try_from(at).ok()?;
        let sequence = self.sequences.slot_mut(record.slot)?;
        if sequence.first() != Some(record.chunk) {
            return None;
        }
        // A chunk of nothing but empty packets is no loss.
        self.common.memory.next_len(at, &record).filter(|len| *len > 0)?;
        sequence.note_gap(record.chunk);
        sequence.record_loss(loss::OVERWRITE);
        add(&mut self.common.stats.chunks_overwritten, 1);
        add(&mut self.common.stats.bytes_overwritten, record.outer());
        self.remove_chunk(record.slot, off, record);
        Some(())
    }

    /// Evicts any chunk: goes along its sequence up to there, and drops the packets. What is missing now is lost,
    /// because no later chunk can complete a packet whose begin is gone.
    fn evict_chunk(&mut self, at: usize, slot: u32) {
        let Some(mut scan) = SequenceScan::begin(&mut self.sequences, slot, at) else { return };
        let mut lost = false;
        while let Some((step, record)) = self.step(&scan) {
            match step {
                SequenceStep::Packet(fragment) => {
                    self.consume(scan.off, fragment.taken, ConsumeReason::Overwritten);
                    lost |= fragment.span.len > 0;
                }
                SequenceStep::Joined => {
                    self.consume_joined(ConsumeReason::Overwritten);
                    lost = true;
                }
                SequenceStep::Unfinished => {
                    self.consume_broken(&scan, loss::OVERWRITE, ConsumeReason::Overwritten);
                }
                SequenceStep::Broken(reason) => {
                    self.consume_broken(&scan, reason, ConsumeReason::Overwritten)
                }
                SequenceStep::Orphan(fragment) => {
                    self.consume_orphan(&scan, fragment, ConsumeReason::Overwritten);
                }
                SequenceStep::ChunkEnd { corrupted } => {
                    self.note_corruption(&scan, corrupted);
                    if self.leave_chunk(&mut scan, record).is_none() {
                        break;
                    }
                }
            }
        }
        if lost && let Some(sequence) = self.sequences.slot_mut(slot) {
            sequence.record_loss(loss::OVERWRITE);
        }
    }
}
