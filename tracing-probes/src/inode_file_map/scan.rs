//! A walk through the folders of a file system, in pieces.
//!
//! It follows no links and enters no other file system, so it ends. What it cannot read is left out.

use std::fs::{self, DirEntry, FileType, ReadDir};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use protos::InodeFileMapEntryType as Type;

use super::cache::Entry;
use crate::Root;
use crate::limits::FOLDERS_PENDING_MAX;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Scan {
    root: Root,
    /// Folders that are to be read, the next one last. Absolute paths, below `root`, with the number of the file system
    /// that each must be in.
    pub(super) pending: Vec<(PathBuf, u64)>,
    open_folder: Option<OpenFolder>,
}

#[derive(Debug)]
struct OpenFolder {
    folder: PathBuf,
    file_system: u64,
    entries: ReadDir,
}

impl Scan {
    /// A walk through these folders.
    pub(super) fn new(root: &Root, folders: Vec<PathBuf>) -> Self {
        let mut pending = Vec::new();
        for folder in folders.into_iter().rev() {
            // The number that `stat` gives differs from the device of events on some file systems.
            if let Ok(data) = fs::symlink_metadata(below(root, &folder)) {
                pending.push((folder, data.dev()));
            }
        }
        Self { root: root.clone(), pending, open_folder: None }
    }

    /// Looks at the next `max` entries; at a folder twice, when it is found and when it is opened. `found` takes each,
    /// and says whether to go on. False at the end.
    pub(super) fn step(&mut self, max: usize, found: &mut dyn FnMut(u64, Entry) -> bool) -> bool {
        for _ in 0..max {
            let Some(looked) = self.look() else { return false };
            if let Some((inode, entry)) = looked
                && !found(inode, entry)
            {
                return false;
            }
        }
        true
    }

    /// Looks at the next entry, which is told if it can be. `None`: there is none.
    fn look(&mut self) -> Option<Option<(u64, Entry)>> {
        let Some(open_folder) = &mut self.open_folder else { return self.open() };
        let Some(Ok(entry)) = open_folder.entries.next() else {
            // An error may come again and again.
            self.open_folder = None;
            return self.open();
        };
        let kind = entry.file_type().ok();
        if kind.is_some_and(|kind| kind.is_dir()) {
            let folder = open_folder.folder.join(entry.file_name());
            let file_system = open_folder.file_system;
            self.add(folder, file_system);
            // It is told when it is opened, unless another file system hides it.
            return Some(None);
        }
        Some(Some(told(&open_folder.folder, &entry, kind)))
    }

    /// Opens the next folder, which is told if it can be. `None`: there is none.
    fn open(&mut self) -> Option<Option<(u64, Entry)>> {
        let (folder, file_system) = self.pending.pop()?;
        let path = below(&self.root, &folder);
        let Ok(data) = fs::symlink_metadata(&path) else { return Some(None) };
        if !data.is_dir() || data.dev() != file_system {
            return Some(None);
        }
        let told = Entry { path: folder.to_string_lossy().into_owned(), kind: Type::DIRECTORY };
        if let Ok(entries) = fs::read_dir(path) {
            self.open_folder = Some(OpenFolder { folder, file_system, entries });
        }
        Some(Some((data.ino(), told)))
    }

    fn add(&mut self, folder: PathBuf, file_system: u64) {
        if self.pending.len() < FOLDERS_PENDING_MAX {
            self.pending.push((folder, file_system));
        } else {
            self.root.warn("inode_file_map: folders are left out: there are too many");
        }
    }
}

fn told(folder: &Path, entry: &DirEntry, kind: Option<FileType>) -> (u64, Entry) {
    let is_file = kind.is_some_and(|kind| kind.is_file());
    let kind = if is_file { Type::FILE } else { Type::UNKNOWN };
    let path = folder.join(entry.file_name()).to_string_lossy().into_owned();
    (entry.ino(), Entry { path, kind })
}

/// A path of the machine below the root of a test.
fn below(root: &Root, path: &Path) -> PathBuf {
    root.path().join(path.strip_prefix("/").unwrap_or(path))
}
