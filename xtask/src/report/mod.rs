//! Writes `docs/benchmarks.md`, which has a section for each command that measures.

use crate::ctx::{Ctx, Outcome};

const DOCUMENT: &str = "docs/benchmarks.md";

/// Replaces the section called `heading`, or appends it, with the machine's name above `body`.
///
/// # Errors
/// The document cannot be read or written.
pub fn record(ctx: &Ctx, heading: &str, body: &str) -> Outcome {
    let path = ctx.root().join(DOCUMENT);
    let old = crate::ctx::read(&path)?;
    let body = format!("{}\n\n{}\n", machine(), body.trim_end());
    std::fs::write(&path, replaced(&old, heading, &body))
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// `2 cores, Intel(R) Xeon(R) Processor`.
fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or_default();
    let model = model.trim_start_matches([' ', '\t', ':']);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Machine: {cores} cores, {model}.")
}

fn replaced(document: &str, heading: &str, body: &str) -> String {
    let title = format!("## {heading}\n");
    let section = format!("{title}\n{body}");
    let begin = document.match_indices(&title).map(|(at, _)| at);
    let Some(begin) = begin.into_iter().find(|at| *at == 0 || document[..*at].ends_with('\n'))
    else {
        return format!("{}\n\n{section}", document.trim_end());
    };
    let rest = &document[begin + title.len()..];
    match rest.find("\n## ") {
        Some(end) => format!("{}{section}{}", &document[..begin], &rest[end..]),
        None => format!("{}{section}", &document[..begin]),
    }
}

#[cfg(test)]
mod tests;
