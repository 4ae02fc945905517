//! How many lines of the log one peer may cause.

use super::effect_queue::EffectQueue;
use crate::limits;

/// Limits the log lines about one peer, which can cause as many as it likes.
#[derive(Debug, Default)]
pub(crate) struct LogLimiter {
    written: u32,
    suppressed: u64,
}

impl LogLimiter {
    /// Whether one more line may be written.
    pub(crate) fn allow(&mut self) -> bool {
        let allowed = self.written < limits::LOG_LINES_PER_PEER_MAX;
        if allowed {
            self.written = self.written.saturating_add(1);
        } else {
            self.suppressed = self.suppressed.saturating_add(1);
        }
        allowed
    }

    /// Logs how many lines were not written, when the peer has left.
    pub(crate) fn log_suppressed(&self, out: &mut EffectQueue, peer: std::fmt::Arguments<'_>) {
        if self.suppressed > 0 {
            out.error(format!(
                "{peer} left; {} more errors of it were not logged",
                self.suppressed
            ));
        }
    }
}
