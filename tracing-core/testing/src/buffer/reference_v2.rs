//! The reference buffer of version 2, as simple as possible: a list of records, which is searched from the
//! front for each operation.

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
type Key = (ProducerId, WriterId, u32);

#[derive(Clone, Debug)]
struct Chunk {
    key: Key,
    id: u32,
    capacity: usize,
    data: Vec<u8>,
    consumed: usize,
    flags: u8,
    incomplete: bool,
}

#[derive(Clone, Debug)]
struct Record {
    at: usize,
    len: usize,
    /// None: padding.
    chunk: Option<Chunk>,
}

#[derive(Clone, Debug, Default)]
struct State {
    identity: Identity,
    /// Id, size, whether incomplete.
    consumed: Option<(u32, usize, bool)>,
    gap_before: Option<u32>,
    loss: u32,
    stalled_in: u64,
}

/// A slow buffer with the behaviour of version 2.
#[derive(Clone, Debug)]
pub struct ReferenceV2 {
    size: usize,
    policy: Policy,
    records: Vec<Record>,
    used: usize,
    at: usize,
    discarding: bool,
    owners: BTreeMap<(ProducerId, WriterId), u32>,
    states: BTreeMap<Key, State>,
    generation: u64,
    stats: Stats,
    writers: Vec<WriterStats>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Erase,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Whole,
    Begin,
    Continue,
    End,
}

enum Token {
    /// Kind, bytes with the length, range of the content.
    Fragment(Kind, usize, core::ops::Range<usize>),
    EndOfChunk,
    PacketDropped,
    Corrupted,
}

fn outer(capacity: usize) -> usize {
    (16 + capacity).next_multiple_of(16)
}

