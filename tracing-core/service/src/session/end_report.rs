//! What the consumer of a session is told of its end.
//!
//! ```text
//!   the session ends ──> pending ── its file is closed, and a consumer asks ──> reported
//!                           ^                                                      │
//!                           └───────────── another consumer attaches ──────────────┘
//! ```

use crate::error::SessionError;

/// The error that a consumer is told with the end of its session; none if it ended as it should.
pub(crate) type EndError = Option<SessionError>;

/// The text of it; empty for none.
pub(crate) fn end_text(error: &EndError) -> String {
    error.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct EndReport {
    pending: Option<EndError>,
    reported: EndError,
}

impl EndReport {
    /// Notes the end of the session. An end that was noted before, and not reported, stays.
    pub(crate) fn note(&mut self, error: EndError) {
        self.pending.get_or_insert(error);
    }

    /// Notes that the session failed, also if its end was about to be reported without an error.
    pub(crate) fn fail(&mut self, error: SessionError) {
        self.pending = Some(Some(error));
    }

    /// What a consumer is told now; none if there is nothing to be reported.
    pub(crate) fn take(&mut self) -> Option<EndError> {
        let error = self.pending.take()?;
        self.reported.clone_from(&error);
        Some(error)
    }

    /// A consumer attached to a session that is over: it is told what was reported before.
    pub(crate) fn report_again(&mut self) {
        self.pending.get_or_insert_with(|| self.reported.clone());
    }
}
