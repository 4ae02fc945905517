//! A schema on top of another crate's.

#![deny(warnings)]
#![forbid(unsafe_code)]

use outside::protozero;

/// The schema.
pub mod schema {
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}

/// Derived, without a dependency on protozero.
#[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
#[pb(crate = outside::protozero, skip_unknown)]
pub struct Trade {
    #[pb(int64, 1)]
    price: i64,
    #[pb(oneof, 3, 4)]
    paid: Option<Paid>,
    #[pb(enumeration, 2)]
    kind: Kind,
}

/// How it was paid.
#[derive(protozero::Oneof, Clone, Debug, PartialEq)]
#[pb(crate = outside::protozero)]
pub enum Paid {
    #[pb(bool, 3)]
    Cash(bool),
    #[pb(uint64, 4)]
    Card(u64),
}

/// What it is.
#[derive(protozero::Enumeration, Clone, Copy, Debug, Default, PartialEq)]
#[pb(crate = outside::protozero, name = "trade.Kind")]
pub enum Kind {
    #[default]
    None = 0,
    Limit = 1,
}

#[cfg(test)]
mod tests;
