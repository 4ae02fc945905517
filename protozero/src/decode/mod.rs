//! Reading: one pass over borrowed bytes. Never recurses, allocates or panics.
//!
//! [`Reader`] walks the fields of one message; a nested message is a byte slice that another reader
//! may walk. The typed readers of generated code sit on the same functions and match on whole tags.
//! [`ScatteredReader`] does what `Reader` does for a message that lies in several slices, and
//! `FrameReader` finds the messages of a stream; only the latter needs memory of its own.
//!
//! What is not protobuf ends the walk with a [`DecodeError`](crate::DecodeError); so ends a message
//! that stops in the middle of a field.

mod face;
mod field;
mod fields;
#[cfg(feature = "alloc")]
mod frames;
mod group;
pub mod kind;
mod limited;
pub mod limits;
mod named;
mod packed;
mod pieces;
mod reader;
mod scattered;
mod take;
mod text;
mod typed;
mod utf8;

pub use field::{Field, Value};
pub use fields::{Fields, Malformed};
#[cfg(feature = "alloc")]
pub use frames::{FRAME_BYTES_MAX, Frame, FrameReader, Frames};
pub use limited::{Budget, LimitedReader, Limits};
pub use limits::DecodeContext;
pub use named::{Elements, Repeated, Table, Unknown, UnknownIter, last, last_of, table};
pub use packed::{PackedFixed32, PackedFixed64, PackedVarint};
pub use pieces::Pieces;
pub use reader::Reader;
pub use scattered::{ScatteredField, ScatteredReader, ScatteredValue, ScatteredVarints};
pub use text::Text;
pub use typed::{MessageReader, TypedField, TypedFields};

#[cfg(all(test, feature = "alloc"))]
mod props;
#[cfg(test)]
mod tests;
