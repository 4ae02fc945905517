//! What earlier runs found about mutants: `target/mutants/fates.txt`, so that a run can be continued.
//!
//! ```text
//! 7c1f… killed service/it<TAB>limit SESSIONS_MAX is 1000 times larger
//! 02b4… survived<TAB>check tracing-core/abi/src/ipc/cut.rs …
//! ```
//!
//! A line holds as long as its number does. For a mutant that a test found, the number is a hash of the files that the
//! mutant is in; for any other it is a hash of all sources, as a new test may find it. So only a run with `--afresh`
//! notices that a test is gone.

use super::rewrite::Mutant;
use super::run::Fate;
use crate::ctx::{Outcome, read};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::io::Write as _;
use std::path::Path;

/// Where the sources are that decide about a fate.
const SOURCES: [&str; 5] =
    ["tracing-core", "protos/src", "protozero/src", "tracing-file", "tracing-probes/src"];

/// Fates that are known, and where further ones are noted.
pub struct Fates {
    known: BTreeMap<String, (u64, Fate)>,
    file: File,
    /// Hashes of the sources, by path.
    files: BTreeMap<String, u64>,
    of_all: u64,
}

impl Fates {
    /// Reads what earlier runs found, unless `afresh`.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn open(path: &Path, root: &Path, afresh: bool) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut options = File::options();
        let options = options.create(true).read(true).write(true).truncate(afresh);
        let mut file = options.open(path).map_err(failed)?;
        let text = std::io::read_to_string(&mut file).map_err(failed)?;
        let mut files = BTreeMap::new();
        for folder in SOURCES {
            hash_all(root, &root.join(folder), &mut files)?;
        }
        let (known, of_all) = (text.lines().filter_map(parse).collect(), hash(&files));
        Ok(Self { known, file, files, of_all })
    }

    /// What is known of a mutant.
    pub fn of(&self, mutant: &Mutant) -> Option<Fate> {
        let (hash, fate) = self.known.get(&mutant.name)?;
        (*hash == self.hash(mutant, fate)).then(|| fate.clone())
    }

    /// The order in which to look at mutants about which nothing is known for the sources as they are: first those that
    /// were never looked at, then those that a new test may find.
    pub fn rank(&self, mutant: &Mutant) -> u8 {
        match self.known.get(&mutant.name) {
            None => 0,
            Some((_, Fate::Survived | Fate::NotReached | Fate::Hung(_))) => 1,
            Some((_, Fate::Killed(_))) => 2,
        }
    }

    /// Notes what was found about a mutant.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&mut self, mutant: &Mutant, fate: &Fate) -> Outcome {
        let hash = self.hash(mutant, fate);
        let word = match fate {
            Fate::Killed(by) => format!("killed {by}"),
            Fate::Hung(by) => format!("hung {by}"),
            Fate::Survived => "survived".to_owned(),
            Fate::NotReached => "not-reached".to_owned(),
        };
        let line = format!("{hash:016x} {word}\t{}\n", mutant.name);
        self.file.write_all(line.as_bytes()).map_err(|e| format!("fates of mutants: {e}"))
    }

    fn hash(&self, mutant: &Mutant, fate: &Fate) -> u64 {
        if !matches!(fate, Fate::Killed(_)) {
            return self.of_all;
        }
        let files: BTreeSet<&String> = mutant.places.iter().map(|(file, _)| file).collect();
        let hashes: Vec<_> = files.into_iter().map(|file| self.files.get(file)).collect();
        hash(&(&mutant.name, hashes))
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn parse(line: &str) -> Option<(String, (u64, Fate))> {
    let (head, name) = line.split_once('\t')?;
    let (hash, word) = head.split_once(' ')?;
    let fate = match word.split_once(' ') {
        Some(("killed", by)) => Fate::Killed(by.to_owned()),
        Some(("hung", by)) => Fate::Hung(by.to_owned()),
        None if word == "survived" => Fate::Survived,
        None if word == "not-reached" => Fate::NotReached,
        _ => return None,
    };
    Some((name.to_owned(), (u64::from_str_radix(hash, 16).ok()?, fate)))
}

/// Adds all Rust files below a folder.
fn hash_all(root: &Path, folder: &Path, files: &mut BTreeMap<String, u64>) -> Outcome {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            hash_all(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            files.insert(name, hash(&read(&path)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
