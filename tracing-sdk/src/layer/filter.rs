//! Which spans and events sessions want: none costs anything while no session wants it.

use core::sync::atomic::{AtomicBool, Ordering};

use tracing::Metadata;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing_subscriber::layer::{Context, Filter};

use super::callsite;
use super::log_record;
use crate::source::registry;

/// The filter of the layer: what sessions record at the moment.
///
/// It is asked once for each call site, and again when a session starts or stops. Other layers have their own filters.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Wanted;

/// The layer wants everything, so that it is asked for everything. Its answers are those of sessions.
static WANTS_ALL: AtomicBool = AtomicBool::new(false);

/// The layer wants everything until this is dropped.
#[cfg(feature = "log")]
pub(super) struct WantsAll(());

#[cfg(feature = "log")]
impl WantsAll {
    pub(super) fn begin() -> Self {
        WANTS_ALL.store(true, Ordering::Relaxed);
        Self(())
    }
}

#[cfg(feature = "log")]
impl Drop for WantsAll {
    fn drop(&mut self) {
        WANTS_ALL.store(false, Ordering::Relaxed);
    }
}

fn wants_some() -> bool {
    registry::is_recording() || WANTS_ALL.load(Ordering::Relaxed)
}

pub(super) fn is_wanted(metadata: &Metadata<'_>) -> bool {
    if !wants_some() {
        return false;
    }
    if log_record::is_record(metadata) {
        return log_record::is_wanted(metadata);
    }
    if !registry::is_recording() {
        return false;
    }
    match callsite::find(&metadata.callsite()) {
        Some(site) => site.category.is_enabled(),
        None => callsite::category(metadata).is_enabled(),
    }
}

pub(super) fn interest(metadata: &'static Metadata<'static>) -> Interest {
    if callsite::is_of_log(metadata) {
        // Each record has a target of its own.
        return Interest::sometimes();
    }
    match registry::is_recording() && callsite::of(metadata).category.is_enabled() {
        true => Interest::always(),
        false => Interest::never(),
    }
}

pub(super) fn level_hint() -> Option<LevelFilter> {
    if wants_some() { None } else { Some(LevelFilter::OFF) }
}

impl<S> Filter<S> for Wanted {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        is_wanted(metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        interest(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        level_hint()
    }
}
