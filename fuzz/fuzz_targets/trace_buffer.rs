//! The target `trace_buffer`; `fuzz/README.md` says what its input is.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::trace_buffer(input));
