//! What tests of buffers share: made-up chunks, and a slow twin that every operation is held against.
//!
//! Compiled for tests and with the feature `testing` (fuzz targets, benches), never into a daemon.
#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation
)]

mod oracle_v1;
mod oracle_v2;
mod witness;

pub use self::oracle_v1::OracleV1;
pub use self::oracle_v2::OracleV2;
pub use self::witness::{Given, Witness};

use super::{
    ChunkMeta, Identity, PacketRef, Patch, Policy, Stats, TraceBuffer, UnfinishedClone, Version,
    WriterStats,
};
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

/// A packet read out, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its bytes, joined.
    pub bytes: Vec<u8>,
    /// Its sequence.
    pub sequence: (ProducerId, WriterId),
    /// Its identity.
    pub identity: Identity,
    /// Its loss mask.
    pub dropped: u32,
}

/// A slow buffer that a real one is held against.
pub trait Twin {
    /// As [`TraceBuffer::copy_chunk`].
    fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]);
    /// As [`TraceBuffer::patch`].
    fn patch(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        id: ChunkId,
        patches: &[Patch],
        more: bool,
    ) -> bool;
    /// A batch of at most `max` packets.
    fn read(&mut self, max: usize) -> Vec<Packet>;
    /// As [`TraceBuffer::clone_read_only`].
    fn clone_read_only(&self) -> Box<dyn Twin + Send>;
    /// As [`TraceBuffer::stats`].
    fn stats(&self) -> &Stats;
    /// As [`TraceBuffer::writer_stats`].
    fn writers(&self) -> &[WriterStats];
    /// As [`TraceBuffer::used_bytes`].
    fn used_bytes(&self) -> usize;
}

impl From<PacketRef<'_>> for Packet {
    fn from(packet: PacketRef<'_>) -> Self {
        Self {
            bytes: packet.slices.to_vec(),
            sequence: (packet.producer, packet.writer),
            identity: packet.identity,
            dropped: packet.dropped,
        }
    }
}

/// Reads what there is to read, at most `max` packets, one by one.
pub fn read(buffer: &mut TraceBuffer, max: usize) -> Vec<Packet> {
    buffer.begin_read();
    core::iter::from_fn(|| buffer.next_packet().map(Packet::from)).take(max).collect()
}

/// The same in runs that end after `step` packets each, with single packets between.
pub fn read_in_runs(buffer: &mut TraceBuffer, max: usize, step: usize) -> Vec<Packet> {
    buffer.begin_read();
    let mut out = Vec::new();
    while out.len() < max {
        let end = out.len().saturating_add(step).min(max);
        buffer.read_while(&mut |packet: PacketRef<'_>| {
            out.push(packet.into());
            out.len() < end
        });
        if out.len() < end {
            break;
        }
        if out.len() < max {
            out.extend(buffer.next_packet().map(Packet::from));
        }
    }
    out
}

/// Bytes that choose: exhausted, they choose 0.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound
    }
}

/// The payload that chunk `id` of a writer has, in this world: fixed, as in shared memory, so that a
/// chunk that comes twice is the same chunk with more of it valid.
fn payload(writer: u16, id: u32, len: usize) -> Vec<u8> {
    let mut state = u64::from(id) << 16 | u64::from(writer);
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u32
    };
    let mut out = Vec::new();
    while out.len() < len {
        let body = random() % 24;
        match random() % 64 {
            0..3 => out.push(0),
            3..6 => out.extend([0x80, 0x80, 0x80, 0]),
            6..9 => out.extend([0xff, 0xff, 0xff, 0x7f]),
            9..11 => out.extend([0xff; 5]),
            11..32 => out.extend([body as u8 | 0x80, 0x80, 0x80, 0]),
            _ => out.push(body as u8),
        }
        out.extend((0..body).map(|_| random() as u8));
    }
    out.truncate(len);
    out
}

