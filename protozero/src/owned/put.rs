//! Encoding a member of a struct, by shape: single, optional, repeated, packed, oneof.

use super::{Implicit, Kind, Oneof, Output, Packable};
use crate::unknown::UnknownFields;

/// Writes a value.
#[inline]
pub fn put<K: Kind>(out: &mut impl Output, number: u32, value: &K::Owned) {
    K::put(out, number, value);
}

/// Writes a value, unless it is the default.
#[inline]
pub fn put_implicit<K: Implicit>(out: &mut impl Output, number: u32, value: &K::Owned) {
    if !K::is_default(value) {
        K::put(out, number, value);
    }
}

/// Writes a value, if there is one.
#[inline]
pub fn put_optional<K: Kind>(out: &mut impl Output, number: u32, value: &Option<K::Owned>) {
    if let Some(value) = value {
        K::put(out, number, value);
    }
}

/// Writes one field per element.
pub fn put_repeated<K: Kind>(out: &mut impl Output, number: u32, values: &[K::Owned]) {
    out.list::<K>(number, values);
}

/// Writes one packed field for all elements; nothing if there are none.
pub fn put_packed<K: Packable>(out: &mut impl Output, number: u32, values: &[K::Owned]) {
    if !values.is_empty() {
        out.packed::<K>(number, values);
    }
}

/// Writes the current member, if there is one.
#[inline]
pub fn put_oneof<O: Oneof>(out: &mut impl Output, value: &Option<O>) {
    if let Some(value) = value {
        value.encode_member(out);
    }
}

/// [`put_oneof`] with an unused number, for the macro.
#[inline]
pub fn put_member<O: Oneof>(out: &mut impl Output, _: u32, value: &Option<O>) {
    put_oneof(out, value);
}

/// Writes the current member, if there is one and its number is in `first..=last`.
#[inline]
pub fn put_within<O: Oneof>(out: &mut impl Output, first: u32, last: u32, value: &Option<O>) {
    if let Some(value) = value
        && (first..=last).contains(&value.number())
    {
        value.encode_member(out);
    }
}

/// Writes the unknown fields unchanged.
#[inline]
pub fn put_unknown(out: &mut impl Output, fields: &UnknownFields) {
    if !fields.is_empty() {
        out.raw(fields.as_bytes());
    }
}
