//! The root of all files that probes read: the real one, or a directory of a test.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use abi::map::SortedSet;
use abi::sync::lock;

use crate::limits::{FILE_BYTES_MAX, WARNINGS_MAX};

/// The directory that all paths are below, and the log for warnings.
#[derive(Clone)]
pub struct Root {
    path: PathBuf,
    log: Arc<dyn Fn(&str) + Send + Sync>,
    warned: Arc<Mutex<SortedSet<String>>>,
}

impl Root {
    /// `/`, with warnings to stderr.
    #[must_use]
    pub fn system() -> Self {
        // A log that nobody reads any more is no reason to end.
        Self::at("/", |line| _ = io::stderr().write_all(format!("probes: {line}\n").as_bytes()))
    }

    /// A directory that has `proc` and `sys` in it: `/`, or one of a test. Warnings go to `log`.
    pub fn at(path: impl Into<PathBuf>, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { path: path.into(), log: Arc::new(log), warned: Arc::default() }
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file below it.
    pub(crate) fn join(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    /// Reads a file into a buffer, in place of its contents.
    pub(crate) fn read(&self, path: &str, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        File::open(self.join(path))?.take(FILE_BYTES_MAX).read_to_end(into).map(|_| ())
    }

    /// The contents of a short file, without white space at the end.
    pub(crate) fn read_line(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        self.read(path, &mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// The number in a short file.
    pub(crate) fn read_number(&self, path: &str) -> Option<u64> {
        self.read_line(path)?.trim().parse().ok()
    }

    /// Names in a directory, in no order. `None` if it cannot be read.
    pub(crate) fn names(&self, path: &str) -> Option<Vec<String>> {
        let entries = std::fs::read_dir(self.join(path)).ok()?;
        Some(entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect())
    }

    /// The numbers after `prefix` in the names of a directory, sorted.
    pub(crate) fn numbers(&self, path: &str, prefix: &str) -> Option<Vec<u32>> {
        let number = |name: String| {
            let digits = name.strip_prefix(prefix)?;
            // "+1" would parse, but the kernel has no such names.
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        let mut numbers: Vec<u32> = self.names(path)?.into_iter().filter_map(number).collect();
        numbers.sort_unstable();
        Some(numbers)
    }

    /// The target of a link.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let target = std::fs::read_link(self.join(path)).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// Opens a file.
    pub(crate) fn open(&self, path: &str) -> io::Result<File> {
        File::open(self.join(path))
    }

    /// Logs `line`, unless it was logged before.
    pub(crate) fn warn_once(&self, line: &str) {
        let mut known = lock(&self.warned);
        if known.len() < WARNINGS_MAX && known.insert(line.to_owned()) {
            (self.log)(line);
        }
    }
}

impl std::fmt::Debug for Root {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Root").field(&Path::new(&self.path)).finish()
    }
}
