//! How many sessions there may be at a time, and how many clones.
//!
//! ```text
//!                                   sessions                 clones
//!   one user                            5 (with its clones)    16
//!   all but root and the service's
//!   user                                9                      28
//!   the same, for the first of a user  12                      38
//!   all                                15                      48
//! ```
//!
//! So a few users cannot keep those out that have none, and all of them leave some for root and the user of the
//! service. Connections have shares of this kind, too.

use std::fmt;

use crate::accounts::{Accounts, User};
use crate::limits;

/// How many of a kind there may be at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionShares {
    /// Of all users but root and that of the service.
    of_others: usize,
    /// Of all users but root and that of the service, if the next one is the first of its user.
    of_others_at_first: usize,
    /// Of all users.
    of_all: usize,
}

impl SessionShares {
    /// Sessions without clones.
    pub(crate) fn of_sessions() -> Self {
        Self {
            of_others: limits::SESSIONS_OF_USERS_MAX,
            of_others_at_first: limits::SESSIONS_OF_USERS_AT_FIRST_MAX,
            of_all: limits::SESSIONS_MAX,
        }
    }

    /// Clones, those included that are being made.
    pub(crate) fn of_clones() -> Self {
        Self {
            of_others: limits::CLONES_OF_USERS_MAX,
            of_others_at_first: limits::CLONES_OF_USERS_AT_FIRST_MAX,
            of_all: limits::CLONES_MAX,
        }
    }

    /// Whether user `uid` may have one more. `owners` are the users of those that there are, each as often as it has
    /// one.
    pub(crate) fn check(
        self,
        uid: u32,
        owners: impl Iterator<Item = u32>,
        accounts: &Accounts,
    ) -> Result<(), TooMany> {
        let is_limited = |uid: u32| accounts.is_limited(User::local(uid));
        let owners: Vec<u32> = owners.collect();
        let others = owners.iter().filter(|owner| is_limited(**owner)).count();
        let max = match owners.contains(&uid) {
            true => self.of_others,
            false => self.of_others_at_first,
        };
        if is_limited(uid) && others >= max {
            return Err(TooMany::OfOthers(others));
        }
        if owners.len() >= self.of_all {
            return Err(TooMany::OfAll(owners.len()));
        }
        Ok(())
    }
}

/// How many there are when there may be no more. The text follows what it is that there are too many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// Of all users but root and that of the service.
    OfOthers(usize),
    /// Of all users.
    OfAll(usize),
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfOthers(count) => write!(
                f,
                "({count}) of users other than root and that of the service: wait until one is freed, or ask as root"
            ),
            Self::OfAll(count) => write!(f, "({count}): wait until one is freed"),
        }
    }
}
