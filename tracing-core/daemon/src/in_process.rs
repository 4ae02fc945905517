//! The whole service on a thread of this process: nothing has to run first, and there is no socket and no file.
//!
//! Its loop is that of the daemon without sockets. The same code handles the same events in the same order, so a
//! client that works against it works against `traced`.

#[cfg(feature = "host")]
use super::serve::Server;
use super::serve::{Alone, BindError, Log, ServerHandle};
use abi::error::OsError;
use abi::ipc::port::ProducerPort;
use abi::sync::{Arc, OnceLock};
use client::connection::Connection;
use client::consumer::Consumer;
use os::failed;
use os::thread::Thread;
use service::ServiceConfig;

/// What the thread does.
type Run = Box<dyn FnOnce() -> Result<(), OsError> + Send>;

/// A service that runs until this value is dropped.
#[derive(Debug)]
pub struct InProcessService {
    handle: ServerHandle,
    thread: Option<Thread>,
    /// How it ended, once its thread has.
    result: Arc<OnceLock<Result<(), OsError>>>,
}

impl InProcessService {
    /// Starts the service. `log` takes the lines that the daemon would print.
    ///
    /// The service scrapes the chunks that writers still hold, unless their producer refuses. Upstream does the same
    /// inside a process.
    ///
    /// # Errors
    /// When the system has no thread or descriptor left.
    pub fn start(service: ServiceConfig, log: Log) -> Result<Self, BindError> {
        let mut service = service;
        service.scrape_by_default = true;
        let alone = Alone::new(service, log)?;
        let handle = ServerHandle::new(&alone.engine);
        Self::spawn(handle, Box::new(move || alone.run())).map_err(BindError::Os)
    }

    /// Runs `server` on a thread. It may listen on sockets, too.
    ///
    /// # Errors
    /// When the system has no thread left.
    #[cfg(feature = "host")]
    pub fn run(server: Server) -> Result<Self, OsError> {
        Self::spawn(server.handle(), Box::new(move || server.run()))
    }

    fn spawn(handle: ServerHandle, run: Run) -> Result<Self, OsError> {
        let result = Arc::new(OnceLock::new());
        let theirs = Arc::clone(&result);
        let run = Box::new(move || {
            let _ = theirs.set(run());
        });
        let thread = os::thread::spawn("traced", run).map_err(failed("clone"))?;
        Ok(Self { handle, thread: Some(thread), result })
    }

    /// A handle of the service, for any thread of this process.
    #[must_use]
    pub fn handle(&self) -> &ServerHandle {
        &self.handle
    }

    /// A connection for a producer.
    #[must_use]
    pub fn producer(&self) -> Box<dyn Connection<ProducerPort>> {
        self.handle.producer()
    }

    /// A consumer.
    #[must_use]
    pub fn consumer(&self) -> Consumer {
        self.handle.consumer()
    }

    /// Ends the service. Waits for its thread, and for the bytes that are still being written to files.
    ///
    /// # Errors
    /// The error that ended the service earlier, if one did.
    pub fn stop(mut self) -> Result<(), OsError> {
        self.end();
        self.result.get().cloned().unwrap_or(Ok(()))
    }

    fn end(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

impl Drop for InProcessService {
    fn drop(&mut self) {
        self.end();
    }
}
