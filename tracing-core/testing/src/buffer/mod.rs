//! Reference buffers, and buffers that are compared with them.
//!
//! ```text
//!   TraceBuffer ── CheckedBuffer ─┬─ TraceBuffer       the real one
//!      (wrapped)                  └─ ReferenceBuffer   of the same version
//! ```
//!
//! [`CheckedBuffer`] is a wrapper that a service, a property test and a fuzz target use like any other buffer. It
//! does everything to both buffers and panics when they differ. [`play`] is a random history of one buffer.
#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation
)]

mod checked;
mod reference_v1;
mod reference_v2;

pub use self::checked::{CheckedBuffer, CheckedRegions, EmittedPackets};
pub use self::reference_v1::ReferenceV1;
pub use self::reference_v2::ReferenceV2;

use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;
use service::buffer::{
    ChunkMeta, ChunkPatches, Identity, PacketRef, Patch, Policy, SequenceKey, Stats, TakePacket,
    TraceBuffer, UnfinishedClone, Version, WriterStats,
};
use service::test_hooks;

#[cfg(test)]
mod tests;

/// A packet that was read, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its bytes, joined.
    pub bytes: Vec<u8>,
    /// Its sequence.
    pub sequence: (ProducerId, WriterId),
    /// Its identity.
    pub identity: Identity,
    /// Its [`loss`](service::buffer::loss) bits.
    pub dropped: u32,
}

/// A slow buffer with the same behaviour as a real one, written as plainly as possible.
pub trait ReferenceBuffer: Send {
    /// As [`TraceBuffer::copy_chunk`].
    fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]);
    /// As [`TraceBuffer::patch`].
    fn patch(&mut self, patches: &ChunkPatches<'_>) -> bool;
    /// As [`TraceBuffer::note_violation`].
    fn note_violation(&mut self);
    /// As [`TraceBuffer::add_refused`].
    fn add_refused(&mut self, of: &Stats);
    /// A batch of at most `max` packets.
    fn read(&mut self, max: usize) -> Vec<Packet>;
    /// As [`TraceBuffer::clone_read_only`].
    fn clone_read_only(&self) -> Box<dyn ReferenceBuffer>;
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

/// Reads at most `max` packets, one by one.
pub fn read(buffer: &mut TraceBuffer, max: usize) -> Vec<Packet> {
    buffer.begin_read();
    core::iter::from_fn(|| buffer.next_packet().map(Packet::from)).take(max).collect()
}

/// Reads at most `max` packets, in runs of `step` packets with single packets between.
pub fn read_in_runs(buffer: &mut TraceBuffer, max: usize, step: usize) -> Vec<Packet> {
    buffer.begin_read();
    let mut run = Run { packets: Vec::new(), end: 0 };
    while run.packets.len() < max {
        run.end = run.packets.len().saturating_add(step).min(max);
        buffer.read_while(&mut run);
        if run.packets.len() < run.end {
            break;
        }
        if run.packets.len() < max {
            run.packets.extend(buffer.next_packet().map(Packet::from));
        }
    }
    run.packets
}

/// Takes packets until there are `end`.
struct Run {
    packets: Vec<Packet>,
    end: usize,
}

impl TakePacket for Run {
    fn take(&mut self, packet: PacketRef<'_>) -> bool {
        self.packets.push(packet.into());
        self.packets.len() < self.end
    }

    fn as_dyn(&mut self) -> Option<&mut dyn TakePacket> {
        Some(self)
    }
}

/// Bytes that choose what happens. At their end they choose 0.
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

/// The payload that chunk `id` of a writer has in these tests: fixed, as in shared memory, so that a
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

/// The flags that chunk `id` has in these tests: a packet that one chunk leaves open continues in the next one.
fn flags(id: u32) -> u8 {
    let goes_on = |id: u32| id.wrapping_mul(0x9e37_79b9) >> 30 < 2;
    let patched = u8::from(id.wrapping_mul(0x85eb_ca6b) >> 28 == 0);
    u8::from(goes_on(id.wrapping_sub(1))) | u8::from(goes_on(id)) << 1 | patched << 2
}

/// Of the first owner of a producer id.
fn identity_of(p: u8) -> Identity {
    Identity { uid: u32::from(p), pid: (p == 0).then_some(7), machine_id: 0 }
}

/// A chunk to commit, and the length of its payload: mostly the next one of its writer, often the last
/// one again, sometimes any other.
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
        identity: identity_of(p),
        writer,
        chunk: ChunkId::new(id),
        fragments: if fragments == 9 { 1023 } else { fragments.into() },
        flags: ChunkFlags(if any < 224 { flags(id) } else { any & 7 }),
        complete: choices.below(3) != 0,
    };
    (meta, len)
}

/// A checked buffer, and the clones of it that are not finished.
struct World {
    buffer: TraceBuffer,
    clones: Vec<UnfinishedClone>,
    /// All bits of losses seen.
    losses: u32,
}

/// Unfinished clones at a time.
const CLONES_MAX: usize = 3;

