//! What the daemon knows of each user, for questions about the service.

use protos::{ServiceCounters, UserAccount, UserAccountItem};

use super::connections::Connections;
use super::files::Files;
use super::user::PeerUser;
use crate::limits::FILES_OF_USERS_MAX;
use crate::system::closer::Closer;
use service::ShellAccounts;

/// Who counts the descriptors of users.
#[derive(Clone)]
pub(super) struct Counted {
    pub(super) connections: Connections,
    pub(super) closer: Closer,
}

fn item((held, max): (usize, usize), refused: Option<u64>) -> Option<UserAccountItem> {
    bytes((held as u64, max as u64), refused)
}

fn bytes((held, max): (u64, u64), refused: Option<u64>) -> Option<UserAccountItem> {
    Some(UserAccountItem { held: Some(held), max: Some(max), refused, ..Default::default() })
}

/// The accounts, as far as they are known here: those of all users if `asking` is one to whom no common limit applies,
/// else that one alone, as no other is shown.
pub(super) fn count(counted: &Counted, files: &Files, asking: PeerUser) -> ShellAccounts {
    let Counted { connections, closer } = counted;
    let users = match connections.is_limited(asking) {
        true => vec![asking],
        false => connections.users(),
    };
    let has_remote = users.contains(&PeerUser::Remote);
    let mut uids: Vec<u32> = users.into_iter().filter_map(PeerUser::uid).collect();
    if !connections.is_limited(asking) {
        uids.extend(closer.users().into_iter().chain(files.users()));
    }
    uids.sort_unstable();
    uids.dedup();
    let account = |uid: u32| {
        let mut account = UserAccount { uid: Some(uid.cast_signed()), ..Default::default() };
        connections.tell(PeerUser::Local(uid), &mut account);
        account.closing_descriptors = item(closer.waiting(uid), None);
        let (open, max, refused) = files.of_user(uid);
        account.files = item((open, max), Some(refused));
        let memory = files.memory_of_user(uid);
        account.file_memory_bytes =
            memory.and_then(|(held, max, refused)| bytes((held, max), Some(refused)));
        account
    };
    let users = uids.into_iter().map(account).collect();
    let remote = has_remote.then(|| {
        let mut account = UserAccount { is_limited: Some(true), ..Default::default() };
        connections.tell(PeerUser::Remote, &mut account);
        account
    });
    let mut all_users = UserAccount::default();
    connections.tell_all(&mut all_users);
    all_users.closing_descriptors = item(closer.all_waiting(), None);
    all_users.files = item((files.of_users(), FILES_OF_USERS_MAX), None);
    all_users.file_memory_bytes = bytes(files.memory_of_users(), None);
    ShellAccounts { users, remote, all_users, counters: ServiceCounters::default() }
}
