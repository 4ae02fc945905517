//! Perfetto's shared memory and IPC framing: layouts, states and codecs.
//!
//! What producers, consumers and the service agree on, and no more: no system call, no thread, no
//! clock. [`shm`] draws the pages and chunks of shared memory, [`ipc`] the frames of a socket.
//!
//! ```text
//!   ipc/   shm/                       frames and calls; pages, chunks and their states
//!   ids  flush_flags  limits  time     numbers and their meaning
//!   error  map  outlined  sync        what all crates use
//! ```
//!
//! Facts come from `shared_memory_abi.h`, `basic_types.h` and `wire_protocol.proto`.

pub mod error;
pub mod flush_flags;
pub mod ids;
#[doc(hidden)]
pub mod limits;
pub mod map;
#[doc(hidden)]
pub mod outlined;
pub mod sync;
pub mod time;

pub mod ipc;
pub mod shm;
