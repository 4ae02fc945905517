//! Every path that a document or a comment names must exist, what it names in that file, and every document of which a
//! section is cited.

use super::text::{Findings, Text};
use crate::ctx::Ctx;

/// Documents that must be there. The paths of all documents are checked.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "STYLE.md",
    "SAFETY.md",
    "docs/benchmarks.md",
    "docs/coming-from.md",
    "docs/command-line.md",
    "docs/differences.md",
    "docs/lengths.md",
    "docs/protozero.md",
    "docs/record.md",
    "docs/replacing-prost.md",
    "docs/sdk.md",
    "docs/sdk-tracing.md",
    "docs/synthetic.md",
    "docs/text.md",
];

/// Names in examples, and a folder that is not committed.
const EXAMPLES: &[&str] = &[
    "a/b.proto",
    "corpus/",
    "foo/mod.rs",
    "perfetto/common/trace_stats.rs",
    "proto/shop.proto",
    "src/lib.rs",
    "src/main.rs",
];

const CRATES: &[&str] = &[
    "protozero",
    "protozero-derive",
    "protozero-codegen",
    "protozero-tonic",
    "protozero-types",
    "protos",
    "tracing-core",
    "tracing-file",
    "tracing-probes",
    "tracing-sdk",
    "tracebox",
    "xtask",
];

pub fn check(ctx: &Ctx, texts: &[Text], findings: &mut Findings) {
    for document in DOCUMENTS.iter().filter(|d| !texts.iter().any(|t| t.path == **d)) {
        findings.add(document, 1, "missing");
    }
    let has_paths = |t: &&Text| t.path.ends_with(".md") || t.is_rust() && !t.is_generated();
    for text in texts.iter().filter(has_paths) {
        // Code has paths of other kinds; its comments name files of ours.
        let is_prose = |line: &str| !text.is_rust() || line.trim_start().starts_with("//");
        let is_meant = |path: &&str| !text.is_rust() || path.ends_with(".rs");
        for (number, line) in text.text.lines().enumerate().filter(|(_, line)| is_prose(line)) {
            let paths = quoted(line).filter(|p| is_path(p) && !EXAMPLES.contains(p));
            for path in paths.filter(is_meant) {
                if !exists(ctx, texts, &text.path, path) {
                    findings.add(&text.path, number + 1, format!("`{path}` does not exist"));
                }
            }
            for (path, name) in items(line) {
                let file = texts.iter().find(|t| t.path == path);
                if file.is_some_and(|file| !has_item(&file.code, name)) {
                    findings.add(&text.path, number + 1, format!("`{path}` has no `{name}`"));
                }
            }
            for document in cited(line).filter(|d| !exists(ctx, texts, &text.path, d)) {
                let what =
                    format!("{document} is not here: name a file that every reader can find");
                findings.add(&text.path, number + 1, what);
            }
        }
        if text.path == "ARCHITECTURE.md" {
            for name in CRATES.iter().filter(|c| !text.text.contains(**c)) {
                findings.add(&text.path, 1, format!("does not mention crate `{name}`"));
            }
        }
    }
}

/// Text between backticks, and the targets of links.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split('`').skip(1).step_by(2);
    let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    code.chain(links)
}

/// Files of ours and what a line names in each: the path, then the name behind a comma or in brackets.
fn items(line: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = line.split('`').collect();
    let found = parts.windows(4).skip(1).step_by(2).filter_map(|parts| match parts {
        [path, ", " | " (", name, _] if path.ends_with(".rs") && name.chars().all(is_word) => {
            Some((*path, *name))
        }
        _ => None,
    });
    found.collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether code has that function, or has or reads that field. Of a type, variant or constant the word is enough.
fn has_item(code: &str, name: &str) -> bool {
    let is_value = name.starts_with(|c: char| c.is_lowercase() || c == '_');
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        let is_field = after.starts_with(':') || before.ends_with('.') && !after.starts_with('(');
        !before.ends_with(is_word)
            && !after.starts_with(is_word)
            && (!is_value || before.ends_with("fn ") || is_field)
    })
}

/// Documents of which a line cites a section, without backticks: `name.md`, a comma and the word.
fn cited(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.match_indices(".md, section").map(|(at, _)| at + ".md".len());
    ends.map(move |end| {
        let name = &line[..end];
        let begin =
            name.rfind(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.' | '/'));
        begin.map_or(name, |at| name[at..].trim_start_matches(|c: char| !c.is_alphanumeric()))
    })
}

/// Ends like one of our files or folders, and consists of a path's characters.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '*');
    let extension = text.rsplit_once('.').map_or("", |(_, e)| e);
    let ends = text.ends_with('/') || matches!(extension, "rs" | "md" | "toml" | "tsv" | "proto");
    ends && text.contains('/') && !text.starts_with('/') && text.chars().all(plain)
}

/// Is there such a file below the root, the document's folder, or the `src` of a crate?
fn exists(ctx: &Ctx, texts: &[Text], document: &str, path: &str) -> bool {
    if let Some((folder, rest)) = path.split_once('*') {
        let end = rest.rsplit('*').next().unwrap_or_default();
        let beside = document.rsplit_once('/').map(|(at, _)| format!("{at}/{folder}"));
        let below = |path: &str| {
            path.starts_with(folder) || beside.as_ref().is_some_and(|b| path.starts_with(b))
        };
        return texts.iter().any(|t| below(&t.path) && t.path.ends_with(end));
    }
    let inside = path.trim_end_matches('/');
    ctx.root().join(inside).exists()
        || ctx.root().join(document).with_file_name(inside).exists()
        || CRATES.iter().any(|c| ctx.root().join(c).join("src").join(inside).exists())
        || texts.iter().any(|t| t.path.ends_with(&format!("/src/{inside}")))
}

#[cfg(test)]
mod tests;
