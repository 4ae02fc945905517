//! One file per library. Those that build values first share [`objects`].

#[macro_use]
mod objects;
mod buffa;
mod cpp;
mod floor;
mod micropb;
mod ours;
mod prost;
mod quick_protobuf;
mod rust_protobuf;
mod sdk;
mod upb;

pub use floor::remember;

use crate::contender::Contender;

/// All libraries, including [`REFERENCE`] and [`US`].
pub fn all() -> Vec<Contender> {
    let mut all = vec![
        Contender::new(US, Some(ours::writer::ENCODE), Some(ours::reader::DECODE)),
        Contender::new(
            "protozero (Rust), owned",
            Some(ours::owned::ENCODE),
            Some(ours::owned::DECODE),
        ),
        Contender::new(
            "protozero (Rust), owned, unknown fields dropped",
            Some(ours::dropping::ENCODE),
            Some(ours::dropping::DECODE),
        ),
        Contender::new(
            "protozero (Rust), views",
            Some(ours::view::ENCODE),
            Some(ours::view::DECODE),
        ),
    ];
    all.extend(cpp::contenders());
    all.extend([
        Contender::new("perfetto-sdk 1.2.1", Some(sdk::ENCODE), Some(sdk::DECODE)),
        Contender::new("prost 0.14", Some(prost::ENCODE), Some(prost::DECODE)),
        Contender::new("buffa 0.9.2", Some(buffa::ENCODE), Some(buffa::DECODE)),
        Contender::new("buffa 0.9.2, views", None, Some(buffa::view::DECODE)),
        Contender::new(
            "quick-protobuf 0.8.1",
            Some(quick_protobuf::ENCODE),
            Some(quick_protobuf::DECODE),
        ),
        Contender::new("micropb 0.7.0", Some(micropb::ENCODE), Some(micropb::DECODE)),
        Contender::new(
            "rust-protobuf 3.7.2",
            Some(rust_protobuf::ENCODE),
            Some(rust_protobuf::DECODE),
        ),
        Contender::new("protobuf 4.36 (upb)", Some(upb::ENCODE), Some(upb::DECODE)),
        Contender::new(FLOOR, Some(floor::ENCODE), Some(floor::DECODE)),
    ]);
    all
}

/// Our library.
pub const US: &str = "protozero (Rust)";
/// The library that ratios refer to.
pub const REFERENCE: &str = "protozero (C++), reused root";
/// The bytes and sums of all others must agree with those of this library.
pub const JUDGE: &str = "prost 0.14";
/// No protobuf: a copy of the finished bytes, a pass over them.
pub const FLOOR: &str = "memcpy / scan";
