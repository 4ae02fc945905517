//! Perfetto's shared memory and IPC framing: layouts, states and codecs.
//!
//! What producers, consumers and the service agree on, and no more: no system call, no thread, no
//! clock. [`shm`] draws the pages and chunks of shared memory, [`ipc`] the frames of a socket.
//!
//! ```text
//!   ipc/   shm/                       frames and calls; pages, chunks and their states
//!   ids  limits  time  error  map  outlined  sync
//! ```
//!
//! Facts come from `shared_memory_abi.h`, `basic_types.h` and `wire_protocol.proto`.

pub mod error;
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
