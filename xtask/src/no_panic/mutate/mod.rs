//! Copies of protozero, and of the files of `abi` that are proven, with a panic in every public function that needs no
//! feature, for the proof to find: what it does not find it does not see. The panic of `abi` is a sum that overflows.
//!
//! ```text
//!  protozero/src                     target/no_panic/protozero/src
//!   pub fn len(&self) -> usize {      pub fn len(&self) -> usize { crate::mutated::at_17();
//! ```
//!
//! Each place calls a function of its own, which is in the linked program if and only if the place can
//! be reached. Functions that are run by the compiler (those of `wire`, which are `const`), and those made by
//! macros, cannot hold a call; their names must stand in the program instead.

use crate::ctx::{Ctx, Outcome, read};
use crate::no_std::FOLDER;
use crate::source::code_only;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const LIBRARY: &str = "protozero/src";

/// The program of `abi`. It names the files of `abi` that it compiles.
pub const ABI_FOLDER: &str = "tracing-core/abi/tests/no_panic";
const ABI_FILES: &str = "../../../src/";

/// Formatting is core's, and not free of panics.
const FORMATS: [&str; 3] = ["fmt::Debug", "fmt::Display", "Error for"];

/// A copy of the library and of the program that uses it.
pub struct Copy {
    /// The program's folder.
    pub folder: PathBuf,
    /// File and name of each function that panics, by the number of its place.
    pub places: Vec<String>,
    /// The same of functions that cannot, and whose name the program does not mention.
    pub unnamed: Vec<String>,
}

/// What a place does.
const PANIC: &str = "if core::hint::black_box(NUMBER) == usize::MAX { panic!(); }";
const OVERFLOW: &str =
    "core::hint::black_box(core::hint::black_box(NUMBER_usize) + core::hint::black_box(1));";

impl Copy {
    /// # Errors
    /// Something cannot be read or written.
    pub fn of_protozero(ctx: &Ctx) -> Result<Self, String> {
        let target = empty(ctx.target("no_panic")?.join("protozero"))?;
        let mut library = Library::default();
        library.file(&ctx.root().join(LIBRARY), &target.join("src"), Path::new("lib.rs"), false)?;
        write(&target.join("src/mutated.rs"), &library.functions(PANIC))?;
        write(&target.join("Cargo.toml"), MANIFEST)?;
        let folder = target.join("tests/no_std");
        copy(&ctx.root().join(FOLDER), &folder)?;
        let unnamed = library.unnamed(&[folder.join("src"), ctx.target("no_std/schema")?])?;
        Ok(Self { folder, places: library.places, unnamed })
    }

    /// # Errors
    /// Something cannot be read or written.
    pub fn of_abi(ctx: &Ctx) -> Result<Self, String> {
        let target = empty(ctx.target("no_panic")?.join("abi"))?;
        let folder = target.join("tests/no_panic");
        copy(&ctx.root().join(ABI_FOLDER), &folder)?;
        let manifest = folder.join("Cargo.toml");
        let protozero = ctx.root().join("protozero").display().to_string();
        write(&manifest, &read(&manifest)?.replace("../../../../protozero", &protozero))?;
        let source = ctx.root().join("tracing-core/abi/src");
        let mut library = Library::default();
        every(&folder.join("src"), &mut |path| {
            let text = read(path)?;
            for file in text.lines().filter_map(|line| line.strip_prefix("#[path = \"")) {
                let file = file.trim_end_matches("\"]").strip_prefix(ABI_FILES);
                let file = file.ok_or(format!("{}: a path outside of abi", path.display()))?;
                library.file(&source, &target.join("src"), Path::new(file), false)?;
            }
            Ok(())
        })?;
        write(&folder.join("src/mutated.rs"), &library.functions(OVERFLOW))?;
        let main = folder.join("src/main.rs");
        write(&main, &format!("{}\nmod mutated;\n", read(&main)?))?;
        let unnamed = library.unnamed(&[folder.join("src")])?;
        Ok(Self { folder, places: library.places, unnamed })
    }
}

/// The folder, without what was there.
fn empty(folder: PathBuf) -> Result<PathBuf, String> {
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    Ok(folder)
}

