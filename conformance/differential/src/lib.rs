//! Random messages through our code and through everybody else's: the same values must come out,
//! whoever read and whoever wrote.
//!
//! ```text
//!  entropy ──▶ bytes ──┬─▶ ours: owned, copied, dynamic, text ──▶ bytes ─┐
//!                      └─▶ prost, prost-reflect, rust-protobuf ──▶ bytes ─┤
//!                                                                         ▼
//!                             all of it decoded by everybody: equal to what the first bytes held
//! ```
//!
//! The schema (`protos/`) has every construct that reaches the wire, as proto2, as proto3, and as
//! edition 2023: both of the former once more, and one with what neither of them can say. Nobody but
//! us reads editions, so the others go by a proto2 or proto3 file of the same wire format.
//! What a peer does not know (groups, extensions, unknown fields) is left out of what it gets.

#![forbid(unsafe_code)]

pub mod entropy;
pub mod peers;
pub mod ways;

use entropy::{Entropy, Taste};
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use prost_reflect::MessageDescriptor;

/// What our generator makes of the schemas.
pub mod ours {
    include!(concat!(env!("OUT_DIR"), "/ours.rs"));
}

/// What prost makes of them.
#[allow(warnings)]
pub mod theirs {
    include!(concat!(env!("OUT_DIR"), "/theirs.rs"));
}

/// The schemas that everybody reads as a `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Those of edition 2023, by our own parser.
pub const EDITIONS: [&[u8]; 3] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/edition2.bin")),
    include_bytes!(concat!(env!("OUT_DIR"), "/edition3.bin")),
    include_bytes!(concat!(env!("OUT_DIR"), "/mixed.bin")),
];

/// Runs `check` on random messages `of`: `DIFFERENTIAL_CASES` of them, or 200.
///
/// # Panics
/// With the smallest message for which `check` fails.
pub fn cases(of: &MessageDescriptor, taste: Taste, check: impl Fn(&[u8]) -> Result<(), String>) {
    let cases = std::env::var("DIFFERENTIAL_CASES");
    let cases = cases.map_or(200, |n| n.parse().expect("DIFFERENTIAL_CASES is a number"));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let entropy = proptest::collection::vec(any::<u8>(), 0..600);
    let outcome = TestRunner::new(config).run(&entropy, |entropy| {
        let mut bytes = Vec::new();
        Entropy::new(&entropy, taste).message(of, taste, 0, &mut bytes);
        let say = |e| TestCaseError::fail(format!("{e}\nof {}\n{taste:?}\n", hex(&bytes)));
        check(&bytes).map_err(say)
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Two digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
