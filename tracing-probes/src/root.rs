//! The root of all files that probes read: the real one, or a directory of a test.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use abi::map::SortedMap;
use abi::sync::lock;

use crate::limits::{FILE_BYTES_MAX, WARNING_BYTES_MAX, WARNING_REPEAT_NS, WARNINGS_MAX};

/// The link of the first PID namespace (`PROC_PID_INIT_INO`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// The directory that all paths are below, and the log for warnings.
#[derive(Clone)]
pub struct Root {
    path: PathBuf,
    log: Arc<dyn Fn(&str) + Send + Sync>,
    warnings: Arc<Mutex<Warnings>>,
}

/// The warnings of the last [`WARNING_REPEAT_NS`].
#[derive(Default)]
pub(crate) struct Warnings {
    /// When each was printed.
    printed_ns: SortedMap<String, u64>,
    /// Further ones that were not printed, since the last one that was.
    left_out: u64,
}

impl Warnings {
    /// Whether `line` is to be printed now; and how many others were left out before it.
    pub(crate) fn admit(&mut self, line: &str, now_ns: u64) -> Option<u64> {
        self.printed_ns.retain(|_, at_ns| now_ns.saturating_sub(*at_ns) < WARNING_REPEAT_NS);
        if self.printed_ns.contains_key(line) {
            return None;
        }
        if self.printed_ns.len() >= WARNINGS_MAX {
            self.left_out += 1;
            return None;
        }
        self.printed_ns.insert(line.to_owned(), now_ns);
        Some(core::mem::take(&mut self.left_out))
    }
}

impl Root {
    /// `/`, with warnings to stderr.
    #[must_use]
    pub fn system() -> Self {
        Self::at("/", |line| {
            // A log that nobody reads any more is no reason to end.
            _ = io::stderr().write_all(format!("probes: {}\n", plain(line)).as_bytes());
        })
    }

    /// A directory that has `proc` and `sys` in it: `/`, or one of a test. Warnings go to `log`.
    pub fn at(path: impl Into<PathBuf>, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { path: path.into(), log: Arc::new(log), warnings: Arc::default() }
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

    /// Is this program in the first PID namespace, whose numbers of threads the kernel's events have? `None`: it cannot
    /// be told.
    #[must_use]
    pub fn is_first_pid_namespace(&self) -> Option<bool> {
        self.link("proc/self/ns/pid").map(|link| link == FIRST_PID_NAMESPACE)
    }

    /// Opens a file.
    pub(crate) fn open(&self, path: &str) -> io::Result<File> {
        File::open(self.join(path))
    }

    /// Logs `line`, or the beginning of a long one, unless it was logged a short time ago.
    pub(crate) fn warn(&self, line: &str) {
        let mut ends = (0..=line.len().min(WARNING_BYTES_MAX)).rev();
        let end = ends.find(|end| line.is_char_boundary(*end));
        let line = line.get(..end.unwrap_or(0)).unwrap_or_default();
        let mut warnings = lock(&self.warnings);
        match warnings.admit(line, os::clock::boot_ns()) {
            None => {}
            Some(0) => (self.log)(line),
            Some(left_out) => {
                (self.log)(&format!("{line} ({left_out} warnings were left out before)"))
            }
        }
    }
}

/// A line for a terminal. Parts of it are from configs: its control characters are replaced, which would change the
/// terminal, or make it look like several lines.
pub(crate) fn plain(line: &str) -> String {
    line.replace(char::is_control, "?")
}

impl std::fmt::Debug for Root {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Root").field(&Path::new(&self.path)).finish()
    }
}
