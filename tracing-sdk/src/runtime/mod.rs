//! The connections of this process to services, and the data source that each of them offers.
//!
//! One producer for each kind of service: `traced`, and the service inside the program (feature `in-process`). They
//! share all categories, so that a session of either records the same events.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client::producer::{Producer, ProducerError, ProducerOptions, Scraping};
use os::clock::Deadline;
#[cfg(feature = "session")]
use os::socket::OpenSocket;

mod address;
mod error;
mod hooks;
#[cfg(feature = "in-process")]
mod in_process;
mod options;
mod startup;
mod state;
#[cfg(test)]
mod tests;

pub use self::error::InitError;
#[cfg(feature = "in-process")]
use self::in_process::InProcess;
use self::options::Options;
pub use self::startup::Startup;
#[cfg(feature = "in-process")]
pub(crate) use self::state::CompleteFile;
#[cfg(feature = "session")]
pub(crate) use self::state::LiveSession;
pub(crate) use self::state::{ForkLock, Offer};
use self::state::{Runtime, lock};
use crate::clock;
use crate::on::ON;
#[cfg(feature = "tracing")]
use crate::source::changes;
use crate::source::{CanAdopt, TrackEventSource, descriptor, registry};
use crate::stall;
use crate::track::process;

/// Sets up tracing with options; [`init`] uses the defaults.
///
/// ```no_run
/// # fn main() -> Result<(), tracing_sdk::InitError> {
/// tracing_sdk::Init::new().name("my-server").shm_kb(8192).system()?;
/// # Ok(())
/// # }
/// ```
///
/// A service at another address, whose sessions may stop threads of the program rather than lose events, and times from
/// the processor's counter:
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tracing_sdk::{Address, Init};
///
/// let socket = Address::parse("/run/my/producer.sock")?;
/// Init::new().address(socket).allow_stall().counter_clock().system()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Init(Options);

impl Default for Init {
    fn default() -> Self {
        Self::new()
    }
}

impl Init {
    /// The defaults: the name of the program, 8 MiB of shared memory.
    #[must_use]
    pub fn new() -> Self {
        Self(Options::new())
    }

    /// The name of this producer, which users see and configs can select.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    /// The address of `traced`; by default that of `PERFETTO_PRODUCER_SOCK_NAME`, or the usual one.
    ///
    /// An address where no service can be, such as a path in a folder that does not exist, is told on standard error
    /// when tracing is set up; the program goes on, and tries to connect.
    #[must_use]
    pub fn address(mut self, address: os::socket::Address) -> Self {
        self.0.address = Some(address);
        self
    }

    /// The size of the shared memory, KiB. A burst of events that does not fit is lost, and counted.
    ///
    /// Each thread takes 4 KiB of it for each session that it has recorded in, also while it waits, until it
    /// [flushes](crate::flush) or ends: a program with a thousand threads and four sessions needs 16 MiB and more. When
    /// threads that wait have all of it, events of all other threads are lost.
    #[must_use]
    pub fn shm_kb(mut self, kb: u32) -> Self {
        self.0.shm_bytes = kb.saturating_mul(1024);
        self
    }

    /// Lets configs of sessions decide what a thread does when the shared memory is full: `buffer_exhausted_policy` of
    /// a `DataSourceConfig`. By default its events are lost whatever a config says, because the other policies stop the
    /// thread until there is memory, and one of them ends the program after half a minute.
    ///
    /// The last call of [`system`](Self::system) or `in_process` that sets something up decides for both. One with the
    /// defaults, such as that of a session, changes nothing while the other one runs.
    #[must_use]
    pub fn allow_stall(mut self) -> Self {
        self.0.allow_stall = true;
        self
    }

