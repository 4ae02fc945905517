//! The shared-memory ABI: pages, chunks, their states, and the memory they live in.
//!
//! A producer and the service share one buffer (the SMB). Writers put packets into chunks
//! of it; the service copies complete chunks out and frees them. The layout and every transition
//! are a contract with every Perfetto peer (`shared_memory_abi.h`) and with old ones.
//!
//! ```text
//! SMB: page | page | page | ...            equal pages, 4 KiB x 2^n; all-zero memory is a valid free SMB
//!
//! page +0  u32 word (atomic)               +8 chunk 0 | chunk 1 | ... | slack
//!      +4  u32 losses of page 0, else 0    chunk size = ((page - 8) / n) rounded down to 4
//!
//! word  31  30..28  27 26 ... 3 2  1 0
//!       0   layout  c13   ...  c1   c0     layout: 0 none, 1 Div1, 2 Div2, 3 Div4, 4 Div7, 5 Div14
//!                                          chunk state: 0 Free 1 BeingWritten 2 BeingRead 3 Complete
//!
//! chunk +0 u32 chunk id (atomic)           counts up per writer, wraps
//!       +4 u16 writer id                   1..=32767
//!       +6 u16 packets: bits 0-9 count, 10 first continues, 11 last continues, 12 needs patching
//!       +8 payload: `count` fragments, each a varint length (1-4 bytes, maybe padded) and its bytes;
//!          the bytes behind them are stale. Length 0x0fffffff marks a packet that its writer gave up.
//!
//!            producer                 producer                  service
//!   Free ------------> BeingWritten ----------> Complete ------------------> BeingRead
//!    ^  acquire                       complete      |         try_read           |
//!    +------------------------------ free ----------+----------------------------+
//!                               (emulation only)                 free
//! ```
//!
//! Losses are how often writers of the producer began to drop packets. Upstream reserves this word: its producers leave
//! it zero, and its services do not read it.
//!
//! The count rises when a packet *starts*: in a chunk being written only `count - 1` fragments are
//! finished, in a complete one all are. When a free leaves every chunk free, the page word becomes
//! 0 and the page may be partitioned anew, which clears the headers of its chunks.
//!
//! # What to trust
//!
//! A peer shares the memory: **any value may appear at any time**. So this code asserts nothing about
//! values that it reads: a transition that finds an impossible state does nothing and returns so. Sizes
//! and addresses are computed from one snapshot of the page word and our own geometry, and are checked
//! against the region. The payload is copied before it is parsed.
//!
//! # Reading order
//!
//! [`layout`] (arithmetic), [`header`] (bits), [`words`] (what a page looks like to the protocol),
//! [`page`] (the state machine), [`fragment`] (what a writer does inside a chunk), [`lengths`] (what a scrape finds
//! there), [`bounds`] (which bytes an access touches), [`Region`] (the memory, and the only unsafe code), [`rights`]
//! (what its handles agree on), [`Smb`] (pages over a region), [`SmbReader`] (the right to free and to scrape),
//! [`present`] (what of the memory it may touch), [`WritableChunk`] and [`ReadableChunk`] (chunks that are owned). The
//! models of `tracing-core/loom` run all of these but [`bounds`] and [`Region`], of which they have their own.
//!
//! # Arithmetic
//!
//! Files without memory ([`bounds`], [`fragment`], [`header`], [`layout`], [`lengths`], [`page`]) are compiled into a
//! program which links only if no sum overflows and no index is outside, for all inputs (`cargo xtask no-panic`).
//! The other files have no arithmetic that could overflow: the lint `arithmetic_side_effects` denies it.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::cast_possible_truncation)]

mod bounds;
mod chunk;
mod fragment;
pub mod header;
pub mod layout;
mod lengths;
pub mod page;
mod present;
mod reader;
mod region;
mod rights;
mod smb;
pub mod words;

// Many inputs and no unsafe code: not for Miri.
#[cfg(all(test, not(miri)))]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::cast_possible_truncation)]
mod every;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod holes;
#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::cast_possible_truncation)]
mod props;
#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::cast_possible_truncation)]
mod tests;

pub use self::chunk::{ReadableChunk, ShortFragment, WritableChunk};
pub use self::fragment::{FRAGMENT_HEADER_BYTES, RESERVED_BYTES};
pub use self::header::{ChunkFlags, ChunkHeader, ChunkState, Packets, PageWord};
pub use self::layout::{LOSS_MARK_CHUNK_IDX, Layout, PageSize, ShmError};
pub use self::lengths::patch as store_patch;
pub use self::reader::{Leftover, PageCheck, SmbReader};
pub use self::region::{Mapping, Region};
pub use self::smb::Smb;
