//! What the peers of each user make the service keep: bytes of its memory, or a number of things.
//!
//! ```text
//!               one user   │   all users together      root, and the user of the service
//!   charge ──>  has less?  ├─> have less than that? ──> not counted here: nobody takes their share
//!               no: refused, and counted
//! ```
//!
//! A user is named by the machine and the number there. Where bytes are counted, they are the memory that the service
//! needs for a thing, not its encoded length. What one user has used up, another one still has: the limit of all users
//! together only keeps a person who owns many user numbers from growing the service without end, and is far above that
//! of one.

use crate::config::ServiceConfig;
use crate::input::Peer;
use crate::limits;
use crate::shares::{MemoryShares, Share};
use abi::map::BlockMap;

pub(crate) use buffer_charge::BufferCharge;
pub(crate) use no_room::NoRoom;
use resource::RESOURCES;
pub(crate) use resource::Resource;

/// What a user did that it may not do: how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Faults {
    refused: [u64; RESOURCES],
    holes: u64,
}

/// Why the shared memory of a user's producers is not trusted. The table in `producers::memory` says what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Distrust {
    /// Memory had zeros where there was data.
    Zeros,
    /// Memory without data was named, which no program does by mistake.
    Caught,
}

/// Whose account it is: the machine and the user there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct User {
    machine: u32,
    uid: u32,
}

impl User {
    pub(crate) fn of(peer: &Peer) -> Self {
        Self { machine: peer.machine_id, uid: peer.uid }
    }

    /// Its block of 65,536 user ids, on its machine.
    fn block(self) -> (u32, u32) {
        (self.machine, self.uid >> 16)
    }

    /// A user of this machine.
    pub(crate) fn local(uid: u32) -> Self {
        Self { machine: 0, uid }
    }

    /// Whether it is user `uid` of this machine.
    pub(crate) fn is(self, uid: u32) -> bool {
        self == Self::local(uid)
    }

    /// Its number, on this machine.
    pub(crate) fn uid_here(self) -> Option<u32> {
        self.is(self.uid).then_some(self.uid)
    }

    /// Its number on its machine, and that machine.
    pub(crate) fn ids(self) -> (u32, u32) {
        (self.uid, self.machine)
    }
}

/// The accounts of all users that have something.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    by_user: BlockMap<User, [usize; RESOURCES]>,
    totals: [usize; RESOURCES],
    /// The user of the service.
    own_uid: u32,
    shares: MemoryShares,
    /// See [`limits::FLUSH_ANSWERS_PER_USER_MAX`].
    flush_answers_max: usize,
    /// Charges that were refused.
    refused: u64,
    /// What is remembered of users that wanted too much, or named memory without data.
    faults: BlockMap<User, Faults>,
    /// Whether there is anybody who is not trusted.
    distrusts: bool,
    /// Of users that are not trusted.
    distrusted: BlockMap<User, Distrust>,
    /// Blocks of user ids (see [`User::block`]): limited users there are trusted no more than that, and have no entry
    /// above that says the same.
    distrusted_blocks: BlockMap<(u32, u32), Distrust>,
    /// More users are not trusted than are remembered: all limited users are trusted no more than that.
    distrust_of_all: Option<Distrust>,
    /// Shared memory on the accounts of users that were caught, bytes.
    caught_bytes: usize,
    /// What is on the account of each of these for memory of producers that are gone, bytes.
    gone_by_user: BlockMap<User, usize>,
    /// Bytes that were ever added to `gone_by_user`.
    gone_ever: u64,
    /// The value of `gone_ever` at the last question to the kernel.
    gone_ever_asked: u64,
    /// For choosing which pages are asked for again, so that no peer can know.
    random: u64,
}

impl Accounts {
    /// No peer may know `check_seed`.
    pub(crate) fn new(own_uid: u32, check_seed: u64) -> Self {
        // Zero would stay zero.
        Self { own_uid, random: check_seed | 1, ..Self::default() }
    }

    /// The accounts of a service.
    pub(crate) fn of_service(config: &ServiceConfig) -> Self {
        Self {
            shares: MemoryShares::new(config.memory_bytes),
            flush_answers_max: config.limits.flush_answers_per_user_max,
            ..Self::new(config.uid, config.check_seed)
        }
    }

    /// Those of root's service that may use so much memory.
    #[cfg(test)]
    pub(crate) fn with_memory(memory_bytes: u64) -> Self {
        Self { shares: MemoryShares::new(memory_bytes), ..Self::new(0, 0) }
    }

