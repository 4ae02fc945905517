//! One schema, all ways to use it: the project that docs/protozero.md builds.

pub mod schema {
    #![allow(missing_docs, reason = "the schema has no comments")]
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}

/// Compiles and runs the examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/protozero.md")]
mod guide {}