/// The flags that chunk `id` has, in this world: what goes on in one chunk is continued in the next.
fn flags(id: u32) -> u8 {
    let goes_on = |id: u32| id.wrapping_mul(0x9e37_79b9) >> 30 < 2;
    let patched = u8::from(id.wrapping_mul(0x85eb_ca6b) >> 28 == 0);
    u8::from(goes_on(id.wrapping_sub(1))) | u8::from(goes_on(id)) << 1 | patched << 2
}

/// A chunk to commit, and the length of its payload: mostly the next of its writer, often the last
/// one again, sometimes anything.
fn chunk(
    choices: &mut Choices<'_>,
    (p, producer): (u8, ProducerId),
    writer: WriterId,
    next: &mut u32,
) -> (ChunkMeta, usize) {
    let id = match choices.below(32) {
        0 => next.wrapping_add(u32::from(choices.below(4))),
        1..4 => next.wrapping_sub(u32::from(choices.below(6))),
        4 if choices.byte() < 8 => u32::from_le_bytes(core::array::from_fn(|_| choices.byte())),
        5 if *next < 8 => {
            *next = u32::MAX - u32::from(choices.below(3));
            *next
        }
        6..16 => next.wrapping_sub(1),
        _ => *next,
    };
    if id.wrapping_sub(*next) < 4 {
        *next = id.wrapping_add(1);
    }
    let len = [40, 64, 100, 16, 7, 200, 0, 900][usize::from(id as u8 % 8)];
    let fragments = choices.below(10);
    let any = choices.byte();
    let meta = ChunkMeta {
        producer,
        identity: Identity { uid: u32::from(p), pid: (p == 0).then_some(7), machine_id: 0 },
        writer,
        chunk: ChunkId(id),
        fragments: if fragments == 9 { 1023 } else { fragments.into() },
        flags: ChunkFlags(if any < 224 { flags(id) } else { any & 7 }),
        complete: choices.below(3) != 0,
    };
    (meta, len)
}

/// A buffer and its twin.
struct Pair {
    buffer: TraceBuffer,
    twin: Box<dyn Twin + Send>,
    /// All bits of losses seen.
    losses: u32,
    /// Clones on their way, and their twins, which were made at once.
    clones: Vec<(UnfinishedClone, Box<dyn Twin + Send>)>,
}

/// Clones on their way at a time.
const CLONES_MAX: usize = 3;

impl Pair {
    fn new(bytes: usize, policy: Policy, version: Version) -> Self {
        let buffer = TraceBuffer::new(bytes, policy, version).expect("a small buffer");
        let twin: Box<dyn Twin + Send> = match version {
            Version::V1 => Box::new(OracleV1::new(bytes, policy)),
            Version::V2 => Box::new(OracleV2::new(bytes, policy)),
        };
        Self::of(buffer, twin)
    }

    fn of(buffer: TraceBuffer, twin: Box<dyn Twin + Send>) -> Self {
        Self { buffer, twin, losses: 0, clones: Vec::new() }
    }

    /// `step`: of runs; zero for one by one.
    fn read(&mut self, max: usize, step: u8) {
        let packets = match step {
            0 => read(&mut self.buffer, max),
            step => read_in_runs(&mut self.buffer, max, step.into()),
        };
        self.losses = packets.iter().fold(self.losses, |all, packet| all | packet.dropped);
        assert_eq!(packets, self.twin.read(max), "packets");
    }

    fn check(&self) {
        assert_eq!(self.buffer.stats(), self.twin.stats(), "stats");
        assert_eq!(self.buffer.used_bytes(), self.twin.used_bytes(), "used");
        let histograms: Vec<_> = self.buffer.writer_stats().cloned().collect();
        assert_eq!(histograms, self.twin.writers(), "histograms");
    }

    fn check_clone(&self) {
        let buffer = self.buffer.clone_read_only().expect("memory");
        Self::of(buffer, self.twin.clone_read_only()).check_to_end();
    }

    fn check_to_end(mut self) {
        assert!(self.buffer.is_read_only());
        self.check();
        self.read(usize::MAX, 200);
        self.check();
    }