    /// What requests that wait may take, decoded.
    pub(crate) fn decoded_share(&self) -> Share {
        self.shares.decoded
    }

    fn share(&self, what: Resource) -> Share {
        match what {
            Resource::SourcesAndWriters => self.shares.sources,
            Resource::Memory => Share::of_users(limits::SMB_BYTES_PER_USER_MAX),
            Resource::Codecs => self.shares.codecs,
            Resource::Registrations => Share::UNLIMITED,
            Resource::Buffers => self.shares.buffers,
            Resource::Answers => Share::of_users(self.flush_answers_max),
        }
    }

    /// The share that counts for a user.
    fn share_of(&self, user: User, what: Resource) -> Share {
        match self.counts_as_caught(user, what) {
            true => self.shares.caught_memory,
            false => self.share(what),
        }
    }

    /// The most that a user may have. None: as much as it likes.
    pub(crate) fn max_of(&self, user: User, what: Resource) -> Option<usize> {
        // What an administrator asks for itself is for it to say.
        let is_own = matches!(what, Resource::Buffers | Resource::Answers);
        let is_free = is_own && !self.is_limited(user);
        Some(self.share_of(user, what).of_one).filter(|max| !is_free && *max < usize::MAX)
    }

    /// The most that all users may have together to whom the common limits apply. None: there is no limit.
    fn total_max(&self, what: Resource) -> Option<usize> {
        Some(self.share(what).of_all).filter(|max| *max < usize::MAX)
    }

    /// A producer of this user named memory without data, or has zeros where there was data: from now on its memory is
    /// read in copies.
    pub(crate) fn distrust(&mut self, user: User) {
        if let Some(faults) = self.faults(user) {
            faults.holes = faults.holes.saturating_add(1);
        }
        self.trust_less(user, Distrust::Zeros);
    }

    /// Whether the memory of this user's producers is read in copies.
    #[inline]
    pub(crate) fn is_distrusted(&self, user: User) -> bool {
        self.distrusts && self.distrust_of(user).is_some()
    }

    /// A producer of this user named memory without data: what the service touches of its memory stays on its account
    /// from now on. Root and the user of the service are trusted.
    pub(crate) fn catch(&mut self, user: User) {
        if self.is_limited(user) && !self.is_caught(user) {
            self.trust_less(user, Distrust::Caught);
        }
    }

    /// Whether what the service touches of this user's memory stays on its account.
    #[inline]
    pub(crate) fn is_caught(&self, user: User) -> bool {
        self.distrusts && self.distrust_of(user) == Some(Distrust::Caught)
    }

    #[inline]
    fn distrust_of(&self, user: User) -> Option<Distrust> {
        let own = self.distrusted.get(&user).copied();
        if !self.is_limited(user) {
            return own;
        }
        let of_block = self.distrusted_blocks.get(&user.block()).copied();
        own.max(of_block).max(self.distrust_of_all)
    }

    /// From now on a user is trusted no more than that.
    fn trust_less(&mut self, user: User, why: Distrust) {
        if self.distrust_of(user) >= Some(why) || self.distrust_block(user.block(), why) {
            return;
        }
        let is_known = self.distrusted.contains_key(&user);
        let is_full = self.distrusted.len() >= limits::DISTRUSTED_USERS_MAX;
        if is_full && !is_known && !(why == Distrust::Caught && self.forget_one_with_zeros()) {
            return self.distrust_all(user, why);
        }
        self.distrusts = true;
        self.distrusted.insert(user, why);
        if why == Distrust::Caught {
            self.caught_bytes = self.caught_bytes.saturating_add(self.held(user, Resource::Memory));
        }
    }

    /// One more user of a block of ids is to be trusted no more than that. True if all of the block is now.
    fn distrust_block(&mut self, block: (u32, u32), why: Distrust) -> bool {
        let (machine, high) = block;
        let [first, last] = [high << 16, high << 16 | 0xffff].map(|uid| User { machine, uid });
        let has_place = self.distrusted_blocks.contains_key(&block)
            || self.distrusted_blocks.len() < limits::DISTRUSTED_BLOCKS_MAX;
        if high == 0 || !has_place {
            return false;
        }
        let others = self.distrusted.range(first..=last).filter(|(_, of)| **of >= why);
        let max = limits::DISTRUSTED_USERS_PER_BLOCK_MAX;
        if others.take(max).count() < max {
            return false;
        }
        self.distrusted_blocks.insert(block, why);
        let own_uid = self.own_uid;
        self.distrusted.retain(|user, of| user.block() != block || *of > why || user.is(own_uid));
        self.count_caught();
        true
    }

