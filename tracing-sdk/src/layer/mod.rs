//! Spans and events of the crate `tracing`, as slices and instants (feature `tracing`).
//!
//! ```text
//!   call site ──> filter ──────> recorder ──┬── span ───> slices       ──> sequence of the thread
//!                   ^                       └── event ──> instants
//!                   └── sessions start and stop
//! ```
//!
//! | of `tracing` | in the trace |
//! |---|---|
//! | target | category |
//! | level | tag of the category: `error`, `warn`, `info`, `debug`, `trace`; sessions must ask for the last two |
//! | span | slices: see [`SpanStyle`] |
//! | event | instant with a line of the log; its name is the message |
//! | field | annotation with its type; an error is a list of its causes |
//! | field `counter.NAME` | value of the counter `NAME`, of numbers; any other value is an annotation |
//! | field `track` | name of a track, which takes the place of the thread. Lines of the log are not there |
//! | `follows_from` | flow |
//!
//! [`layer`] stands among other layers of `tracing-subscriber`; a program without them may use [`Subscriber`] instead.
//!
//! ```
//! use tracing_sdk::layer::{Recorder, SpanStyle};
//! use tracing_subscriber::prelude::*;
//!
//! let layer = Recorder::new().span_style(SpanStyle::Async).build();
//! let _default = tracing_subscriber::registry().with(layer).set_default();
//! tracing::info!("connected");
//! ```
//!
//! A program that passes its layers around names the type [`Layer`], which is a [`Recorder`] behind the filter
//! [`Wanted`]:
//!
//! ```
//! use tracing_sdk::layer::{Layer, Recorder, Wanted};
//! use tracing_subscriber::prelude::*;
//! use tracing_subscriber::registry::Registry;
//!
//! /// The layer that a program is traced with, if its user wants that.
//! fn traced(is_wanted: bool) -> Option<Layer<Registry>> {
//!     is_wanted.then(tracing_sdk::layer::layer)
//! }
//!
//! let subscriber = tracing_subscriber::registry().with(traced(true));
//! // The same, put together by hand.
//! let by_hand = tracing_subscriber::registry().with(Recorder::new().with_filter(Wanted::default()));
//! # drop((subscriber, by_hand));
//! ```
//!
//! While no session wants a call site, it costs what it costs without any subscriber: the layer has a filter that says
//! so, and other layers keep theirs. A span that is made while no session wants it is not recorded later.

// | file | concern |
// |---|---|
// | `filtered`, `subscriber`, `filter`, `rebuild` | what `tracing` calls; what sessions want |
// | `recorder`, `callsite`, `field`, `values` | call sites, and their fields |
// | `span_table`, `index`, `handles`, `slot`, `chunks` | spans that have not ended, and how threads find them |
// | `span_slices`, `entered`, `scratch`, `style`, `follow` | the slices of spans |
// | `event`, `log_record` | events, and records of `log` |
mod callsite;
mod chunks;
mod entered;
mod event;
mod field;
mod filter;
mod filtered;
mod follow;
mod handles;
mod index;
mod log_record;
mod rebuild;
mod recorder;
mod scratch;
mod slot;
mod span_slices;
mod span_table;
mod style;
mod subscriber;
#[cfg(test)]
mod tests;
mod values;

use self::callsite::CallSites;
use self::span_table::LockedSpans;
use crate::fork::Held;

pub use self::filter::Wanted;
pub use self::filtered::{Layer, layer};
pub(crate) use self::log_record::MaxLevel;
#[cfg(feature = "log")]
pub(crate) use self::rebuild::gets_log_records;
pub(crate) use self::rebuild::lock_for_fork as lock_rebuilding_for_fork;
pub use self::recorder::Recorder;
pub use self::style::SpanStyle;
pub use self::subscriber::Subscriber;

/// What is locked of call sites and spans, while the process forks.
pub(crate) struct LayerLocks {
    _call_sites: Held<CallSites>,
    spans: LockedSpans,
}

impl LayerLocks {
    /// In a forked process, which frees nothing.
    pub(crate) fn unlock_slots(&mut self) {
        self.spans.unlock_slots();
    }
}

pub(crate) fn lock_for_fork() -> LayerLocks {
    LayerLocks { _call_sites: callsite::lock_for_fork(), spans: span_table::lock_for_fork() }
}
