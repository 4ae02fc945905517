//! The reference buffer of version 1, as simple as possible: a list of records, which is searched from the front.

use std::collections::BTreeMap;

use super::{Packet, ReferenceBuffer};
use abi::ids::{ProducerId, WriterId};
use service::buffer::{
    ChunkMeta, ChunkPatches, HISTOGRAM_BUCKETS, Identity, Policy, SequenceKey, Stats, WriterStats,
};

const CONTINUED: u8 = 1;
const CONTINUES: u8 = 2;
const UNPATCHED: u8 = 4;

/// Producer, writer, and how many owners the producer id had before.
type Sequence = (ProducerId, WriterId, u32);

#[derive(Clone, Debug)]
struct Chunk {
    sequence: Sequence,
    id: u32,
    identity: Identity,
    payload: Vec<u8>,
    fragments: u16,
    read: u16,
    next: usize,
    flags: u8,
    complete: bool,
    skipped: bool,
}

#[derive(Clone, Debug)]
struct Record {
    at: usize,
    len: usize,
    /// None: padding.
    chunk: Option<Chunk>,
}

/// A slow buffer with the behaviour of version 1.
#[derive(Clone, Debug)]
pub struct ReferenceV1 {
    size: usize,
    policy: Policy,
    records: Vec<Record>,
    at: usize,
    discarding: bool,
    last: BTreeMap<Sequence, u32>,
    /// The present owner of each id, and how many owners it had before.
    owners: BTreeMap<(ProducerId, WriterId), (Identity, u32)>,
    stats: Stats,
    writers: Vec<WriterStats>,
}

enum Fragment {
    Data(Vec<u8>),
    Invalid,
}

impl ReferenceV1 {
    /// An empty buffer.
    pub fn new(size: usize, policy: Policy) -> Self {
        Self {
            size,
            policy,
            records: Vec::new(),
            at: 0,
            discarding: false,
            last: BTreeMap::new(),
            owners: BTreeMap::new(),
            stats: super::stats_of(size),
            writers: Vec::new(),
        }
    }

    fn chunk(&mut self, sequence: Sequence, id: u32) -> Option<&mut Chunk> {
        self.records
            .iter_mut()
            .filter_map(|r| r.chunk.as_mut())
            .find(|c| c.sequence == sequence && c.id == id)
    }

    fn sequence_of(&mut self, meta: &ChunkMeta) -> Sequence {
        let owner = self.owners.entry((meta.producer, meta.writer)).or_insert((meta.identity, 0));
        if owner.0 != meta.identity {
            *owner = (meta.identity, owner.1 + 1);
        }
        (meta.producer, meta.writer, owner.1)
    }

    fn note_order(&mut self, sequence: Sequence, id: u32) {
        let last = self.last.entry(sequence).or_insert(0);
        if id.wrapping_sub(*last) < 0x7fff_ffff {
            *last = id;
        } else {
            self.stats.chunks_committed_out_of_order += 1;
        }
    }

    fn pad(&mut self, len: usize) {
        self.records.push(Record { at: self.at, len, chunk: None });
        self.stats.padding_bytes_written += len as u64;
    }

    fn evict(&mut self, len: usize) -> Option<usize> {
        let (start, end) = (self.at, self.at + len);
        let (gone, kept): (Vec<_>, Vec<_>) =
            self.records.drain(..).partition(|r| r.at < end && r.at + r.len > start);
        let unread = |r: &Record| r.chunk.as_ref().is_some_and(|c| c.read < c.fragments);
        self.records = kept;
        if self.policy == Policy::Discard && gone.iter().any(unread) {
            self.records.extend(gone);
            self.discarding = true;
            self.stats.chunks_discarded += 1;
            return None;
        }
        for record in &gone {
            if record.chunk.is_none() {
                self.stats.padding_bytes_cleared += record.len as u64;
            } else if unread(record) {
                self.stats.chunks_overwritten += 1;
                self.stats.bytes_overwritten += record.len as u64;
            }
        }
        Some(gone.iter().map(|r| r.at + r.len).max().unwrap_or(end).saturating_sub(end))
    }

