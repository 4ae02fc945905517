//! Lets schemas grow by random edits, always the same ones. Generates the code of the last state of each, and a program
//! that uses all names of all states. Every second schema has all messages in boxes, and its program all types, too.

#[path = "../../stability/grow.rs"]
mod grow;
#[path = "../../stability/paths.rs"]
mod paths;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;

use grow::{Edit, Schema, apply, generated};
use paths::{Path, paths};

const SCHEMAS: u64 = 20;
/// Edits of each schema that leave it valid.
const EDITS: usize = 60;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../../stability");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut all = String::new();
    for number in 0..SCHEMAS {
        let (files, names) = grow(number + 1, number % 2 == 1);
        let folder = format!("schema_{number}");
        for file in files {
            let path = out.join(&folder).join(&file.path);
            std::fs::create_dir_all(path.parent().ok_or("no folder")?)?;
            std::fs::write(path, file.text)?;
        }
        all += &format!(
            "pub mod {folder} {{ include!(concat!(env!(\"OUT_DIR\"), \"/{folder}/mod.rs\")); }}\n\
             #[allow(unused_imports, dead_code)]\nmod uses_{folder} {{\nuse super::same;\n"
        );
        for (index, name) in names.iter().enumerate() {
            all += &uses(name, &format!("super::{folder}"), index);
        }
        all += "}\n";
    }
    Ok(std::fs::write(out.join("all.rs"), all)?)
}

/// The code of a schema at the end, and all names that it had.
fn grow(seed: u64, is_boxed: bool) -> (Vec<protozero_codegen::OutputFile>, BTreeSet<Path>) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize
    };
    let (mut schema, mut last, mut names) = (Schema::new(), Vec::new(), BTreeSet::new());
    let mut edits = 0;
    while edits < EDITS {
        let mut next = schema.clone();
        let edit: Edit = (random() as u8, random(), random(), random());
        apply(&mut next, edit);
        // An edit that makes the schema invalid is not made.
        if let Some(files) = generated(&next, is_boxed) {
            let is_kept =
                |path: &Path| is_boxed || !matches!(path, Path::Type(..) | Path::Variant(..));
            names.extend(paths(&files).into_iter().filter(is_kept));
            (schema, last) = (next, files);
            edits += 1;
        }
    }
    (last, names)
}

/// Code that uses a name; `root` is the module of the generated code.
fn uses(name: &Path, root: &str, index: usize) -> String {
    match name {
        Path::Item(item) => format!("use {root}{item} as Used{index};\n"),
        Path::Constant(path) => format!("const USED_{index}: fn() = || _ = {root}{path};\n"),
        Path::Field(of, field) => {
            format!("const USED_{index}: fn(&{root}{of}) = |it| _ = &it.{field};\n")
        }
        Path::Type(of, field, ty) => {
            let ty = ty.replace('@', root);
            format!("const USED_{index}: fn(&{root}{of}) -> &{ty} = |it| &it.{field};\n")
        }
        Path::Variant(of, variant, ty) => {
            let ty = ty.replace('@', root);
            format!("const USED_{index}: fn({ty}) -> {root}{of} = {root}{of}::{variant};\n")
        }
        Path::Setter(of, name, arguments, _) => {
            format!("const USED_{index}: fn(&mut {root}{of}) = |it| _ = it.{name}({arguments});\n")
        }
        Path::Getter(of, name, _) => {
            format!("const USED_{index}: fn(&{root}{of}) = |it| _ = it.{name}();\n")
        }
        Path::Message(path, full) => format!(
            "const _: () = assert!(same(<{root}{path} as protozero::Named>::FULL_NAME, {full:?}));\n"
        ),
    }
}
