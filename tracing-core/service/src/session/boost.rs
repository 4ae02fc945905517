//! Running the service faster for as long as some session asks for it.
//!
//! The highest wish of all sessions counts, real-time before niceness. The shell carries it out; whether it
//! could is known only then, so a session that asks for more than there is waits for the answer before it is
//! set up, and is refused when there is none.

use protos::TraceConfig;

use crate::core::Service;
use crate::output::Boost;
use abi::ids::SessionId;

/// Check 26, as far as the config alone tells.
///
/// # Errors
/// Names the ranges.
pub(crate) fn wish(config: &TraceConfig) -> Result<Option<Boost>, String> {
    let Some(boost) = &config.priority_boost else { return Ok(None) };
    let priority = boost.priority.unwrap_or(0);
    match (boost.policy.map_or(0, |p| p.0), priority) {
        (1, 0..=20) => Ok(Some(Boost::Other(priority))),
        (2, 1..=99) => Ok(Some(Boost::Fifo(priority))),
        (1, _) => Err(format!(
            "priority_boost: the priority of POLICY_SCHED_OTHER is from 0 to 20, not {priority}"
        )),
        (2, _) => Err(format!(
            "priority_boost: the priority of POLICY_SCHED_FIFO is from 1 to 99, not {priority}"
        )),
        (policy, _) => Err(format!(
            "priority_boost: policy {policy} is neither POLICY_SCHED_OTHER nor POLICY_SCHED_FIFO"
        )),
    }
}

impl Service {
    /// Asks the shell for what all sessions together want now, unless it was asked already. Returns the
    /// number of the request.
    fn ask_boost(&mut self) -> Option<u64> {
        let boost = self.sessions.values().filter_map(|s| s.boost).max();
        if boost == self.boost {
            return None;
        }
        self.boost = boost;
        self.last_token += 1;
        self.out.set_priority(self.last_token, boost);
        Some(self.last_token)
    }

    /// Asks for a new session; true if it has to wait for the answer.
    pub(crate) fn boost_for(&mut self, id: SessionId) -> bool {
        let Some(token) = self.ask_boost() else { return false };
        self.boosts_wanted.insert(token, id);
        true
    }

    /// A session is gone, and its wish with it.
    pub(crate) fn unboost(&mut self) {
        self.ask_boost();
    }

    /// The shell's answer to a `SetPriority`.
    pub(crate) fn priority_set(&mut self, token: u64, result: Result<(), String>) {
        let wanted = self.boosts_wanted.remove(&token);
        // Freed ones wait for nothing but their file.
        let wanted = wanted.filter(|id| self.sessions.get(id).is_some_and(|s| !s.freed));
        match (wanted, result) {
            (Some(id), Ok(())) => self.make_session(id),
            (Some(id), Err(error)) => {
                self.fail_enabling(id, format!("priority_boost failed: {error}"));
            }
            (None, Ok(())) => {}
            (None, Err(error)) => self.out.error(format!("priority of the service: {error}")),
        }
    }
}
