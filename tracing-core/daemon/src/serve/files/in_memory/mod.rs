//! What users take with files in memory. A page of such a file, and what a pipe holds, is memory of the process that
//! wrote it: of the service, which the kernel ends if that is too much.
//!
//! ```text
//!   tmpfs, memfd          what is written, in whole pages ──> account of the user, also when the file is closed
//!   pipe, AF_UNIX socket  what it can hold ─────────────────> account, while it is open; then what may be left in it
//!   disk and others       nothing
//!   all files             data that is not written yet ─────> an account of its own until it is, if it is much
//! ```
//!
//! The memory lives as long as the file, and anybody who has a descriptor can keep that, so this process cannot see the
//! end. Therefore bytes stay on the account until the service ends, with one exception: where the kernel counts the
//! memory of the control group of the service, the accounts together are no more than it counts. If users have removed
//! files, all accounts shrink by the same part, because nobody can tell whose files they were.
//!
//! The kernel is asked by the threads of files, while the accounts are not locked: its answer may take a while.

use core::fmt;
use std::os::fd::BorrowedFd;

use rustix::fs::fstat;
use rustix::io::ioctl_fionread;
use rustix::net::sockopt::socket_send_buffer_size;
use rustix::pipe::fcntl_getpipe_size;

use super::super::refusals::Refusals;
use super::kind::{Memory, memory_of};
use crate::limits::{
    FILES_IN_MEMORY_AT_FIRST_PART, FILES_IN_MEMORY_PER_USER_BYTES, FILES_IN_MEMORY_PER_USER_PART,
    FILES_IN_MEMORY_USERS_SHARE, WAITING_BYTES, WAITING_FREE_BYTES, WAITING_PART,
    WAITING_USERS_SHARE,
};
use crate::system::own_user::OwnUser;
use crate::usage::Usage;
use abi::map::SortedMap;
use abi::sync::{Arc, AtomicU64, Mutex, Ordering, lock};
use os::memory_limit::Group;

/// What a pipe keeps when all of it was read (`tmp_page` of `pipe.c`), bytes.
const EMPTY_PIPE_BYTES: u64 = 2 * PAGE_BYTES;

/// The smallest page.
const PAGE_BYTES: u64 = 4096;

/// What a pipe or a socket holds if the kernel does not tell: the largest that others than root can have.
const BUFFER_BYTES: u64 = 1024 * 1024;

/// Asks the kernel what all memory that may be on the accounts is at most.
type Measure = Box<dyn Fn() -> Option<u64> + Send + Sync>;

struct Shared {
    /// Bytes of one user, and of all users but root and that of the daemon.
    per_user: u64,
    total: u64,
    /// Bytes that may wait to be written into files of all these users, beside those of each that are free.
    waiting_max: u64,
    own: OwnUser,
    measure: Measure,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Bytes of each user that has some.
    users: SortedMap<u32, u64>,
    /// Of these, what is being written: the kernel may not count it yet.
    writing: u64,
    /// All that was ever charged.
    charged: u64,
    /// Bytes that wait to be written into files, of each user that has some.
    waiting: SortedMap<u32, u64>,
    /// How often each user wanted more than there may be.
    refused: Refusals<u32>,
}

/// The accounts. Clones are the same accounts.
#[derive(Clone)]
pub(super) struct InMemory(Arc<Shared>);

/// What there would be too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExcessOf {
    /// Memory that files take.
    Files,
    /// Data that waits to be written.
    Waiting,
}

/// Why nothing more is written, or may wait to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Excess {
    of: ExcessOf,
    /// The user, or all users.
    uid: Option<u32>,
    held: u64,
    more: u64,
    max: u64,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, uid, held, more, max } = self;
        match of {
            ExcessOf::Files => {
                f.write_str("files in memory (tmpfs, memfd, pipes that are not read) of ")?;
            }
            ExcessOf::Waiting => write!(f, "{held} bytes wait to be written into files of ")?,
        }
        match uid {
            Some(uid) => write!(f, "user {uid}")?,
            None => f.write_str("all users")?,
        }
        match of {
            ExcessOf::Files => write!(
                f,
                " take {held} bytes of the memory of the service, and with {more} more they would take more than \
                 {max}: write to a file on a disk, or read the session without write_into_file"
            ),
            ExcessOf::Waiting => write!(
                f,
                ", and with {more} more these would be more than {max}: end sessions whose files take nothing, or \
                 read the session without write_into_file"
            ),
        }
    }
}

