//! Builds the runner's schemas: as our generated code, and as descriptors from our parser and the official compiler.
//!
//! They are not committed: `CONFORMANCE_INCLUDE` names the folder that came with the runner.
//! `PROTOC_GEN_PROTOZERO` is our plugin of the official compiler.

use protozero_codegen::{ApiKinds, Source};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Module and file. The files use the same message names, so each has its own module.
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
    let include = setting("CONFORMANCE_INCLUDE")?;
    let plugin = setting("PROTOC_GEN_PROTOZERO")?;
    println!("cargo::rerun-if-changed={plugin}");
    let include = Path::new(&include);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);

    let (mut modules, mut compact, mut views) = (String::new(), String::new(), String::new());
    let mut sources = Vec::new();
    for (name, path) in SCHEMAS {
        let text = std::fs::read_to_string(include.join(path))?;
        sources.push(Source { path: (*path).to_owned(), text });
        modules += &builder::module(include, path, "crate::schema", name)?;
        compact += &builder::module_of("compact", include, path, name, |build| {
            build.api_kinds(ApiKinds { descriptor: true, ..ApiKinds::OWNED }).compact(true)
        })?;
        views += &builder::module_of("views", include, path, name, |build| {
            build.api_kinds(ApiKinds { view: true, ..ApiKinds::default() })
        })?;
    }
    std::fs::write(out.join("schema.rs"), modules)?;
    std::fs::write(out.join("compact.rs"), compact)?;
    std::fs::write(out.join("views.rs"), views)?;

    std::fs::write(out.join("ours.bin"), protozero_codegen::descriptor_set(&sources)?)?;

    official(include, &out, &plugin)
}

/// An environment variable that `cargo xtask conformance` sets.
fn setting(name: &str) -> Result<String, String> {
    println!("cargo::rerun-if-env-changed={name}");
    std::env::var(name).map_err(|_| format!("{name} is not set: use `cargo xtask conformance`"))
}

/// Runs the official compiler on the schemas: its descriptors, and the same code through our plugin.
fn official(include: &Path, out: &Path, plugin: &str) -> Result<(), Box<dyn Error>> {
    let program = protoc_bin_vendored::protoc_bin_path()?;
    let well_known = protoc_bin_vendored::include_path()?;
    let protoc = || {
        let mut protoc = Command::new(&program);
        protoc.arg("-I").arg(include).arg("-I").arg(&well_known);
        protoc
    };
    let mut describe = protoc();
    describe.arg("--include_imports").arg("--descriptor_set_out").arg(out.join("official.bin"));
    run(describe.args(SCHEMAS.iter().map(|schema| schema.1)))?;

    for (name, path) in SCHEMAS {
        let folder = out.join("plugin").join(name);
        std::fs::create_dir_all(&folder)?;
        let mut generate = protoc();
        generate
            .arg(format!("--plugin=protoc-gen-protozero={plugin}"))
            .arg(format!("--protozero_opt=api_kinds=all,flat=.,root=crate::schema::{name}"))
            .arg("--protozero_out")
            .arg(&folder);
        run(generate.arg(path))?;
        builder::same_code(&folder, &out.join(name))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}
