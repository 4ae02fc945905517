//! What each user has, for questions about the service.
//!
//! ```text
//!   accounts: registrations, shared memory, compression ──┐
//!   work queue: requests that wait ───────────────────────┤
//!   sessions: sessions, clones, instances ────────────────┼──> UserAccount
//!   shell: connections, descriptors, files ───────────────┘
//! ```
//!
//! A consumer sees the account of its user; one of root or of the user of the service sees all. What others have, a
//! user need not know, and it tells an attacker how much is left to take. All see the sums.
//!
//! Nothing is counted here: the parts count.

use protos::{ServiceCounters, UserAccount, UserAccountItem};

use crate::accounts::{Accounts, Resource, User};
use crate::limits;
use crate::session::life::SessionState;
use crate::session::state::Sessions;
use crate::shell_accounts::ShellAccounts;
use crate::work::WorkQueue;
use abi::map::{BlockMap, BlockSet};

/// What the sessions tell of one user.
#[derive(Clone, Copy, Debug, Default)]
struct InSessions {
    sessions: u64,
    /// Sessions that are no clones.
    recording: u64,
    clones: u64,
    /// The most instances in one session, and how many it may have there.
    instances: (u64, u64),
}

/// What accounts are made of.
pub(crate) struct AccountSources<'a> {
    accounts: &'a Accounts,
    shell: &'a ShellAccounts,
    work_queue: &'a WorkQueue,
    in_sessions: BlockMap<User, InSessions>,
}

impl<'a> AccountSources<'a> {
    /// `cloning`: the users of clones that are being made, each as often as it has one.
    pub(crate) fn new(
        accounts: &'a Accounts,
        shell: &'a ShellAccounts,
        work_queue: &'a WorkQueue,
        sessions: &Sessions,
        cloning: impl Iterator<Item = u32>,
    ) -> Self {
        let mut in_sessions = BlockMap::<User, InSessions>::new();
        for session in sessions.values() {
            let of = in_sessions.get_or_insert_with(User::local(session.uid), InSessions::default);
            of.sessions = of.sessions.saturating_add(1);
            let count = match session.state() {
                SessionState::ClonedReadOnly => &mut of.clones,
                _ => &mut of.recording,
            };
            *count = count.saturating_add(1);
            for (user, count) in session.instances.users() {
                let is_unlimited = accounts.is_unlimited_in(session.uid, user);
                let max = session.instances.max_of_user(is_unlimited) as u64;
                let of = in_sessions.get_or_insert_with(user, InSessions::default);
                of.instances = of.instances.max((count as u64, max));
            }
        }
        for uid in cloning {
            let of = in_sessions.get_or_insert_with(User::local(uid), InSessions::default);
            of.clones = of.clones.saturating_add(1);
        }
        Self { accounts, shell, work_queue, in_sessions }
    }

    /// Whether consumers of this user see the accounts of all.
    pub(crate) fn shows_all_to(&self, user: User) -> bool {
        !self.accounts.is_limited(user)
    }

    /// The users behind that one that have something, in order.
    pub(crate) fn users_after(&self, after: Option<User>) -> Vec<User> {
        let of_shell = self.shell.users.iter().map(|of| User::local(uid_of(of)));
        let all = self.accounts.users().chain(self.in_sessions.keys().copied()).chain(of_shell);
        let sorted: BlockSet<User> = all.filter(|user| Some(*user) > after).collect();
        sorted.iter().copied().collect()
    }

    /// The account of one user.
    pub(crate) fn account(&self, user: User) -> UserAccount {
        let (uid, machine) = user.ids();
        let mut account = match machine {
            0 => self.of_shell(uid).cloned().unwrap_or_default(),
            _ => UserAccount::default(),
        };
        account.uid = Some(uid.cast_signed());
        account.machine_id = (machine != 0).then_some(machine);
        account.is_limited = Some(self.accounts.is_limited(user));
        let item = |what: Resource| {
            let max = self.accounts.max_of(user, what).map(|max| max as u64);
            let refused = max.map(|_| self.accounts.refused_to(user, what));
            let held = Some(self.accounts.held(user, what) as u64);
            Some(UserAccountItem { held, max, refused, ..Default::default() })
        };
        account.registrations = item(Resource::Registrations);
        account.registration_bytes = item(Resource::SourcesAndWriters);
        account.shared_memory_bytes = item(Resource::Memory);
        account.compression_bytes = item(Resource::Codecs);
        account.buffer_bytes = item(Resource::Buffers);
        account.flush_answers = item(Resource::Answers);
        let max = self.work_queue.decoded_share.of_one as u64;
        account.waiting_request_bytes =
            Some(of(self.work_queue.decoded_of(user) as u64, Some(max)));
        let held = self.in_sessions.get(&user).copied().unwrap_or_default();
        let (instances, max) = held.instances;
        account.instances = Some(of(instances, Some(max).filter(|_| instances > 0)));
        account.sessions = Some(of(held.sessions, Some(limits::SESSIONS_PER_UID_MAX as u64)));
        account.clones = Some(of(held.clones, Some(limits::CLONES_PER_UID_MAX as u64)));
        account.holes_named = Some(self.accounts.holes_of(user));
        account
    }

    fn of_shell(&self, uid: u32) -> Option<&UserAccount> {
        let at = self.shell.users.binary_search_by_key(&uid, uid_of).ok()?;
        self.shell.users.get(at)
    }

    /// The users of other machines, as far as they are not told apart.
    pub(crate) fn remote(&self) -> Option<&UserAccount> {
        self.shell.remote.as_ref()
    }

    /// All users together.
    pub(crate) fn all_users(&self) -> UserAccount {
        let mut all = self.shell.all_users.clone();
        let total = |what: Resource| {
            let (held, max) = self.accounts.total(what);
            Some(of(held as u64, max.map(|max| max as u64)))
        };
        all.registrations = total(Resource::Registrations);
        all.registration_bytes = total(Resource::SourcesAndWriters);
        all.shared_memory_bytes = total(Resource::Memory);
        all.compression_bytes = total(Resource::Codecs);
        all.buffer_bytes = total(Resource::Buffers);
        all.flush_answers = total(Resource::Answers);
        let max = self.work_queue.decoded_share.of_all as u64;
        all.waiting_request_bytes = Some(of(self.work_queue.decoded() as u64, Some(max)));
        let limited =
            || self.in_sessions.iter().filter(|(user, _)| self.accounts.is_limited(**user));
        let recording = limited().map(|(_, of)| of.recording).sum();
        all.sessions = Some(of(recording, Some(limits::SESSIONS_OF_USERS_MAX as u64)));
        let clones = limited().map(|(_, of)| of.clones).sum();
        all.clones = Some(of(clones, Some(limits::CLONES_OF_USERS_MAX as u64)));
        all
    }

    pub(crate) fn counters(&self) -> &ServiceCounters {
        &self.shell.counters
    }
}

fn uid_of(account: &UserAccount) -> u32 {
    account.uid.unwrap_or(0).cast_unsigned()
}

fn of(held: u64, max: Option<u64>) -> UserAccountItem {
    UserAccountItem { held: Some(held), max, ..Default::default() }
}