impl InMemory {
    /// For a service of user `own`, whose memory nobody asks for.
    pub(super) fn unmeasured(own: OwnUser) -> Self {
        Self::with(0, own, Box::new(|| None))
    }

    /// For a daemon of user `own` that may use so much memory; 0: that is not known.
    pub(super) fn new(memory_bytes: u64, own: OwnUser) -> Self {
        let group = Group::own();
        let measure = move || group.as_ref().and_then(Group::unreclaimable_bytes);
        Self::with(memory_bytes, own, Box::new(measure))
    }

    fn with(memory_bytes: u64, own: OwnUser, measure: Measure) -> Self {
        let per_user = match memory_bytes {
            0 => FILES_IN_MEMORY_PER_USER_BYTES,
            bytes => bytes / FILES_IN_MEMORY_PER_USER_PART,
        };
        let total = per_user.saturating_mul(FILES_IN_MEMORY_USERS_SHARE);
        let waiting_max = match memory_bytes {
            0 => WAITING_BYTES,
            bytes => bytes / WAITING_PART,
        };
        let state = Mutex::default();
        Self(Arc::new(Shared { per_user, total, waiting_max, own, measure, state }))
    }

    /// How a file that `uid` has passed, or had created, is charged; none if it is not. This may take as long as its
    /// file system likes.
    pub(super) fn charge_of(&self, uid: u32, file: BorrowedFd<'_>) -> Option<Charge> {
        if !self.0.own.limits(uid) {
            return None;
        }
        let kind = memory_of(file)?;
        Some(Charge { account: self.clone(), uid, kind, held: AtomicU64::new(0) })
    }

    /// Charges a user for `more` bytes, which are written until the result is dropped.
    fn add(&self, uid: u32, more: u64) -> Result<Writing<'_>, Excess> {
        let (excess, writing, charged) = {
            let mut state = lock(&self.0.state);
            match self.0.charge(&mut state, uid, more) {
                Ok(()) => return Ok(Writing(self, more)),
                Err(excess) => (excess, state.writing, state.charged),
            }
        };
        let counted = (self.0.measure)();
        let mut state = lock(&self.0.state);
        let charge = match counted {
            Some(counted) => {
                let since = state.charged.saturating_sub(charged);
                state.shrink(counted.saturating_add(writing).saturating_add(since));
                self.0.charge(&mut state, uid, more)
            }
            None => Err(excess),
        };
        if charge.is_err() {
            state.refused.note(uid);
        }
        charge.map(|()| Writing(self, more))
    }

    /// Counts data of a user that waits to be written, until the result is dropped.
    pub(super) fn hold(&self, uid: u32, bytes: u64) -> Result<Held, Excess> {
        let mut state = lock(&self.0.state);
        if let Err(excess) = self.0.wait(&mut state, uid, bytes) {
            state.refused.note(uid);
            return Err(excess);
        }
        Ok(Held { account: self.clone(), uid, bytes })
    }

    /// Users that have something, or to whom more was refused; some come twice.
    pub(super) fn users(&self) -> Vec<u32> {
        let state = lock(&self.0.state);
        state.users.keys().copied().chain(state.refused.users()).collect()
    }

    /// What a user has, and may have, and how often it wanted more. `None`: it is not charged.
    pub(super) fn of_user(&self, uid: u32) -> Option<Usage> {
        let state = self.0.own.limits(uid).then(|| lock(&self.0.state))?;
        let held = state.users.get(&uid).copied().unwrap_or(0);
        Some(Usage { held, max: self.0.per_user, refused: Some(state.refused.of(uid)) })
    }

    /// What all users have that are charged, and may have.
    pub(super) fn of_users(&self) -> Usage {
        Usage::new(lock(&self.0.state).sum(), self.0.total)
    }

    /// Bytes that wait to be written.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> u64 {
        lock(&self.0.state).waiting.values().sum()
    }

    fn release(&self, uid: u32, bytes: u64) {
        take_off(&mut lock(&self.0.state).users, uid, bytes);
    }
}

/// So many bytes are being written.
pub(super) struct Writing<'a>(&'a InMemory, u64);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0.state);
        state.writing = state.writing.saturating_sub(self.1);
    }
}

/// Data of a user waits to be written.
pub(super) struct Held {
    account: InMemory,
    uid: u32,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = lock(&self.account.0.state);
        take_off(&mut state.waiting, self.uid, self.bytes);
    }
}

