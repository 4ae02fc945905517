//! What the daemon knows of each user, for questions about the service.

use protos::{ServiceCounters, UserAccount};

use super::connections::Connections;
use super::files::Files;
use super::user::PeerUser;
use crate::system::closer::Closer;
use crate::usage::Usage;
use service::ShellAccounts;

/// Who counts the descriptors of users.
#[derive(Clone)]
pub(super) struct Counted {
    pub(super) connections: Connections,
    pub(super) closer: Closer,
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
        account.closing_descriptors = Some(closer.waiting(uid).to_proto());
        account.files = Some(files.of_user(uid).to_proto());
        account.file_memory_bytes = files.memory_of_user(uid).map(Usage::to_proto);
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
    all_users.closing_descriptors = Some(closer.all_waiting().to_proto());
    all_users.files = Some(files.of_users().to_proto());
    all_users.file_memory_bytes = Some(files.memory_of_users().to_proto());
    ShellAccounts { users, remote, all_users, counters: ServiceCounters::default() }
}
