//! Data sources of the program's own: for data that are no track events.
//!
//! ```
//! use core::sync::atomic::{AtomicU32, Ordering};
//! use tracing_sdk::data_source::{DataSource, Registered};
//! use tracing_sdk::protos::{DataSourceConfig, DataSourceDescriptor};
//!
//! /// One value for each session that wants the data source.
//! struct Requests {
//!     written: AtomicU32,
//! }
//!
//! impl DataSource for Requests {
//!     type Incremental = ();
//!
//!     fn setup(_: &DataSourceConfig) -> Self {
//!         Self { written: AtomicU32::new(0) }
//!     }
//!
//!     // What a consumer sees that lists the data sources.
//!     fn describe(descriptor: &mut DataSourceDescriptor) {
//!         descriptor.will_notify_on_start = Some(false);
//!     }
//! }
//!
//! static REQUESTS: Registered<Requests> = Registered::new("com.example.requests");
//!
//! // Early in `main`, so that sessions find it:
//! REQUESTS.register();
//!
//! // On any thread:
//! if REQUESTS.is_enabled() {
//!     // Work that only a trace needs.
//! }
//! REQUESTS.trace(|context| {
//!     // The config of the session may say what it wants.
//!     if context.config().legacy_config.is_some() {
//!         return;
//!     }
//!     context.instance().written.fetch_add(1, Ordering::Relaxed);
//!     context.packet(|packet| {
//!         packet.for_testing().str("a request");
//!     });
//! });
//! ```
//!
//! A packet may define a name that later ones use by its number. Then the data source says what a reader must remember,
//! the incremental state:
//!
//! ```
//! use tracing_sdk::data_source::{DataSource, FlushGuard, FlushReason, Registered};
//! use tracing_sdk::protos::DataSourceConfig;
//!
//! struct Log;
//!
//! impl DataSource for Log {
//!     /// Whether the name of the thread is known.
//!     type Incremental = bool;
//!
//!     fn setup(_: &DataSourceConfig) -> Self {
//!         Self
//!     }
//!
//!     fn flush(&self, reason: FlushReason, done: FlushGuard) {
//!         // A data source with a queue of its own would empty it here. The flush waits for `done`.
//!         if reason != FlushReason::Periodic {
//!             println!("somebody waits for this data");
//!         }
//!         drop(done);
//!     }
//!
//!     fn clear(&self) {
//!         println!("each name will be written again");
//!     }
//! }
//!
//! static LOG: Registered<Log> = Registered::new("com.example.log");
//!
//! LOG.trace(|context| {
//!     if !*context.incremental() {
//!         println!("a new session, or one that has lost packets");
//!     }
//!     context.packet_with(|packet, is_named| {
//!         if !core::mem::replace(is_named, true) {
//!             packet.interned_data().event_names().iid(1).name("main");
//!         }
//!         packet.for_testing().str("1: a line");
//!     });
//! });
//! ```
//!
//! | file | what |
//! |---|---|
//! | `source` | the trait |
//! | `guard` | stops and flushes that are done later |
//! | `word` | which instances run, for trace points without a lock |
//! | `instances` | the running instances of a data source |
//! | `thread` | the writers and the incremental state of the calling thread |
//! | `context` | what a trace point writes with |
//! | `adapter` | a data source as a producer calls it |
//! | `registered` | the static |

mod adapter;
mod context;
mod guard;
mod instances;
mod registered;
mod source;
mod thread;
mod word;

pub use self::context::Context;
pub use self::guard::{FlushGuard, StopGuard};
pub use self::registered::Registered;
pub use self::source::DataSource;
pub use abi::flush_flags::FlushReason;
