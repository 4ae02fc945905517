//! Chunks, patches and reads in any order, with any claim in them: the buffer and its slow twin agree.
#![no_main]

libfuzzer_sys::fuzz_target!(|choices: &[u8]| tracing_core::buffer::testing::play(choices));
