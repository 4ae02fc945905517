//! The runner's schemas, twice: as our generated code, and as the official compiler's descriptors.
//!
//! Nothing of them is committed: `CONFORMANCE_INCLUDE` names the folder that came with the runner.

use protozero_codegen::{Config, Faces, Source, generate};
use std::error::Error;
use std::fmt::Write as _;
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

/// What the dynamic face knows.
const DESCRIBED: &[&str] = &[
    "google/protobuf/test_messages_proto2.proto",
    "google/protobuf/test_messages_proto3.proto",
    "google/protobuf/test_messages_proto2_editions.proto",
    "google/protobuf/test_messages_proto3_editions.proto",
    "google/protobuf/test_messages_edition2023.proto",
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
    for (name, path) in SCHEMAS {
        let sources = vec![source(include, path)?];
        for file in generate(&Config {
            sources,
            faces: Faces { service: false, ..Faces::ALL },
            command: "conformance/testee/build.rs".to_owned(),
            root: format!("crate::schema::{name}"),
            ..Config::default()
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
