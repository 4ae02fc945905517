//! The layer: a recorder behind the filter for what sessions want.
//!
//! [`Filtered`] asks the registry before each call whether its filter wanted the span, which costs as much as the call.
//! The recorder knows which spans it was told of, so it needs no such question:
//!
//! ```text
//!   spans are made, change; events ──> Filtered ──┬──> Recorder
//!   spans are entered, left, closed ──────────────┘
//! ```
#![allow(unsafe_code)]

use core::any::TypeId;
use core::fmt;

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::{Filtered, LevelFilter};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::entered;
use super::filter::Wanted;
use super::rebuild;
use super::recorder::Recorder;

/// A layer for the registry of `tracing-subscriber`.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// # fn main() -> Result<(), tracing_sdk::InitError> {
/// tracing_sdk::init()?;
/// tracing_subscriber::registry().with(tracing_sdk::layer::layer()).init();
/// tracing::info!(answer = 42, "ready");
/// # Ok(())
/// # }
/// ```
pub fn layer<S>() -> Layer<S>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    Recorder::new().build()
}

impl Recorder {
    /// The layer.
    pub fn build<S>(self) -> Layer<S>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    {
        rebuild::enable();
        Layer::new(self)
    }
}

/// What [`layer`] returns: a recorder that only gets what sessions want.
pub struct Layer<S> {
    filtered: Filtered<Recorder, Wanted, S>,
}

impl<S> Layer<S> {
    fn new(recorder: Recorder) -> Self {
        Self { filtered: Filtered::new(recorder, Wanted) }
    }

    /// The recorder, with its settings.
    ///
    /// ```
    /// use tracing_sdk::layer::{Layer, Recorder};
    /// use tracing_subscriber::registry::Registry;
    ///
    /// /// Another layer with the same settings, for another subscriber.
    /// fn another(layer: &Layer<Registry>) -> Layer<Registry> {
    ///     Recorder::clone(layer.recorder()).build()
    /// }
    /// ```
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        self.filtered.inner()
    }
}

impl<S> Clone for Layer<S> {
    fn clone(&self) -> Self {
        Self::new(self.recorder().clone())
    }
}

impl<S> fmt::Debug for Layer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer").field("recorder", self.recorder()).finish()
    }
}

impl<S> tracing_subscriber::Layer<S> for Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_layer(&mut self, subscriber: &mut S) {
        self.filtered.on_layer(subscriber);
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        self.filtered.register_callsite(metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>, context: Context<'_, S>) -> bool {
        self.filtered.enabled(metadata, context)
    }

    fn event_enabled(&self, event: &Event<'_>, context: Context<'_, S>) -> bool {
        self.filtered.event_enabled(event, context)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        tracing_subscriber::Layer::max_level_hint(&self.filtered)
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        self.filtered.on_new_span(attributes, id, context);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        self.filtered.on_record(id, record, context);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        self.filtered.on_follows_from(id, follows, context);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        self.filtered.on_event(event, context);
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        entered::enter(self.recorder().number().span(id));
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        entered::exit(self.recorder().number().span(id));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.recorder().close(&id);
    }

    /// Other layers find the filter by it: they leave its answers alone.
    unsafe fn downcast_raw(&self, id: TypeId) -> Option<*const ()> {
        if id == TypeId::of::<Self>() {
            return Some((&raw const *self).cast());
        }
        // SAFETY: the caller does not use the pointer longer than `self`, which owns `filtered`.
        unsafe { self.filtered.downcast_raw(id) }
    }
}
