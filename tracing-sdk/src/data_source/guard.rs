//! Stops and flushes that are done later.

use core::fmt;

use client::data_source::Ack;

/// Ends an instance when it is dropped. A data source that has more to write keeps it meanwhile, but not for ever: see
/// [`DataSource::stop`](super::DataSource::stop).
pub struct StopGuard(Option<Box<dyn FnOnce() + Send>>);

impl StopGuard {
    pub(super) fn new(end: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

impl fmt::Debug for StopGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StopGuard")
    }
}

/// Completes a flush when it is dropped.
#[derive(Debug)]
pub struct FlushGuard(#[expect(dead_code, reason = "it acts when it is dropped")] Ack);

impl FlushGuard {
    pub(super) fn new(done: Ack) -> Self {
        Self(done)
    }
}