    fn begin_clone(&mut self) {
        if self.clones.len() < CLONES_MAX {
            let clone = self.buffer.begin_clone().expect("memory");
            self.clones.push((clone, self.twin.clone_read_only()));
        }
    }

    /// Copies about so many bytes more of each clone, and looks at those that are whole.
    fn continue_clones(&mut self, bytes: usize) {
        for (clone, twin) in core::mem::take(&mut self.clones) {
            if self.buffer.continue_clone(&clone, bytes) > 0 {
                self.clones.push((clone, twin));
            } else {
                let clone = self.buffer.finish_clone(clone).expect("memory");
                Self::of(clone, twin).check_to_end();
            }
        }
        assert_eq!(self.buffer.unfinished_clones(), self.clones.len());
    }

    fn abandon_clone(&mut self) {
        if let Some((clone, _)) = self.clones.pop() {
            self.buffer.abandon_clone(clone);
        }
    }
}

/// Plays what `choices` say on a buffer and on its slow twin, and compares all that can be seen. The
/// first byte chooses the version.
///
/// # Panics
/// If they differ.
pub fn play(choices: &[u8]) {
    let Some((version, choices)) = choices.split_first() else { return };
    play_on(if version % 2 == 0 { Version::V1 } else { Version::V2 }, choices);
}

/// The same with a buffer of a version. Returns its counters, and all bits of losses it told of.
///
/// # Panics
/// If they differ.
pub fn play_on(version: Version, choices: &[u8]) -> (Stats, u32) {
    let mut choices = Choices(choices);
    let policy = if choices.below(4) == 0 { Policy::Discard } else { Policy::Ring };
    let bytes = [512, 1024, 4096, 272][usize::from(choices.below(4))];
    let mut pair = Pair::new(bytes, policy, version);
    let mut next = [[0u32; 3]; 2];
    let mut uids = [0u32; 2];
    while !choices.0.is_empty() {
        let action = choices.below(16);
        let (p, w) = (choices.below(2), choices.below(3));
        let (producer, writer) = (ProducerId(u16::from(p) + 1), WriterId(u16::from(w) + 1));
        let next = &mut next[usize::from(p)][usize::from(w)];
        match action {
            0..10 => {
                let (mut meta, len) = chunk(&mut choices, (p, producer), writer, next);
                if choices.byte() == 77 {
                    uids[usize::from(p)] += 10;
                }
                meta.identity.uid += uids[usize::from(p)];
                let payload = payload(writer.0, meta.chunk.0, len);
                pair.buffer.copy_chunk(&meta, &payload);
                pair.twin.copy_chunk(&meta, &payload);
            }
            10..12 => {
                let id = ChunkId(next.wrapping_sub(u32::from(choices.below(4))));
                let count = choices.below(3);
                let patches: Vec<Patch> = (0..count)
                    .map(|_| Patch {
                        offset: u32::from(choices.byte()) % 70,
                        data: [choices.byte(), 0x80, 0x80, 0],
                    })
                    .collect();
                let more = choices.below(3) == 0;
                let done = pair.buffer.patch(producer, writer, id, &patches, more);
                assert_eq!(done, pair.twin.patch(producer, writer, id, &patches, more), "patch");
            }
            12 => match choices.below(8) {
                0 => pair.check_clone(),
                1..4 => pair.begin_clone(),
                4 => pair.abandon_clone(),
                5 => pair.continue_clones(usize::from(choices.byte()) * 16),
                _ => pair.read(usize::from(choices.below(5)), 0),
            },
            13 => pair.read(usize::from(choices.below(5)), 1),
            // What else chooses nothing here chooses how it is read.
            _ => pair.read(usize::MAX, [0, 1, 2, 3, 5, 200][usize::from(p) * 3 + usize::from(w)]),
        }
        if action & 3 == 1 {
            pair.continue_clones(1);
        }
        pair.check();
    }
    pair.continue_clones(usize::MAX);
    (*pair.buffer.stats(), pair.losses)
}
