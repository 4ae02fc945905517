//! Any `CommitDataRequest` over any contents of shared memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| tracing_core::testing::commit_data(input));
