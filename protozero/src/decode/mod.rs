//! Reading: one pass over borrowed bytes. Readers never recurse, allocate or panic.
//!
//! | input | reader |
//! |---|---|
//! | bytes without a schema | [`Reader`]: the fields one by one |
//! | bytes with a generated reader | `for field in reader`; `reader.name()?`; `reader.table()?` |
//! | several slices that form one message | [`ScatteredReader`]; a field in several slices is [`Pieces`] |
//! | a `bytes::Buf` for an owned message | `Message::decode_buf` (needs `bytes`) |
//! | a stream of messages | `FrameReader`: the messages, borrowed from their block (needs `alloc`) |
//! | an untrusted message that becomes a data structure | [`Limits`]: for depth, fields and bytes |
//!
//! A nested message is a byte slice for another reader. Generated readers use the same functions
//! and match on whole tags. Packed and unpacked elements read alike, and so do a group and a
//! message with a length. A field that is not in the schema, or has another wire type there, is an
//! unknown field: its encoded bytes are available and can be copied. Readers do not merge: the last
//! occurrence of a singular field counts. Readers accept all enum numbers, with or without a name.
//!
//! Malformed input ends with a [`ReadError`](crate::ReadError), which contains the offset of
//! the malformed or incomplete field. No fields follow, except after a string that is not UTF-8.

#[cfg(feature = "bytes")]
mod chunks;
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
mod reader_macro;
mod scattered;
mod take;
mod text;
mod typed;
mod utf8;

#[cfg(feature = "bytes")]
pub(crate) use chunks::take_fields;
pub use field::{Field, Value};
pub use fields::{Fields, Malformed};
#[cfg(feature = "alloc")]
pub use frames::{FRAME_BYTES_MAX, Frame, FrameReader, Frames};
pub use limited::{Budget, LimitedReader, Limits};
pub use limits::{DecodeContext, DecodeMemory};
pub use named::{Elements, Repeated, Table, Unknown, UnknownIter, last, last_of, table};
pub use packed::{PackedFixed32, PackedFixed64, PackedVarint};
pub use pieces::Pieces;
pub use reader::Reader;
pub use scattered::{ScatteredField, ScatteredReader, ScatteredValue, ScatteredVarints};
pub use text::Text;
pub use typed::{MessageReader, TypedField, TypedFields};
#[cfg(feature = "bytes")]
pub(crate) use utf8::CheckedBytes;

#[cfg(all(test, feature = "alloc"))]
mod props;
#[cfg(test)]
mod tests;
