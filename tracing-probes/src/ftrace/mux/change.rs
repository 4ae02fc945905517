//! Changes to files of tracefs, and how they are undone.

use std::io;

use crate::ftrace::tracefs::Tracefs;

/// What is done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The value is written.
    Write { path: String, value: String },
    /// The file is cleared; then the value is written, unless it is empty.
    Fill { path: String, value: String },
    /// The value is added.
    Append { path: String, value: String },
    /// The file is cleared.
    Truncate { path: String },
}

impl Change {
    pub(crate) fn write(path: String, value: &str) -> Self {
        Self::Write { path, value: value.to_owned() }
    }

    pub(crate) fn fill(path: String, value: &str) -> Self {
        Self::Fill { path, value: value.to_owned() }
    }

    pub(crate) fn append(path: String, value: &str) -> Self {
        Self::Append { path, value: value.to_owned() }
    }

    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Write { path, .. }
            | Self::Fill { path, .. }
            | Self::Append { path, .. }
            | Self::Truncate { path } => path,
        }
    }

    /// Does it.
    pub(crate) fn apply(&self, tracefs: &dyn Tracefs) -> io::Result<()> {
        match self {
            Self::Write { path, value } => tracefs.write(path, value.as_bytes()),
            Self::Append { path, value } => tracefs.append(path, value.as_bytes()),
            Self::Truncate { path } => tracefs.truncate(path),
            Self::Fill { path, value } => {
                tracefs.truncate(path)?;
                if value.is_empty() { Ok(()) } else { tracefs.append(path, value.as_bytes()) }
            }
        }
    }

    /// What it puts back.
    pub(super) fn target(&self) -> Target {
        match self {
            Self::Write { path, .. } | Self::Fill { path, .. } => Target::Value(path.clone()),
            Self::Append { path, value } => Target::Command(path.clone(), value.clone()),
            Self::Truncate { path } => Target::Contents(path.clone()),
        }
    }
}

/// What a change puts back. Of two changes with the same target, the one that was found first counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// The value of a file.
    Value(String),
    /// What a command to a file has done.
    Command(String, String),
    /// A file that is to be empty.
    Contents(String),
}

/// Undoes `changes`, the last first. If one fails, it and those before it are undone once more: it may have been in the
/// way of another, and none may come before it. What could not be put back is told in `notes`.
pub(crate) fn undo(tracefs: &dyn Tracefs, changes: &[Change], notes: &mut Vec<String>) {
    stop_recording(tracefs, changes);
    let failed =
        changes.iter().enumerate().rev().filter_map(|(at, c)| failure(c, tracefs).map(|_| at));
    let Some(first) = failed.max() else { return };
    for change in changes.iter().take(first + 1).rev() {
        if let Some(error) = failure(change, tracefs) {
            notes.push(format!("{} is not put back: {error}; see {change:?}", change.path()));
        }
    }
}

/// Makes a change. No failure are an event, a probe or an instance that is gone, and its settings with it, and a probe
/// that another instance has.
fn failure(change: &Change, tracefs: &dyn Tracefs) -> Option<io::Error> {
    let error = change.apply(tracefs).err()?;
    let is_probe = matches!(change, Change::Append { .. });
    let is_gone = error.kind() == io::ErrorKind::NotFound
        || is_probe && error.kind() == io::ErrorKind::ResourceBusy;
    (!is_gone).then_some(error)
}

/// Events that others have come back before the ring is cleared: nothing may record until then.
fn stop_recording(tracefs: &dyn Tracefs, changes: &[Change]) {
    for change in changes {
        if let Change::Truncate { path } = change
            && let Some(prefix) = path.strip_suffix("trace")
        {
            // A failure has no consequence but some events of others, which are cleared or kept.
            _ = tracefs.write(&format!("{prefix}tracing_on"), b"0");
        }
    }
}

/// The text of a file, without white space around it.
pub(crate) fn text(tracefs: &dyn Tracefs, path: &str) -> io::Result<String> {
    let bytes = tracefs.read(path)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Words for a file that takes several. Each has a newline behind it: the kernel then reads the last one at once, and
/// tells what is wrong with it, and not when the file is closed.
pub(super) fn list(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|word| format!("{}\n", word.as_ref())).collect()
}
