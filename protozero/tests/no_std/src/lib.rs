//! Uses everything in protozero that needs neither std nor an allocator. `no_std` runs this, and
//! `no_panic` links it without a way to panic.
//!
//! There is no `alloc` crate: if protozero needed it, the missing global allocator would fail the
//! build.
#![no_std]

pub mod halves;
pub mod read;
pub mod write;

/// Writer and reader of `kinds.proto`; the command that builds this crate generates them.
#[allow(missing_docs, dead_code, unused_imports)]
pub mod schema {
    include!(concat!(env!("PROTOZERO_KINDS"), "/mod.rs"));
}
