//! Sessions that the program itself starts: with the service inside it, or with `traced`.
//!
//! ```text
//!   Config ──> Session::in_process / Session::system ──> start ──> stop or wait ──> read
//!                                                          │
//!                                                          └── flush, snapshot, stats ...
//! ```
//!
//! | file | what |
//! |---|---|
//! | `config` | what a session records |
//! | `categories` | a line for the user if a session names no category of the program |
//! | `file` | files that appear when there is something to write |
//! | `text` | configs as text (feature `text`) |
//! | `copy` | names of sessions, by which they are copied |
//! | `shared` | one consumer for several threads |
//! | `read` | packets and bytes of a trace, at the speed of the caller |
//! | `operation`, `futures` | requests as futures |
//! | `record` | recordings in one line |
//! | `numbered` | names for several traces of one kind |
//! | `recorder` | a session that always runs, and is saved when something happens |
//! | `dump_handle` | what saves it on other threads |
//! | `watchdog` | work that is saved while it goes on, if it takes too long |
//! | `error` | why a session failed |

mod categories;
mod config;
mod copy;
#[cfg(feature = "in-process")]
mod dump_handle;
mod error;
mod file;
mod futures;
#[cfg(feature = "in-process")]
mod numbered;
mod operation;
mod read;
#[cfg(feature = "in-process")]
mod record;
#[cfg(feature = "in-process")]
mod recorder;
mod shared;
#[cfg(all(test, feature = "in-process", not(feature = "off")))]
mod tests;
#[cfg(feature = "text")]
mod text;
#[cfg(feature = "in-process")]
mod watchdog;

use std::io::Write;
use std::ops::DerefMut;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use client::consumer::{Consumer, ConsumerError, Waited};
use os::socket::{Address, OpenSocket};
use protos::{ObservableEventsType, TraceStats, TracingServiceState};

pub use self::config::{Config, Fill, Trigger};
use self::copy::{clone_request, new_name};
#[cfg(feature = "in-process")]
pub use self::dump_handle::DumpHandle;
pub use self::error::SessionError;
use self::error::{NOT_STARTED, OF_PARENT};
use self::file::NewFile;
pub use self::operation::Operation;
pub use self::read::{Packets, Reader};
#[cfg(feature = "in-process")]
pub use self::record::{record, record_to_file};
#[cfg(feature = "in-process")]
pub use self::recorder::FlightRecorder;
use self::shared::{Inner, Shared, State, TIMEOUT};
#[cfg(feature = "in-process")]
pub use self::watchdog::Watchdog;
use crate::inside;
#[cfg(feature = "in-process")]
use crate::runtime::CompleteFile;
use crate::runtime::{self, LiveSession};

