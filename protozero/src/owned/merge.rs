//! Decoding into a member of a struct, by shape: single, optional, repeated, packed, oneof.

use alloc::vec::Vec;

use super::scalar::ReadPacked;
use super::{Holds, Kind, MergeOneof, Read};
use crate::decode::{DecodeContext, Field};
use crate::error::{DecodeErrorKind, ReadError};
use crate::unknown::UnknownFields;

/// Numbers need no charge: their size is in proportion to their encoding.
const UNCHARGED_BYTES_MAX: usize = 8;

/// Charges the memory of a value, which it takes even without fields.
#[inline]
fn charge<K: Kind>(context: DecodeContext<'_>) -> Result<(), ReadError> {
    if const { matches!(K::HOLDS, Holds::Message(_)) } {
        charge_message(K::FOOTPRINT, context)
    } else {
        charge_bytes(K::FOOTPRINT, context)
    }
}

/// Charges the struct of a message, of so many bytes.
#[inline]
pub(super) fn charge_message(bytes: usize, context: DecodeContext<'_>) -> Result<(), ReadError> {
    context.grow(bytes).map_err(|kind| kind.at(0))
}

/// Charges a value of so many bytes.
#[inline]
pub(super) fn charge_bytes(bytes: usize, context: DecodeContext<'_>) -> Result<(), ReadError> {
    if bytes > UNCHARGED_BYTES_MAX { charge_message(bytes, context) } else { Ok(()) }
}

/// Decodes into a member that always has a value.
#[inline]
pub fn merge_single<'a, K: Read<'a>>(
    slot: &mut K::Owned,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    K::merge(slot, field, context)
}

/// Decodes into an optional member.
#[inline]
pub fn merge_optional<'a, K: Read<'a>>(
    slot: &mut Option<K::Owned>,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    if let Some(old) = slot {
        return K::merge(old, field, context);
    }
    charge::<K>(context)?;
    let merged = K::merge(slot.insert(K::Owned::default()), field, context);
    if merged != Ok(true) {
        *slot = None;
    }
    merged
}

/// Decodes an unpacked element.
#[inline]
pub fn merge_repeated<'a, K: Read<'a>>(
    slot: &mut Vec<K::Owned>,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    charge::<K>(context)?;
    append(slot);
    let Some(last) = slot.last_mut() else { return Ok(false) };
    let merged = K::merge(last, field, context);
    if merged != Ok(true) {
        // `pop` would move the element through the stack.
        slot.truncate(slot.len().saturating_sub(1));
    }
    merged
}

/// Values above this size must not lie in the stack frame of a function that decodes their content:
/// a hundred levels would exceed the stack of a thread.
const ON_STACK_BYTES_MAX: usize = 256;

/// Whether values of type `T` must be created in place, in a function of its own.
pub(super) const fn is_large<T>() -> bool {
    core::mem::size_of::<T>() > ON_STACK_BYTES_MAX
}

/// Lists of at most so many bytes grow by a new allocation and a copy. glibc's `realloc` takes no block from the cache
/// of its thread, and for a kilobyte it first merges all free blocks.
const SHORT_LIST_BYTES_MAX: usize = 512;

#[inline(never)]
fn grow<T>(slot: &mut Vec<T>) {
    let mut longer = Vec::with_capacity(2 * slot.len());
    longer.append(slot);
    *slot = longer;
}

#[inline]
fn append<T: Default>(slot: &mut Vec<T>) {
    let len = slot.len();
    if len == slot.capacity() && len != 0 && len * size_of::<T>() <= SHORT_LIST_BYTES_MAX {
        grow(slot);
    }
    if is_large::<T>() { append_large(slot) } else { slot.push(T::default()) }
}

#[inline(never)]
fn append_large<T: Default>(slot: &mut Vec<T>) {
    slot.push(T::default());
}

/// Decodes an element or a packed field. Both encodings are legal, independent of the schema.
pub fn merge_packed<K: ReadPacked>(
    slot: &mut Vec<K::Owned>,
    field: &Field<'_>,
    _: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    // An error removes the elements of this field.
    let before = slot.len();
    K::merge_elements(slot, field.value).map_err(|error| {
        slot.truncate(before);
        error.kind.at(0)
    })
}

/// [`merge_packed`] for enumerations: invalid numbers of a closed one go to `unknown`.
pub fn merge_keeping_unknown<K: ReadPacked>(
    slot: &mut Vec<K::Owned>,
    unknown: Option<&mut UnknownFields>,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    let before = slot.len();
    K::merge_keeping_unknown(slot, unknown, field, context).map_err(|error| {
        slot.truncate(before);
        error.kind.at(0)
    })
}

/// [`merge_keeping_unknown`] for structs with unknown fields.
pub fn merge_known<K: ReadPacked>(
    slot: &mut Vec<K::Owned>,
    unknown: &mut UnknownFields,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    merge_keeping_unknown::<K>(slot, Some(unknown), field, context)
}

/// [`merge_keeping_unknown`] for structs without unknown fields.
pub fn merge_dropping<K: ReadPacked>(
    slot: &mut Vec<K::Owned>,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    merge_keeping_unknown::<K>(slot, None, field, context)
}

/// Decodes a member of a oneof.
#[inline]
pub fn merge_oneof<'a, O: MergeOneof<'a>>(
    slot: &mut Option<O>,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    O::merge_member(slot, field, context)
}

/// Decodes a member of a oneof. `open` returns the value if `slot` holds this variant already. A
/// message is merged into it; another value is replaced.
pub fn merge_variant<'a, K: Read<'a>, O>(
    slot: &mut Option<O>,
    open: impl FnOnce(&mut O) -> Option<&mut K::Owned>,
    wrap: impl FnOnce(K::Owned) -> O,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    if let Some(old) = slot.as_mut().and_then(open) {
        return K::merge(old, field, context);
    }
    charge::<K>(context)?;
    let mut new = K::Owned::default();
    let understood = K::merge(&mut new, field, context)?;
    if understood {
        *slot = Some(wrap(new));
    }
    Ok(understood)
}

/// Keeps `field` if it was not understood.
#[inline]
pub fn keep_unknown(
    understood: Result<bool, ReadError>,
    unknown: &mut UnknownFields,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Result<(), ReadError> {
    if !understood? {
        return keep_unknown_slow(unknown, field.raw, context);
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn keep_unknown_slow(
    unknown: &mut UnknownFields,
    raw: &[u8],
    context: DecodeContext<'_>,
) -> Result<(), ReadError> {
    // A field that was parsed from JSON has no bytes that could be kept.
    if raw.is_empty() {
        return Err(DecodeErrorKind::WireTypeMismatch.at(0));
    }
    // The content is as long as in the input, as that of a known field.
    context.grow(unknown.growth()).map_err(|kind| kind.at(0))?;
    unknown.push_encoded(raw);
    Ok(())
}

/// Drops a field that was not understood.
#[inline]
pub fn drop_unknown(understood: Result<bool, ReadError>) -> Result<(), ReadError> {
    understood.map(drop)
}
