//! Golden expansions and diagnostics: each file of `tests/expand` and `tests/ui` holds one item, its
//! snapshot stands beside it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;

fn dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The items of the files of `tests/NAME`, in order of their names.
fn inputs(name: &str) -> Vec<(String, String)> {
    let mut files: Vec<_> = std::fs::read_dir(dir(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_string();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// Expands as the compiler would, by the `#[derive(...)]` the item carries.
fn expand(source: &str) -> syn::Result<TokenStream> {
    let tokens: TokenStream = source.parse().unwrap();
    match source {
        _ if source.contains("Oneof)]") => crate::oneof(tokens),
        _ if source.contains("Enumeration)]") => crate::enumeration(tokens),
        _ => crate::message(tokens, source.contains("MessageView)]")),
    }
}

fn snapshot(directory: &str, name: &str, content: &str) {
    insta::with_settings!({
        snapshot_path => dir(directory),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, { insta::assert_snapshot!(name, content) });
}

#[test]
fn expansions() {
    for (name, source) in inputs("expand") {
        let tokens = expand(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
        let file = syn::parse2(tokens).unwrap_or_else(|error| panic!("{name}: {error}"));
        snapshot("expand", &name, &prettyplease::unparse(&file));
    }
}

#[test]
fn diagnostics() {
    for (name, source) in inputs("ui") {
        let error = expand(&source).expect_err(&name);
        snapshot("ui", &name, &render(&source, error));
    }
}

/// As rustc shows them: message, place, the line, a caret under what is wrong.
fn render(source: &str, errors: syn::Error) -> String {
    let mut out = String::new();
    for error in errors {
        let (start, end) = (error.span().start(), error.span().end());
        let line = source.lines().nth(start.line - 1).unwrap_or_default();
        let width = if end.line == start.line { end.column - start.column } else { 1 };
        let pad = " ".repeat(start.column);
        let carets = "^".repeat(width.max(1));
        writeln!(out, "{}:{}: {error}\n  {line}\n  {pad}{carets}", start.line, start.column + 1)
            .unwrap();
    }
    out
}
