//! What a decoded message takes in memory, counted as it is asked for.
//!
//! ```text
//!  a message                  its struct, and with the first field a node of the map of its fields
//!  an element                 what its list grows by
//!  an entry                   a node of the map for every five of them
//!  text, bytes, the unknown   their length
//! ```
//!
//! What the allocator rounds up, and the old room of a list while it moves, are not counted: both
//! together are less than what is.

use core::mem::size_of;

use super::DynamicMessage;
use super::value::Value;
use crate::decode::DecodeContext;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::unknown::UnknownFields;

/// Bytes of memory a message may take that [`DynamicMessage::decode`] makes, about: 512 MiB.
///
/// A message on the wire can be a few hundred times smaller than in memory (an empty one takes two
/// bytes, and a field of one value two more), so its size says little. Honest ones grow 10 to 50 times.
pub const MEMORY_MAX: usize = if cfg!(test) { 16 << 20 } else { 512 << 20 };

/// Entries of a node of a map (`BTreeMap`): most, and fewest of one among several.
const NODE: (usize, usize) = (11, 5);

/// Takes `bytes` from the budget.
pub(super) fn charge(context: DecodeContext<'_>, bytes: usize) -> Result<(), DecodeError> {
    context.grow(bytes).map_err(|_| DecodeErrorKind::TooLarge.at(0))
}

/// The budget one level further down.
pub(super) fn enter(context: DecodeContext<'_>) -> Result<DecodeContext<'_>, DecodeError> {
    context.enter().map_err(|kind| kind.at(0))
}

/// What a map of `len` entries may grow by when it gets another.
pub(super) const fn entry<K>(len: usize) -> usize {
    let node = NODE.0 * (size_of::<K>() + size_of::<Value>());
    // A fourth for the nodes above.
    if len.is_multiple_of(NODE.1) { node + node / 4 } else { 0 }
}

/// What a full list of `len` elements grows by when it gets another.
pub(super) const fn element(len: usize) -> usize {
    (if len < 4 { 4 } else { len }) * size_of::<Value>()
}

/// A message in a box, and what it has as soon as anything in it is unknown.
pub(super) const MESSAGE: usize = size_of::<DynamicMessage>() + UnknownFields::KEPT;
