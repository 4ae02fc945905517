//! The schema as everybody wants it: ours generated, prost's generated, and as descriptors.

use protox::prost::Message as _;
use std::error::Error;
use std::path::{Path, PathBuf};

const FILES: &[&str] = &["sink2.proto", "sink3.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=protos");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let set = protox::compile(FILES, ["protos"])?;
    std::fs::write(out.join("descriptors.bin"), set.encode_to_vec())?;
    prost_build::Config::new()
        .btree_map(["."])
        .out_dir(&out)
        .include_file("theirs.rs")
        .compile_fds(set)?;
    let mut ours = String::new();
    for file in FILES {
        let name = file.trim_end_matches(".proto");
        ours += &builder::module(Path::new("protos"), file, "crate::ours", name)?;
    }
    Ok(std::fs::write(out.join("ours.rs"), ours)?)
}