    /// Makes a place for a user that is caught. False if all that have one are.
    fn forget_one_with_zeros(&mut self) -> bool {
        let mut all = self.distrusted.iter();
        let found = all.find(|(_, why)| **why == Distrust::Zeros).map(|(user, _)| *user);
        found.is_some_and(|user| self.distrusted.remove(&user).is_some())
    }

    /// There is no place for this user among those that are not trusted. A person with many user ids must not be
    /// trusted for that reason.
    fn distrust_all(&mut self, user: User, why: Distrust) {
        if self.is_limited(user) {
            self.distrust_of_all = self.distrust_of_all.max(Some(why));
            self.count_caught();
        }
    }

    /// More users count as caught than before.
    fn count_caught(&mut self) {
        let caught = self.by_user.keys().filter(|user| self.is_caught(**user));
        let held = caught.map(|user| self.held(*user, Resource::Memory));
        self.caught_bytes = held.fold(0, usize::saturating_add);
    }

    /// A producer of a user that was caught is gone, with so many bytes of shared memory on the account: they stay
    /// there, as other processes may have the memory.
    pub(crate) fn add_gone(&mut self, user: User, bytes: usize) {
        if bytes > 0 {
            let gone = self.gone_by_user.get_or_insert_with(user, || 0);
            *gone = gone.saturating_add(bytes);
            self.gone_ever = self.gone_ever.saturating_add(bytes as u64);
        }
    }

    /// The kernel is asked what it cannot reclaim, which has all memory of [producers that are gone](Self::add_gone).
    /// When it was asked before, it `counted` so many bytes.
    pub(crate) fn note_unreclaimable(&mut self, counted: Option<u64>) {
        let since = self.gone_ever.saturating_sub(self.gone_ever_asked);
        self.gone_ever_asked = self.gone_ever;
        if let Some(counted) = counted {
            self.shrink_gone(counted.saturating_add(since));
        }
    }

    /// Shrinks all that is in `gone_by_user` by the same part, so that the sum is at most `bytes`: nobody can tell
    /// which users have freed their memory.
    fn shrink_gone(&mut self, bytes: u64) {
        let all: u128 = self.gone_by_user.values().map(|gone| *gone as u128).sum();
        let bytes = u128::from(bytes);
        if all <= bytes {
            return;
        }
        for (user, gone) in std::mem::take(&mut self.gone_by_user) {
            let part = (gone as u128).saturating_mul(bytes).checked_div(all).unwrap_or(0);
            let left = usize::try_from(part).unwrap_or(gone);
            self.release(user, Resource::Memory, gone.saturating_sub(left));
            if left > 0 {
                self.gone_by_user.insert(user, left);
            }
        }
    }

    /// Whether a user may have so much more, and if not, why.
    pub(crate) fn check(&self, user: User, what: Resource, amount: usize) -> Result<(), NoRoom> {
        match self.fits(user, what, amount) {
            true => Ok(()),
            false => Err(self.no_room(user, what, amount)),
        }
    }

    fn no_room(&self, user: User, what: Resource, asked: usize) -> NoRoom {
        let own = (self.held(user, what), self.max_of(user, what).unwrap_or(usize::MAX));
        let (total, max) = self.total_with(user, what);
        NoRoom { what, uid: user.uid, asked, own, all: (total, max.unwrap_or(usize::MAX)) }
    }

    /// Whether a user may have so much more.
    pub(crate) fn fits(&self, user: User, what: Resource, amount: usize) -> bool {
        let own = self.held(user, what).saturating_add(amount);
        let (all, all_max) = self.total_with(user, what);
        self.max_of(user, what).is_none_or(|max| own <= max)
            && (!self.is_limited(user)
                || all_max.is_none_or(|max| all.saturating_add(amount) <= max))
    }

    fn counts_as_caught(&self, user: User, what: Resource) -> bool {
        what == Resource::Memory && self.is_caught(user)
    }