/// A session. Dropping it stops it, and discards what was not read. One with the service inside the program that writes
/// into a file ends as by [`stop`](Self::stop) first, so the file is complete, and the drop may take as long as that.
/// The end of the program does the same for sessions that were not dropped. But in a callback of this library, such as
/// a method of a data source, a session that is dropped ends without its last events: the service would wait for the
/// thread that waits for it.
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
/// # #[cfg(not(feature = "off"))]
/// assert!(trace.windows(5).any(|bytes| bytes == b"hello"));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "in-process"))]
/// # fn main() {}
/// ```
///
/// # Threads and tasks
///
/// Most methods take `&self`: a thread can [`stop`](Self::stop) a session for whose end another one
/// [`wait`](Self::wait)s. Requests of several threads are carried out one at a time.
///
/// For each method that waits for the service, another one returns a future, such as [`stop_async`](Self::stop_async).
/// It needs no runtime, and no runtime needs to know of it: a thread of the library carries the request out.
///
/// ```
/// use tracing_sdk::session::{Config, Session, SessionError};
///
/// async fn record(config: &Config) -> Result<Vec<u8>, SessionError> {
///     let session = Session::system_async(config).await?;
///     session.start_async().await?;
///     // ... meanwhile, a copy of what there is so far:
///     session.flush_async().await?;
///     let copy = session.snapshot_async().await?;
///     copy.read_async().await?;
///     session.save_snapshot_async("so-far.pftrace").await?;
///     // What is known of it, and of the service.
///     println!("{:?} {:?}", session.stats_async().await?, session.query_async().await?);
///     session.change_config_async(config).await?;
///     // A request is on its way when the method returns. So this one can be kept, and awaited later.
///     let ended = session.wait_async();
///     session.stop_async().await?;
///     ended.await?;
///     session.read_async().await
/// }
/// ```
///
/// # Other services, copies, changes
///
/// ```no_run
/// # use tracing_sdk::Address;
/// # use tracing_sdk::session::{Config, Session};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // In place of the service at the usual address.
/// let config = Config::new().track_events(&["net"]);
/// let session = Session::system_at(Address::parse("/run/my/consumer.sock")?, &config)?;
/// session.start()?;
/// session.save_snapshot("/tmp/so-far.pftrace")?;
/// // Producers that `config` names and that did not record begin to do so.
/// session.change_config(&config)?;
/// for buffer in session.stats()?.buffer_stats {
///     println!("{} bytes were written into a buffer", buffer.bytes_written.unwrap_or(0));
/// }
/// // Who else is there.
/// for producer in session.query()?.producers {
///     println!("{} runs", producer.name.unwrap_or_default());
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Signals
///
/// This library installs no signal handler. A program that must not lose its trace when a user presses Ctrl-C calls
/// [`stop`](Self::stop) on the thread that its way of handling signals provides (`ctrlc`, `signal-hook`,
/// `tokio::signal`), never in a signal handler itself; or ends the program there by `std::process::exit`. A session
/// with [`Config::write_into_file`] leaves a readable file in any case: the service only ever appends whole packets.
///
/// # Forks
///
/// A session belongs to the process that has made it. In a forked process its methods give an error
/// ([`consumer`](Self::consumer) panics), and dropping it does nothing.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    service: Service,
    /// The name by which it can be cloned; empty for a clone.
    name: String,
    /// The socket of its consumer, if the service is outside.
    socket: Option<OpenSocket>,
    /// The service is inside the program and writes a file.
    writes_file: bool,
}

/// The service of a session.
#[derive(Clone, Debug)]
enum Service {
    Default,
    Address(Address),
    #[cfg(feature = "in-process")]
    InProcess,
}

impl Service {
    /// Whether it is inside the program.
    fn is_inside(&self) -> bool {
        match self {
            Self::Default | Self::Address(_) => false,
            #[cfg(feature = "in-process")]
            Self::InProcess => true,
        }
    }

    fn connect(&self) -> Result<Consumer, SessionError> {
        match self {
            Self::Default => Ok(Consumer::connect_default()?),
            Self::Address(address) => Ok(Consumer::connect(address)?),
            #[cfg(feature = "in-process")]
            Self::InProcess => runtime::in_process_consumer()
                .ok_or(SessionError::Order("the program has shut tracing down")),
        }
    }
}

impl Session {
    /// A session with `traced`, at its usual address. It also records the rest of the machine, if the config says so.
    ///
    /// # Errors
    /// When no service answers. [`start`](Self::start) tells of a config that it refuses.
    pub fn system(config: &Config) -> Result<Self, SessionError> {
        Self::set_up(Service::Default, config)
    }

    /// As [`system`](Self::system), with the service whose consumer socket has this address.
    ///
    /// # Errors
    /// As [`system`](Self::system).
    pub fn system_at(address: Address, config: &Config) -> Result<Self, SessionError> {
        Self::set_up(Service::Address(address), config)
    }

    /// A session with the service inside this program, which is started if it does not run.
    ///
    /// # Errors
    /// When the service cannot be started. [`start`](Self::start) tells of a config that it refuses.
    #[cfg(feature = "in-process")]
    pub fn in_process(config: &Config) -> Result<Self, SessionError> {
        runtime::Init::new().start_service()?;
        if !runtime::sync_in_process(TIMEOUT) {
            return Err(SessionError::TimedOut("accept the program as a producer"));
        }
        Self::set_up(Service::InProcess, config)
    }

