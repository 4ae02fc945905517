//! The schema as everybody wants it: ours generated, prost's generated, and as descriptors.

use protox::prost::Message as _;
use protozero_codegen::{Config, Faces, Source, generate};
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
    ours(&out)
}

fn ours(out: &Path) -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    for file in FILES {
        let name = file.trim_end_matches(".proto");
        let source = std::fs::read_to_string(Path::new("protos").join(file))?;
        for file in generate(&Config {
            sources: vec![Source { path: (*file).to_owned(), text: source }],
            faces: Faces::ALL,
            command: "conformance/differential/build.rs".to_owned(),
            root: format!("crate::ours::{name}"),
            ..Config::default()
        })? {
            let path = out.join(name).join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap_or(out))?;
            std::fs::write(path, file.text)?;
        }
        text += &format!(
            "pub mod {name} {{ include!(concat!(env!(\"OUT_DIR\"), \"/{name}/mod.rs\")); }}\n"
        );
    }
    std::fs::write(out.join("ours.rs"), text)?;
    Ok(())
}
