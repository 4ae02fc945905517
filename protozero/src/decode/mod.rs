//! Reading: one pass over borrowed bytes. Never recurses, allocates or panics.
//!
//! | you have | you read it with |
//! |---|---|
//! | bytes, no schema | [`Reader`]: fields one by one |
//! | bytes and a generated reader | `for field in reader`; `reader.name()?`; `reader.table()?`, a struct |
//! | several slices that are one message | [`ScatteredReader`]: nothing is glued; a cut field comes as [`Pieces`] |
//! | a stream of messages | `FrameReader`: the messages, lent from the block they came in (needs `alloc`) |
//! | a message nobody vouches for, to build something of | [`Limits`]: depth, fields and bytes of the whole walk |
//!
//! A nested message is a byte slice that another reader may walk. Generated readers sit on the same
//! functions and match on whole tags. A packed run and elements that stand alone read alike, and so do
//! a group and a message with a length. A field that the schema does not know, or has with another
//! wire type, is an unknown one: it is there, verbatim, to be written out again. Readers do not
//! merge: of a singular field the last one counts, and an enum's number that has no name is a
//! value like any other.
//!
//! What is not protobuf ends the walk with a [`DecodeError`](crate::DecodeError), which names the
//! offset of the field; so ends a message that stops in the middle of a field. There are no more fields
//! after it, except where a string was not UTF-8.

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
