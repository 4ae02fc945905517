//! What a program of tests does without a mutant, kept in a file, as it takes minutes to find out: it holds for the
//! program with the same bytes.
//!
//! ```text
//! 7c1f… 12034 8120                   a hash of the program; milliseconds, and those of a processor
//! 17 commits::patches                a mutant and a test that reaches it
//! ```

use crate::ctx::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::Path;
use std::time::Duration;

/// What is known of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// How long it takes.
    pub time: Duration,
    /// The same in processor time.
    pub cpu: Duration,
    /// The numbers of the mutants that it reaches, each with the tests that do.
    pub tests: BTreeMap<usize, BTreeSet<String>>,
}

impl Reach {
    /// Reads what `path` has about `program`, if it is about the program as it is now.
    ///
    /// # Errors
    /// The program cannot be read.
    pub fn read(path: &Path, program: &Path) -> Result<Option<Self>, String> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        Ok(Self::parse(&text, hash(program)?))
    }

    /// # Errors
    /// The program cannot be read or `path` not be written.
    pub fn write(&self, path: &Path, program: &Path) -> Outcome {
        let (hash, time, cpu) = (hash(program)?, self.time.as_millis(), self.cpu.as_millis());
        let mut text = format!("{hash:016x} {time} {cpu}\n");
        for (number, tests) in &self.tests {
            for test in tests {
                let _ = writeln!(text, "{number} {test}");
            }
        }
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn parse(text: &str, program: u64) -> Option<Self> {
        let mut lines = text.lines();
        let mut words = lines.next()?.split(' ');
        if u64::from_str_radix(words.next()?, 16) != Ok(program) {
            return None;
        }
        let mut ms = || Some(Duration::from_millis(words.next()?.parse().ok()?));
        let mut reach = Self { time: ms()?, cpu: ms()?, tests: BTreeMap::new() };
        for line in lines {
            let (number, test) = line.split_once(' ')?;
            reach.tests.entry(number.parse().ok()?).or_default().insert(test.to_owned());
        }
        Some(reach)
    }
}

fn hash(program: &Path) -> Result<u64, String> {
    let bytes = std::fs::read(program).map_err(|e| format!("{}: {e}", program.display()))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests;