impl Shared {
    /// Counts `more` bytes of a user that wait, if they may.
    fn wait(&self, state: &mut State, uid: u32, more: u64) -> Result<(), Excess> {
        let of = ExcessOf::Waiting;
        let counts = |waiting: u64| waiting.saturating_sub(WAITING_FREE_BYTES);
        let held = state.waiting.get(&uid).copied().unwrap_or(0);
        let sum = held.saturating_add(more);
        let max = (self.waiting_max / WAITING_USERS_SHARE).saturating_add(WAITING_FREE_BYTES);
        if sum > max {
            return Err(Excess { of, uid: Some(uid), held, more, max });
        }
        let all = state.waiting.values().copied().map(counts).fold(0, u64::saturating_add);
        let more = counts(sum).saturating_sub(counts(held));
        if all.saturating_add(more) > self.waiting_max {
            return Err(Excess { of, uid: None, held: all, more, max: self.waiting_max });
        }
        *state.waiting.get_or_insert_with(uid, || 0) = sum;
        Ok(())
    }

    /// Charges a user for `more` bytes, if it may have them.
    fn charge(&self, state: &mut State, uid: u32, more: u64) -> Result<(), Excess> {
        let of = ExcessOf::Files;
        let held = state.users.get(&uid).copied().unwrap_or(0);
        let sum = held.saturating_add(more);
        if sum > self.per_user {
            return Err(Excess { of, uid: Some(uid), held, more, max: self.per_user });
        }
        let is_first = sum <= self.per_user / FILES_IN_MEMORY_AT_FIRST_PART;
        let max = self.total.saturating_add(if is_first { self.total / 8 } else { 0 });
        let all = state.sum();
        if all.saturating_add(more) > max {
            return Err(Excess { of, uid: None, held: all, more, max });
        }
        *state.users.get_or_insert_with(uid, || 0) = sum;
        state.writing = state.writing.saturating_add(more);
        state.charged = state.charged.saturating_add(more);
        Ok(())
    }
}

/// A user has so many bytes less.
fn take_off(users: &mut SortedMap<u32, u64>, uid: u32, bytes: u64) {
    if let Some(held) = users.get_mut(&uid) {
        *held = held.saturating_sub(bytes);
        if *held == 0 {
            users.remove(&uid);
        }
    }
}

impl State {
    fn sum(&self) -> u64 {
        self.users.values().copied().fold(0, u64::saturating_add)
    }

    /// There are no more than so many bytes: users have removed the rest.
    fn shrink(&mut self, bytes: u64) {
        let all = self.sum();
        if bytes >= all {
            return;
        }
        for (_, held) in self.users.iter_mut() {
            let part = u128::from(*held).saturating_mul(bytes.into()).checked_div(all.into());
            *held = part.and_then(|part| u64::try_from(part).ok()).unwrap_or(*held);
        }
        self.users.retain(|_, held| *held > 0);
    }
}

/// How one file is charged.
pub(super) struct Charge {
    account: InMemory,
    uid: u32,
    kind: Memory,
    /// What a pipe or socket was charged for.
    held: AtomicU64,
}

impl Charge {
    /// `bytes` are written to `file` until the result is dropped.
    ///
    /// # Errors
    /// When its user may have no more.
    pub(super) fn begin_write(
        &self,
        file: BorrowedFd<'_>,
        bytes: u64,
    ) -> Result<Writing<'_>, Excess> {
        if self.kind == Memory::Pages {
            // A huge page, if the file system has such. The write may begin and end within a page.
            let page = fstat(file).ok().and_then(|stat| u64::try_from(stat.st_blksize).ok());
            let page = page.unwrap_or(0).max(PAGE_BYTES);
            let pages = bytes.div_ceil(page).saturating_add(1);
            return self.account.add(self.uid, pages.saturating_mul(page));
        }
        // Its user can change what it holds at any time.
        let holds = match self.kind {
            Memory::Pipe => fcntl_getpipe_size(file),
            _ => socket_send_buffer_size(file),
        };
        let holds = holds.map_or(BUFFER_BYTES, |bytes| bytes as u64);
        let more = holds.saturating_sub(self.held.load(Ordering::Relaxed));
        let writing = self.account.add(self.uid, more)?;
        self.held.fetch_add(more, Ordering::Relaxed);
        Ok(writing)
    }

    /// This process closes the file.
    pub(super) fn before_close(&self, file: BorrowedFd<'_>) {
        let held = self.held.load(Ordering::Relaxed);
        let left = match (self.kind, ioctl_fionread(file)) {
            (Memory::Pipe, Ok(0)) => held.min(EMPTY_PIPE_BYTES),
            _ => held,
        };
        self.account.release(self.uid, held.saturating_sub(left));
    }
}

#[cfg(test)]
mod tests;
