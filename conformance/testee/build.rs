//! The runner's schemas, twice: as our generated code, and as the official compiler's descriptors.
//!
//! Nothing of them is committed: `CONFORMANCE_INCLUDE` names the folder that came with the runner.

use protozero_codegen::{Config, Faces, Source, generate};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Module, file, and whether it needs the well-known types. The files share names of messages, so
/// that each becomes a module of its own.
const SCHEMAS: &[(&str, &str, bool)] = &[
    ("conformance", "conformance/conformance.proto", false),
    ("proto3", "google/protobuf/test_messages_proto3.proto", true),
];

/// What the dynamic face knows.
const DESCRIBED: &[&str] = &[
    "google/protobuf/test_messages_proto2.proto",
    "google/protobuf/test_messages_proto3.proto",
    "google/protobuf/test_messages_proto2_editions.proto",
    "google/protobuf/test_messages_proto3_editions.proto",
    "google/protobuf/test_messages_edition2023.proto",
];

const WELL_KNOWN: &[&str] = &["any", "duration", "field_mask", "struct", "timestamp", "wrappers"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CONFORMANCE_INCLUDE");
    let include = std::env::var("CONFORMANCE_INCLUDE")
        .map_err(|_| "CONFORMANCE_INCLUDE is not set; start this by `cargo xtask conformance`")?;
    let include = Path::new(&include);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let official = protoc_bin_vendored::include_path()?;

    let mut modules = String::new();
    for (name, path, needs_well_known) in SCHEMAS {
        let mut sources = vec![source(include, path)?];
        if *needs_well_known {
            for file in WELL_KNOWN {
                sources.push(source(&official, &format!("google/protobuf/{file}.proto"))?);
            }
        }
        for file in generate(&Config {
            sources,
            faces: Faces { service: false, ..Faces::ALL },
            command: "conformance/testee/build.rs".to_owned(),
            source_prefix: String::new(),
            root: format!("crate::schema::{name}"),
            text_feature: None,
        })? {
            let path = out.join(name).join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap_or(&out))?;
            std::fs::write(path, file.text)?;
        }
        writeln!(
            modules,
            "pub mod {name} {{ include!(concat!(env!(\"OUT_DIR\"), \"/{name}/mod.rs\")); }}"
        )?;
    }
    std::fs::write(out.join("schema.rs"), modules)?;

    let mut protoc = Command::new(protoc_bin_vendored::protoc_bin_path()?);
    protoc.arg("-I").arg(include).arg("-I").arg(&official).arg("--include_imports");
    protoc.arg("--descriptor_set_out").arg(out.join("descriptors.bin")).args(DESCRIBED);
    let status = protoc.status()?;
    if status.success() { Ok(()) } else { Err(format!("protoc: {status}").into()) }
}

fn source(folder: &Path, path: &str) -> Result<Source, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.join(path).display());
    let text = std::fs::read_to_string(folder.join(path)).map_err(|e| format!("{path}: {e}"))?;
    Ok(Source { path: path.to_owned(), text })
}
