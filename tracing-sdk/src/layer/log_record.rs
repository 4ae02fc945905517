//! Records of the crate `log` that come through `tracing-log`: `init` of `tracing-subscriber` makes it the logger of
//! the program, unless the program leaves its default features out.
//!
//! ```text
//!   log::info!(..) ──> LogTracer ──┬── enabled? metadata "log record", with the target of the record
//!                                  └── event of one call site for each level, with the target "log"
//! ```
//!
//! So the target of an event is in its field `log.target`.
//!
//! `LogTracer` takes the level that subscribers want when it is installed for the maximum of `log`, for ever. Then no
//! session records, and nobody else may want anything. So while a session records, the maximum is raised.

use std::cell::Cell;
use std::fmt;

use log::LevelFilter;
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata};

use super::callsite::{self, CallSite};
use crate::category::Category;
use crate::source::registry;

/// A target that no record has.
const PROBE: &str = "tracing-sdk: does the logger lead to its layer?";

thread_local! {
    static PROBE_ARRIVED: Cell<bool> = const { Cell::new(false) };
}

/// Whether `metadata` is that of a record, and not of a call site of `tracing`.
pub(super) fn is_record(metadata: &Metadata<'_>) -> bool {
    metadata.name() == "log record"
}

/// Whether sessions want a record.
pub(super) fn is_wanted(metadata: &Metadata<'_>) -> bool {
    if metadata.target() == PROBE {
        PROBE_ARRIVED.set(true);
        return false;
    }
    let level = callsite::level(*metadata.level());
    registry::is_recording() && level.category_of_record(metadata.target()).is_enabled()
}

/// The category of an event that was a record.
pub(super) fn category(event: &Event<'_>, site: &CallSite) -> &'static Category {
    struct Target<'s>(&'s CallSite, &'static Category);

    impl Visit for Target<'_> {
        fn record_str(&mut self, field: &Field, value: &str) {
            if field.name() == "log.target" {
                let level = callsite::level(*self.0.metadata.level());
                self.1 = level.category_of_record(value);
            }
        }

        fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
    }

    let mut target = Target(site, site.category);
    event.record(&mut target);
    target.1
}

/// Whether the logger of the program asks the layer or the subscriber of this library. It must be one that wants
/// something at the moment.
pub(super) fn leads_here() -> bool {
    let probe = log::Metadata::builder().level(log::Level::Error).target(PROBE).build();
    PROBE_ARRIVED.set(false);
    let _ = log::logger().enabled(&probe);
    PROBE_ARRIVED.take()
}

/// The maximum level of `log`, as it was before a session has raised it.
#[derive(Debug)]
pub(crate) struct MaxLevel(Option<LevelFilter>);

impl MaxLevel {
    pub(super) const fn new() -> Self {
        Self(None)
    }

    /// Raises the level when a session records, and takes that back when none does.
    pub(super) fn follow_sessions(&mut self) {
        match (registry::is_recording(), self.0) {
            (true, None) if leads_here() => {
                self.0 = Some(log::max_level());
                log::set_max_level(LevelFilter::Trace);
            }
            (false, Some(before)) => {
                self.0 = None;
                // The program may have chosen another one meanwhile.
                if log::max_level() == LevelFilter::Trace {
                    log::set_max_level(before);
                }
            }
            _ => {}
        }
    }
}