    fn set_up(service: Service, config: &Config) -> Result<Self, SessionError> {
        let (file, new_file) = config.file()?;
        let mut message = config.to_message();
        if message.unique_session_name.as_deref().unwrap_or_default().is_empty() {
            // A clone names its session, and no other session has this name.
            message.unique_session_name = Some(new_name());
        }
        let name = message.unique_session_name.clone().unwrap_or_default();
        message.deferred_start = Some(true);
        let mut consumer = service.connect()?;
        consumer.observe_events(&[ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED])?;
        consumer.enable_tracing(&message, file)?;
        let state = if config.starts_by_trigger() { State::Armed } else { State::SetUp };
        let mut session = Self::new(service, consumer, state, new_file);
        session.name = name;
        {
            let mut inner = session.shared.lock()?;
            inner.writes_file = config.writes_file();
            if session.service.is_inside() {
                inner.named = categories::named(&message);
            }
        }
        #[cfg(feature = "in-process")]
        if session.service.is_inside() && config.writes_file() {
            session.writes_file = true;
            let shared: Arc<dyn CompleteFile> = session.shared.clone();
            runtime::add_session(LiveSession::WritesFile(Arc::downgrade(&shared)));
        }
        Ok(session)
    }

    /// Whether the process was forked since: then the session is that of its parent.
    fn is_of_parent(&self) -> bool {
        self.shared.is_of_parent()
    }

    fn new(service: Service, consumer: Consumer, state: State, file: Option<NewFile>) -> Self {
        let socket = consumer.socket();
        if let Some(socket) = socket {
            runtime::add_session(LiveSession::Outside(socket));
        }
        let shared = Arc::new(Shared::new(consumer, state, file));
        Self { shared, service, name: String::new(), socket, writes_file: false }
    }

    /// Starts recording. Returns when all data sources record. For a session that a trigger starts it returns when the
    /// service has it: a [`trigger`](crate::trigger) that comes later reaches it.
    ///
    /// # Errors
    /// When the service refuses the config, or the session was started before. [`SessionError::TimedOut`] when a data
    /// source has not started within ten seconds, for example because its process is stopped: the session records all
    /// the same, and its file is there.
    pub fn start(&self) -> Result<(), SessionError> {
        self.shared.lock()?.start()
    }

    /// Makes all producers hand over what they have recorded.
    ///
    /// # Errors
    /// When some producer does not answer within ten seconds.
    pub fn flush(&self) -> Result<(), SessionError> {
        crate::flush();
        self.shared.lock()?.flush()
    }

    /// Stops recording. Returns when all data sources have handed over what they recorded. Does nothing if the session
    /// has ended.
    ///
    /// # Errors
    /// When the session was not started, or the service does not answer.
    pub fn stop(&self) -> Result<(), SessionError> {
        crate::flush();
        self.shared.lock()?.stop()
    }

