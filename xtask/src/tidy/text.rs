//! The files that are checked, and what was found.

use crate::ctx::{Ctx, read};
use crate::source;

/// A tracked text file.
pub struct Text {
    /// Relative to the root, with `/`.
    pub path: String,
    pub text: String,
    /// Rust without comments and strings; empty for anything else.
    pub code: String,
}

impl Text {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Written by `cargo xtask codegen`, or a golden file of a generator.
    pub fn is_generated(&self) -> bool {
        self.path.contains("/src/gen/")
            || self.path == crate::codegen::FTRACE_EVENTS
            || self.path.contains("/golden/")
            || self.path.contains("/snapshots/")
            || self.path.contains("/expand/")
    }

    /// Tests and models have other rules: they may use any layer, be long, and hold data.
    pub fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        matches!(name, "tests.rs" | "props.rs" | "loom.rs" | "oracle.rs")
            || self.path.contains("/tests/")
            || self.path.contains("/benches/")
            || self.path.contains("/examples/")
            || self.path.starts_with("bench/")
            || self.path.starts_with("fuzz/")
            || self.path.starts_with("interop/")
            || self.path.starts_with("tracing-core/loom/")
    }
}

/// What was found wrong.
#[derive(Default)]
pub struct Findings(pub Vec<String>);

impl Findings {
    pub fn add(&mut self, path: &str, line: usize, text: impl std::fmt::Display) {
        self.0.push(format!("{path}:{line}: {text}"));
    }
}

/// All text files git knows or would add.
pub fn tracked(ctx: &Ctx) -> Result<Vec<Text>, String> {
    let mut command = ctx.command("git");
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = ctx.output(&mut command)?;
    let mut texts = Vec::new();
    for path in list.split_terminator('\0') {
        let full = ctx.root().join(path);
        // Deleted but not yet staged, or a link to a folder.
        if !full.is_file() {
            continue;
        }
        let bytes = std::fs::read(&full).map_err(|e| format!("{path}: {e}"))?;
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let code = if path.ends_with(".rs") { source::code_only(&text) } else { String::new() };
        texts.push(Text { path: path.to_owned(), text, code });
    }
    texts.sort_by(|a, b| a.path.cmp(&b.path));
    texts.dedup_by(|a, b| a.path == b.path);
    Ok(texts)
}

/// Reads a file that must be there.
pub fn required(ctx: &Ctx, name: &str) -> Result<String, String> {
    read(&ctx.root().join(name))
}
