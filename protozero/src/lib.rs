//! Zero-copy, append-only protobuf: written once, where the bytes belong; read where they lie.

#![cfg_attr(not(feature = "std"), no_std)]
#![deny(missing_docs)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(all(test, not(feature = "std")))]
extern crate std;

pub mod decode;
#[cfg(feature = "text")]
pub mod descriptor;
pub mod encode;
mod error;
#[cfg(feature = "alloc")]
pub mod message;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub mod owned;
#[doc(hidden)]
pub mod rt;
mod service;
pub mod sink;
#[cfg(feature = "text")]
pub mod text;
#[cfg(feature = "alloc")]
mod unknown;
pub mod wire;

pub use decode::{DecodeContext, Field, Reader, Value};
pub use encode::{OpenSlots, Range, Scope, Sink, Slot, Stream, StreamOf};
pub use error::{DecodeError, DecodeErrorKind, WriteError};
#[cfg(feature = "alloc")]
pub use message::{Enumeration, Message};
#[cfg(feature = "derive")]
pub use protozero_derive::{Message, Oneof};
pub use rt::Writer;
pub use service::CallError;
pub use sink::FixedSink;
#[cfg(feature = "alloc")]
pub use sink::HeapSink;
#[cfg(feature = "alloc")]
pub use unknown::UnknownFields;
