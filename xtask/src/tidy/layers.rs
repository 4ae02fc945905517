//! Who may see whom inside tracing-core: `ARCHITECTURE.md` draws it, this table holds it.

use super::{Findings, Text};

/// Each module with its layer and whether its neighbours in that layer are hidden from it.
///
/// The vocabulary (0) and the ABI (1) are one family each. In 2 and 3 siblings meet only through
/// bytes, as two processes would. Layer 4 joins everything to the system, and `testing` is the
/// system of the simulator.
const LAYERS: &[(&str, u8, bool)] = &[
    ("ids", 0, false),
    ("limits", 0, false),
    ("time", 0, false),
    ("error", 0, false),
    ("sync", 0, false),
    ("shm", 1, false),
    ("packet", 1, false),
    ("buffer", 2, true),
    ("compress", 2, true),
    ("filter", 2, true),
    ("ipc", 2, true),
    ("service", 3, true),
    ("producer", 3, true),
    ("client", 4, false),
    ("os", 4, false),
    ("testing", 4, false),
];

/// Names of the system that layers 0 to 3 must not speak, and by what they are replaced.
const SYSTEM: &[(&str, &str)] = &[
    ("std::sync", "crate::sync, which loom can replace"),
    ("core::sync", "crate::sync, which loom can replace"),
    ("std::thread", "an effect for layer 4"),
    ("std::fs", "an effect for layer 4"),
    ("std::net", "an effect for layer 4"),
    ("std::os", "an effect for layer 4"),
    ("std::env", "a value in the configuration"),
    ("std::process::Command", "an effect for layer 4"),
    ("Instant::now", "crate::time::Now, a value"),
    ("SystemTime::now", "crate::time::Now, a value"),
    ("std::time::Instant", "crate::time::Now, a value"),
    ("std::time::SystemTime", "crate::time::Now, a value"),
    ("rustix::", "an effect for layer 4"),
    ("HashMap", "BTreeMap: same inputs must give the same outputs"),
    ("HashSet", "BTreeSet: same inputs must give the same outputs"),
];

const CRATE: &str = "tracing-core/src/";

pub fn check(texts: &[Text], findings: &mut Findings) {
    for text in texts.iter().filter(|t| t.path.starts_with(CRATE) && t.is_rust() && !t.is_test()) {
        let inner = &text.path[CRATE.len()..];
        let module = inner.split(['/', '.']).next().unwrap_or_default();
        if matches!(module, "lib" | "bin") {
            continue;
        }
        let Some(&(_, layer, alone)) = LAYERS.iter().find(|l| l.0 == module) else {
            findings.add(&text.path, 1, "module is in no layer; see xtask/src/tidy/layers.rs");
            continue;
        };
        for (number, line) in text.code.lines().enumerate() {
            for used in used_modules(line) {
                let Some(&(_, other, _)) = LAYERS.iter().find(|l| l.0 == used) else { continue };
                let sibling = other == layer && used != module;
                if other > layer || (sibling && alone) {
                    let what = format!("`{module}` (L{layer}) must not see `{used}` (L{other})");
                    findings.add(&text.path, number + 1, what);
                }
            }
            if layer < 4 && module != "sync" {
                speaks_system(text, number + 1, line, findings);
            }
        }
    }
}

/// The modules named on a line after `crate::`, also in `crate::{a, b::c}`.
fn used_modules(line: &str) -> Vec<&str> {
    let mut used = Vec::new();
    for (at, name) in line.match_indices("crate::") {
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
        // A descriptor type passed along is a value; only layer 4 makes or uses one.
        let is_value = *name == "std::os" && line.contains("std::os::fd");
        let is_value = is_value || (*name == "rustix::" && line.contains("rustix::fd"));
        if whole && !is_value {
            findings.add(&text.path, number, format!("`{name}` below layer 4; use {instead}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::used_modules;

    #[test]
    fn modules_are_found_alone_and_in_groups() {
        assert_eq!(used_modules("use crate::shm::page::Page;"), ["shm"]);
        assert_eq!(used_modules("let a = crate::ids::X(crate::time::Y);"), ["ids", "time"]);
        assert_eq!(used_modules("use crate::{ids, os::fd};"), ["ids", "os", ""]);
    }
}
