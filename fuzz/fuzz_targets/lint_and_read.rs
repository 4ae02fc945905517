//! The target `lint_and_read`; `fuzz/README.md` says what its input is.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::lint_and_read(input));
