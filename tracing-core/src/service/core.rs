//! The service itself: its state and the one `match` all events pass.

use std::collections::VecDeque;

use super::timers::Timers;
use super::{Input, Output, ServiceConfig};
use crate::time::{BootTime, Now};

/// The tracing service. See the [module](super) for how to drive it.
#[derive(Debug)]
pub struct Service {
    pub(super) config: ServiceConfig,
    pub(super) now: Option<Now>,
    pub(super) timers: Timers,
    pub(super) outputs: VecDeque<Output>,
}

impl Service {
    /// A service without producers, consumers or sessions.
    #[must_use]
    pub fn new(config: ServiceConfig) -> Self {
        Self { config, now: None, timers: Timers::default(), outputs: VecDeque::new() }
    }

    /// Takes one event. Drain [`poll_output`](Self::poll_output) afterwards.
    pub fn handle(&mut self, now: &Now, input: Input) {
        self.now = Some(*now);
        let _ = input;
    }

    /// Does all that is due at `now`. Drain [`poll_output`](Self::poll_output) afterwards.
    pub fn handle_timeout(&mut self, now: &Now) {
        self.now = Some(*now);
        while let Some(_due) = self.timers.pop_due(now) {}
    }

    /// The next effect to carry out.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<BootTime> {
        self.timers.next(self.now.as_ref()?)
    }
}
