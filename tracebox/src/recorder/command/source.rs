//! The recorder's own data source: the command and its processes.

use protos::{DataSourceDescriptor, TraceConfig, TraceConfigDataSource};
use tracing_core::abi::ids::InstanceId;
use tracing_core::abi::ipc::port::ProducerPort;
use tracing_core::client::connection::Connection;
use tracing_core::client::data_source::{Ack, DataSource, FlushRequest, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::client::write::BufferExhaustedPolicy;

use super::tracker::{Message, TrackerSender};
use crate::config::parts;
use crate::failure::{Context, Failure};
use crate::probes::REGISTER_WAIT;

/// Its name.
const NAME: &str = "tracebox.command";

/// Adds the data source to `config`, unless it is there.
pub(super) fn add_to(config: &mut TraceConfig) {
    let name = |source: &TraceConfigDataSource| source.config.as_ref()?.name.clone();
    if config.data_sources.iter().any(|source| name(source).as_deref() == Some(NAME)) {
        return;
    }
    config.data_sources.push(parts::source(parts::named(NAME)));
}

/// Registers the data source over `connection`. It goes with the returned value.
///
/// # Errors
/// When there are no threads for it, or the service does not answer.
pub(super) fn register(
    connection: Box<dyn Connection<ProducerPort>>,
    tracker: TrackerSender,
) -> Result<Producer, Failure> {
    let what = "cannot start the data source of the command";
    let producer = Producer::attach(connection, ProducerOptions::new(NAME)).context(what)?;
    let descriptor = DataSourceDescriptor {
        name: Some(NAME.into()),
        handles_incremental_state_clear: Some(true),
        ..DataSourceDescriptor::default()
    };
    producer.register(descriptor, CommandSource { tracker, instance: None }).context(what)?;
    if !producer.sync(REGISTER_WAIT) {
        return Err(Failure::new(format_args!("{what}: the service does not answer")));
    }
    Ok(producer)
}

/// It records into one session, the recorder's, which is the first one to start it.
#[derive(Debug)]
struct CommandSource {
    tracker: TrackerSender,
    instance: Option<InstanceId>,
}

impl CommandSource {
    fn is_ours(&self, instance: &Instance) -> bool {
        self.instance == Some(instance.id())
    }
}

impl DataSource for CommandSource {
    fn start(&mut self, instance: &Instance) {
        if self.instance.is_none() {
            self.instance = Some(instance.id());
            let writer = instance.trace_writer(BufferExhaustedPolicy::StallThenDrop);
            self.tracker.send(Message::Writer(Box::new(writer)));
        }
    }

    fn flush(&mut self, instance: &Instance, _: &FlushRequest, done: Ack) {
        if self.is_ours(instance) {
            self.tracker.send(Message::Flush(done));
        }
    }

    fn clear_incremental_state(&mut self, instance: &Instance) {
        if self.is_ours(instance) {
            self.tracker.send(Message::ClearIncrementalState);
        }
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        if self.is_ours(instance) {
            self.tracker.send(Message::Stop(done));
        }
    }
}
