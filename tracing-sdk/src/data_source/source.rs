//! The trait of data sources.

use protos::{DataSourceConfig, DataSourceDescriptor};

use super::guard::{FlushGuard, StopGuard};
use abi::flush_flags::FlushReason;

/// A data source. A value of it is one running instance: a session that asked for the data source. All threads share
/// it.
///
/// The methods are called on a thread of the library, while it holds no lock, and may block. A panic in one of them is
/// reported on standard error, and the session goes on. After a panic in `default` or `drop` of
/// [`Incremental`](Self::Incremental) the thread writes no more into that session.
///
/// ```text
///   setup ──> start ──> ( flush | clear )* ──> stop ──> drop
///                └───────── trace ───────────────┘
/// ```
pub trait DataSource: Send + Sync + Sized + 'static {
    /// What a reader must remember of earlier packets of a thread, such as names that were written once. Each thread
    /// has one value for each instance; it begins as the default and does so again when a reader may have lost earlier
    /// packets. `()` if each packet can be read alone. What has nothing to do with readers is a
    /// [`thread_state`](super::Context::thread_state).
    type Incremental: Default + 'static;

    /// A session will record. Slow preparations belong here.
    fn setup(config: &DataSourceConfig) -> Self;

    /// The session records from now on.
    fn start(&self) {}

    /// The session ends. [`trace`](super::Registered::trace) still reaches this instance, until `stop` is dropped: at
    /// the end of this method, or later on any thread. The service waits five seconds for that, unless the config says
    /// more. A guard that is never dropped keeps the instance until a session needs its place: eight can record at a
    /// time, and the ninth takes that of one that was told to stop.
    fn stop(&self, stop: StopGuard) {
        drop(stop);
    }

    /// Write what was held back, then drop `done`, now or later on any thread. What was written already is handed over
    /// by the library.
    fn flush(&self, reason: FlushReason, done: FlushGuard) {
        let _ = reason;
        drop(done);
    }

    /// The incremental state of all threads is about to be cleared.
    fn clear(&self) {}

    /// Adds to what consumers learn of this data source. The name is set by the library.
    fn describe(descriptor: &mut DataSourceDescriptor) {
        let _ = descriptor;
    }
}
