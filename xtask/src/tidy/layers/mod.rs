//! What Cargo cannot check of the layers: modules of one crate that do not see each other, and folders that make
//! no system call. `ARCHITECTURE.md` draws the layers; `edges` holds those between crates.

use super::text::{Findings, Text};

/// Modules of the crate `service` below its state machine, and which of its modules each may use.
const MODULES: &[(&str, &[&str])] = &[
    ("limits", &[]),
    ("packet", &[]),
    ("compress", &["limits"]),
    ("filter", &["limits"]),
    ("buffer", &["limits", "packet"]),
];

/// Where nothing asks the system for anything: the same inputs give the same outputs.
const WITHOUT_SYSTEM: &[&str] =
    &["tracing-core/abi/src/", "tracing-core/client/src/write/", "tracing-core/service/src/"];

/// Names of the system that [`WITHOUT_SYSTEM`] must not use, and what replaces them.
const SYSTEM: &[(&str, &str)] = &[
    ("std::sync", "abi::sync, which loom can replace"),
    ("core::sync", "abi::sync, which loom can replace"),
    ("std::thread", "an effect for the shell"),
    ("std::fs", "an effect for the shell"),
    ("std::net", "an effect for the shell"),
    ("std::os", "an effect for the shell"),
    ("std::env", "a value in the configuration"),
    ("std::process::Command", "an effect for the shell"),
    ("Instant::now", "abi::time::Now, a value"),
    ("SystemTime::now", "abi::time::Now, a value"),
    ("std::time::Instant", "abi::time::Now, a value"),
    ("std::time::SystemTime", "abi::time::Now, a value"),
    ("rustix::", "an effect for the shell"),
    ("libc::", "an effect for the shell"),
    ("HashMap", "BTreeMap: same inputs must give the same outputs"),
    ("HashSet", "BTreeSet: same inputs must give the same outputs"),
];

const SERVICE: &str = "tracing-core/service/src/";

pub fn check(texts: &[Text], findings: &mut Findings) {
    for text in texts.iter().filter(|t| t.is_rust() && !t.is_test()) {
        let lines = || text.code.lines().enumerate();
        if let Some((module, may_use)) = module_of(&text.path) {
            for (number, line) in lines() {
                let used = used_modules(line, depth_of(&text.path))
                    .into_iter()
                    .filter(|u| *u != module && !u.is_empty());
                for used in used.filter(|used| !may_use.contains(used)) {
                    let what = format!("`{module}` must not use `{used}` of its crate");
                    findings.add(&text.path, number + 1, what);
                }
            }
        }
        let pure = WITHOUT_SYSTEM.iter().any(|folder| text.path.starts_with(folder));
        if pure && !text.path.ends_with("/sync.rs") {
            lines().for_each(|(number, line)| speaks_system(text, number + 1, line, findings));
        }
    }
}

/// The module that a file belongs to, and what it may use, if it is one of [`MODULES`].
fn module_of(path: &str) -> Option<(&'static str, &'static [&'static str])> {
    let module = path.strip_prefix(SERVICE)?.split(['/', '.']).next()?;
    MODULES.iter().find(|(name, _)| *name == module).copied()
}

/// The number of `super::` that lead from a file of `service` to the root of the crate.
fn depth_of(path: &str) -> usize {
    let inside = path.strip_prefix(SERVICE).unwrap_or(path).trim_end_matches("/mod.rs");
    inside.split('/').count()
}

/// The modules named on a line after `crate::`, also in `crate::{a, b::c}`, and after as many `super::`.
fn used_modules(line: &str, depth: usize) -> Vec<&str> {
    let mut used = Vec::new();
    let supers = "super::".repeat(depth);
    for (at, name) in line.match_indices("crate::").chain(line.match_indices(&supers)) {
        let rest = &line[at + name.len()..];
        let word = |text: &'_ str| {
            text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
        };
        match rest.strip_prefix('{') {
            Some(group) => {
                used.extend(group.split([',', '}']).map(|p| &p.trim()[..word(p.trim())]));
            }
            None => used.push(&rest[..word(rest)]),
        }
    }
    used
}

fn speaks_system(text: &Text, number: usize, line: &str, findings: &mut Findings) {
    // The one file that lends system calls to a region's mapping is checked by its own proofs.
    for (name, instead) in SYSTEM {
        let Some(at) = line.find(name) else { continue };
        // `std::os` is no prefix of `std::oss`; a name that ends in `::` needs no end.
        let next = line[at + name.len()..].chars().next();
        let whole = name.ends_with("::") || next.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        // A descriptor type passed along is a value; only `os`, `client` and `daemon` make or use one.
        let is_value = *name == "std::os" && line.contains("std::os::fd");
        let is_value = is_value || (*name == "rustix::" && line.contains("rustix::fd"));
        if whole && !is_value {
            findings.add(
                &text.path,
                number,
                format!("`{name}` where there is no system call; use {instead}"),
            );
        }
    }
}

#[cfg(test)]
mod tests;
