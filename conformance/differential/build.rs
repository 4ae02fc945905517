//! Builds the schema for all libraries: our code, prost's code, and descriptors.

use prost_types::FileDescriptorProto;
use prost_types::field_descriptor_proto::Type;
use protox::prost::Message as _;
use protozero_codegen::{ApiKinds, Source, descriptor_set};
use std::error::Error;
use std::path::{Path, PathBuf};

/// The schemas that all libraries read.
const FILES: &[&str] = &["sink2.proto", "sink3.proto"];

/// The schemas in edition 2023, and the files of the same encoding that the other libraries use.
const EDITIONS: &[&str] = &["edition2.proto", "edition3.proto", "mixed.proto"];
const MIXED: &str = "mixed2.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=protos");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut set = protox::compile([FILES, &[MIXED]].concat(), ["protos"])?;
    set.file.iter_mut().filter(|file| file.name() == MIXED).for_each(put_between_tags);
    std::fs::write(out.join("descriptors.bin"), set.encode_to_vec())?;
    prost_build::Config::new()
        .btree_map(["."])
        .out_dir(&out)
        .include_file("theirs.rs")
        .compile_fds(set)?;
    let (mut ours, mut compact, mut views) = (String::new(), String::new(), String::new());
    for file in [FILES, EDITIONS].concat() {
        let (include, name) = (Path::new("protos"), file.trim_end_matches(".proto"));
        ours += &builder::module(include, file, "crate::ours", name)?;
        compact +=
            &builder::module_of("compact", include, file, name, |build| build.compact(true))?;
        views += &builder::module_of("views", include, file, name, |build| {
            build.api_kinds(ApiKinds { view: true, ..ApiKinds::default() })
        })?;
    }
    std::fs::write(out.join("compact.rs"), compact)?;
    std::fs::write(out.join("views.rs"), views)?;
    for file in EDITIONS {
        let text = std::fs::read_to_string(Path::new("protos").join(file))?;
        let set = descriptor_set(&[Source { path: (*file).to_owned(), text }])?;
        std::fs::write(out.join(file).with_extension("bin"), set)?;
    }
    Ok(std::fs::write(out.join("ours.rs"), ours)?)
}

/// Turns fields with these message types into groups, which proto2's syntax cannot express.
fn put_between_tags(file: &mut FileDescriptorProto) {
    let messages = file.message_type.iter_mut().flat_map(|message| &mut message.field);
    for field in messages.chain(&mut file.extension) {
        if field.name().starts_with("between_") {
            field.set_type(Type::Group);
        }
    }
}
