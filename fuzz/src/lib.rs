//! What the fuzz targets do with an input. No target wants more than bytes, so `cargo test` replays
//! `regressions/` through the same functions (`xtask/src/fuzz/tests.rs`, which includes this file).

mod schema;
mod sink;
mod toolkit;
mod tracing;
mod writer;

pub use schema::{descriptor_set, schema_text};
pub use toolkit::{derived, frames, generated, reader, rewriter, scattered, text_format};
pub use tracing::{commit_data, ipc_frames, text_config, trace_buffer};
pub use writer::writer;

/// A target: the name of its file in `fuzz_targets`, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("commit_data", commit_data),
    ("derived", derived),
    ("descriptor_set", descriptor_set),
    ("frames", frames),
    ("generated", generated),
    ("ipc_frames", ipc_frames),
    ("reader", reader),
    ("rewriter", rewriter),
    ("scattered", scattered),
    ("schema_text", schema_text),
    ("text_config", text_config),
    ("text_format", text_format),
    ("trace_buffer", trace_buffer),
    ("writer", writer),
];