const MANIFEST: &str = "[package]\nname = \"pbzero\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
    [lib]\nname = \"protozero\"\n\n[features]\nsmall = []\n\n\
    [lints.rust]\nunexpected_cfgs = \"allow\"\n\n[workspace]\n";

/// Static descriptions of a schema: constants are made of them, and no reader or writer uses them.
const TABLES: [&str; 2] = ["descriptor.rs", "named.rs"];

#[derive(Default)]
struct Library {
    places: Vec<String>,
    /// What cannot hold a call: file and name.
    named: Vec<(String, String)>,
}

impl Library {
    /// Copies `file` and the modules below it that need no feature.
    fn file(&mut self, from: &Path, to: &Path, file: &Path, is_const: bool) -> Outcome {
        let text = read(&from.join(file))?;
        if TABLES.iter().any(|tables| file == Path::new(tables)) {
            return write(&to.join(file), &text);
        }
        let (mut text, modules) = self.insert_calls(&text, &file.display().to_string(), is_const);
        if file == Path::new("lib.rs") {
            text.push_str("\nmod mutated;\n");
        }
        write(&to.join(file), &text)?;
        let is_root = file.ends_with("mod.rs") || file == Path::new("lib.rs");
        let below =
            if is_root { file.parent().unwrap_or(file).into() } else { file.with_extension("") };
        for module in modules {
            let is_const = is_const || module == "wire";
            let alone = below.join(format!("{module}.rs"));
            let file =
                if from.join(&alone).is_file() { alone } else { below.join(module).join("mod.rs") };
            self.file(from, to, &file, is_const)?;
        }
        Ok(())
    }

    /// The text with its panics, and the modules it names.
    fn insert_calls(&mut self, text: &str, file: &str, is_const: bool) -> (String, Vec<String>) {
        let (mut out, mut modules) = (String::new(), Vec::new());
        let code = code_only(text);
        // What is left out or made by a macro ends with a brace that is indented as it is.
        let mut inside: Option<(String, bool)> = None;
        let (mut is_off, mut in_trait, mut open) = (false, false, None);
        for (line, code) in text.lines().zip(code.lines()) {
            let trimmed = code.trim();
            let indent = &line[..line.len() - line.trim_start().len()];
            let mut mutated = line.to_owned();
            if let Some((end, is_macro)) = &inside {
                if *is_macro {
                    self.named.extend(made(trimmed).into_iter().map(|n| (file.to_owned(), n)));
                }
                if line.starts_with(end.as_str()) {
                    inside = None;
                }
            } else if line.trim_start().starts_with("#[") {
                is_off |= needs_feature(line);
            } else if trimmed.is_empty() {
            } else if std::mem::take(&mut is_off) || FORMATS.iter().any(|f| is_impl(trimmed, f)) {
                if !ends_here(trimmed) {
                    inside = Some((format!("{indent}}}"), false));
                }
            } else if trimmed.contains("macro_rules!") || is_invocation(trimmed) {
                inside = Some((format!("{indent}}}"), true));
            } else if let Some(module) = module(trimmed) {
                modules.push(module.to_owned());
            } else {
                in_trait = match indent {
                    "" => trimmed.ends_with('{') && is_trait(trimmed),
                    _ => in_trait,
                };
                let private = trimmed.strip_prefix("fn ").filter(|_| in_trait);
                let name = private.map(word).or(function(trimmed));
                if let Some(name) = name.filter(|_| !trimmed.contains("fmt::Formatter")) {
                    match is_const {
                        true => self.named.push((file.to_owned(), name.to_owned())),
                        false => open = Some(format!("{file}: {name}")),
                    }
                }
                if let Some(end) = trimmed.chars().last().filter(|_| open.is_some()) {
                    let empty = trimmed.ends_with("{}");
                    if empty || end == '{' {
                        let call = format!(" crate::mutated::at_{}();", self.places.len());
                        self.places.extend(open.take());
                        mutated.truncate(mutated.len() - usize::from(empty));
                        mutated.push_str(&call);
                        mutated.push_str(if empty { " }" } else { "" });
                    } else if end == ';' {
                        // A mere declaration.
                        open = None;
                    }
                }
            }
            if !is_const {
                mutated = mutated.replace("const fn ", "fn ");
            }
            out.push_str(&mutated);
            out.push('\n');
        }
        (out, modules)
    }

