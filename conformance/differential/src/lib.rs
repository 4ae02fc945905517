//! Passes random messages through our code and through other libraries: all must read the same values, whichever
//! library wrote them.
//!
//! ```text
//!  entropy ──▶ bytes ──┬─▶ ours: owned, compact, view, copied, dynamic, text ──▶ bytes ─┐
//!                      └─▶ prost, prost-reflect, rust-protobuf ───────────────▶ bytes ─┤
//!                                                                                      ▼
//!                                          decoded by all libraries: equal to the value of the first bytes
//! ```
//!
//! The schema (`protos/`) has every construct that affects the encoding, in proto2, in proto3, and in edition 2023: the
//! same two schemas as editions, and one with constructs that neither syntax has. The other libraries do not read
//! editions, so they use a proto2 or proto3 file with the same encoding. Constructs that a library does not support
//! (groups, extensions, unknown fields) are left out of its input.

#![forbid(unsafe_code)]

pub mod entropy;
pub mod peers;
pub mod ways;

use entropy::{Entropy, Taste};
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use prost_reflect::MessageDescriptor;

/// Code of our generator for the schemas.
pub mod ours {
    include!(concat!(env!("OUT_DIR"), "/ours.rs"));
}

/// The same with compact messages.
pub mod compact {
    include!(concat!(env!("OUT_DIR"), "/compact.rs"));
}

/// The same with messages that borrow.
pub mod views {
    include!(concat!(env!("OUT_DIR"), "/views.rs"));
}

/// prost's code for them.
#[allow(warnings)]
pub mod theirs {
    include!(concat!(env!("OUT_DIR"), "/theirs.rs"));
}

/// The schemas that all libraries read, as a `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// The schemas in edition 2023, as our parser reads them.
pub const EDITIONS: [&[u8]; 3] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/edition2.bin")),
    include_bytes!(concat!(env!("OUT_DIR"), "/edition3.bin")),
    include_bytes!(concat!(env!("OUT_DIR"), "/mixed.bin")),
];

/// Runs `check` on random messages `of`: `DIFFERENTIAL_CASES` of them, or 200.
///
/// # Panics
/// If `check` fails; the message shows the smallest failing input.
pub fn cases(of: &MessageDescriptor, taste: Taste, check: impl Fn(&[u8]) -> Result<(), String>) {
    let cases = std::env::var("DIFFERENTIAL_CASES");
    let cases = cases.map_or(200, |n| n.parse().expect("DIFFERENTIAL_CASES is a number"));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let entropy = proptest::collection::vec(any::<u8>(), 0..600);
    let outcome = TestRunner::new(config).run(&entropy, |entropy| {
        let mut bytes = Vec::new();
        Entropy::new(&entropy, taste).message(of, taste, 0, &mut bytes);
        let failed = |e| TestCaseError::fail(format!("{e}\nof {}\n{taste:?}\n", hex(&bytes)));
        check(&bytes).map_err(failed)
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Two digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