    /// Waits until the session ends by itself (its duration, a trigger, a full file) or another thread stops it.
    /// False after `timeout`; `None` waits for ever.
    ///
    /// # Errors
    /// When the service refused the config or ended the session with an error, and when the session was not started.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool, SessionError> {
        self.shared.wait_ended(timeout)
    }

    /// Moves what the service has into `out`, as a trace file. A session that goes on can be read again and again; each
    /// packet comes once. Other threads can use the session meanwhile, however long `out` takes; those that read, too,
    /// wait.
    ///
    /// Call [`stop`](Self::stop) before, or [`flush`](Self::flush) if the session goes on. Without them the last events
    /// of each thread, up to some kilobytes, are not in `out`, and nothing counts them as lost: threads have not handed
    /// them over. They come with a later read, unless the session is dropped before. What is read later goes on with
    /// what was read before: write it into the same file, because alone it lacks names.
    ///
    /// # Errors
    /// When the session was not started, or writes into a file ([`Config::write_into_file`]); when the service does not
    /// answer, or `out` fails.
    pub fn read_into(&self, out: &mut impl Write) -> Result<(), SessionError> {
        self.shared.read_into(out)
    }

    /// What was recorded, as a trace file that is read piece by piece. It keeps some hundred kilobytes at most.
    ///
    /// Dropping it before its end discards packets that were on their way.
    pub fn reader(&mut self) -> Reader<'_> {
        Reader::new(&self.shared)
    }

    /// What was recorded, packet by packet: each item is one encoded `TracePacket`. Otherwise as
    /// [`reader`](Self::reader).
    pub fn packets(&mut self) -> Packets<'_> {
        Packets::new(&self.shared)
    }

    /// A copy of what this session has recorded so far, which goes on meanwhile. The copy is a session that has ended:
    /// read it.
    ///
    /// ```
    /// # use tracing_sdk::session::{Session, SessionError};
    /// fn look_at(session: &Session) -> Result<usize, SessionError> {
    ///     let mut trace = Vec::new();
    ///     session.snapshot()?.read_into(&mut trace)?;
    ///     Ok(trace.len())
    /// }
    /// ```
    ///
    /// # Errors
    /// When the service refuses: it is too old, or the session writes into a file
    /// ([`save_snapshot`](Self::save_snapshot) copies that).
    pub fn snapshot(&self) -> Result<Self, SessionError> {
        self.shared.check_process()?;
        crate::flush();
        snapshot(&self.service, &self.name)
    }

    /// Writes a copy of what this session has recorded so far to a file, which is replaced if it exists. This also
    /// copies a session that writes into a file.
    ///
    /// # Errors
    /// When the service refuses, or the file cannot be written.
    pub fn save_snapshot(&self, path: impl AsRef<Path>) -> Result<(), SessionError> {
        self.shared.check_process()?;
        crate::flush();
        save(&self.service, &self.name, path.as_ref())
    }

    /// Counters of the session, for example of data that its buffers received and lost.
    ///
    /// # Errors
    /// When the service does not answer.
    pub fn stats(&self) -> Result<TraceStats, SessionError> {
        Ok(self.shared.lock()?.consumer.get_trace_stats()?)
    }

    /// The state of the service: its producers, their data sources, and the sessions of this user.
    ///
    /// # Errors
    /// When the service does not answer.
    pub fn query(&self) -> Result<TracingServiceState, SessionError> {
        Ok(self.shared.lock()?.consumer.query_service_state(false)?)
    }

    /// Extends the producer filters of the data sources to those of `config`; all else of it is ignored, because a
    /// service can change nothing else of a session. Producers that match now begin to record.
    ///
    /// # Errors
    /// When the service refuses or does not answer.
    pub fn change_config(&self, config: &Config) -> Result<(), SessionError> {
        Ok(self.shared.lock()?.consumer.change_trace_config(&config.to_message())?)
    }

    /// The consumer below, for every other request of the protocol. The end of the session that this consumer reports
    /// is unknown to [`wait`](Self::wait).
    ///
    /// # Panics
    /// In a forked process: the session is that of its parent.
    ///
    /// ```
    /// # use tracing_sdk::session::Session;
    /// # fn example(mut session: Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let capabilities = session.consumer().query_capabilities()?;
    /// # drop(capabilities);
    /// # Ok(())
    /// # }
    /// ```
    pub fn consumer(&mut self) -> impl DerefMut<Target = Consumer> + '_ {
        assert!(self.shared.check_process().is_ok(), "{OF_PARENT}");
        ConsumerGuard(self.shared.lock_here())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_of_parent() {
            // It is the session of the parent process, whose service and locks this one does not have.
            return core::mem::forget(self.shared.clone());
        }
        // In a callback the service would wait for this thread.
        if self.writes_file && !inside::in_callback() {
            crate::flush();
            self.shared.complete_file(TIMEOUT);
        }
        self.shared.drop_session();
        if let Some(socket) = self.socket {
            runtime::remove_session(socket);
        }
    }
}

#[cfg(feature = "in-process")]
impl CompleteFile for Shared {
    fn complete_file(&self, timeout: Duration) -> bool {
        Self::complete_file(self, timeout)
    }
}

struct ConsumerGuard<'s>(std::sync::MutexGuard<'s, Inner>);

impl std::ops::Deref for ConsumerGuard<'_> {
    type Target = Consumer;

    fn deref(&self) -> &Consumer {
        &self.0.consumer
    }
}

impl DerefMut for ConsumerGuard<'_> {
    fn deref_mut(&mut self) -> &mut Consumer {
        &mut self.0.consumer
    }
}