    /// Computes the time of events from a counter of the processor (x86-64: the time stamp counter; AArch64: the
    /// generic timer). An event is then about 10 ns shorter. Each thread reads the kernel's clock once a millisecond
    /// and corrects itself, so traces have the usual clocks, and any reader can convert them.
    ///
    /// Times of several threads agree within about 0.1 µs, and within 2 µs while the kernel changes the rate of its
    /// clock; with the kernel's clock they agree exactly. For a millisecond after the machine was suspended, times may
    /// be those before it. Does nothing where the kernel's own clock is not computed from this counter
    /// (`/sys/devices/system/clocksource/clocksource0/current_clocksource` is `tsc`, `arch_sys_counter` or
    /// `hyperv_clocksource_tsc_page`), because then the processors may count differently.
    ///
    /// It is for the whole process, and stays on.
    #[must_use]
    pub fn counter_clock(mut self) -> Self {
        self.0.counter_clock = true;
        self
    }

    /// Records at once, until a session of `traced` goes on with it. The service inside the program does not need this:
    /// it runs at once.
    #[must_use]
    pub fn startup(mut self, startup: Startup) -> Self {
        self.0.startup = Some(startup);
        self
    }

    /// Waits at most this long for `traced`, and until the sessions that run there record this program. Without it the
    /// first milliseconds of a program are in no trace. By default it does not wait, except below `tracebox record`,
    /// where the environment says so (`TRACING_INIT_WAIT_MS`).
    #[must_use]
    pub fn wait(mut self, timeout: Duration) -> Self {
        self.0.wait = timeout;
        self
    }

    /// Whether tracing runs with these options, or with others where this has the defaults.
    fn is_done(&self, running: Option<&Options>) -> Result<bool, InitError> {
        match running {
            None => Ok(false),
            Some(running) if self.0.set_up_as(running) || self.0.are_defaults() => Ok(true),
            Some(_) => Err(InitError::OtherOptions),
        }
    }

    /// Before a producer.
    fn set_up(&self, runtime: &Runtime) {
        hooks::install();
        registry::on_new_categories(update_descriptors);
        if !self.0.are_defaults() || runtime.producers().next().is_none() {
            stall::allow(self.0.allow_stall);
        }
        if self.0.counter_clock {
            clock::use_counter();
        }
    }

    fn options(&self) -> ProducerOptions {
        let mut options = ProducerOptions::new(self.0.name.clone());
        options.address = self.0.address.clone();
        options.shm_bytes_hint = self.0.shm_bytes;
        options.sdk_version =
            concat!("tracing-sdk ", env!("CARGO_PKG_VERSION"), " (Rust)").to_owned();
        // Otherwise the events of a thread would be missing that records nothing more after them.
        options.scraping = Scraping::On;
        options
    }

    /// Connects to `traced`, now or when it starts, and again when the connection is lost. Does nothing if that was
    /// done before.
    ///
    /// With [`startup`](Self::startup) it records when this returns, which waits for the `setup` and `start` of data
    /// sources of the program's own.
    ///
    /// # Errors
    /// When the address in the environment is none, or a thread cannot be started, or with `startup` the system has no
    /// memory or descriptor left. [`InitError::OtherOptions`] when that was done before with other options, and this
    /// does not have the defaults.
    pub fn system(self) -> Result<(), InitError> {
        if ON { self.connect() } else { Ok(()) }
    }

    fn connect(self) -> Result<(), InitError> {
        let timeout = self.0.wait;
        let mut runtime = lock();
        if !self.is_done(runtime.system.as_ref().and(runtime.system_options.as_ref()))? {
            address::check(self.0.address.as_ref());
            self.set_up(&runtime);
            let mut options = self.options();
            options.startup = self.0.startup.as_ref().map(Startup::options);
            let producer = Producer::connect(options)?;
            let can_adopt = self.0.startup.as_ref().map(Startup::can_adopt);
            offer(&producer, can_adopt)?;
            runtime.sources.iter().for_each(|source| offer_source(source, &producer));
            runtime.system = Some(Arc::new(producer));
            runtime.system_options = Some(self.0);
        }
        let producer = runtime.system.clone();
        drop(runtime);
        #[cfg(feature = "tracing")]
        changes::tell_after_fork();
        wait_startup();
        if !timeout.is_zero()
            && let Some(producer) = producer
        {
            // A program without a service goes on, and is recorded when there is one.
            let _is_recorded = producer.sync(timeout);
        }
        Ok(())
    }

