//! Any text as a config, strict and lossy: refused with a place, or read into what decodes again.
#![no_main]
use protos::TraceConfig;
use protozero::Message;
use protozero::text::{Options, parse};

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    for lossy in [false, true] {
        match parse(TraceConfig::DESCRIPTOR, text, &Options { file: "fuzz", lossy }) {
            Ok(wire) => assert!(TraceConfig::decode(&wire).is_ok()),
            Err(errors) => assert!(errors.to_string().lines().count() >= 3),
        }
    }
});
