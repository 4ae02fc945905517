//! The sources of the test cases.

use std::fs;
use std::path::{Path, PathBuf};

use protozero_codegen::Source;

pub(crate) fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

/// The sources of all cases, imported files first.
pub(crate) fn sources() -> Vec<Source> {
    let paths = [
        "scalars.proto",
        "nesting.proto",
        "proto3.proto",
        "order.proto",
        "extensions.proto",
        "deep/service.proto",
    ];
    paths
        .map(|path| Source {
            path: path.into(),
            text: fs::read_to_string(here("cases").join(path)).unwrap(),
        })
        .into()
}
