//! Walls for files, functions and lines. What stood higher when its wall was built is in
//! `xtask/ratchet.txt`, and that list may only shrink.

use super::{Findings, Text, required};
use crate::ctx::Ctx;
use crate::source::functions;
use std::collections::BTreeMap;

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
/// Code is formatted at 100; prose and strings, which the formatter leaves alone, get some slack.
const LINE_CHARS: usize = 120;

const LIST: &str = "xtask/ratchet.txt";

pub fn check(ctx: &Ctx, texts: &[Text], findings: &mut Findings) -> Result<(), String> {
    let mut ratchet = Ratchet::parse(&required(ctx, LIST)?)?;
    let own = |t: &&Text| t.is_rust() && !t.is_generated() && !t.is_test();
    for text in texts.iter().filter(own) {
        let lines = text.text.lines().count();
        let key = format!("file {}", text.path);
        if ratchet.exceeds(&key, lines, FILE_LINES) {
            let what = format!("{lines} lines, wall is {FILE_LINES}: split it by concern");
            findings.add(&text.path, 1, what);
        }
        for function in functions(&text.code) {
            let key = format!("fn {} {}", text.path, function.name);
            if ratchet.exceeds(&key, function.lines, FUNCTION_LINES) {
                let what = format!(
                    "fn {} has {} lines, wall is {FUNCTION_LINES}",
                    function.name, function.lines
                );
                findings.add(&text.path, function.line, what);
            }
        }
        for (number, line) in text.text.lines().enumerate() {
            // What cannot be broken, such as an address, may stand out.
            let is_breakable = line.trim().contains(' ');
            if line.chars().count() > LINE_CHARS && is_breakable {
                findings.add(&text.path, number + 1, format!("longer than {LINE_CHARS}"));
            }
        }
    }
    for key in ratchet.unused() {
        findings.add(LIST, 1, format!("`{key}` is below its wall now: delete the entry"));
    }
    Ok(())
}

/// Known excesses: key to the size allowed, and whether it was needed.
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
