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

mod oracle;

pub use self::oracle::Oracle;

use super::{ChunkMeta, Identity, Patch, Policy, TraceBuffer, Version};
use crate::ids::{ChunkId, ProducerId, WriterId};
use crate::shm::ChunkFlags;

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

/// Reads what there is to read, at most `max` packets.
pub fn read(buffer: &mut TraceBuffer, max: usize) -> Vec<Packet> {
    buffer.begin_read();
    let mut out = Vec::new();
    while out.len() < max {
        let Some(packet) = buffer.next_packet() else { break };
        out.push(Packet {
            bytes: packet.slices.to_vec(),
            sequence: (packet.producer, packet.writer),
            identity: packet.identity,
            dropped: packet.dropped,
        });
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
        match random() % 16 {
            0 => out.push(0),
            1 => out.extend([0x80, 0x80, 0x80, 0]),
            2 => out.extend([0xff, 0xff, 0xff, 0x7f]),
            3 => out.extend([0xff; 5]),
            4..10 => out.extend([body as u8 | 0x80, 0x80, 0x80, 0]),
            _ => out.push(body as u8),
        }
        out.extend((0..body).map(|_| random() as u8));
    }
    out.truncate(len);
    out
}

/// A chunk to commit, and the length of its payload: mostly the next of its writer, often the last
/// one again, sometimes anything.
fn chunk(
    choices: &mut Choices<'_>,
    (p, producer): (u8, ProducerId),
    writer: WriterId,
    next: &mut u32,
) -> (ChunkMeta, usize) {
    let id = match choices.below(16) {
        0 => next.wrapping_add(u32::from(choices.below(4))),
        1 => next.wrapping_sub(u32::from(choices.below(6))),
        2 => u32::from_le_bytes(core::array::from_fn(|_| choices.byte())),
        3 => {
            *next = u32::MAX - u32::from(choices.below(3));
            *next
        }
        4..7 => next.wrapping_sub(1),
        _ => *next,
    };
    if id == *next {
        *next = next.wrapping_add(1);
    }
    let len = [40, 64, 100, 16, 7, 200][usize::from(id as u8 % 6)];
    let fragments = choices.below(10);
    let flags = choices.byte();
    let meta = ChunkMeta {
        producer,
        identity: Identity { uid: u32::from(p), pid: (p == 0).then_some(7), machine_id: 0 },
        writer,
        chunk: ChunkId(id),
        fragments: if fragments == 9 { 1023 } else { fragments.into() },
        flags: ChunkFlags(if flags < 128 { 0 } else { flags & 7 }),
        complete: choices.below(4) != 0,
    };
    (meta, len)
}

/// Plays what `choices` say on a buffer and on the slow twin, and compares all that can be seen.
///
/// # Panics
/// If they differ.
pub fn play(choices: &[u8]) {
    let mut choices = Choices(choices);
    let policy = if choices.below(4) == 0 { Policy::Discard } else { Policy::Ring };
    let bytes = [512, 1024, 4096, 272][usize::from(choices.below(4))];
    let mut buffer = TraceBuffer::new(bytes, policy, Version::V1).expect("a small buffer");
    let mut oracle = Oracle::new(bytes, policy);
    let mut next = [[0u32; 3]; 2];
    while !choices.0.is_empty() {
        let action = choices.below(16);
        let (p, w) = (choices.below(2), choices.below(3));
        let (producer, writer) = (ProducerId(u16::from(p) + 1), WriterId(u16::from(w) + 1));
        let next = &mut next[usize::from(p)][usize::from(w)];
        match action {
            0..10 => {
                let (meta, len) = chunk(&mut choices, (p, producer), writer, next);
                let payload = payload(writer.0, meta.chunk.0, len);
                buffer.copy_chunk(&meta, &payload);
                oracle.copy_chunk(&meta, &payload);
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
                let done = buffer.patch(producer, writer, id, &patches, more);
                assert_eq!(done, oracle.patch(producer, writer, id, &patches, more), "patch");
            }
            _ => {
                let max = if action < 14 { usize::from(choices.below(5)) } else { usize::MAX };
                assert_eq!(read(&mut buffer, max), oracle.read(max), "packets");
            }
        }
        assert_eq!(buffer.stats(), &oracle.stats, "stats");
        assert_eq!(buffer.used_bytes(), oracle.used_bytes(), "used");
        let histograms: Vec<_> = buffer.writer_stats().cloned().collect();
        assert_eq!(histograms, oracle.writers, "histograms");
    }
}
