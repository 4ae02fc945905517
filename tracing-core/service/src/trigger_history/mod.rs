//! When triggers were activated that sessions took: for `max_per_24_h`.
//!
//! Each user has a history of its own, which all of its sessions share, and which has what producers of all users
//! activate. What sessions of others take does not use up its numbers. Upstream has one history of all users.
//!
//! All users together have so many names ([`limits::TRIGGER_NAMES_MAX`]). When these are used up, a name is forgotten
//! of the user that has the most: so each user keeps its equal part, whatever others do.

use std::collections::VecDeque;

use crate::limits::{self, Limits};
use abi::map::BlockMap;

/// Of one user: the times by name, boot time, ns. The oldest comes first.
type Names = BlockMap<String, VecDeque<u64>>;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct TriggerHistory {
    by_user: BlockMap<u32, Names>,
}

impl TriggerHistory {
    /// How often sessions of a user took a trigger in the window that ends now.
    pub(crate) fn count(&mut self, uid: u32, name: &str, now_ns: u64) -> usize {
        let times = self.by_user.get_mut(&uid).and_then(|names| names.get_mut(name));
        let Some(times) = times else { return 0 };
        let is_old = |at: u64| now_ns.saturating_sub(at) > limits::TRIGGER_WINDOW_NS;
        while times.front().is_some_and(|at| is_old(*at)) {
            times.pop_front();
        }
        times.len()
    }

    /// Sessions of a user took a trigger.
    pub(crate) fn note(&mut self, uid: u32, name: &str, now_ns: u64, limits: &Limits) {
        let is_known = self.by_user.get(&uid).is_some_and(|names| names.contains_key(name));
        if !is_known && self.len() >= limits.trigger_names_max {
            self.forget_for(uid);
        }
        let names = self.by_user.get_or_insert_with(uid, Names::new);
        let times = names.get_or_insert_with(name.to_owned(), VecDeque::new);
        if times.len() >= limits.trigger_history_max {
            times.pop_front();
        }
        times.push_back(now_ns);
    }

    /// A name of a user comes. Of the user that has the most, itself first, the one goes whose last activation is the
    /// oldest.
    fn forget_for(&mut self, asks: u32) {
        let most = self.by_user.iter_mut().max_by_key(|(uid, names)| (names.len(), **uid == asks));
        let Some((uid, names)) = most else { return };
        let latest = |(_, times): &(&String, &VecDeque<u64>)| times.back().copied();
        let oldest = names.iter().min_by_key(latest).map(|(name, _)| name.clone());
        if let Some(oldest) = oldest {
            names.remove(&oldest);
        }
        if names.is_empty() {
            let uid = *uid;
            self.by_user.remove(&uid);
        }
    }

    /// Names of all users.
    pub(crate) fn len(&self) -> usize {
        self.by_user.values().map(BlockMap::len).sum()
    }

    /// The most activations that are remembered of one trigger.
    pub(crate) fn longest(&self) -> usize {
        let lengths = self.by_user.values().flat_map(|names| names.values().map(VecDeque::len));
        lengths.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
