//! Limits for files, functions and lines. `xtask/ratchet.txt` lists what exceeds them; it may only shrink.

use super::text::{Findings, Text, required};
use crate::ctx::Ctx;
use crate::source::functions;
use std::collections::BTreeMap;

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
/// Code is formatted at 100; rustfmt does not break prose and strings, which may be longer.
const LINE_CHARS: usize = 120;

const LIST: &str = "xtask/ratchet.txt";

pub fn check(ctx: &Ctx, texts: &[Text], findings: &mut Findings) -> Result<(), String> {
    let mut ratchet = Ratchet::parse(&required(ctx, LIST)?)?;
    let own = |t: &&Text| t.is_rust() && !t.is_generated() && !t.is_test();
    for text in texts.iter().filter(own) {
        let lines = text.text.lines().count();
        let key = format!("file {}", text.path);
        if ratchet.exceeds(&key, lines, FILE_LINES) {
            let what = format!("{lines} lines, the limit is {FILE_LINES}: split it by concern");
            findings.add(&text.path, 1, what);
        }
        for function in functions(&text.code) {
            let key = format!("fn {} {}", text.path, function.name);
            if ratchet.exceeds(&key, function.lines, FUNCTION_LINES) {
                let what = format!(
                    "fn {} has {} lines, the limit is {FUNCTION_LINES}",
                    function.name, function.lines
                );
                findings.add(&text.path, function.line, what);
            }
        }
        for (number, line) in text.text.lines().enumerate() {
            // A line that cannot be broken, such as an address, may be longer.
            let is_breakable = line.trim().contains(' ');
            if line.chars().count() > LINE_CHARS && is_breakable {
                findings.add(&text.path, number + 1, format!("longer than {LINE_CHARS}"));
            }
        }
    }
    for key in ratchet.unused() {
        findings.add(LIST, 1, format!("`{key}` is below its limit now: delete the entry"));
    }
    Ok(())
}

/// Known exceptions: key, allowed size, and whether the exception is still needed.
struct Ratchet(BTreeMap<String, (usize, bool)>);

impl Ratchet {
    fn parse(text: &str) -> Result<Self, String> {
        let mut known = BTreeMap::new();
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
            let bad = || format!("{LIST}: `{line}` is not `KIND PATH [NAME] SIZE`");
            let (key, size) = line.rsplit_once(' ').ok_or_else(bad)?;
            known.insert(key.to_owned(), (size.parse().map_err(|_| bad())?, false));
        }
        Ok(Self(known))
    }

    fn exceeds(&mut self, key: &str, size: usize, wall: usize) -> bool {
        if size <= wall {
            return false;
        }
        match self.0.get_mut(key) {
            Some((allowed, used)) => {
                *used = true;
                size > *allowed
            }
            None => true,
        }
    }

    fn unused(&self) -> impl Iterator<Item = &String> {
        self.0.iter().filter(|(_, (_, used))| !used).map(|(key, _)| key)
    }
}
