//! Maps: encoded as repeated messages of a key (1) and a value (2).
//!
//! Entries are written in the order of their keys for every map type, so equal maps have equal
//! bytes. Like the C++ library, the encoder always writes both key and value.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
#[cfg(feature = "std")]
use alloc::vec::Vec;

use super::merge::is_large;
use super::nested::within;
use super::{ENTRY_KEY, ENTRY_VALUE, Kind, Output, Read, from_json};
use crate::decode::{DecodeContext, Field, Reader, Value};
use crate::error::ReadError;

/// A map type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a protobuf map",
    note = "`BTreeMap<K, V>` and, with the feature `std`, `HashMap<K, V>` can"
)]
pub trait Map {
    /// Type of the keys.
    type Key;
    /// Type of the values.
    type Value;

    /// Adds an entry, or replaces the value of an existing key. Returns whether the key is new.
    fn insert(&mut self, key: Self::Key, value: Self::Value) -> bool;

    /// Visits the entries in descending order of keys.
    fn for_each_reversed(&self, visit: impl FnMut(&Self::Key, &Self::Value));

    /// Visits the entries in any order.
    fn for_each(&self, visit: impl FnMut(&Self::Key, &Self::Value)) {
        self.for_each_reversed(visit);
    }
}

impl<K: Ord, V> Map for BTreeMap<K, V> {
    type Key = K;
    type Value = V;

    fn insert(&mut self, key: K, value: V) -> bool {
        BTreeMap::insert(self, key, value).is_none()
    }

    fn for_each_reversed(&self, mut visit: impl FnMut(&K, &V)) {
        for (key, value) in self.iter().rev() {
            visit(key, value);
        }
    }
}

#[cfg(feature = "std")]
impl<K, V, S> Map for std::collections::HashMap<K, V, S>
where
    K: Ord + core::hash::Hash,
    S: core::hash::BuildHasher,
{
    type Key = K;
    type Value = V;

    fn insert(&mut self, key: K, value: V) -> bool {
        std::collections::HashMap::insert(self, key, value).is_none()
    }

    fn for_each_reversed(&self, mut visit: impl FnMut(&K, &V)) {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_unstable_by(|a, b| b.0.cmp(a.0));
        for (key, value) in entries {
            visit(key, value);
        }
    }

    fn for_each(&self, mut visit: impl FnMut(&K, &V)) {
        for (key, value) in self {
            visit(key, value);
        }
    }
}

/// Writes one field per entry.
pub fn put_map<K: Kind, V: Kind>(
    out: &mut impl Output,
    number: u32,
    map: &impl Map<Key = K::Owned, Value = V::Owned>,
) {
    put_entries::<K, V, _, _>(out, number, map);
}

#[inline]
fn put_entries<K: Kind, V: Kind, O: Output, M: Map<Key = K::Owned, Value = V::Owned>>(
    out: &mut O,
    number: u32,
    map: &M,
) {
    if !out.begin_map(number) {
        return;
    }
    let put = |key: &K::Owned, value: &V::Owned| out.entry::<K, V>(number, key, value);
    match O::IN_ORDER {
        true => map.for_each_reversed(put),
        false => map.for_each(put),
    }
    out.end_map(number);
}

/// Reads one entry. The last value of a key counts, within an entry and between entries. If key or
/// value is invalid (not UTF-8, an unknown number of a closed enumeration), the whole entry is
/// unknown. A key or value with another wire type is ignored.
pub fn merge_map<'a, K: Read<'a>, V: Read<'a>>(
    map: &mut impl Map<Key = K::Owned, Value = V::Owned>,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    if is_large::<V::Owned>() {
        merge_large::<K, V>(map, field, context)
    } else {
        merge_small::<K, V>(map, field, context)
    }
}

#[inline]
fn merge_small<'a, K: Read<'a>, V: Read<'a>>(
    map: &mut impl Map<Key = K::Owned, Value = V::Owned>,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    let (mut key, mut value) = (K::Owned::default(), V::Owned::default());
    let understood = merge_entry::<K, V>((&mut key, &mut value), field, context)?;
    if understood && !map.insert(key, value) {
        from_json::refuse_duplicate_key(field)?;
    }
    Ok(understood)
}

/// Decodes the value on the heap: see [`is_large`].
#[inline(never)]
fn merge_large<'a, K: Read<'a>, V: Read<'a>>(
    map: &mut impl Map<Key = K::Owned, Value = V::Owned>,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    let (mut key, mut value) = (K::Owned::default(), boxed::<V::Owned>());
    let understood = merge_entry::<K, V>((&mut key, &mut value), field, context)?;
    if understood && !insert_boxed(map, key, value) {
        from_json::refuse_duplicate_key(field)?;
    }
    Ok(understood)
}

#[inline(never)]
fn boxed<T: Default>() -> Box<T> {
    Box::default()
}

#[inline(never)]
#[expect(clippy::boxed_local, reason = "the value must not lie in the stack frame of the caller")]
fn insert_boxed<M: Map>(map: &mut M, key: M::Key, value: Box<M::Value>) -> bool {
    map.insert(key, *value)
}

/// Decodes one entry into its key and value.
#[inline]
fn merge_entry<'a, K: Read<'a>, V: Read<'a>>(
    (key, value): (&mut K::Owned, &mut V::Owned),
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    let Value::Len(body) = field.value else {
        return from_json::entry::<K, V>((key, value), field, context);
    };
    let context = context.enter().map_err(|kind| kind.at(0))?;
    context.grow(K::FOOTPRINT.saturating_add(V::FOOTPRINT)).map_err(|kind| kind.at(0))?;
    let (mut invalid_key, mut invalid_value) = (false, false);
    let mut reader = Reader::new(body);
    loop {
        let start = reader.position();
        let next = reader.next_field().map_err(|error| within(field, body, error))?;
        let Some(part) = next else { break };
        let at = |error: ReadError| within(field, body, error.kind.at(start + error.offset));
        match part.number {
            ENTRY_KEY if K::merge(key, &part, context).map_err(at)? => invalid_key = false,
            ENTRY_KEY => invalid_key |= K::is_invalid(&part.value),
            ENTRY_VALUE if V::merge(value, &part, context).map_err(at)? => invalid_value = false,
            ENTRY_VALUE => invalid_value |= V::is_invalid(&part.value),
            _ => {}
        }
    }
    Ok(!(invalid_key || invalid_value))
}
