//! The methods of a session that wait for the service, as futures.

use std::path::Path;
use std::sync::Arc;

use protos::{TraceStats, TracingServiceState};

use super::config::Config;
use super::operation::Operation;
use super::shared::Shared;
use super::{Service, Session, save, snapshot};

impl Session {
    /// As [`system`](Self::system), as a future.
    pub fn system_async(config: &Config) -> Operation<Self> {
        let config = config.clone();
        Operation::new(move || Self::system(&config))
    }

    /// As [`in_process`](Self::in_process), as a future.
    #[cfg(feature = "in-process")]
    pub fn in_process_async(config: &Config) -> Operation<Self> {
        let config = config.clone();
        Operation::new(move || Self::in_process(&config))
    }

    /// As [`start`](Self::start), as a future.
    pub fn start_async(&self) -> Operation<()> {
        let shared = self.shared.clone();
        Operation::new(move || shared.lock()?.start())
    }

    /// As [`flush`](Self::flush), as a future.
    pub fn flush_async(&self) -> Operation<()> {
        crate::flush();
        let shared = self.shared.clone();
        Operation::new(move || shared.lock()?.flush())
    }

    /// As [`stop`](Self::stop), as a future.
    pub fn stop_async(&self) -> Operation<()> {
        crate::flush();
        let shared = self.shared.clone();
        Operation::new(move || shared.lock()?.stop())
    }

    /// Waits until the session ends: see [`wait`](Self::wait). When the session is dropped, the future is ready, too.
    pub fn wait_async(&self) -> Operation<()> {
        let shared = self.shared.clone();
        Operation::new(move || shared.wait_ended(None).map(drop))
    }

    /// Reads the whole trace, as a future: see [`read_into`](Self::read_into).
    pub fn read_async(&self) -> Operation<Vec<u8>> {
        let shared = self.shared.clone();
        Operation::new(move || {
            let mut trace = Vec::new();
            shared.read_into(&mut trace)?;
            Ok(trace)
        })
    }

    /// As [`snapshot`](Self::snapshot), as a future.
    pub fn snapshot_async(&self) -> Operation<Self> {
        crate::flush();
        let (shared, service, name) = self.parts();
        Operation::new(move || {
            shared.check_process()?;
            snapshot(&service, &name)
        })
    }

    /// As [`save_snapshot`](Self::save_snapshot), as a future.
    pub fn save_snapshot_async(&self, path: impl AsRef<Path>) -> Operation<()> {
        crate::flush();
        let (shared, service, name) = self.parts();
        let path = path.as_ref().to_owned();
        Operation::new(move || {
            shared.check_process()?;
            save(&service, &name, &path)
        })
    }

    /// As [`stats`](Self::stats), as a future.
    pub fn stats_async(&self) -> Operation<TraceStats> {
        let shared = self.shared.clone();
        Operation::new(move || Ok(shared.lock()?.consumer.get_trace_stats()?))
    }

    /// As [`query`](Self::query), as a future.
    pub fn query_async(&self) -> Operation<TracingServiceState> {
        let shared = self.shared.clone();
        Operation::new(move || Ok(shared.lock()?.consumer.query_service_state(false)?))
    }

    /// As [`change_config`](Self::change_config), as a future.
    pub fn change_config_async(&self, config: &Config) -> Operation<()> {
        let (shared, message) = (self.shared.clone(), config.to_message());
        Operation::new(move || Ok(shared.lock()?.consumer.change_trace_config(&message)?))
    }

    /// What another thread needs for a copy.
    fn parts(&self) -> (Arc<Shared>, Service, String) {
        (self.shared.clone(), self.service.clone(), self.name.clone())
    }
}
