//! Zero-copy, append-only protobuf: written once, where the bytes belong; read where they lie.

#![cfg_attr(not(feature = "std"), no_std)]
#![deny(missing_docs)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(all(test, not(feature = "std")))]
extern crate std;

pub mod decode;
pub mod encode;
mod error;
#[doc(hidden)]
pub mod rt;
pub mod sink;
pub mod wire;

pub use decode::{DecodeContext, Field, Reader, Value};
pub use encode::{OpenSlots, Range, Scope, Sink, Slot, Stream, StreamOf};
pub use error::{DecodeError, DecodeErrorKind, WriteError};
pub use rt::Writer;
pub use sink::FixedSink;
#[cfg(feature = "alloc")]
pub use sink::HeapSink;
