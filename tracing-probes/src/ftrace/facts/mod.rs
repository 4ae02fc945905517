//! What the events of a pass tell to other data sources: threads that ran or began, names that changed, files that were
//! opened.
//!
//! A *pass* reads all CPUs of an instance once. Its facts are handed on afterwards, and forgotten.

#[cfg(test)]
mod tests;

use abi::map::BlockSet;

use crate::facts;
use crate::limits::FACTS_MAX;

/// Threads that were noted last, so that most events find theirs without a search.
const RECENT: usize = 256;

/// The facts of a pass. Each kind is a set.
#[derive(Debug)]
pub(crate) struct Facts {
    recent: Box<[i32; RECENT]>,
    /// Threads.
    pub(crate) pids: Noted<i32>,
    /// Threads that are new, or have a new name.
    pub(crate) renamed: Noted<i32>,
    /// Threads, and the descriptors that they opened.
    pub(crate) fds: Noted<(i32, u64)>,
    /// Devices as user space numbers them, 0 for an unknown one, and inodes on them.
    pub(crate) inodes: Noted<(u64, u64)>,
}

/// A set with a limit.
#[derive(Debug)]
pub(crate) struct Noted<T> {
    set: BlockSet<T>,
    len: usize,
}

impl<T: Ord + Copy> Noted<T> {
    fn new() -> Self {
        Self { set: BlockSet::new(), len: 0 }
    }

    fn clear(&mut self) {
        self.set.clear();
        self.len = 0;
    }

    fn add(&mut self, fact: T) {
        if self.len < FACTS_MAX && self.set.insert(fact) {
            self.len += 1;
        }
    }

    /// All, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.set.iter()
    }

    /// A copy, if it is wanted.
    fn copy(&self, is_wanted: bool) -> Vec<T> {
        let mut all = Vec::new();
        if is_wanted {
            all.reserve_exact(self.len);
            all.extend(self.iter());
        }
        all
    }
}

impl Default for Facts {
    fn default() -> Self {
        // No thread has this number.
        let recent = Box::new([i32::MIN; RECENT]);
        let (pids, renamed) = (Noted::new(), Noted::new());
        Self { recent, pids, renamed, fds: Noted::new(), inodes: Noted::new() }
    }
}

impl Facts {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.recent.fill(i32::MIN);
        self.pids.clear();
        self.renamed.clear();
        self.fds.clear();
        self.inodes.clear();
    }

    /// What another data source wants of them.
    pub(crate) fn copy(&self, wanted: facts::Wanted) -> facts::Facts {
        facts::Facts {
            pids: self.pids.copy(wanted.threads),
            renamed: self.renamed.copy(wanted.threads),
            fds: self.fds.copy(wanted.fds),
            inodes: self.inodes.copy(wanted.inodes),
        }
    }

    /// A thread was there.
    #[inline]
    pub(crate) fn pid(&mut self, pid: i32) {
        let slot = pid.cast_unsigned() as usize % RECENT;
        if let Some(last) = self.recent.get_mut(slot)
            && *last != pid
        {
            *last = pid;
            self.pids.add(pid);
        }
    }

    pub(crate) fn renamed(&mut self, pid: i32) {
        self.renamed.add(pid);
    }

    pub(crate) fn fd(&mut self, pid: i32, fd: u64) {
        self.fds.add((pid, fd));
    }

    pub(crate) fn inode(&mut self, device: u64, inode: u64) {
        self.inodes.add((device, inode));
    }
}
