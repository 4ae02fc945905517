//! What the fuzz targets do with an input. A target only needs bytes, so `cargo test` replays
//! `regressions/` through the same functions (`xtask/src/fuzz/tests.rs`, which includes this file).

mod codecs;
mod file;
mod filter;
mod ftrace;
mod schema;
mod sink;
mod toolkit;
mod tracing;
mod writer;

pub use codecs::codecs;
pub use file::lint_and_read;
pub use filter::{filter_program, string_rules};
pub use ftrace::ftrace_pages;
pub use schema::{descriptor_set, schema_text};
pub use toolkit::{derived, frames, generated, json, reader, rewriter, scattered, text_format};
pub use tracing::{
    addresses, commit_data, conversation, ipc_frames, replies, requests, text_config, trace_buffer,
    validator,
};
pub use writer::writer;

/// A target: the name of its file in `fuzz_targets`, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("addresses", addresses),
    ("codecs", codecs),
    ("commit_data", commit_data),
    ("conversation", conversation),
    ("derived", derived),
    ("descriptor_set", descriptor_set),
    ("filter_program", filter_program),
    ("frames", frames),
    ("ftrace_pages", ftrace_pages),
    ("generated", generated),
    ("ipc_frames", ipc_frames),
    ("json", json),
    ("lint_and_read", lint_and_read),
    ("reader", reader),
    ("replies", replies),
    ("requests", requests),
    ("rewriter", rewriter),
    ("scattered", scattered),
    ("schema_text", schema_text),
    ("string_rules", string_rules),
    ("text_config", text_config),
    ("text_format", text_format),
    ("trace_buffer", trace_buffer),
    ("validator", validator),
    ("writer", writer),
];