fn later(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The next token of `data` at `from`.
fn token(data: &[u8], from: usize, flags: u8) -> Token {
    if from == data.len() {
        return Token::EndOfChunk;
    }
    let (mut value, mut at) = (0u128, from);
    loop {
        if at == data.len() || at == from + 10 {
            return Token::Corrupted;
        }
        value |= u128::from(data[at] & 0x7f) << (7 * (at - from));
        at += 1;
        if data[at - 1] < 0x80 {
            break;
        }
    }
    // Of the 70 bits, 64 are kept.
    let value = u128::from(value as u64);
    if value == 0x0fff_ffff {
        return Token::PacketDropped;
    }
    if value > (data.len() - at) as u128 {
        return Token::Corrupted;
    }
    let end = at + value as usize;
    let first = from == 0 && flags & CONTINUED != 0;
    let last = end == data.len() && flags & CONTINUES != 0;
    let kind = match (first, last) {
        (false, false) => Kind::Whole,
        (false, true) => Kind::Begin,
        (true, true) => Kind::Continue,
        (true, false) => Kind::End,
    };
    Token::Fragment(kind, end - from, at..end)
}

impl ReferenceV2 {
    /// An empty buffer.
    pub fn new(bytes: usize, policy: Policy) -> Self {
        let size = bytes.next_multiple_of(4096);
        Self {
            size,
            policy,
            records: Vec::new(),
            used: 0,
            at: 0,
            discarding: false,
            owners: BTreeMap::new(),
            states: BTreeMap::new(),
            generation: 0,
            stats: super::stats_of(size),
            writers: Vec::new(),
        }
    }

    /// Ids of a sequence in order: the first is the one that all others are ahead of.
    fn ids(&self, key: Key) -> Vec<u32> {
        let chunks = self.records.iter().filter_map(|r| r.chunk.as_ref());
        let mut ids: Vec<u32> = chunks.filter(|c| c.key == key).map(|c| c.id).collect();
        let low = ids.iter().copied().reduce(|a, b| if later(a, b) { b } else { a });
        ids.sort_by_key(|id| low.map_or(0, |low| id.wrapping_sub(low)));
        ids
    }

    fn record(&mut self, key: Key, id: u32) -> Option<&mut Record> {
        let same = |r: &&mut Record| r.chunk.as_ref().is_some_and(|c| c.key == key && c.id == id);
        self.records.iter_mut().find(same)
    }

    fn chunk(&mut self, key: Key, id: u32) -> Option<&mut Chunk> {
        self.record(key, id)?.chunk.as_mut()
    }

    fn state(&mut self, key: Key) -> &mut State {
        self.states.get_mut(&key).unwrap()
    }

    fn record_loss(&mut self, key: Key, reason: u32) {
        self.state(key).loss |= 1 | reason;
    }

    fn count_in_histogram(&mut self, key: Key, len: usize) {
        let identity = self.state(key).identity;
        let sequence = SequenceKey { producer: key.0, writer: key.1, identity };
        let same = |w: &&mut WriterStats| w.sequence == sequence;
        if self.writers.iter_mut().find(same).is_none() {
            self.writers.push(WriterStats { sequence, counts: [0; 11], sums: [0; 11] });
        }
        let stats = self.writers.iter_mut().find(same).unwrap();
        let bucket = HISTOGRAM_BUCKETS.iter().position(|b| len as u64 <= *b).unwrap();
        stats.counts[bucket] += 1;
        stats.sums[bucket] += len as u64;
    }

    /// How many bytes of a chunk were consumed before it came again; none if it is not to be stored.
    fn place(&mut self, key: Key, meta: &ChunkMeta, data: &[u8], flags: u8) -> Option<usize> {
        let (id, len) = (meta.chunk.get(), data.len());
        let mut consumed = 0;
        if let Some((old, size, incomplete)) = self.state(key).consumed {
            if old == id && incomplete && len > size {
                consumed = size;
            } else if !later(id, old) {
                self.stats.chunks_discarded += 1;
                return None;
            }
        }
        let ids = self.ids(key);
        if let Some(old) = self.chunk(key, id).cloned() {
            if len < old.data.len() || len > old.capacity || flags & old.flags != old.flags {
                self.stats.abi_violations += 1;
                return None;
            }
            let relocates = old.incomplete
                && old.consumed == old.data.len()
                && meta.complete
                && len > old.data.len()
                && ids[0] == id
                && self.policy == Policy::Ring;
            if !relocates {
                let grows = len > old.data.len();
                let chunk = self.chunk(key, id).unwrap();
                chunk.incomplete &= !meta.complete;
                if grows {
                    chunk.data = data.to_vec();
                    chunk.flags |= flags;
                    self.stats.chunks_rewritten += 1;
                }
                return None;
            }
            self.stats.chunks_relocated += 1;
            consumed = old.data.len();
            self.remove_chunk(key, id);
        } else if let (Some(low), Some(high)) = (ids.first(), ids.last()) {
            let (low, high) = (
                if later(*low, id) { id } else { *low },
                if later(id, *high) { id } else { *high },
            );
            let all = ids.iter().all(|other| (other.wrapping_sub(low)) < 1 << 31);
            if high.wrapping_sub(low) >= 1 << 31 || id.wrapping_sub(low) >= 1 << 31 || !all {
                self.stats.chunks_discarded += 1;
                return None;
            }
        }
        Some(consumed)
    }

    fn store(&mut self, key: Key, chunk: Chunk) {
        let len = outer(chunk.capacity);
        if len > self.size - self.at {
            if self.policy == Policy::Discard {
                self.discarding = true;
                self.stats.chunks_discarded += 1;
                return;
            }
            self.evict(self.size);
            // The end stays as padding until it is overwritten.
            self.at = 0;
            self.stats.write_wrap_count += 1;
        }
        let (start, end) = (self.at, self.at + len);
        self.evict(end);
        let last = self.records.iter().filter(|r| r.at >= start && r.at < end);
        let reach = last.map(|r| r.at + r.len).max().unwrap_or(end);
        self.records.retain(|r| r.at < start || r.at >= end);
        if reach > end {
            self.records.push(Record { at: end, len: reach - end, chunk: None });
            self.stats.padding_bytes_written += (reach - end) as u64;
        }
        let ids = self.ids(key);
        if ids.iter().any(|id| later(*id, chunk.id)) {
            self.stats.chunks_committed_out_of_order += 1;
        }
        self.records.push(Record { at: self.at, len, chunk: Some(chunk) });
        self.records.sort_by_key(|r| r.at);
        self.at = end;
        self.used = self.used.max(end);
        self.stats.chunks_written += 1;
        self.stats.bytes_written += len as u64;
    }

    fn evict(&mut self, end: usize) {
        let range = self.at..end;
        let starts = self.records.iter().map(|r| r.at).filter(|at| range.contains(at));
        let mut starts: Vec<usize> = starts.collect();
        starts.sort_unstable();
        for at in starts {
            let record = self.records.iter().find(|r| r.at == at).unwrap();
            let Some(chunk) = &record.chunk else {
                self.stats.padding_bytes_cleared += record.len as u64;
                continue;
            };
            let (key, target) = (chunk.key, chunk.id);
            let mut lost = false;
            self.note_gap(key);
            while self.next(key, target, Mode::Erase).is_some() {
                lost = true;
            }
            if lost {
                self.record_loss(key, 64);
            }
        }
    }

    /// Before a sequence is read: notes a gap before its first chunk.
    fn note_gap(&mut self, key: Key) {
        let Some(first) = self.ids(key).first().copied() else { return };
        let state = self.state(key);
        if let Some((id, _, incomplete)) = state.consumed
            && first != id.wrapping_add(1)
            && !(first == id && incomplete)
            && state.gap_before != Some(first)
        {
            state.gap_before = Some(first);
            self.record_loss(key, 2);
        }
    }

    fn remove_chunk(&mut self, key: Key, id: u32) {
        let chunk = self.record(key, id).unwrap().chunk.take().unwrap();
        let state = self.state(key);
        if state.consumed.is_none_or(|(old, ..)| !later(old, id)) {
            state.consumed = Some((id, chunk.data.len(), chunk.incomplete));
        }
    }

    fn consume(&mut self, key: Key, id: u32, size: usize, mode: Mode) {
        let record = self.record(key, id).unwrap();
        let len = record.len as u64;
        let chunk = record.chunk.as_mut().unwrap();
        chunk.consumed += size;
        if chunk.consumed == chunk.data.len() {
            if mode == Mode::Read {
                self.stats.chunks_read += 1;
                self.stats.bytes_read += len;
            } else {
                self.stats.chunks_overwritten += 1;
                self.stats.bytes_overwritten += len;
            }
        }
    }

    /// The next packet of a sequence up to chunk `target`; starts from its first chunk.
    fn next(&mut self, key: Key, target: u32, mode: Mode) -> Option<Vec<u8>> {
        let generation = self.generation;
        if mode == Mode::Read && self.state(key).stalled_in == generation {
            return None;
        }
        loop {
            // The target may have been removed by an earlier call.
            self.chunk(key, target)?;
            let id = *self.ids(key).first()?;
            let chunk = self.chunk(key, id).unwrap().clone();
            let (kind, size, range) = match token(&chunk.data, chunk.consumed, chunk.flags) {
                Token::Fragment(kind, size, range) => (kind, size, range),
                other => {
                    if matches!(other, Token::Corrupted) {
                        self.record_loss(key, 4);
                    }
                    if chunk.incomplete && mode == Mode::Read {
                        self.state(key).stalled_in = generation;
                        return None;
                    }
                    self.remove_chunk(key, id);
                    if id == target {
                        return None;
                    }
                    self.note_gap(key);
                    continue;
                }
            };
            match kind {
                Kind::Whole => {
                    self.consume(key, id, size, mode);
                    if !range.is_empty() {
                        return Some(chunk.data[range].to_vec());
                    }
                }
                Kind::Continue | Kind::End => {
                    self.record_loss(key, 8);
                    self.consume(key, id, size, mode);
                }
                Kind::Begin => {
                    let (outcome, used) = self.reassemble(key, &chunk, range, size);
                    if outcome.is_ok() {
                        self.stats.readaheads_succeeded += 1;
                    } else {
                        self.stats.readaheads_failed += 1;
                    }
                    if mode == Mode::Read && outcome == Err(0) {
                        self.state(key).stalled_in = generation;
                        return None;
                    }
                    for (id, size) in used {
                        self.consume(key, id, size, mode);
                    }
                    match outcome {
                        Ok(packet) => return Some(packet),
                        Err(0) => self.record_loss(key, 64),
                        Err(reason) => self.record_loss(key, reason),
                    }
                }
            }
        }
    }

    /// The packet, or the loss that ends it (0: its rest is missing), and the bytes it takes of which chunks.
    #[allow(clippy::type_complexity)]
    fn reassemble(
        &mut self,
        key: Key,
        first: &Chunk,
        range: core::ops::Range<usize>,
        size: usize,
    ) -> (Result<Vec<u8>, u32>, Vec<(u32, usize)>) {
        let mut packet = first.data[range].to_vec();
        let mut used = vec![(first.id, size)];
        if first.flags & UNPATCHED != 0 {
            return (Err(0), used);
        }
        let mut expected = first.id;
        for id in self.ids(key).into_iter().skip(1) {
            let chunk = self.chunk(key, id).unwrap().clone();
            expected = expected.wrapping_add(1);
            if chunk.flags & UNPATCHED != 0 {
                return (Err(0), used);
            }
            if id != expected {
                return (Err(16), used);
            }
            match token(&chunk.data, chunk.consumed, chunk.flags) {
                Token::Corrupted => return (Err(4), used),
                Token::EndOfChunk | Token::PacketDropped if chunk.incomplete => {
                    return (Err(0), used);
                }
                Token::EndOfChunk | Token::PacketDropped => {}
                Token::Fragment(Kind::Whole | Kind::Begin, ..) => return (Err(32), used),
                Token::Fragment(kind, size, range) => {
                    packet.extend(&chunk.data[range]);
                    used.push((id, size));
                    if kind == Kind::End {
                        return (Ok(packet), used);
                    }
                }
            }
        }
        (Err(0), used)
    }
}

impl ReferenceBuffer for ReferenceV2 {
    fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        if self.discarding {
            self.stats.chunks_discarded += 1;
            return;
        }
        let (mut count, mut flags) = (meta.fragments, meta.flags.0);
        if !meta.complete && count > 0 {
            count -= 1;
            flags &= !(CONTINUES | UNPATCHED);
        }
        let (mut len, mut packet_dropped) = (0, false);
        for _ in 0..count {
            match token(payload, len, 0) {
                Token::Fragment(_, size, _) => len += size,
                Token::PacketDropped => {
                    packet_dropped = true;
                    break;
                }
                Token::EndOfChunk | Token::Corrupted => {
                    self.stats.abi_violations += 1;
                    break;
                }
            }
        }
        let data = payload[..len].to_vec();
        let capacity = if meta.complete { len } else { payload.len() };
        if outer(capacity) > self.size {
            self.stats.abi_violations += 1;
            return;
        }
        let name = (meta.producer, meta.writer);
        let owner = *self.owners.entry(name).or_insert(0);
        let mut key = (meta.producer, meta.writer, owner);
        if self.states.get(&key).is_some_and(|s| s.identity != meta.identity) {
            key.2 += 1;
            self.owners.insert(name, key.2);
        }
        let new = State { identity: meta.identity, ..State::default() };
        self.states.entry(key).or_insert(new);
        self.count_in_histogram(key, len);
        if packet_dropped {
            self.stats.trace_writer_packet_loss += 1;
            self.record_loss(key, 128);
        }
        if let Some(consumed) = self.place(key, meta, &data, flags) {
            let (id, incomplete) = (meta.chunk.get(), !meta.complete);
            self.store(key, Chunk { key, id, capacity, data, consumed, flags, incomplete });
        }
    }

    fn patch(&mut self, patches: &ChunkPatches<'_>) -> bool {
        let ChunkPatches { sequence, chunk: id, patches, more } = *patches;
        let SequenceKey { producer, writer, identity } = sequence;
        let owner = self.owners.get(&(producer, writer)).copied().unwrap_or(0);
        let mut good = false;
        let key = (producer, writer, owner);
        if self.states.get(&key).is_some_and(|s| s.identity == identity)
            && let Some(chunk) = self.chunk(key, id.get())
        {
            good = patches.iter().all(|patch| {
                let at = patch.offset as usize;
                let fits = at + 4 <= chunk.data.len();
                if fits {
                    chunk.data[at..at + 4].copy_from_slice(&patch.data);
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
        let mut out = Vec::new();
        self.generation += 1;
        if max == 0 || self.used == 0 {
            return out;
        }
        let mut at = if self.at == self.used { 0 } else { self.at };
        loop {
            let record = self.records.iter().find(|r| r.at == at).unwrap().clone();
            if let Some(Chunk { key, id, .. }) = record.chunk {
                self.note_gap(key);
                while let Some(bytes) = self.next(key, id, Mode::Read) {
                    let state = self.state(key);
                    let dropped = core::mem::take(&mut state.loss);
                    let identity = state.identity;
                    out.push(Packet { bytes, sequence: (key.0, key.1), identity, dropped });
                    if out.len() == max {
                        return out;
                    }
                }
            }
            at += record.len;
            if at == self.at || at == self.used && self.at == 0 {
                return out;
            }
            if at == self.used {
                at = 0;
            }
        }
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

    fn used_bytes(&self) -> usize {
        self.used
    }
}