    /// Starts the service inside this program. Does nothing if that was done before.
    ///
    /// ```
    /// use tracing_sdk::session::{Config, Session};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // The sessions of this program share one service, with 1 MiB of shared memory.
    /// tracing_sdk::Init::new().shm_kb(1024).in_process()?;
    /// let session = Session::in_process(&Config::new().track_events(&["net"]))?;
    /// # drop(session);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the system has no thread or descriptor left. [`InitError::OtherOptions`] as for [`system`](Self::system).
    #[cfg(feature = "in-process")]
    pub fn in_process(self) -> Result<(), InitError> {
        if ON { self.start_service() } else { Ok(()) }
    }

    /// As [`in_process`](Self::in_process), also with the feature `off`: a session of the program itself asks for it.
    #[cfg(feature = "in-process")]
    pub(crate) fn start_service(self) -> Result<(), InitError> {
        let mut runtime = lock();
        if !self.is_done(runtime.in_process.as_ref().and(runtime.in_process_options.as_ref()))? {
            self.set_up(&runtime);
            let in_process = InProcess::start(self.options())?;
            let producer = in_process.producer();
            offer(producer, None)?;
            runtime.sources.iter().for_each(|source| offer_source(source, producer));
            runtime.in_process = Some(in_process);
            runtime.in_process_options = Some(self.0);
        }
        drop(runtime);
        #[cfg(feature = "tracing")]
        changes::tell_after_fork();
        Ok(())
    }
}

/// Makes a session known to the end of the program, and to its forks.
#[cfg(feature = "session")]
pub(crate) fn add_session(session: LiveSession) {
    hooks::install();
    let sessions = &mut lock().sessions;
    #[cfg(feature = "in-process")]
    sessions.retain(|known| match known {
        LiveSession::WritesFile(known) => known.strong_count() != 0,
        LiveSession::Outside(_) => true,
    });
    sessions.push(session);
}

/// A session with a service outside has ended.
#[cfg(feature = "session")]
pub(crate) fn remove_session(socket: OpenSocket) {
    let is_other =
        |known: &LiveSession| !matches!(known, LiveSession::Outside(known) if *known == socket);
    lock().sessions.retain(is_other);
}

/// Waits until data sources that were offered have begun, if they begin before a session asks for them.
pub(crate) fn wait_startup() {
    if !ON {
        return;
    }
    // Data sources may take the lock.
    let producer = lock().system.clone();
    if let Some(producer) = producer {
        producer.wait_startup();
    }
}

/// How many packets of startup tracing were discarded, because no session has started in time or its service did not
/// take them. An event is a packet; each thread and each track add a few.
///
/// ```
/// if tracing_sdk::startup_packets_discarded() != 0 {
///     println!("no session wanted the beginning of this program");
/// }
/// ```
#[must_use]
pub fn startup_packets_discarded() -> u64 {
    lock().system.as_ref().map_or(0, |producer| producer.startup_packets_discarded())
}

/// As [`sync`], for the service inside the program alone.
#[cfg(feature = "in-process")]
pub(crate) fn sync_in_process(timeout: Duration) -> bool {
    let producer = lock().in_process.as_ref().map(InProcess::producer).cloned();
    producer.is_some_and(|producer| producer.sync(timeout))
}

/// A consumer of the service inside the program, if that runs.
#[cfg(feature = "in-process")]
pub(crate) fn in_process_consumer() -> Option<client::consumer::Consumer> {
    lock().in_process.as_ref().map(InProcess::consumer)
}

