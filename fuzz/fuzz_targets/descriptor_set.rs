//! The target `descriptor_set`; `fuzz/README.md` says what its input is.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::descriptor_set(input));
