//! For build scripts: generates code for a schema, and functions that copy its messages from reader to writer.
#![forbid(unsafe_code)]

mod copier;

use protozero_codegen::{ApiKinds, Build};
use std::error::Error;
use std::path::{Path, PathBuf};

/// The generated files of the well-known types, which schemas share.
const WELL_KNOWN: &str = "../../protozero-types/src/gen";

/// Compiles `proto`, found below `include`, into `OUT_DIR/name` and returns the text of a module
/// `name` at the path `root`. In it is a module `copy`: for each message `X` a function
/// `copy_X(XReader, &mut XWriter)`; also for the well-known types, if the schema uses them.
///
/// # Errors
/// The schema is invalid, or a file cannot be written.
pub fn module(
    include: &Path,
    proto: &str,
    root: &str,
    name: &str,
) -> Result<String, Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join(name);
    Build::new()
        .api_kinds(ApiKinds::ALL)
        .config(|config| {
            config.root = format!("{root}::{name}");
            config.flat = vec![".".into()];
        })
        .out_dir(&out)
        .compile(&[proto], &[include])?;
    let copy = out.join("copy.rs");
    let mut texts = Vec::new();
    read(&out, &mut texts)?;
    let mut text = String::new();
    if texts.iter().any(|text| text.contains("protozero_types::")) {
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(WELL_KNOWN), &mut texts)?;
        text += "use protozero_types::google::protobuf::*;\n";
    }
    std::fs::write(copy, text + &copier::copiers(&texts))?;
    let include = |file: &str| format!("include!(concat!(env!(\"OUT_DIR\"), \"/{name}/{file}\"));");
    let lines = [
        format!("pub mod {name} {{"),
        include("mod.rs"),
        // Not every copy function is used.
        "#[allow(dead_code, non_snake_case)]".to_owned(),
        "pub mod copy {".to_owned(),
        include("copy.rs"),
        "}\n}\n".to_owned(),
    ];
    Ok(lines.join("\n"))
}

/// Compiles `proto`, found below `include`, with these `options` into `OUT_DIR/set/name`, and returns the text of a
/// module `name` of the module `set` of the crate.
///
/// # Errors
/// The schema is invalid, or a file cannot be written.
pub fn module_of(
    set: &str,
    include: &Path,
    proto: &str,
    name: &str,
    options: impl FnOnce(Build) -> Build,
) -> Result<String, Box<dyn Error>> {
    let build = Build::new().config(|config| {
        config.root = format!("crate::{set}::{name}");
        config.flat = vec![".".into()];
    });
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join(set).join(name);
    options(build).out_dir(out).compile(&[proto], &[include])?;
    let file = format!("include!(concat!(env!(\"OUT_DIR\"), \"/{set}/{name}/mod.rs\"));");
    Ok(format!("pub mod {name} {{\n{file}\n}}\n"))
}

/// Checks that the files below both folders contain the same code. Comments may differ, because the official compiler
/// has other rules for them, and so may the order of files in the module tree.
///
/// # Errors
/// The first file that differs, or that cannot be read.
pub fn same_code(one: &Path, other: &Path) -> Result<(), Box<dyn Error>> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    read(one, &mut left)?;
    read(other, &mut right)?;
    let code = |text: &String| {
        let code = copier::without_comments(text);
        let mut lines: Vec<String> = code.lines().map(str::to_owned).collect();
        if text.lines().next().is_some_and(|title| title.contains("module tree")) {
            lines.sort();
        }
        lines
    };
    let differs = left.iter().zip(&right).find(|(a, b)| code(a) != code(b));
    match differs {
        None if left.len() == right.len() => Ok(()),
        None => Err(format!("{} and {} hold other files", one.display(), other.display()).into()),
        Some((a, _)) => {
            let title = a.lines().next().unwrap_or_default();
            Err(format!("{} holds other code than {}: {title}", one.display(), other.display())
                .into())
        }
    }
}

/// The generated files below `folder`, without the module tree and without copy functions.
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