impl Inner {
    fn start(&mut self) -> Result<(), SessionError> {
        let is_armed = self.state == State::Armed;
        match self.state {
            State::SetUp => self.consumer.start_tracing()?,
            State::Armed => {}
            State::Started | State::Stopped => {
                return Err(SessionError::Order("a session starts once: make another one"));
            }
        }
        self.state = State::Started;
        if is_armed || self.new_file.is_some() {
            self.wait_accepted()?;
            // The service writes into it, also while data sources start.
            self.commit_file()?;
        }
        if is_armed { Ok(()) } else { self.wait_started() }
    }

    /// Waits until the service has the session.
    fn wait_accepted(&mut self) -> Result<(), SessionError> {
        // It answers only for a session that it has accepted.
        let Err(error) = self.consumer.get_trace_stats() else { return Ok(()) };
        if matches!(error, ConsumerError::Rejected(_)) {
            // The reason of a refusal may come behind this answer.
            while !matches!(self.wait(Some(TIMEOUT))?, Waited::Ended | Waited::TimedOut) {}
        }
        Err(error.into())
    }

    /// Waits until all data sources record.
    fn wait_started(&mut self) -> Result<(), SessionError> {
        loop {
            match self.wait(Some(TIMEOUT))? {
                Waited::Event(event) if event.all_data_sources_started == Some(true) => {
                    return Ok(());
                }
                Waited::TimedOut => return Err(SessionError::TimedOut("start all data sources")),
                Waited::Ended => return Ok(()),
                _ => {}
            }
        }
    }

    /// The service records into the file.
    fn commit_file(&mut self) -> Result<(), SessionError> {
        self.new_file.take().map_or(Ok(()), NewFile::commit)
    }

    fn flush(&mut self) -> Result<(), SessionError> {
        Ok(self.consumer.flush(TIMEOUT)?)
    }

    fn stop(&mut self) -> Result<(), SessionError> {
        self.stop_within(TIMEOUT)
    }

    fn stop_within(&mut self, timeout: Duration) -> Result<(), SessionError> {
        match self.state {
            State::SetUp | State::Armed => {
                return Err(SessionError::Order(NOT_STARTED));
            }
            State::Stopped => return Ok(()),
            State::Started => {}
        }
        match self.consumer.flush(timeout) {
            // A producer did not answer, the session has just ended, or its trigger did not come. It must end all the
            // same; the trace tells of flushes that failed.
            Ok(()) | Err(ConsumerError::Rejected(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.consumer.disable_tracing()?;
        loop {
            match self.wait(Some(timeout))? {
                Waited::Ended => return Ok(()),
                Waited::TimedOut => return Err(SessionError::TimedOut("stop all data sources")),
                _ => {}
            }
        }
    }
}

impl Shared {
    /// Ends a session that runs, which writes the rest of its file. True if the file is complete then.
    fn complete_file(&self, timeout: Duration) -> bool {
        let mut inner = self.lock_here();
        if inner.state != State::Started {
            return true;
        }
        match inner.stop_within(timeout) {
            Ok(()) => return true,
            // The service has ended before, and has completed its files.
            Err(SessionError::Consumer(ConsumerError::Disconnected)) => return true,
            Err(error) => {
                crate::report::report!("the file of a session may lack its last events: {error}");
            }
        }
        // At the end of the session the service writes what it has.
        let _ = inner.consumer.disable_tracing();
        false
    }
}

fn snapshot(service: &Service, name: &str) -> Result<Session, SessionError> {
    let request = clone_request(name)?;
    let mut consumer = service.connect()?;
    consumer.clone_session(request, None)?;
    Ok(Session::new(service.clone(), consumer, State::Stopped, None))
}

/// See [`Session::save_snapshot`].
fn save(service: &Service, name: &str, path: &Path) -> Result<(), SessionError> {
    let mut file = NewFile::create(path)?;
    let lent = file.try_clone()?;
    let mut consumer = service.connect()?;
    let response = consumer.clone_session(clone_request(name)?, Some(lent.into()))?;
    if response.was_write_into_file != Some(true) {
        consumer.read_into(file.file(), TIMEOUT)?;
    }
    file.commit()
}
