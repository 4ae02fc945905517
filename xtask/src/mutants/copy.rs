//! The copy of the repository that holds the mutants.

use super::rewrite::{Mutant, Rewriter};
use crate::ctx::{Ctx, Outcome, read};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What is mutated, and the path by which it names the module that chooses a mutant. Only limits of `client`: the
/// service is no stranger to it.
const CRATES: [(&str, &str); 5] = [
    ("tracing-core/abi/src/", "crate"),
    ("tracing-core/os/src/", "::abi"),
    ("tracing-core/client/src/", "::abi"),
    ("tracing-core/service/src/", "::abi"),
    ("tracing-core/daemon/src/", "::abi"),
];
const LIMITS_ONLY: &str = "tracing-core/client/src/";

/// What every crate above knows, and the text of the module in it.
const LOWEST: &str = "tracing-core/abi/src/lib.rs";
const SWITCH: &str = "tracing-core/abi/src/mutated.rs";
const SWITCH_TEXT: &str = include_str!("switch.rs");

/// Finds all mutants.
///
/// # Errors
/// A file cannot be read or is no Rust.
pub fn mutants(ctx: &Ctx) -> Result<Vec<Mutant>, String> {
    Ok(rewrite(ctx, &files(ctx)?)?.0)
}

/// Makes the copy, or makes it anew: what is right already keeps its time, so that it is not built again.
///
/// # Errors
/// Something cannot be read or written.
pub fn make(ctx: &Ctx) -> Result<(PathBuf, Vec<Mutant>), String> {
    let target = ctx.target("mutants/source")?;
    let files = files(ctx)?;
    let (mutants, mutated) = rewrite(ctx, &files)?;
    let mut kept = BTreeSet::new();
    for file in files.iter().filter(|file| ctx.root().join(file).is_file()) {
        let text = match mutated.iter().find(|(name, _)| name == file) {
            Some((_, text)) => text.clone().into_bytes(),
            None => {
                let path = ctx.root().join(file);
                std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?
            }
        };
        write(&target.join(file), &text)?;
        kept.insert(target.join(file));
    }
    write(&target.join(SWITCH), SWITCH_TEXT.as_bytes())?;
    kept.insert(target.join(SWITCH));
    remove_others(&target, &kept)?;
    Ok((target, mutants))
}

/// All files that are or may become part of the repository.
fn files(ctx: &Ctx) -> Result<Vec<String>, String> {
    let mut command = ctx.command("git");
    let list = ctx.output(command.args(["ls-files", "-co", "--exclude-standard"]))?;
    let mut files: Vec<String> = list.lines().map(str::to_owned).collect();
    files.sort();
    Ok(files)
}

/// Whether a file has code that runs outside of tests.
fn is_mutated(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    name.ends_with(".rs")
        && !matches!(name, "tests.rs" | "props.rs" | "every.rs" | "test_hooks.rs" | "limits.rs")
        && !file.contains("/tests/")
}

type Mutated = Vec<(String, String)>;

fn rewrite(ctx: &Ctx, files: &[String]) -> Result<(Vec<Mutant>, Mutated), String> {
    let of = |prefix: &'static str| files.iter().filter(move |file| file.starts_with(prefix));
    let mut rewriter = Rewriter::default();
    for file in CRATES.into_iter().flat_map(|(prefix, _)| of(prefix)) {
        if is_mutated(file) || file.ends_with("/limits.rs") {
            rewriter.add_limits(file, &read(&ctx.root().join(file))?)?;
        }
    }
    let mut mutated = Vec::new();
    for (prefix, switch) in CRATES {
        for file in of(prefix).filter(|file| is_mutated(file)) {
            rewriter.checks = prefix != LIMITS_ONLY;
            let mut text = rewriter.file(file, &read(&ctx.root().join(file))?, switch)?;
            if file == LOWEST {
                text.push_str("\n#[doc(hidden)]\n#[allow(missing_docs)]\npub mod mutated;\n");
            }
            mutated.push((file.clone(), text));
        }
    }
    Ok((rewriter.mutants, mutated))
}

/// Writes a file if it holds something else.
fn write(path: &Path, text: &[u8]) -> Outcome {
    if std::fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Removes what is no longer in the repository, and what tests wrote.
fn remove_others(folder: &Path, kept: &BTreeSet<PathBuf>) -> Outcome {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.is_dir() {
            remove_others(&path, kept)?;
        } else if !kept.contains(&path) {
            std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}
