//! Where a session is between its request and its end.
//!
//! ```text
//!   DISABLED ────> CONFIGURED ────> STARTED ────> STOPPING ────> DISABLED      state of a session
//!   waits for a        │ └───────────────────────────^              ^
//!   file, a priority,  └──────────────┴── no acks are wanted ───────┘
//!   its data sources
//!
//!   DISABLED ────> CLONED_READ_ONLY ───────────────────────────> DISABLED      state of a clone
//!
//!   reachable ───> ending ───────────────────────> freed                       begins in any state
//!                  no request reaches it,           its file may still
//!                  its instances are separated      be written
//! ```

use abi::ids::ShellToken;

/// Where a session is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SessionState {
    /// Not yet set up ([`Life::is_being_made`]), or over.
    Disabled,
    /// Set up, waits for its start.
    Configured,
    /// Records.
    Started,
    /// Waits until data sources acknowledge that they stopped.
    Stopping,
    /// A copy of another session: it is only read.
    ClonedReadOnly,
}

impl SessionState {
    /// As `TracingServiceState` spells it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Disabled => "DISABLED",
            Self::Configured => "CONFIGURED",
            Self::Started => "STARTED",
            Self::Stopping => "STOP_WAIT",
            Self::ClonedReadOnly => "CLONED_READ_ONLY",
        }
    }

    /// As `ConcurrentSessionEvent.State` numbers it.
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::Disabled => 1,
            Self::Configured => 2,
            Self::Started => 3,
            Self::Stopping => 4,
            Self::ClonedReadOnly => 5,
        }
    }

    /// Whether the drawing above has this transition.
    pub(crate) fn may_become(self, next: Self) -> bool {
        use SessionState::{ClonedReadOnly, Configured, Disabled, Started, Stopping};
        matches!(
            (self, next),
            (Disabled, Configured | ClonedReadOnly)
                | (Configured, Started | Stopping | Disabled)
                | (Started, Stopping | Disabled)
                | (Stopping | ClonedReadOnly, Disabled)
        )
    }

    /// Whether the session has ended, or never recorded by itself: such sessions get no more events.
    pub(crate) fn is_settled(self) -> bool {
        matches!(self, Self::Disabled | Self::ClonedReadOnly)
    }
}

/// What an admitted session waits for before it is configured, by the token of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetUpWait {
    File(ShellToken),
    Priority(ShellToken),
    /// Not for the shell: its data sources are being set up.
    Sources,
}

/// How far the end of a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    No,
    /// The session is about to be freed: no request reaches it any more. What it does in pieces comes before that.
    Begun,
    /// Freed, but its file may not be closed yet.
    Freed,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Life {
    state: SessionState,
    state_since_ns: u64,
    waits_for: Option<SetUpWait>,
    ends_when_made: bool,
    stops_at_once: bool,
    frees_at_end: bool,
    end: End,
}

impl Life {
    /// Of a session that is admitted.
    pub(crate) const fn new() -> Self {
        Self {
            state: SessionState::Disabled,
            state_since_ns: 0,
            waits_for: None,
            ends_when_made: false,
            stops_at_once: false,
            frees_at_end: false,
            end: End::No,
        }
    }

    pub(crate) fn state(&self) -> SessionState {
        self.state
    }

    /// When it got its state, boot time.
    pub(crate) fn state_since_ns(&self) -> u64 {
        self.state_since_ns
    }

    /// # Panics
    /// If the state must not become that one ([`SessionState::may_become`]): an error of the service, whatever peers
    /// did.
    pub(crate) fn set_state(&mut self, state: SessionState, now_ns: u64) {
        assert!(self.state.may_become(state), "{:?} cannot become {state:?}", self.state);
        (self.state, self.state_since_ns) = (state, now_ns);
    }

    /// Whether producers still record into it.
    pub(crate) fn records(&self) -> bool {
        use SessionState::{Configured, Started, Stopping};
        matches!(self.state, Configured | Started | Stopping)
    }

    /// Whether it was admitted but is not set up yet.
    pub(crate) fn is_being_made(&self) -> bool {
        self.waits_for.is_some()
    }

    pub(crate) fn waits_for(&self, what: SetUpWait) -> bool {
        self.waits_for == Some(what)
    }

    pub(crate) fn wait_for(&mut self, what: SetUpWait) {
        self.waits_for = Some(what);
    }

    /// What it waited for is there.
    pub(crate) fn end_wait(&mut self) {
        self.waits_for = None;
    }

    /// Notes that the end was asked for before the session is set up.
    pub(crate) fn end_when_made(&mut self) {
        self.ends_when_made = true;
    }

    pub(crate) fn ends_when_made(&self) -> bool {
        self.ends_when_made
    }

    /// Notes that the instances are stopped, from now on without waiting for them if `at_once`.
    pub(crate) fn stop(&mut self, at_once: bool) {
        self.stops_at_once |= at_once;
    }

    pub(crate) fn stops_at_once(&self) -> bool {
        self.stops_at_once
    }

    /// Whether it is freed when it is over and has no consumer: it ended by itself while it had none.
    pub(crate) fn set_frees_at_end(&mut self, frees: bool) {
        self.frees_at_end = frees;
    }

    pub(crate) fn frees_at_end(&self) -> bool {
        self.frees_at_end
    }

    /// Begins its end. False if that has begun before.
    pub(crate) fn begin_end(&mut self) -> bool {
        let is_first = self.is_reachable();
        if is_first {
            self.end = End::Begun;
        }
        is_first
    }

    /// Notes that the session has neither instances nor a consumer any more.
    pub(crate) fn set_freed(&mut self) {
        self.end = End::Freed;
    }

    /// Whether requests can reach it.
    pub(crate) fn is_reachable(&self) -> bool {
        self.end == End::No
    }

    /// Whether it is freed. It exists as long as its file is not closed.
    pub(crate) fn is_freed(&self) -> bool {
        self.end == End::Freed
    }
}
