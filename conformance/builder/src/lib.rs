//! For build scripts: a schema as a module of generated code, and code that copies its messages from
//! reader to writer.
#![forbid(unsafe_code)]

mod copier;

use protozero_codegen::{Build, Faces};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Compiles `proto`, found below `include`, into `OUT_DIR/name` and returns the text of a module
/// `name` at the path `root`. In it is a module `copy`: for each message `X` a function
/// `copy_X(XReader, &mut XWriter)`.
///
/// # Errors
/// The schema is wrong, or a file cannot be written.
pub fn module(
    include: &Path,
    proto: &str,
    root: &str,
    name: &str,
) -> Result<String, Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join(name);
    Build::new()
        .faces(Faces::ALL)
        .config(|config| config.root = format!("{root}::{name}"))
        .out_dir(&out)
        .compile(&[proto], &[include])?;
    let copy = out.join("copy.rs");
    let mut texts = Vec::new();
    read(&out, &mut texts)?;
    std::fs::write(copy, copier::copiers(&texts))?;
    let include = |file: &str| format!("include!(concat!(env!(\"OUT_DIR\"), \"/{name}/{file}\"));");
    let lines = [
        format!("pub mod {name} {{"),
        include("mod.rs"),
        // Nobody copies every message.
        "#[allow(dead_code, non_snake_case)]".to_owned(),
        "pub mod copy {".to_owned(),
        include("copy.rs"),
        "}\n}\n".to_owned(),
    ];
    Ok(lines.join("\n"))
}

/// The generated files below `folder`; not the module tree, and not what we made of them before.
fn read(folder: &Path, texts: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read(&path, texts)?;
        } else if !path.ends_with("copy.rs") {
            texts.push(std::fs::read_to_string(&path)?);
        }
    }
    Ok(())
}