    /// The functions that panic by `what`, all different, lest they become one.
    fn functions(&self, what: &str) -> String {
        let mut text = String::new();
        for at in 0..self.places.len() {
            let what = what.replace("NUMBER", &at.to_string());
            text.push_str(&format!(
                "#[inline(never)]\npub(crate) fn at_{at}() {{\n    {what}\n}}\n"
            ));
        }
        text
    }

    /// What is not mentioned in the program and the generated code it uses.
    fn unnamed(&self, folders: &[PathBuf]) -> Result<Vec<String>, String> {
        let mut words = String::new();
        for folder in folders {
            every(folder, &mut |path| {
                words.push_str(&code_only(&read(path)?));
                Ok(())
            })?;
        }
        let words: BTreeSet<&str> =
            words.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let missing = self.named.iter().filter(|(_, name)| !words.contains(name.as_str()));
        Ok(missing.map(|(file, name)| format!("{file}: {name}")).collect())
    }
}

/// Whether an attribute leaves something out of a program without features.
fn needs_feature(attribute: &str) -> bool {
    let features = ["alloc", "std", "bytes", "text", "derive", "dynamic", "json"];
    attribute.contains("#[cfg(")
        && (attribute.contains("test")
            || features.iter().any(|feature| {
                attribute.contains(&format!("feature = \"{feature}\""))
                    && !attribute.contains(&format!("not(feature = \"{feature}\")"))
            }))
}

fn is_impl(code: &str, of: &str) -> bool {
    code.starts_with("impl") && code.contains(of)
}

/// An item of one line.
fn ends_here(code: &str) -> bool {
    code.ends_with(';') || code.ends_with(',') || code.ends_with("{}")
}

/// `scalars! {`
fn is_invocation(code: &str) -> bool {
    code.strip_suffix("! {").is_some_and(|name| name.chars().all(|c| c == '_' || c.is_alphabetic()))
}

/// The module of `pub mod x;`.
fn module(code: &str) -> Option<&str> {
    let code = code.strip_suffix(';')?;
    let code = code.strip_prefix("pub(crate) ").or(code.strip_prefix("pub ")).unwrap_or(code);
    code.strip_prefix("mod ")
}

/// Whether functions below this line are public without saying so.
fn is_trait(code: &str) -> bool {
    let code = code.strip_prefix("unsafe ").unwrap_or(code);
    code.starts_with("pub trait") || code.starts_with("impl") && code.contains(" for ")
}

/// The word at the beginning.
fn word(code: &str) -> &str {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// The name of a public function, if this is the first line of one.
fn function(code: &str) -> Option<&str> {
    let code = code.strip_prefix("pub ")?;
    let code = code.strip_prefix("const ").unwrap_or(code);
    let code = code.strip_prefix("unsafe ").unwrap_or(code);
    code.strip_prefix("fn ").map(word)
}

/// Names of functions in a line of a macro, or of what it is given: `pub fn new(`, `name -> type = ...`,
/// `name, packed_name, type, ...`.
fn made(code: &str) -> Vec<String> {
    if let Some(name) = function(code) {
        return if name.is_empty() { Vec::new() } else { vec![name.to_owned()] };
    }
    let is_word = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_numeric())
    };
    if let Some((name, _)) = code.split_once(" -> ")
        && is_word(name)
    {
        return vec![name.to_owned()];
    }
    let names: Vec<&str> = code.split(", ").collect();
    match names[..] {
        [name, packed, ..] if is_word(name) && packed.starts_with("packed_") => {
            vec![name.to_owned(), packed.to_owned()]
        }
        _ => Vec::new(),
    }
}

fn write(path: &Path, text: &str) -> Outcome {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text)).map_err(|e| format!("{}: {e}", path.display()))
}

/// Copies a folder of text files.
fn copy(from: &Path, to: &Path) -> Outcome {
    every(from, &mut |path| {
        let name = path.strip_prefix(from).unwrap_or(path);
        // Its own lock file knows another version of the library.
        if name.starts_with("target") || name == Path::new("Cargo.lock") {
            return Ok(());
        }
        write(&to.join(name), &read(path)?)
    })
}

/// Calls `with` for every file below `folder`.
fn every(folder: &Path, with: &mut impl FnMut(&Path) -> Outcome) -> Outcome {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.is_dir() { every(&path, with)? } else { with(&path)? }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
