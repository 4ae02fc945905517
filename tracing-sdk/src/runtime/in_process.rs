//! The service inside the program.

use std::sync::Arc;

use client::consumer::Consumer;
use client::producer::{Producer, ProducerOptions};
use daemon::in_process::InProcessService;
use daemon::serve::service_config;

use super::error::InitError;

/// A service and the producer that is attached to it. The producer is dropped first.
pub(super) struct InProcess {
    producer: Arc<Producer>,
    service: InProcessService,
}

impl InProcess {
    pub(super) fn start(options: ProducerOptions) -> Result<Self, InitError> {
        let failed = |error: &dyn core::fmt::Display| InitError::Service(error.to_string());
        let config = service_config(&options.sdk_version).map_err(|error| failed(&error))?;
        // Faults of sessions are told to their consumers, which are in this program.
        let service =
            InProcessService::start(config, Box::new(|_, _| {})).map_err(|error| failed(&error))?;
        let producer = Producer::attach(service.producer(), options)?;
        Ok(Self { producer: Arc::new(producer), service })
    }

    pub(super) fn producer(&self) -> &Arc<Producer> {
        &self.producer
    }

    pub(super) fn consumer(&self) -> Consumer {
        self.service.consumer()
    }

    /// Ends the service, which completes files with what has reached it. The producer stays: one of its threads may be
    /// the one that ends the program.
    pub(super) fn end_service(self) {
        let Self { producer, service } = self;
        core::mem::forget(producer);
        // Its files have what could be written.
        let _ = service.stop();
    }
}
