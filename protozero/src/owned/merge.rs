//! Reading a field of a struct, by the way it is held.

use alloc::vec::Vec;

use super::scalar::ReadRun;
use super::{Kind, MergeOneof, Read};
use crate::decode::{DecodeContext, Field};
use crate::error::DecodeError;
use crate::unknown::UnknownFields;

/// Values up to this size cost no more than a fair multiple of their encoding, in bytes.
const FAIR: usize = 64;

/// A message costs memory before it has a single field, charged here.
#[inline]
fn charge<K: Kind>(context: DecodeContext<'_>) -> Result<(), DecodeError> {
    if K::FOOTPRINT > FAIR { context.grow(K::FOOTPRINT).map_err(|kind| kind.at(0)) } else { Ok(()) }
}

/// Reads a field that is always there.
#[inline]
pub fn merge_single<'a, K: Read<'a>>(
    slot: &mut K::Owned,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    K::merge(slot, field, context)
}

/// Reads a field that may be absent.
#[inline]
pub fn merge_optional<'a, K: Read<'a>>(
    slot: &mut Option<K::Owned>,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
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

/// Reads an element that stands alone.
#[inline]
pub fn merge_repeated<'a, K: Read<'a>>(
    slot: &mut Vec<K::Owned>,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    charge::<K>(context)?;
    append(slot);
    let Some(last) = slot.last_mut() else { return Ok(false) };
    let merged = K::merge(last, field, context);
    if merged != Ok(true) {
        // Not `pop`, which would have room for the element here.
        slot.truncate(slot.len().saturating_sub(1));
    }
    merged
}

/// Bytes from which on a value must not lie in the frame of a function that decodes what is in it: a
/// hundred levels of these would be more than the stack of a thread.
const LARGE: usize = 256;

/// Whether values of type `T` are made where they belong, by a call.
pub(super) const fn is_large<T>() -> bool {
    core::mem::size_of::<T>() > LARGE
}

#[inline]
fn append<T: Default>(slot: &mut Vec<T>) {
    if is_large::<T>() { append_large(slot) } else { slot.push(T::default()) }
}

#[inline(never)]
fn append_large<T: Default>(slot: &mut Vec<T>) {
    slot.push(T::default());
}

/// Reads an element or a packed run: both spellings are legal, whichever the schema names.
pub fn merge_packed<K: ReadRun>(
    slot: &mut Vec<K::Owned>,
    field: &Field<'_>,
    _: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    // A run that breaks off leaves nothing of itself behind.
    let before = slot.len();
    K::merge_run(slot, field.value).map_err(|error| {
        slot.truncate(before);
        error.kind.at(0)
    })
}

/// As [`merge_packed`], for enumerations: what is not a value of a closed one goes to `unknown`.
pub fn merge_keeping<K: ReadRun>(
    slot: &mut Vec<K::Owned>,
    unknown: Option<&mut UnknownFields>,
    field: &Field<'_>,
) -> Result<bool, DecodeError> {
    let before = slot.len();
    K::merge_keeping(slot, unknown, field).map_err(|error| {
        slot.truncate(before);
        error.kind.at(0)
    })
}

/// As [`merge_keeping`], for structs that keep what is unknown.
pub fn merge_known<K: ReadRun>(
    slot: &mut Vec<K::Owned>,
    unknown: &mut UnknownFields,
    field: &Field<'_>,
    _: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    merge_keeping::<K>(slot, Some(unknown), field)
}

/// Reads a member of a oneof.
#[inline]
pub fn merge_oneof<'a, O: MergeOneof<'a>>(
    slot: &mut Option<O>,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    O::merge_member(slot, field, context)
}

/// Reads a member of a oneof. `open` finds the value if the slot holds this variant already: a
/// message is merged into it then; any other member is replaced.
pub fn merge_variant<'a, K: Read<'a>, O>(
    slot: &mut Option<O>,
    open: impl FnOnce(&mut O) -> Option<&mut K::Owned>,
    wrap: impl FnOnce(K::Owned) -> O,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
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

/// Keeps a field that was not understood.
#[inline]
pub fn keep(
    understood: Result<bool, DecodeError>,
    unknown: &mut UnknownFields,
    field: &Field<'_>,
) -> Result<(), DecodeError> {
    if !understood? {
        keep_slow(unknown, field.raw);
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn keep_slow(unknown: &mut UnknownFields, raw: &[u8]) {
    unknown.push_encoded(raw);
}

/// Passes over a field that was not understood.
#[inline]
pub fn forget(understood: Result<bool, DecodeError>) -> Result<(), DecodeError> {
    understood.map(drop)
}
