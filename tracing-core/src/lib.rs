//! Perfetto's tracing protocol: shared memory, IPC, the service, producers and consumers.
//!
//! This crate is a facade. What most programs need is at its root; the member crates behind it are the modules
//! `abi`, `client`, `os`, `service` and `daemon`:
//!
//! ```text
//!   daemon                       the service among sockets, files and timers; or inside a program
//!     │  └───────┐
//!   client    service            producers and consumers; the service and its buffers, without I/O
//!     │          │
//!    os          │               system calls that clients and the daemon share
//!     └── abi ───┘               shared memory, IPC framing, ids, time
//! ```
//!
//! A program that is only traced takes `default-features = false`: then no service is built.
//!
//! # A recording inside one program
//!
//! ```
//! use std::time::Duration;
//!
//! use protos::{DataSourceConfig, DataSourceDescriptor, TraceConfig};
//! use protos::{TraceConfigBufferConfig, TraceConfigDataSource};
//! use tracing_core::{
//!     Ack, BufferExhaustedPolicy, DataSource, InProcessService, Instance, Producer, ProducerOptions,
//!     service_config,
//! };
//!
//! /// Writes one packet when a session starts it.
//! struct Greeter;
//!
//! impl DataSource for Greeter {
//!     fn start(&mut self, instance: &Instance) {
//!         let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
//!         writer.new_packet().for_testing().str("hello");
//!     }
//!
//!     fn stop(&mut self, _: &Instance, _: Ack) {}
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let timeout = Duration::from_secs(10);
//! let service = InProcessService::start(service_config("example")?, Box::new(|_, line| eprintln!("{line}")))?;
//! let producer = Producer::attach(service.producer(), ProducerOptions::new("example"))?;
//! let name = Some("com.example.greeter".to_owned());
//! producer.register(DataSourceDescriptor { name: name.clone(), ..Default::default() }, Greeter)?;
//! assert!(producer.sync(timeout));
//!
//! let source = DataSourceConfig { name, ..Default::default() };
//! let config = TraceConfig {
//!     buffers: vec![TraceConfigBufferConfig { size_kb: Some(1024), ..Default::default() }],
//!     data_sources: vec![TraceConfigDataSource { config: Some(source), ..Default::default() }],
//!     ..Default::default()
//! };
//! let mut consumer = service.consumer();
//! consumer.enable_tracing(&config, None)?;
//! consumer.flush(timeout)?;
//! consumer.disable_tracing()?;
//! consumer.wait(Some(timeout))?;
//! let mut trace = Vec::new();
//! consumer.read_into(&mut trace, timeout)?;
//! assert!(trace.windows(5).any(|bytes| bytes == b"hello"));
//! # Ok(())
//! # }
//! ```

pub use {abi, client, os};
#[cfg(feature = "service")]
pub use {daemon, service};

#[cfg(feature = "consumer")]
pub use client::consumer::{Consumer, ConsumerError, Waited};
pub use client::data_source::{Ack, DataSource, FlushRequest, Instance};
pub use client::producer::{PolledProducer, Producer, ProducerError, ProducerOptions};
pub use client::write::{BufferExhaustedPolicy, TraceWriter};
#[cfg(feature = "service")]
pub use daemon::{
    embed::EmbeddedService,
    in_process::InProcessService,
    serve::{Server, ServerOptions, service_config},
};
pub use os::socket::Address;
#[cfg(feature = "service")]
pub use service::ServiceConfig;
