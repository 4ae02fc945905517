//! What no compiler checks: layers, sizes, the list of unsafe code, licences, file names, words, paths.
//!
//! Each check adds findings of the form `file:line: what, and what to do`. One finding is a failure.

mod edges;
mod layers;
mod modules;
mod paths;
mod sizes;
mod unsafe_ledger;
mod words;

use crate::Outcome;
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
pub struct Findings(Vec<String>);

impl Findings {
    pub fn add(&mut self, path: &str, line: usize, text: impl std::fmt::Display) {
        self.0.push(format!("{path}:{line}: {text}"));
    }
}

pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    let texts = tracked(ctx)?;
    let mut findings = Findings::default();
    layers::check(&texts, &mut findings);
    edges::check(ctx, &mut findings)?;
    modules::check(&texts, &mut findings);
    sizes::check(ctx, &texts, &mut findings)?;
    unsafe_ledger::check(ctx, &texts, &mut findings)?;
    words::check(&texts, &mut findings);
    paths::check(ctx, &texts, &mut findings);
    report_generated(ctx, &texts);
    for finding in &findings.0 {
        ctx.log(finding);
    }
    match findings.0.len() {
        0 => Ok(()),
        count => Err(format!("{count} findings")),
    }
}

/// All text files git knows or would add.
fn tracked(ctx: &Ctx) -> Result<Vec<Text>, String> {
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

/// Reports the size of the generated code, so that a change of the generator is noticed.
fn report_generated(ctx: &Ctx, texts: &[Text]) {
    let mut lines = 0;
    for text in texts.iter().filter(|t| t.path.starts_with("protos/src/gen/")) {
        lines += text.code.lines().filter(|l| !l.trim().is_empty()).count();
    }
    let mut fields = 0;
    for text in texts.iter().filter(|t| t.path.ends_with(".proto") && t.path.starts_with("protos/"))
    {
        let is_field = |l: &&str| l.contains(" = ") && l.contains(';') && !l.starts_with("//");
        fields += text.text.lines().map(str::trim).filter(is_field).count();
    }
    if let Some(tenths) = (lines * 10).checked_div(fields) {
        ctx.log(format_args!(
            "generated: {lines} lines of code for {fields} fields and values, {}.{} each",
            tenths / 10,
            tenths % 10
        ));
    }
}

/// Reads a file that must be there.
fn required(ctx: &Ctx, name: &str) -> Result<String, String> {
    read(&ctx.root().join(name))
}