impl World {
    fn new(bytes: usize, policy: Policy, version: Version) -> Self {
        let buffer = test_hooks::buffer_with_small_limits(bytes, policy, version);
        let buffer = CheckedBuffer::wrap(buffer.expect("a small buffer"));
        Self { buffer, clones: Vec::new(), losses: 0 }
    }

    /// `step`: packets of a run; zero to read one by one.
    fn read(&mut self, max: usize, step: u8) {
        let packets = match step {
            0 => read(&mut self.buffer, max),
            step => read_in_runs(&mut self.buffer, max, step.into()),
        };
        self.losses = packets.iter().fold(self.losses, |all, packet| all | packet.dropped);
    }

    fn begin_clone(&mut self) {
        if self.clones.len() < CLONES_MAX {
            self.clones.push(self.buffer.begin_clone().expect("memory"));
        }
    }

    /// Copies about so many bytes more of each clone, and reads those that are whole.
    fn continue_clones(&mut self, bytes: usize) {
        for clone in core::mem::take(&mut self.clones) {
            if self.buffer.continue_clone(&clone, bytes) > 0 {
                self.clones.push(clone);
            } else {
                read_clone(self.buffer.finish_clone(clone).expect("memory"));
            }
        }
        assert_eq!(self.buffer.unfinished_clones(), self.clones.len());
    }

    fn abandon_clone(&mut self) {
        if let Some(clone) = self.clones.pop() {
            self.buffer.abandon_clone(clone);
        }
    }
}

/// Reads a clone to its end. The checked buffer compares the packets.
fn read_clone(mut clone: TraceBuffer) {
    assert!(clone.is_read_only());
    read_in_runs(&mut clone, usize::MAX, 200);
}

/// Does what `choices` say to a checked buffer. The first byte chooses the version.
///
/// # Panics
/// If they differ.
pub fn play(choices: &[u8]) {
    let Some((version, choices)) = choices.split_first() else { return };
    play_on(if version % 2 == 0 { Version::V1 } else { Version::V2 }, choices);
}

/// The same with a buffer of a version. Returns its counters, and all bits of losses it reported.
///
/// # Panics
/// If they differ.
pub fn play_on(version: Version, choices: &[u8]) -> (Stats, u32) {
    let mut choices = Choices(choices);
    let policy = if choices.below(4) == 0 { Policy::Discard } else { Policy::Ring };
    let bytes = [512, 1024, 4096, 272][usize::from(choices.below(4))];
    let mut world = World::new(bytes, policy, version);
    let mut next = [[0u32; 3]; 2];
    let mut uids = [0u32; 2];
    while !choices.0.is_empty() {
        let action = choices.below(16);
        let (p, w) = (choices.below(2), choices.below(3));
        let (producer, writer) =
            (ProducerId::new(u16::from(p) + 1), WriterId::new(u16::from(w) + 1));
        let next = &mut next[usize::from(p)][usize::from(w)];
        match action {
            0..10 => {
                let (mut meta, len) = chunk(&mut choices, (p, producer), writer, next);
                if choices.byte() == 77 {
                    uids[usize::from(p)] += 10;
                }
                meta.identity.uid += uids[usize::from(p)];
                let payload = payload(writer.get(), meta.chunk.get(), len);
                world.buffer.copy_chunk(&meta, &payload);
            }
            10..12 => {
                let chunk = ChunkId::new(next.wrapping_sub(u32::from(choices.below(4))));
                let count = choices.below(3);
                let patches: Vec<Patch> = (0..count)
                    .map(|_| Patch {
                        offset: u32::from(choices.byte()) % 70,
                        data: [choices.byte(), 0x80, 0x80, 0],
                    })
                    .collect();
                let more = choices.below(3) == 0;
                let mut identity = identity_of(p);
                // Its other writers may have chunks of the owner before.
                identity.uid += uids[usize::from(p)];
                let sequence = SequenceKey { producer, writer, identity };
                let patches = ChunkPatches { sequence, chunk, patches: &patches, more };
                world.buffer.patch(&patches);
            }
            12 => match choices.below(8) {
                0 => read_clone(world.buffer.clone_read_only().expect("memory")),
                1..4 => world.begin_clone(),
                4 => world.abandon_clone(),
                5 => world.continue_clones(usize::from(choices.byte()) * 16),
                _ => world.read(usize::from(choices.below(5)), 0),
            },
            13 => world.read(usize::from(choices.below(5)), 1),
            // Producer and writer have no meaning here: they choose how to read.
            _ => world.read(usize::MAX, [0, 1, 2, 3, 5, 200][usize::from(p) * 3 + usize::from(w)]),
        }
        if action & 3 == 1 {
            world.continue_clones(1);
        }
    }
    world.continue_clones(usize::MAX);
    (*world.buffer.stats(), world.losses)
}

/// The counters of a new buffer.
fn stats_of(bytes: usize) -> Stats {
    let mut stats = Stats::default();
    stats.buffer_size = bytes as u64;
    stats
}