    fn read_sequence(&mut self, sequence: Sequence, max: usize, out: &mut Vec<Packet>) {
        let last = self.last[&sequence];
        let ids = self.records.iter().filter_map(|r| r.chunk.as_ref());
        let ids = ids.filter(|c| c.sequence == sequence).map(|c| c.id);
        let mut id = ids.min_by_key(|id| id.wrapping_sub(last.wrapping_add(1))).unwrap();
        let mut dropped = true;
        loop {
            let Some(chunk) = self.chunk(sequence, id) else { return };
            if chunk.flags & UNPATCHED != 0 {
                return;
            }
            if chunk.read > 0 {
                dropped = chunk.skipped;
            }
            loop {
                let chunk = self.chunk(sequence, id).unwrap();
                let (read, count, flags) = (chunk.read, chunk.fragments, chunk.flags);
                let identity = chunk.identity;
                if read >= count {
                    break;
                }
                let whole = if read == 0 && flags & CONTINUED != 0 {
                    self.fragment(sequence, id);
                    None
                } else if read + 1 == count && flags & CONTINUES != 0 {
                    let Some(end) = self.ahead(sequence, id, last) else {
                        self.stats.readaheads_failed += 1;
                        return;
                    };
                    let joined = self.join(sequence, id, end);
                    id = end;
                    if joined.is_some() {
                        self.stats.readaheads_succeeded += 1;
                    }
                    joined
                } else {
                    match self.fragment(sequence, id) {
                        Fragment::Data(data) if data.is_empty() => {
                            // The next packet has to report a loss, also in another batch.
                            self.chunk(sequence, id).unwrap().skipped = dropped;
                            continue;
                        }
                        Fragment::Data(data) => Some(data),
                        Fragment::Invalid => None,
                    }
                };
                if let Some(bytes) = whole {
                    let name = (sequence.0, sequence.1);
                    out.push(Packet { bytes, sequence: name, identity, dropped: dropped.into() });
                    if out.len() == max {
                        return;
                    }
                    // A new call would begin with this.
                    dropped = self.chunk(sequence, id).unwrap().skipped;
                } else {
                    self.chunk(sequence, id).unwrap().skipped = true;
                    dropped = true;
                }
            }
            if id == last || !self.chunk(sequence, id).unwrap().complete {
                return;
            }
            id = id.wrapping_add(1);
        }
    }

    fn ahead(&mut self, sequence: Sequence, mut id: u32, last: u32) -> Option<u32> {
        loop {
            if id == last || !self.chunk(sequence, id)?.complete {
                return None;
            }
            id = id.wrapping_add(1);
            let chunk = self.chunk(sequence, id)?;
            if chunk.fragments == 0 {
                continue;
            }
            if chunk.flags & CONTINUED == 0 || chunk.flags & UNPATCHED != 0 {
                return None;
            }
            if chunk.fragments > 1 || chunk.flags & CONTINUES == 0 {
                return Some(id);
            }
        }
    }

    fn join(&mut self, sequence: Sequence, start: u32, end: u32) -> Option<Vec<u8>> {
        let mut joined = Some(Vec::new());
        let mut id = start;
        loop {
            let chunk = self.chunk(sequence, id)?;
            if id != start && chunk.read > 0 {
                joined = None;
            } else if chunk.fragments > 0 {
                match (self.fragment(sequence, id), &mut joined) {
                    (Fragment::Data(data), Some(joined)) => joined.extend(data),
                    (Fragment::Data(_), None) => {}
                    (Fragment::Invalid, joined) => *joined = None,
                }
            }
            if id == end {
                return joined;
            }
            id = id.wrapping_add(1);
        }
    }

    fn fragment(&mut self, sequence: Sequence, id: u32) -> Fragment {
        let chunk = self.chunk(sequence, id).unwrap();
        let mut len = 0usize;
        let mut at = chunk.next;
        let mut terminated = false;
        for i in 0..4 {
            let Some(byte) = chunk.payload.get(at) else { break };
            at += 1;
            len |= usize::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                terminated = true;
                break;
            }
        }
        let bytes = chunk.payload.len() as u64 + 16;
        if !terminated || at + len > chunk.payload.len() {
            (chunk.next, chunk.read) = (0, chunk.fragments);
            if chunk.complete {
                self.stats.chunks_read += 1;
                self.stats.bytes_read += bytes;
            }
            if terminated && len == 0x0fff_ffff {
                self.stats.trace_writer_packet_loss += 1;
            } else {
                self.stats.abi_violations += 1;
            }
            return Fragment::Invalid;
        }
        let data = chunk.payload[at..at + len].to_vec();
        chunk.next = at + len;
        chunk.read += 1;
        chunk.skipped = chunk.skipped && data.is_empty();
        let (used, identity) = (chunk.next as u64, chunk.identity);
        if chunk.read == chunk.fragments && chunk.complete {
            self.stats.chunks_read += 1;
            self.stats.bytes_read += bytes;
            let (producer, writer, _) = sequence;
            let sequence = SequenceKey { producer, writer, identity };
            let same = |w: &WriterStats| w.sequence == sequence;
            if !self.writers.iter().any(same) {
                let (counts, sums) = ([0; 11], [0; 11]);
                self.writers.push(WriterStats { sequence, counts, sums });
            }
            let writer = self.writers.iter_mut().find(|w| same(w));
            let bucket = HISTOGRAM_BUCKETS.iter().position(|b| used <= *b).unwrap();
            let writer = writer.unwrap();
            writer.counts[bucket] += 1;
            writer.sums[bucket] += used;
        }
        Fragment::Data(data)
    }
}

