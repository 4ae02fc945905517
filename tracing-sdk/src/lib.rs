//! Traces a program.
//!
//! ```
//! use tracing_sdk::{categories, counter, instant, slice};
//!
//! categories! {
//!     /// Everything on the wire.
//!     NET = "net";
//! }
//!
//! fn fetch(url: &str) {
//!     let _slice = slice!(NET, "fetch", url = url);
//!     instant!(NET, "connected", attempt = 1);
//!     counter!(NET, "open connections", 1);
//! }
//!
//! fn main() -> Result<(), tracing_sdk::InitError> {
//!     tracing_sdk::init()?;
//!     fetch("https://example.com");
//!     Ok(())
//! }
//! ```
//!
//! An event costs one load and one branch while no session records it. With a session it is written straight into
//! shared memory: almost always without a lock, a system call or an allocation. `perfetto`, `tracebox` or the program
//! itself (features `session` and `in-process`) start sessions.
//!
//! Begin with [`slice!`], [`instant!`], [`counter!`] and [`categories!`]. [`init`] lets a service record them;
//! `session::record_to_file` (feature `in-process`) needs no service. The guide is `docs/sdk.md` in the repository.
//!
//! | feature | what |
//! |---|---|
//! | `in-process` | a service inside the program: `session::record_to_file`, `FlightRecorder`; has `session` |
//! | `session` | sessions of the program with `traced` |
//! | `derive` | `#[traced]`, `#[derive(Annotate)]` |
//! | `tracing`, `log` | spans and events of the crate `tracing`, records of the crate `log` |
//! | `text` | configs as text |
//! | `name-regex` | `producer_name_regex_filter` in configs for the service inside the program |
//! | `off` | call sites leave no code |
//!
//! [`data_source`] is for data that are no events, [`interceptor`] for packets that go to code of the program.
// The modules:
//
// | module | what |
// |---|---|
// | `macros` | call sites: `slice!`, `instant!`, `counter!`, `state!`, `function!` |
// | `bits` | which instances record a category, and when threads look at them again |
// | `category` | what sessions select |
// | `clock` | the time of events |
// | `track` | the lines of a timeline |
// | `flow` | arrows between slices |
// | `level` | how important events are, as tags of categories |
// | `fields` | numbers of fields that several modules write |
// | `hash` | a fast hash of words, for tables that no stranger fills |
// | `callback` | calls into code of the program, and panics in it |
// | `inside` | whether a thread is inside such a call |
// | `fork` | which process a writer belongs to |
// | `intern` | numbers for names that repeat |
// | `event` | what an event carries: annotations, logs, locations |
// | `sequence` | one thread's packets in one session: openings, loss |
// | `site` | what the macros call: guards, futures, counters and states |
// | `source` | the data source `track_event`: instances and their configs |
// | `data_source` | data that are no track events |
// | `interceptor` | packets that go to code of the program in place of a service |
// | `stall` | whether threads wait for shared memory |
// | `slots` | running instances of a data source, each a bit in a word |
// | `session` | sessions that the program starts (feature `session`) |
// | `layer` | spans and events of the crate `tracing` (feature `tracing`) |
// | `log` | records of the crate `log` (feature `log`) |
// | `runtime` | connections to services |
// | `report` | lines on standard error |
// | `on` | nothing is recorded with the feature `off` |

// With the feature there is the file `layer/filtered.rs`: a method of a trait is unsafe.
#![cfg_attr(not(feature = "tracing"), forbid(unsafe_code))]

// For the macros of `derive`, which name this crate, in tests of this crate.
extern crate self as tracing_sdk;

mod macros;

