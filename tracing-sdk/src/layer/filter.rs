//! Which spans and events sessions want: none costs anything while no session wants it.

use tracing::Metadata;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing_subscriber::layer::{Context, Filter};

use super::callsite;
use crate::source::registry;

/// The filter of the layer: what sessions record at the moment.
///
/// It is asked once for each call site, and again when a session starts or stops. Other layers have their own filters.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Wanted;

pub(super) fn is_wanted(metadata: &Metadata<'_>) -> bool {
    if !registry::is_recording() {
        return false;
    }
    match callsite::find(&metadata.callsite()) {
        Some(site) => site.category.is_enabled(),
        None => callsite::category(metadata).is_enabled(),
    }
}

pub(super) fn interest(metadata: &'static Metadata<'static>) -> Interest {
    match registry::is_recording() && callsite::of(metadata).category.is_enabled() {
        true => Interest::always(),
        false => Interest::never(),
    }
}

pub(super) fn level_hint() -> Option<LevelFilter> {
    if registry::is_recording() { None } else { Some(LevelFilter::OFF) }
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
