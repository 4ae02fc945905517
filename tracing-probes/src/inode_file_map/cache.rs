//! What scans have found, for all instances: the inodes that were asked for last.

use std::collections::BTreeMap;

use protos::InodeFileMapEntryType as Type;

use crate::limits::INODES_CACHED_MAX;

/// A device, and an inode on it.
pub(super) type Inode = (u64, u64);

/// What an inode is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) kind: Type,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: BTreeMap<Inode, (u64, Entry)>,
    /// By the time of their last use.
    by_use: BTreeMap<u64, Inode>,
    last_use: u64,
}

impl Cache {
    pub(super) fn get(&mut self, inode: Inode) -> Option<&Entry> {
        let (used, entry) = self.entries.get_mut(&inode)?;
        self.by_use.remove(used);
        self.last_use += 1;
        *used = self.last_use;
        self.by_use.insert(*used, inode);
        Some(entry)
    }

    /// Adds an entry, in place of the one that was not used for longest.
    pub(super) fn insert(&mut self, inode: Inode, entry: Entry) {
        self.last_use += 1;
        if let Some((used, _)) = self.entries.insert(inode, (self.last_use, entry)) {
            self.by_use.remove(&used);
        }
        self.by_use.insert(self.last_use, inode);
        if self.entries.len() > INODES_CACHED_MAX
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
