//! Perfetto's tracing protocol: shared memory, IPC, the service, producers and consumers.
//!
//! One crate, built in layers; a module uses lower layers and its own subtree, never a higher
//! one, and siblings of layers 2 and 3 do not see each other:
//!
//! ```text
//! L4  client/     os/         threads, descriptors, mappings, sockets, the real clock
//! L3  service/    producer/   no I/O: events in, effects out, time as a value
//! L2  buffer/     ipc/        pure data structures and codecs over bytes
//!     filter/     compress/
//! L1  shm/        packet/     the shared-memory ABI; a packet as slices
//! L0  ids limits time error sync
//! ```

pub mod error;
pub mod ids;
pub mod limits;
pub mod sync;
pub mod time;

pub mod packet;
pub mod shm;

pub mod buffer;
pub mod compress;
pub mod filter;
pub mod ipc;

pub mod producer;
pub mod service;

pub mod client;
pub mod os;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
