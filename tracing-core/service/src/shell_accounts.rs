//! What the shell counts of its connections, for questions about the service.

use protos::{ServiceCounters, UserAccount};

/// What the shell counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShellAccounts {
    /// Users of this machine, each once, by number, with the items that the shell knows.
    pub users: Vec<UserAccount>,
    /// Users of other machines together.
    pub remote: Option<UserAccount>,
    /// All users but root and the user of the service.
    pub all_users: UserAccount,
    /// What happened to connections.
    pub counters: ServiceCounters,
}