/// Connects this program to `traced`, now or when it starts.
///
/// A process that was forked is not traced before it calls this again; then it is a producer of its own. It never
/// writes into the memory of its parent.
///
/// Call it once, early in `main`. Without it nothing is recorded. It does not wait for the service, so a session misses
/// the first milliseconds of the program, unless [`Init::wait`] says otherwise. Below `tracebox record` it waits.
///
/// # Errors
/// When the address in the environment is none, or a thread cannot be started.
#[inline]
pub fn init() -> Result<(), InitError> {
    if ON { Init::new().system() } else { Ok(()) }
}

/// Waits until all services know this program and its categories, and until the sessions that run there record it. True
/// then; false after `timeout`, for example because no service runs. Programs that start a session right away need
/// this, and those whose first events must not be missing; others do not.
pub fn sync(timeout: Duration) -> bool {
    if !ON {
        return true;
    }
    let producers: Vec<_> = lock().producers().cloned().collect();
    let deadline = Deadline::after(Some(timeout));
    let left = || deadline.left().unwrap_or_default();
    producers.iter().all(|producer| producer.sync(left()))
}

/// Tells services about triggers, which sessions may wait for.
///
/// ```
/// // Sessions with a trigger of this name start or end now.
/// tracing_sdk::trigger(&["jank"]);
/// ```
pub fn trigger(names: &[&str]) {
    if !ON {
        return;
    }
    for producer in lock().producers() {
        producer.activate_triggers(names.iter().copied());
    }
}

/// Ends all connections: the events of the calling thread and of threads that have ended are sent; those of other
/// threads are read by the service. Sessions of a service inside the program end.
///
/// ```no_run
/// # fn main() -> Result<(), tracing_sdk::InitError> {
/// tracing_sdk::init()?;
/// // ...
/// tracing_sdk::shutdown();
/// # Ok(())
/// # }
/// ```
///
/// A program may call [`init`] again after it. In a callback of a data source or an interceptor this does not wait,
/// because the connections end after the callback.
pub fn shutdown() {
    if !ON && cfg!(not(feature = "in-process")) {
        return;
    }
    crate::sequence::thread::flush();
    // They end without the lock, because their threads may need it.
    let ended = {
        let mut runtime = lock();
        (runtime.system.take(), runtime.in_process.take())
    };
    if !crate::inside::in_callback() {
        return drop(ended);
    }
    // The end of a producer waits for the thread that called this. Without another thread they stay as they are.
    let kept = Arc::new(Mutex::new(Some(ended)));
    let taken = kept.clone();
    let end = move || drop(taken.lock().unwrap_or_else(PoisonError::into_inner).take());
    if os::thread::spawn("tracing-shutdown", Box::new(end)).is_err() {
        core::mem::forget(kept);
    }
}

/// The id of the data source: it lets a producer change the descriptor later.
fn source_id() -> u64 {
    process::uuid() | 1
}

fn offer(producer: &Producer, can_adopt: Option<CanAdopt>) -> Result<(), ProducerError> {
    if !ON {
        return Ok(());
    }
    let descriptor = descriptor(source_id(), &registry::listed());
    producer.register(descriptor, TrackEventSource::new(can_adopt))
}

/// Offers a data source to all services, now and later.
pub(crate) fn add_source(source: Offer) {
    let mut runtime = lock();
    runtime.producers().for_each(|producer| offer_source(&source, producer));
    runtime.sources.push(source);
}

fn offer_source(source: &Offer, producer: &Producer) {
    if let Err(error) = (source.register)(producer) {
        crate::report::report!("services do not know a data source of the program: {error}");
    }
}

/// After new categories.
fn update_descriptors() {
    let runtime = lock();
    for producer in runtime.producers() {
        if let Err(error) = producer.update(descriptor(source_id(), &registry::listed())) {
            crate::report::report!("consumers do not see the newest categories: {error}");
        }
    }
}
