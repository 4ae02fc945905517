//! Sessions that the program itself starts: with the service inside it, or with `traced`.
//!
//! ```text
//!   Config ──> Session::in_process / Session::system ──> start ──> stop ──> read
//!                                                          │
//!                                                          └── flush, snapshot ...
//! ```

mod config;
#[cfg(feature = "in-process")]
mod record;

use core::fmt;
use std::io::Write;
use std::time::Duration;

use client::consumer::{Consumer, ConsumerError, Waited};
use protos::ObservableEventsType;

pub use self::config::{Config, Fill};
#[cfg(feature = "in-process")]
pub use self::record::record;
use crate::runtime;

/// How long a service may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Why a session failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// The connection to the service, or a request.
    Consumer(ConsumerError),
    /// The service inside the program does not run.
    Init(runtime::InitError),
    /// The data sources did not start or stop within ten seconds.
    TimedOut(&'static str),
    /// A method was called out of order.
    Order(&'static str),
    /// A config that cannot be read.
    Config(String),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Consumer(error) => error.fmt(f),
            Self::Init(error) => error.fmt(f),
            Self::TimedOut(what) => write!(f, "the service did not {what} within 10 s"),
            Self::Order(what) => f.write_str(what),
            Self::Config(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<ConsumerError> for SessionError {
    fn from(error: ConsumerError) -> Self {
        Self::Consumer(error)
    }
}

impl From<runtime::InitError> for SessionError {
    fn from(error: runtime::InitError) -> Self {
        Self::Init(error)
    }
}

/// A session. Dropping it stops it, and discards what was not read.
///
/// ```
/// # #[cfg(feature = "in-process")]
/// # fn main() -> Result<(), tracing_sdk::session::SessionError> {
/// use tracing_sdk::session::{Config, Session};
/// use tracing_sdk::{categories, instant};
///
/// categories! { NET = "net"; }
///
/// let mut session = Session::in_process(&Config::new().track_events(&["net"]))?;
/// session.start()?;
/// instant!(NET, "hello");
/// session.stop()?;
/// let mut trace = Vec::new();
/// session.read_into(&mut trace)?;
/// assert!(trace.windows(5).any(|bytes| bytes == b"hello"));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "in-process"))]
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct Session {
    consumer: Consumer,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    SetUp,
    Started,
    Stopped,
}

impl Session {
    /// A session with `traced`, at its usual address. It also records the rest of the machine, if the config says so.
    ///
    /// # Errors
    /// When no service answers, or it refuses the config.
    pub fn system(config: &Config) -> Result<Self, SessionError> {
        Self::set_up(Consumer::connect_default()?, config)
    }

    /// A session with the service inside this program, which is started if it does not run.
    ///
    /// # Errors
    /// When the service cannot be started, or refuses the config.
    #[cfg(feature = "in-process")]
    pub fn in_process(config: &Config) -> Result<Self, SessionError> {
        runtime::Init::new().in_process()?;
        if !runtime::sync(TIMEOUT) {
            return Err(SessionError::TimedOut("accept the program as a producer"));
        }
        let consumer = runtime::in_process_consumer();
        let consumer = consumer.ok_or(SessionError::Order("the program has shut tracing down"))?;
        Self::set_up(consumer, config)
    }

    fn set_up(mut consumer: Consumer, config: &Config) -> Result<Self, SessionError> {
        let mut config = config.to_message();
        config.deferred_start = Some(true);
        consumer.observe_events(&[ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED])?;
        consumer.enable_tracing(&config, None)?;
        Ok(Self { consumer, state: State::SetUp })
    }

    /// Starts recording. Returns when all data sources record.
    ///
    /// # Errors
    /// When the service refuses the config, or the session was started before.
    pub fn start(&mut self) -> Result<(), SessionError> {
        if self.state != State::SetUp {
            return Err(SessionError::Order("the session was started before"));
        }
        self.consumer.start_tracing()?;
        self.state = State::Started;
        loop {
            match self.consumer.wait(Some(TIMEOUT))? {
                Waited::Event(event) if event.all_data_sources_started == Some(true) => {
                    return Ok(());
                }
                Waited::TimedOut => return Err(SessionError::TimedOut("start all data sources")),
                Waited::Ended => {
                    self.state = State::Stopped;
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    /// Makes all producers hand over what they have recorded.
    ///
    /// # Errors
    /// When some producer does not answer within ten seconds.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        crate::flush();
        Ok(self.consumer.flush(TIMEOUT)?)
    }

    /// Stops recording. Returns when all data sources have handed over what they recorded.
    ///
    /// # Errors
    /// When the session was not started, or the service does not answer.
    pub fn stop(&mut self) -> Result<(), SessionError> {
        match self.state {
            State::SetUp => return Err(SessionError::Order("the session was not started")),
            State::Stopped => return Ok(()),
            State::Started => {}
        }
        self.flush()?;
        self.consumer.disable_tracing()?;
        loop {
            match self.consumer.wait(Some(TIMEOUT))? {
                Waited::Ended => break,
                Waited::TimedOut => return Err(SessionError::TimedOut("stop all data sources")),
                _ => {}
            }
        }
        self.state = State::Stopped;
        Ok(())
    }

    /// Moves what was recorded into `out`, as a trace file. A session that goes on can be read again and again; each
    /// packet comes once.
    ///
    /// # Errors
    /// When the service does not answer, or `out` fails.
    pub fn read_into(&mut self, out: &mut impl Write) -> Result<(), SessionError> {
        self.consumer.read_into(out, TIMEOUT)?;
        Ok(())
    }

    /// The consumer below, for every other request of the protocol.
    pub fn consumer(&mut self) -> &mut Consumer {
        &mut self.consumer
    }
}
