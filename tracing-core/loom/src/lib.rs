//! Models of the shared-memory protocol, explored by loom: every interleaving, within a bound on
//! preemptions, of the very code that runs over real memory.
//!
//! `cargo test --release --manifest-path tracing-core/loom/Cargo.toml`
//!
//! The modules under test are compiled from `tracing-core/abi/src` with `cfg(loom)` set, which turns
//! their atomics into loom's. So are six small modules of `tracing-sdk/src`.
//!
//! Models of `models` are of one page, which is no more than its words; those of `scraping` have the reader of the
//! service, and writers with all of their chunks; those of `sdk` have threads that record, and sessions that start;
//! those of `spans` have threads that share spans of `tracing`.
#![allow(dead_code, reason = "a few modules of a larger crate")]

// By this name the modules of the SDK know `sync`.
extern crate self as abi;

#[path = "../../abi/src/ids/mod.rs"]
pub mod ids;
#[path = "../../abi/src/sync.rs"]
pub mod sync;

pub mod event;
pub mod shm;

#[path = "../../../tracing-sdk/src/bits.rs"]
mod bits;
#[path = "../../../tracing-sdk/src/layer/handles.rs"]
mod handles;
#[path = "../../../tracing-sdk/src/layer/index.rs"]
mod index;
#[path = "../../../tracing-sdk/src/clock/last_snapshot.rs"]
mod last_snapshot;
#[path = "../../../tracing-sdk/src/site/remembered.rs"]
mod remembered;
#[path = "../../../tracing-sdk/src/data_source/word.rs"]
mod word;

#[cfg(test)]
mod models;
#[cfg(test)]
mod scraping;
#[cfg(test)]
mod sdk;
#[cfg(test)]
mod spans;
