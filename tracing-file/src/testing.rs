//! Traces of tests.

use protozero::text::{Options, parse};

/// The bytes of a trace in the text format.
#[track_caller]
pub(crate) fn trace_bytes(text: &str) -> Vec<u8> {
    parse(protos::Trace::DESCRIPTOR, text.as_bytes(), &Options::default()).unwrap()
}
