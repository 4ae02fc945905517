//! Running the service with a higher priority for as long as some session asks for it.
//!
//! The highest request of all sessions counts, real-time before niceness. Only the shell learns whether the system
//! grants it. A session that raises the priority waits for that answer before it is set up, and is refused if the
//! answer is no.

use protos::TraceConfig;

use crate::context::Context;
use crate::error::PriorityError;
use crate::output::Boost;
use abi::ids::ShellToken;

/// The priority that a config asks for.
///
/// # Errors
/// The config asks for a priority that does not exist.
pub(crate) fn requested_boost(config: &TraceConfig) -> Result<Option<Boost>, PriorityError> {
    let Some(boost) = &config.priority_boost else { return Ok(None) };
    let priority = boost.priority.unwrap_or(0);
    match (boost.policy.map_or(0, |p| p.0), priority) {
        (1, 0..=20) => Ok(Some(Boost::Other(priority))),
        (2, 1..=99) => Ok(Some(Boost::Fifo(priority))),
        (1, _) => Err(PriorityError::OutOfRange(Boost::Other(priority))),
        (2, _) => Err(PriorityError::OutOfRange(Boost::Fifo(priority))),
        (policy, _) => Err(PriorityError::Policy(policy)),
    }
}

/// Names a data source whose config asks for a priority. The producers that grant it do not know whose session it is.
pub(crate) fn boosted_source(config: &TraceConfig) -> Option<&str> {
    let mut sources = config.data_sources.iter().filter_map(|source| source.config.as_ref());
    let boosted = sources.find(|source| source.priority_boost.is_some())?;
    Some(boosted.name.as_deref().unwrap_or_default())
}

/// The priority that the shell was asked for last.
#[derive(Debug, Default)]
pub(crate) struct Priority {
    asked: Option<Boost>,
}

impl Priority {
    /// Asks the shell for the highest request of all sessions, unless it was asked for it already. Returns the token
    /// of the request.
    pub(crate) fn request(
        &mut self,
        cx: &mut Context,
        highest: Option<Boost>,
    ) -> Option<ShellToken> {
        if highest == self.asked {
            return None;
        }
        self.asked = highest;
        let token = cx.next_token();
        cx.out.set_priority(token, highest);
        Some(token)
    }
}
