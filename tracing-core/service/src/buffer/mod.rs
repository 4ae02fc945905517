//! Trace buffers: a session keeps the chunks of all its producers in them until they are read.
//!
//! ```text
//!  copy_chunk ──>  | chunk | chunk | padding | chunk | chunk | ...       |
//!  patch ───────>      ^ by (producer, writer, chunk id)   ^ write position, wraps around
//!                      │
//!  begin_read,         └── next_packet: per sequence, in order of chunk ids, fragments joined
//!  next_packet
//! ```
//!
//! One buffer is one contiguous allocation in private memory of the service, into which chunks are copied.
//! A *sequence* is everything that one writer of one producer writes. Its chunks have rising ids. A chunk may come
//! out of order, twice (first while it is being written, then complete) or never. Each packet is read once, in order
//! within its sequence, and the first packet after a loss reports the loss.
//!
//! Trust: the producer's id and identity come from the connection. Everything else (writer,
//! chunk id, counts, flags, payload, patches) is a claim of the producer. A false claim costs data of its own sequence
//! and increments [`Stats::abi_violations`]. It never changes packets of another producer, causes a panic, or takes
//! more memory than the limits allow.
//!
//! [`TraceBuffer`] is the type that callers use. It holds one of two versions, which a config chooses:
//! [`Version::V1`] (`trace_buffer_v1.cc`), the default, and [`Version::V2`] (`trace_buffer_v2.cc`).
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::cast_possible_truncation
    )
)]

mod chunks;
mod clones;
mod index_size;
pub mod loss;
mod memory;
mod remains;
mod ring;
mod scan_budget;
mod slot_cache;
mod slots;
mod snapshot;
mod stats;
mod trace_buffer;
mod types;
mod v1;
mod v2;

pub use self::clones::UnfinishedClone;
pub(crate) use self::remains::Remains;
pub use self::snapshot::FaultIn;
pub use self::stats::{HISTOGRAM_BUCKETS, Stats, WriterStats};
pub use self::trace_buffer::TraceBuffer;
#[doc(hidden)]
pub use self::trace_buffer::WrapBuffer;
pub(crate) use self::types::BufferLimits;
pub use self::types::{
    ChunkMeta, ChunkPatches, Identity, PacketRef, Patch, Policy, SequenceEnd, SequenceKey,
    TakePacket, Version,
};

#[cfg(test)]
mod tests;