impl ReferenceBuffer for ReferenceV1 {
    fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        let len = (payload.len() + 16).next_multiple_of(16);
        if len > self.size || len > 65535 {
            self.stats.abi_violations += 1;
            return;
        }
        let (mut fragments, mut flags) = (meta.fragments, meta.flags.0);
        if !meta.complete && fragments > 0 {
            fragments -= 1;
            flags &= !(CONTINUES | UNPATCHED);
        }
        let sequence = self.sequence_of(meta);
        let mut padded = payload.to_vec();
        padded.resize(len - 16, 0);
        let next_read =
            self.chunk(sequence, meta.chunk.get().wrapping_add(1)).is_some_and(|c| c.read > 0);
        if let Some(old) = self.chunk(sequence, meta.chunk.get()) {
            let bad = old.payload.len() != len - 16
                || fragments < old.fragments
                || flags & old.flags != old.flags;
            if bad || (fragments != old.fragments && next_read) {
                self.stats.abi_violations += 1;
            } else if fragments != old.fragments {
                (old.fragments, old.flags, old.complete) = (fragments, flags, meta.complete);
                old.payload = padded;
                self.stats.chunks_rewritten += 1;
            }
            return;
        }
        if self.discarding {
            self.stats.chunks_discarded += 1;
            return;
        }
        let to_end = self.size - self.at;
        if len > to_end {
            if self.evict(to_end).is_none() {
                return;
            }
            self.pad(to_end);
            self.at = 0;
            self.stats.write_wrap_count += 1;
        }
        let Some(gap) = self.evict(len) else { return };
        let chunk = Chunk {
            sequence,
            id: meta.chunk.get(),
            identity: meta.identity,
            payload: padded,
            fragments,
            read: 0,
            next: 0,
            flags,
            complete: meta.complete,
            skipped: false,
        };
        self.records.push(Record { at: self.at, len, chunk: Some(chunk) });
        self.stats.chunks_written += 1;
        self.stats.bytes_written += len as u64;
        self.at += len;
        if self.at == self.size {
            self.at = 0;
            self.stats.write_wrap_count += 1;
        }
        self.note_order(sequence, meta.chunk.get());
        if gap > 0 {
            self.pad(gap);
        }
    }

    fn patch(&mut self, patches: &ChunkPatches<'_>) -> bool {
        let ChunkPatches { sequence, chunk: id, patches, more } = *patches;
        let SequenceKey { producer, writer, identity } = sequence;
        let mut good = false;
        let owner = self.owners.get(&(producer, writer)).filter(|(owner, _)| *owner == identity);
        let owner = owner.map(|(_, before)| *before);
        if let Some(owner) = owner
            && let Some(chunk) = self.chunk((producer, writer, owner), id.get())
        {
            good = patches.iter().all(|patch| {
                let at = patch.offset as usize;
                let fits = at + 4 <= chunk.payload.len();
                if fits {
                    chunk.payload[at..at + 4].copy_from_slice(&patch.data);
                }
                fits
            });
            if good && !more {
                chunk.flags &= !UNPATCHED;
            }
        }
        if good {
            self.stats.patches_succeeded += patches.len() as u64;
        } else {
            self.stats.patches_failed += 1;
        }
        good
    }

    fn note_violation(&mut self) {
        self.stats.abi_violations += 1;
    }

    fn add_refused(&mut self, of: &Stats) {
        self.stats.add_refused(of);
    }

    fn read(&mut self, max: usize) -> Vec<Packet> {
        let mut sequences: Vec<Sequence> =
            self.records.iter().filter_map(|r| Some(r.chunk.as_ref()?.sequence)).collect();
        sequences.sort_unstable();
        sequences.dedup();
        let mut out = Vec::new();
        for sequence in sequences {
            if out.len() < max {
                self.read_sequence(sequence, max, &mut out);
            }
        }
        out
    }

    fn used_bytes(&self) -> usize {
        self.records.iter().map(|r| r.at + r.len).max().unwrap_or(0)
    }

    fn clone_read_only(&self) -> Box<dyn ReferenceBuffer> {
        let mut clone = self.clone();
        clone.stats.bytes_read = 0;
        clone.stats.chunks_read = 0;
        clone.stats.readaheads_succeeded = 0;
        clone.stats.readaheads_failed = 0;
        clone.writers.clear();
        Box::new(clone)
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn writers(&self) -> &[WriterStats] {
        &self.writers
    }
}
