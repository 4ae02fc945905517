//! Counts the memory of a message while it is decoded or parsed from text.
//!
//! ```text
//!  a message                  its struct, and a node of the map for its first field
//!  an element                 the growth of its list
//!  an entry                   one node of the map for five entries
//!  text, bytes, unknown        their length
//! ```
//!
//! Not counted: rounding in the allocator, and the old memory of a list while it grows. Together
//! these are less than the counted bytes.

use core::mem::size_of;

use super::DynamicMessage;
use super::value::Value;
use crate::decode::DecodeContext;
use crate::error::{DecodeErrorKind, ReadError};
use crate::unknown::UnknownFields;

/// Approximate maximum memory of a message from [`DynamicMessage::decode`]: 512 MiB.
///
/// An encoded message can be a few hundred times smaller than in memory (an empty one takes two
/// bytes), so its size is not a useful limit. Typical messages grow 10 to 50 times.
pub const MEMORY_MAX: usize = if cfg!(test) { 16 << 20 } else { 512 << 20 };

/// Maximum entries of a `BTreeMap` node, and the minimum if there are several nodes.
const NODE: (usize, usize) = (11, 5);

/// Subtracts `bytes` from the budget.
pub(super) fn charge(context: DecodeContext<'_>, bytes: usize) -> Result<(), ReadError> {
    context.grow(bytes).map_err(|_| DecodeErrorKind::TooLarge.at(0))
}

/// The budget for one level below.
pub(super) fn enter(context: DecodeContext<'_>) -> Result<DecodeContext<'_>, ReadError> {
    context.enter().map_err(|kind| kind.at(0))
}

/// Maximum growth of a map of `len` entries for one more.
pub(crate) const fn entry<K>(len: usize) -> usize {
    let node = NODE.0 * (size_of::<K>() + size_of::<Value>());
    // One fourth more for the inner nodes.
    if len.is_multiple_of(NODE.1) { node + node / 4 } else { 0 }
}

/// Growth of a list of `len` elements for one more; 0 if it is not full.
pub(crate) const fn element(len: usize) -> usize {
    (if len < 4 { 4 } else { len }) * size_of::<Value>()
}

/// A boxed message, and the list of its unknown fields.
pub(crate) const MESSAGE: usize = size_of::<DynamicMessage>() + UnknownFields::KEPT;
