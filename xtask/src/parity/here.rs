//! Finds the tests of this repository, by name and module, in the sources. Nothing has to be built.

use crate::ctx::{Ctx, read};
use crate::source::code_only;
use std::collections::BTreeSet;
use std::path::Path;

/// The part of `#[test]` that is one token here.
const TEST: &str = "[test]";

/// A `#[test] fn`.
#[derive(Debug, PartialEq, Eq)]
pub struct Test {
    pub name: String,
    /// Path from the root, with slashes.
    pub file: String,
    /// Names of folders, file and inline modules.
    pub modules: Vec<String>,
}

/// All tests in the folders that the suites name.
///
/// # Errors
/// A folder or file cannot be read.
pub fn tests(ctx: &Ctx, suites: &[Suite]) -> Result<Vec<Test>, String> {
    let mut files = BTreeSet::new();
    for folder in suites.iter().flat_map(|s| &s.folders) {
        collect_files(ctx.root(), Path::new(folder), &mut files)?;
    }
    let mut tests = Vec::new();
    for file in files {
        tests.extend(tests_in(&file, &read(&ctx.root().join(&file))?));
    }
    Ok(tests)
}

fn collect_files(root: &Path, folder: &Path, files: &mut BTreeSet<String>) -> Result<(), String> {
    let full = root.join(folder);
    // A folder that does not exist has no tests.
    if !full.exists() {
        return Ok(());
    }
    let failed = |e: std::io::Error| format!("{}: {e}", full.display());
    for entry in std::fs::read_dir(&full).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = folder.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            collect_files(root, &path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.insert(path.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// The tests of one file, including those inside macro calls.
pub fn tests_in(file: &str, text: &str) -> Vec<Test> {
    let code = code_only(text);
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let outer: Vec<String> = stem.split('/').map(str::to_owned).collect();
    // Open inline modules, with the depth of their braces.
    let mut inner: Vec<(String, usize)> = Vec::new();
    let (mut depth, mut is_test) = (0_usize, false);
    let mut words = tokens(&code).peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inner.retain(|(_, at)| *at <= depth);
            }
            TEST => is_test = true,
            "mod" => {
                if let Some(name) = words.next()
                    && words.peek() == Some(&"{")
                {
                    inner.push((name.to_owned(), depth + 1));
                }
            }
            "fn" if std::mem::take(&mut is_test) => {
                let Some(name) = words.next() else { break };
                let modules = outer.iter().chain(inner.iter().map(|(m, _)| m)).cloned().collect();
                found.push(Test { name: name.to_owned(), file: file.to_owned(), modules });
            }
            _ => {}
        }
    }
    found
}

/// Words, braces and `[test]`, in order.
fn tokens(code: &str) -> impl Iterator<Item = &str> {
    let mut rest = code;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let len = if rest.starts_with(TEST) {
                TEST.len()
            } else if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(len);
            rest = after;
            if !first.is_whitespace() {
                return Some(token);
            }
        }
    })
}

/// One list of tests.
pub struct Suite {
    pub name: String,
    pub folders: Vec<String>,
    pub variant: Option<String>,
    pub tests: Vec<String>,
}
