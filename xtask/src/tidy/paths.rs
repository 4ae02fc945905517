//! Every path that a document names must exist.

use super::{Findings, Text};
use crate::ctx::Ctx;

/// Documents whose paths are checked.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "STYLE.md",
    "SAFETY.md",
    "docs/benchmarks.md",
    "docs/differences.md",
];

const CRATES: &[&str] = &[
    "protozero",
    "protozero-derive",
    "protozero-codegen",
    "protos",
    "tracing-core",
    "tracing-probes",
    "tracebox",
    "xtask",
];

pub fn check(ctx: &Ctx, texts: &[Text], findings: &mut Findings) {
    for document in DOCUMENTS {
        let Some(text) = texts.iter().find(|t| t.path == *document) else {
            findings.add(document, 1, "missing");
            continue;
        };
        for (number, line) in text.text.lines().enumerate() {
            for path in quoted(line).filter(|p| is_path(p)) {
                if !exists(ctx, texts, path) {
                    findings.add(document, number + 1, format!("`{path}` does not exist"));
                }
            }
        }
        if *document == "ARCHITECTURE.md" {
            for name in CRATES.iter().filter(|c| !text.text.contains(**c)) {
                findings.add(document, 1, format!("does not mention crate `{name}`"));
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

/// Ends like one of our files or folders, and consists of a path's characters.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '*');
    let extension = text.rsplit_once('.').map_or("", |(_, e)| e);
    let ends = text.ends_with('/') || matches!(extension, "rs" | "md" | "toml" | "tsv" | "proto");
    ends && text.contains('/') && !text.starts_with('/') && text.chars().all(plain)
}

fn exists(ctx: &Ctx, texts: &[Text], path: &str) -> bool {
    if let Some((folder, rest)) = path.split_once('*') {
        let end = rest.rsplit('*').next().unwrap_or_default();
        return texts.iter().any(|t| t.path.starts_with(folder) && t.path.ends_with(end));
    }
    let inside = path.trim_end_matches('/');
    ctx.root().join(inside).exists()
        || CRATES.iter().any(|c| ctx.root().join(c).join("src").join(inside).exists())
}