mod bits;
mod callback;
mod category;
mod clock;
pub mod data_source;
mod event;
mod fields;
mod flow;
mod fork;
mod hash;
mod inside;
pub mod interceptor;
mod intern;
#[cfg(feature = "tracing")]
pub mod layer;
#[cfg(any(feature = "log", feature = "tracing"))]
mod level;
#[cfg(feature = "log")]
pub mod log;
mod on;
mod report;
mod runtime;
mod sequence;
#[cfg(feature = "session")]
pub mod session;
/// For the compiler: it names the feature to a program that uses one of these.
#[cfg(not(feature = "session"))]
#[doc(hidden)]
pub mod session {
    #[cfg(feature = "session")]
    pub use self::{Config, Fill, Session, SessionError};
    #[cfg(feature = "in-process")]
    pub use self::{FlightRecorder, record, record_to_file};
}
mod site;
mod slots;
mod source;
mod stall;
#[cfg(all(test, feature = "in-process", not(feature = "off")))]
mod tests;
mod track;

pub use self::category::{Category, Group, register};
pub use self::clock::event_time::{Clock, ClockTime, CustomClock, EventTime};
pub use self::clock::now_ns;
pub use self::event::annotate::{Annotate, List, Map, Value};
pub use self::event::counter_value::CounterValue;
pub use self::event::schema::register_extensions;
pub use self::event::{Event, Priority};
pub use self::flow::Flow;
pub use self::intern::Location;
pub use self::report::on_report;
pub use self::runtime::{
    Init, InitError, Startup, init, shutdown, startup_packets_discarded, sync, trigger,
};
pub use self::sequence::lost_events;
pub use self::sequence::thread::flush;
pub use self::site::future::{AsyncSlice, Traced};
pub use self::site::guard::{Slice, TrackSlice};
pub use self::site::sticky::{Counter, State};
pub use self::track::{Merge, Order, Track, Unit};

#[cfg(feature = "derive")]
pub use tracing_sdk_derive::{Annotate, traced};

/// Compiles and runs the examples of the guides.
#[cfg(all(doctest, feature = "in-process"))]
mod guide {
    #[doc = include_str!("../../README.md")]
    mod repository {}
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/sdk.md")]
    mod sdk {}
    #[cfg(feature = "tracing")]
    #[doc = include_str!("../../docs/sdk-migration.md")]
    mod migration {}
    #[cfg(all(feature = "tracing", feature = "log"))]
    #[doc = include_str!("../../docs/sdk-tracing.md")]
    mod tracing {}
}

pub use client::producer::{StartupAbort, StartupEvent};
pub use os::socket::Address;

/// Perfetto's schema: configs, and writers of packets.
pub use protos;

/// Encoders of messages, for fields of the program's own in events. Code that the package `pbzero-codegen` generates
/// finds it by the option `runtime("::tracing_sdk::protozero")`.
pub use protozero;
/// Declares the writer of a message, with one line for each field, for [`Event::extension`].
///
/// ```
/// // message Frame { optional uint64 number = 1; repeated Part parts = 2; }
/// tracing_sdk::message_writer! { FrameWriter, "com.example.Frame";
///     value number(u64) = 1 as uint64;
///     message parts(PartWriter<'_>) = 2, parts_raw;
/// }
///
/// // message Part { optional string name = 1; }
/// tracing_sdk::message_writer! { PartWriter, "com.example.Part";
///     value name(&str) = 1 as string;
/// }
/// ```
pub use protozero::rt::writer as message_writer;

/// What the macros use. Not for other code: it may change at any time.
#[doc(hidden)]
pub mod __private {
    pub use crate::category::CategoryRef;
    pub use crate::clock::event_time::{EventTime, When};
    pub use crate::event::annotate::{ByDebug, ByDisplay, Interned};
    pub use crate::event::annotation_value::annotation_value;
    pub use crate::flow::Flows;
    pub use crate::intern::{StaticName, key_of};
    pub use crate::on::ON;
    pub use crate::sequence::Arguments;
    pub use crate::site::call_site::{CounterSite, StateSite};
    pub use crate::site::future::{end_error, end_result, end_return, traced_until};
    pub use crate::site::guard::{Slice, TrackSlice};
    #[cfg(feature = "off")]
    pub use crate::site::leak;
    pub use crate::site::sticky::StateValue;
    pub use crate::site::{Name, Site, call, closure};
    pub use crate::source::registry::clear_all as clear_incremental_state;
    pub use crate::track::TrackRef;
}
