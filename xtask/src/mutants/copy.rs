//! The copy of the repository that holds the mutants.

use super::rewrite::{Mutant, Rewriter};
use crate::ctx::{Ctx, Outcome, read};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What is mutated in a crate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// Limits, and conditions that refuse something.
    Checks,
    /// Limits. The service is no stranger to a client.
    Limits,
    /// Those of its `limits.rs`.
    Listed,
}

/// A crate that is mutated.
struct Crate {
    sources: &'static str,
    what: What,
    /// The path of the module that chooses a mutant: one of its own, or that of a crate below it.
    switch: &'static str,
    group: &'static str,
}

/// Crates that are tested together. A limit has one name in all of them.
const CORE: &str = "";

const fn of_core(sources: &'static str, what: What, switch: &'static str) -> Crate {
    Crate { sources, what, switch, group: CORE }
}

/// A crate whose `limits.rs` is mutated.
const fn alone(sources: &'static str, group: &'static str) -> Crate {
    Crate { sources, what: What::Listed, switch: "crate", group }
}

static CRATES: [Crate; 8] = [
    of_core("tracing-core/abi/src/", What::Checks, "crate"),
    of_core("tracing-core/os/src/", What::Checks, "::abi"),
    of_core("tracing-core/client/src/", What::Limits, "::abi"),
    of_core("tracing-core/service/src/", What::Checks, "::abi"),
    of_core("tracing-core/daemon/src/", What::Checks, "::abi"),
    alone("protozero/src/", "protozero"),
    alone("tracing-file/src/", "tracing-file"),
    alone("tracing-probes/src/", "tracing-probes"),
];

/// The module that chooses a mutant.
const SWITCH: &str = "mutated.rs";
const SWITCH_TEXT: &str = include_str!("switch.rs");

/// The group of the crate that a file belongs to.
pub fn group(file: &str) -> &'static str {
    CRATES.iter().find(|one| file.starts_with(one.sources)).map_or(CORE, |one| one.group)
}

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
    for one in CRATES.iter().filter(|one| one.switch == "crate") {
        let switch = target.join(one.sources).join(SWITCH);
        write(&switch, SWITCH_TEXT.as_bytes())?;
        kept.insert(switch);
    }
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
    let of = |one: &'static Crate| files.iter().filter(move |file| file.starts_with(one.sources));
    let mut rewriter = Rewriter::default();
    for one in &CRATES {
        rewriter.group = one.group;
        for file in of(one) {
            let is_list = file.ends_with("/limits.rs");
            if is_list || (is_mutated(file) && one.what != What::Listed) {
                rewriter.add_limits(file, &read(&ctx.root().join(file))?)?;
            }
        }
    }
    let mut mutated = Vec::new();
    for one in &CRATES {
        (rewriter.group, rewriter.checks) = (one.group, one.what == What::Checks);
        // Such a list may hold the functions that use it.
        let has_code = |file: &str| {
            is_mutated(file) || (one.what == What::Listed && file.ends_with("/limits.rs"))
        };
        for file in of(one).filter(|file| has_code(file)) {
            let mut text = rewriter.file(file, &read(&ctx.root().join(file))?, one.switch)?;
            if one.switch == "crate" && file.strip_prefix(one.sources) == Some("lib.rs") {
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