    /// After how many uses a page is asked for again.
    pub(crate) fn next_check(&mut self) -> u32 {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % (2 * limits::USES_PER_CHECK)) as u32
    }

    /// Puts an amount, bytes or a number, on the account of a user. If that is too much, nothing changes.
    pub(crate) fn charge(
        &mut self,
        user: User,
        what: Resource,
        amount: usize,
    ) -> Result<(), NoRoom> {
        let at = what as usize;
        if let Err(no_room) = self.check(user, what, amount) {
            self.refused = self.refused.saturating_add(1);
            let faults = self.faults(user).and_then(|faults| faults.refused.get_mut(at));
            faults.into_iter().for_each(|count| *count = count.saturating_add(1));
            return Err(no_room);
        }
        if amount > 0 {
            let more = |held: &mut usize| *held = held.saturating_add(amount);
            let is_limited = self.is_limited(user);
            if self.counts_as_caught(user, what) {
                more(&mut self.caught_bytes);
            }
            let entry = self.by_user.get_or_insert_with(user, || [0; RESOURCES]);
            entry.get_mut(at).into_iter().for_each(more);
            if is_limited {
                self.totals.get_mut(at).into_iter().for_each(more);
            }
        }
        Ok(())
    }

    /// Takes an amount off the account that was charged before.
    pub(crate) fn release(&mut self, user: User, what: Resource, amount: usize) {
        let Some(entry) = self.by_user.get_mut(&user) else { return };
        let at = what as usize;
        let less = |held: &mut usize| *held = held.saturating_sub(amount);
        entry.get_mut(at).into_iter().for_each(less);
        if entry.iter().all(|held| *held == 0) {
            self.by_user.remove(&user);
        }
        if self.is_limited(user) {
            self.totals.get_mut(at).into_iter().for_each(less);
        }
        if self.counts_as_caught(user, what) {
            less(&mut self.caught_bytes);
        }
    }

    /// Where the faults of a user are counted. None if so many users are remembered that this one is not.
    fn faults(&mut self, user: User) -> Option<&mut Faults> {
        if self.faults.len() >= limits::FAULTY_USERS_MAX && !self.faults.contains_key(&user) {
            return None;
        }
        Some(self.faults.get_or_insert_with(user, Faults::default))
    }

    /// How often a user wanted more of it than there may be.
    pub(crate) fn refused_to(&self, user: User, what: Resource) -> u64 {
        let faults = self.faults.get(&user);
        faults.and_then(|faults| faults.refused.get(what as usize)).copied().unwrap_or(0)
    }

    /// How often producers of a user named memory without data.
    pub(crate) fn holes_of(&self, user: User) -> u64 {
        self.faults.get(&user).map_or(0, |faults| faults.holes)
    }

    /// What the users have together to whom the common limits apply, and how much that may be.
    pub(crate) fn total(&self, what: Resource) -> (usize, Option<usize>) {
        (self.totals.get(what as usize).copied().unwrap_or(0), self.total_max(what))
    }

    /// The same for those to whom the limit applies that applies to `user`.
    pub(crate) fn total_with(&self, user: User, what: Resource) -> (usize, Option<usize>) {
        match self.counts_as_caught(user, what) {
            true => (self.caught_bytes, Some(self.shares.caught_memory.of_all)),
            false => self.total(what),
        }
    }

    /// Users that have something, or of whom faults are remembered; some come twice.
    pub(crate) fn users(&self) -> impl Iterator<Item = User> + '_ {
        self.by_user.keys().chain(self.faults.keys()).copied()
    }

    /// What is on the account of a user, in bytes or as a number.
    pub(crate) fn held(&self, user: User, what: Resource) -> usize {
        self.by_user.get(&user).and_then(|held| held.get(what as usize)).copied().unwrap_or(0)
    }

    /// What is on the account of each user, in bytes or as a number.
    pub(crate) fn all(&self, what: Resource) -> impl Iterator<Item = usize> + '_ {
        self.by_user.values().map(move |held| held.get(what as usize).copied().unwrap_or(0))
    }

    /// The most that one limited user has, and all of them together.
    pub(crate) fn limited(&self, what: Resource) -> (usize, usize) {
        let limited = self.by_user.keys().filter(|user| self.is_limited(**user));
        (limited.map(|user| self.held(*user, what)).max().unwrap_or(0), self.total(what).0)
    }

    /// Accounts with something on them.
    pub(crate) fn len(&self) -> usize {
        self.by_user.len()
    }

    /// Charges that were refused so far.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether it is neither root nor the user of the service.
    pub(crate) fn is_limited(&self, user: User) -> bool {
        user.machine != 0 || (user.uid != 0 && user.uid != self.own_uid)
    }

    /// Whether a user may use up what there is in one session of user `session_uid`. The user of the session only takes
    /// it from itself.
    pub(crate) fn is_unlimited_in(&self, session_uid: u32, user: User) -> bool {
        !self.is_limited(user) || user.is(session_uid)
    }
}

mod buffer_charge;
mod no_room;
mod resource;

#[cfg(test)]
mod tests;
