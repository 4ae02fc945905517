//! Messages of types that are known only at run time.
//!
//! ```text
//!  FileDescriptorSet ──Pool::decode──────────┐
//!  M::DESCRIPTOR ──Pool::from_generated──────┴▶ Pool ──message("pkg.M")──▶ MessageDescriptor
//!                                                                                │
//!       wire bytes ◀──decode, encode──▶ DynamicMessage ◀──from_text, to_text──▶ text
//! ```
//!
//! A [`Pool`] contains a resolved schema. A [`DynamicMessage`] contains a [`Value`] for each field
//! that is set. Decoding and encoding follow protobuf exactly, also for unknown fields, extensions,
//! groups, closed enums and map entries. The text format works on dynamic messages only: generated
//! messages are parsed and printed through their descriptors.
//!
//! ```
//! # #[cfg(feature = "dynamic")] {
//! use protozero::dynamic::{DynamicMessage, Pool};
//!
//! // What `protoc --descriptor_set_out` writes for `message Point { optional int32 x = 1; }`.
//! let set = b"\x0a\x1d\x0a\x07p.proto\x22\x12\x0a\x05Point\x12\x09\x0a\x01x\x18\x01\x20\x01\x28\x05";
//! let pool = Pool::decode(set)?;
//! let mut point = DynamicMessage::new(pool.message("Point").unwrap());
//! point.set("x", 3)?;
//! assert_eq!(point.encode(), b"\x08\x03");
//! assert_eq!(point.to_text(), "x: 3\n");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "dynamic")]
mod build;
pub(crate) mod cost;
mod decode;
mod encode;
mod error;
mod fault;
#[cfg(feature = "dynamic")]
mod features;
mod generated;
mod kind;
mod message;
mod message_set;
mod names;
#[cfg(feature = "std")]
pub(crate) mod origins;
mod path;
pub(crate) mod pool;
#[cfg(feature = "dynamic")]
mod proto;
#[cfg_attr(not(feature = "dynamic"), allow(dead_code, reason = "generated code has no extensions"))]
pub(crate) mod schema;
#[cfg(all(test, feature = "dynamic"))]
pub(crate) mod tests;
mod tree;
mod value;

pub use cost::MEMORY_MAX;
pub use error::{PoolError, PoolErrorKind};
pub use kind::Kind;
pub use message::{DynamicMessage, FieldKey, SetError};
pub use pool::{EnumDescriptor, FieldDescriptor, MessageDescriptor, OneofDescriptor, Pool};
pub use value::{MapKey, Value};
