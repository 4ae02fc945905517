//! The runner's schemas: as our generated code, and as descriptors, ours and the official compiler's.
//!
//! Nothing of them is committed: `CONFORMANCE_INCLUDE` names the folder that came with the runner.

use protozero_codegen::Source;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Module and file. The files share names of messages, so that each becomes a module of its own.
const SCHEMAS: &[(&str, &str)] = &[
    ("conformance", "conformance/conformance.proto"),
    ("proto2", "google/protobuf/test_messages_proto2.proto"),
    ("proto3", "google/protobuf/test_messages_proto3.proto"),
    ("editions_proto2", "google/protobuf/test_messages_proto2_editions.proto"),
    ("editions_proto3", "google/protobuf/test_messages_proto3_editions.proto"),
    ("edition_2023", "google/protobuf/test_messages_edition2023.proto"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CONFORMANCE_INCLUDE");
    let include = std::env::var("CONFORMANCE_INCLUDE")
        .map_err(|_| "CONFORMANCE_INCLUDE is not set; start this by `cargo xtask conformance`")?;
    let include = Path::new(&include);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let official = protoc_bin_vendored::include_path()?;

    let mut modules = String::new();
    let mut sources = Vec::new();
    for (name, path) in SCHEMAS {
        let text = std::fs::read_to_string(include.join(path))?;
        sources.push(Source { path: (*path).to_owned(), text });
        modules += &builder::module(include, path, "crate::schema", name)?;
    }
    std::fs::write(out.join("schema.rs"), modules)?;

    std::fs::write(out.join("ours.bin"), protozero_codegen::descriptor_set(&sources)?)?;

    let mut protoc = Command::new(protoc_bin_vendored::protoc_bin_path()?);
    protoc.arg("-I").arg(include).arg("-I").arg(&official).arg("--include_imports");
    protoc.arg("--descriptor_set_out").arg(out.join("official.bin"));
    protoc.args(SCHEMAS.iter().map(|schema| schema.1));
    let status = protoc.status()?;
    if status.success() { Ok(()) } else { Err(format!("protoc: {status}").into()) }
}
