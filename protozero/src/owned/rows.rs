//! The rows of a message's table of names, which errors have: one function for each shape of a field. A row is a
//! constant, and only code after an error names it.

use super::{Holds, Key, Kind, Oneof, Row};
use crate::path::Line;

/// A singular field, or a member of a oneof.
#[must_use]
pub const fn row_single<K: Kind>(number: u32, name: &'static str) -> Row {
    Row::new(number, name, Line::One(K::HOLDS))
}

/// A repeated field.
#[must_use]
pub const fn row_repeated<K: Kind>(number: u32, name: &'static str) -> Row {
    Row::new(number, name, Line::List(K::HOLDS))
}

/// A repeated field of numbers.
#[must_use]
pub const fn row_numbers<K: Kind>(number: u32, name: &'static str) -> Row {
    Row::new(number, name, Line::Numbers)
}

/// A map.
#[must_use]
pub const fn row_map<K: Kind, V: Kind>(number: u32, name: &'static str) -> Row {
    let key = match K::HOLDS {
        Holds::Value(key) => key,
        Holds::Message(_) => Key::Other,
    };
    Row::new(number, name, Line::Map(key, V::HOLDS))
}

/// A oneof.
#[must_use]
pub const fn row_oneof<O: Oneof>() -> Row {
    Row::new(0, "", Line::Oneof(O::ROWS))
}

/// The oneof that `get` returns.
#[must_use]
pub const fn row_oneof_of<M, O: Oneof>(_get: fn(&M) -> &Option<O>) -> Row {
    row_oneof::<O>()
}
