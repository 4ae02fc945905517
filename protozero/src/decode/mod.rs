//! Reading: one pass over borrowed bytes. Never recurses, allocates or panics.
//!
//! [`Reader`] walks the fields of one message; a nested message is a byte slice that another reader
//! may walk. The typed readers of generated code sit on the same functions and match on whole tags.
//! What is not protobuf ends the walk with a [`DecodeError`](crate::DecodeError); so ends a message
//! that stops in the middle of a field.

mod field;
mod fields;
mod group;
pub mod limits;
mod packed;
mod reader;
mod take;
mod typed;

pub use field::{Field, Value};
pub use fields::{Fields, Malformed};
pub use limits::DecodeContext;
pub use packed::{PackedFixed32, PackedFixed64, PackedVarint};
pub use reader::Reader;
pub use typed::{TypedField, TypedFields, TypedReader};

#[cfg(all(test, feature = "alloc"))]
mod props;
#[cfg(test)]
mod tests;
