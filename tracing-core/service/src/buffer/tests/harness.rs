//! Artificial chunks, and the packets that are read as text.
//!
//! A fragment of `len` bytes repeats one letter, its seed, after a length of one byte; of two bytes
//! if `len` is above 128. A record has 16 bytes more than its fragments.

use crate::buffer::{
    BufferLimits, ChunkMeta, ChunkPatches, Identity, Patch, Policy, SequenceKey, TraceBuffer,
    Version,
};
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

pub const PREV: u8 = 1;
pub const NEXT: u8 = 2;
pub const PATCH: u8 = 4;

/// Small limits, which little data reaches.
pub(crate) const LIMITS: BufferLimits = BufferLimits::SMALL;

/// A chunk that is being built.
pub struct Chunk {
    pub meta: ChunkMeta,
    pub payload: Vec<u8>,
}

pub fn chunk(producer: u16, writer: u16, id: u32) -> Chunk {
    let meta = ChunkMeta {
        producer: ProducerId::new(producer),
        identity: Identity { uid: u32::from(producer) * 10, pid: None, machine_id: 0 },
        writer: WriterId::new(writer),
        chunk: ChunkId::new(id),
        fragments: 0,
        flags: ChunkFlags(0),
        complete: true,
    };
    Chunk { meta, payload: Vec::new() }
}

/// The content of a fragment that takes `len` bytes with its length.
pub fn body(len: usize, seed: char) -> Vec<u8> {
    let header = if len <= 128 { 1 } else { 2 };
    vec![seed as u8; len - header]
}

impl Chunk {
    /// Adds a fragment of `len` bytes, its length included.
    pub fn packet(mut self, len: usize, seed: char) -> Self {
        let body = body(len, seed);
        if len <= 128 {
            self.payload.push(body.len() as u8);
        } else {
            self.payload.extend([body.len() as u8 | 0x80, (body.len() >> 7) as u8]);
        }
        self.payload.extend(body);
        self.meta.fragments += 1;
        self
    }

    /// Adds raw bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.payload.extend(bytes);
        self
    }

    /// Its producer is one that this user runs.
    pub fn of_user(mut self, uid: u32) -> Self {
        self.meta.identity.uid = uid;
        self
    }

    pub fn count(mut self, fragments: u16) -> Self {
        self.meta.fragments = fragments;
        self
    }

    pub fn flags(mut self, flags: u8) -> Self {
        self.meta.flags = ChunkFlags(flags);
        self
    }

    pub fn pad_to(mut self, len: usize) -> Self {
        self.payload.resize(len, 0);
        self
    }

    pub fn incomplete(mut self) -> Self {
        self.meta.complete = false;
        self
    }

    pub fn copy(self, buffer: &mut TraceBuffer) {
        buffer.copy_chunk(&self.meta, &self.payload);
    }
}

pub fn buffer(bytes: usize, policy: Policy, version: Version) -> TraceBuffer {
    TraceBuffer::with_limits(bytes, policy, version, LIMITS).expect("memory")
}

/// A packet that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its bytes, joined.
    pub bytes: Vec<u8>,
    pub sequence: (ProducerId, WriterId),
    pub identity: Identity,
    pub dropped: u32,
}

/// Reads at most `max` packets, one by one.
pub fn read(buffer: &mut TraceBuffer, max: usize) -> Vec<Packet> {
    buffer.begin_read();
    let next = || {
        let packet = buffer.next_packet()?;
        Some(Packet {
            bytes: packet.slices.to_vec(),
            sequence: (packet.producer, packet.writer),
            identity: packet.identity,
            dropped: packet.dropped,
        })
    };
    core::iter::from_fn(next).take(max).collect()
}

/// Reads everything: the seeds of each packet, with `!` before a packet that follows a loss.
pub fn seeds(buffer: &mut TraceBuffer) -> String {
    let mut out = String::new();
    for packet in read(buffer, usize::MAX) {
        if packet.dropped != 0 {
            out.push('!');
        }
        let mut seeds = packet.bytes;
        seeds.dedup();
        out.push_str(&String::from_utf8(seeds).expect("made of letters"));
        out.push(' ');
    }
    out.trim_end().to_owned()
}

/// The same without the marks of loss.
pub fn text(buffer: &mut TraceBuffer) -> String {
    seeds(buffer).replace('!', "")
}

/// The seeds, each with its loss bits if it has any.
pub fn losses(buffer: &mut TraceBuffer) -> String {
    let packets = read(buffer, usize::MAX).into_iter().map(|packet| {
        let mut seeds = packet.bytes;
        seeds.dedup();
        let seeds = String::from_utf8(seeds).expect("made of letters");
        if packet.dropped == 0 { seeds } else { format!("{seeds}={}", packet.dropped) }
    });
    packets.collect::<Vec<_>>().join(" ")
}

pub fn patch(buffer: &mut TraceBuffer, id: u32, offset: u32, text: &[u8; 4], more: bool) -> bool {
    let patches = &[Patch { offset, data: *text }];
    buffer.patch(&ChunkPatches { more, ..patches_of(1, 1, id, patches) })
}

/// The sequence of a producer that this user runs.
pub fn sequence_of_user(uid: u32, producer: u16, writer: u16) -> SequenceKey {
    let meta = chunk(producer, writer, 0).of_user(uid).meta;
    meta.sequence()
}

/// The last patches of a chunk.
pub fn patches_of(producer: u16, writer: u16, id: u32, patches: &[Patch]) -> ChunkPatches<'_> {
    ChunkPatches {
        sequence: sequence_of_user(10 * u32::from(producer), producer, writer),
        chunk: ChunkId::new(id),
        patches,
        more: false,
    }
}
