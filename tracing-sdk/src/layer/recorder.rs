//! What the layer records.

use core::fmt;

use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::callsite;
use super::follow;
use super::scratch::Scratch;
use super::span_slices;
use super::span_table::{SpanId, SubscriberNumber};
use super::style::SpanStyle;
use super::values::Collect;
use super::{entered, event, rebuild};
use crate::source::changes;

/// Records spans and events; [`build`](Self::build) makes it a layer.
///
/// ```
/// use tracing_sdk::layer::{Recorder, SpanStyle};
/// use tracing_subscriber::prelude::*;
///
/// let layer = Recorder::new().span_style(SpanStyle::Sync).build();
/// let subscriber = tracing_subscriber::registry().with(layer);
/// # drop(subscriber);
/// ```
#[derive(Default)]
pub struct Recorder {
    style: SpanStyle,
    number: SubscriberNumber,
}

/// The same options. The spans are those of one subscriber, whose ids they have.
impl Clone for Recorder {
    fn clone(&self) -> Self {
        Self { style: self.style, number: SubscriberNumber::default() }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("style", &self.style).finish_non_exhaustive()
    }
}

impl Recorder {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How spans become slices.
    #[must_use]
    pub fn span_style(mut self, style: SpanStyle) -> Self {
        self.style = style;
        self
    }
}

impl Recorder {
    /// Adds a span that was made just now. Its parent has a handle for it.
    pub(super) fn new_span(&self, id: SpanId, attributes: &Attributes<'_>, parent: Option<SpanId>) {
        if changes::are_untold() {
            // Call sites have not learned that nobody records in this forked process.
            if let Some(parent) = parent {
                parent.release();
            }
            return;
        }
        let site = callsite::of(attributes.metadata());
        let mut scratch = (!site.roles.is_empty()).then(Scratch::take);
        if let Some(scratch) = &mut scratch {
            scratch.clear();
            // Formatting runs code of the program.
            attributes.record(&mut Collect { site, values: &mut scratch.values });
        }
        span_slices::begin_span(id, site, self.style, scratch.as_deref_mut(), parent);
        if let Some(scratch) = scratch {
            scratch.keep();
        }
    }

    /// All handles of a span were given back.
    pub(super) fn close(&self, id: &Id) {
        if let Some(span) = self.number.span(id).find() {
            span.end_span();
        }
    }

    pub(super) fn number(&self) -> &SubscriberNumber {
        &self.number
    }

    /// Values that were not known when the span was made.
    pub(super) fn record(&self, id: &Id, record: &Record<'_>) {
        let Some(span) = self.number.span(id).find() else { return };
        let mut late = Scratch::take();
        late.clear();
        // Outside of the lock, because formatting runs code of the program.
        record.record(&mut Collect { site: span.site, values: &mut late.values });
        if !late.values.is_empty() {
            span.change(|details| {
                let has_begun = span.slot.enters() != 0 || details.life.has_begun();
                details.values.merge(span.site, has_begun, &mut late.values);
            });
        }
        late.keep();
    }

    pub(super) fn follows_from(&self, id: &Id, follows: &Id) {
        let Some(span) = self.number.span(id).find() else { return };
        if let Some(flow) = self.number.span(follows).find().and_then(follow::from) {
            span.change(|details| details.follow(flow));
        }
    }
}

impl<S> tracing_subscriber::Layer<S> for Recorder
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_layer(&mut self, _: &mut S) {
        rebuild::enable();
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        self.new_span(self.number.span(id), attributes, None);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, _: Context<'_, S>) {
        self.record(id, record);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        self.follows_from(id, follows);
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event::record(event);
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        entered::enter(self.number.span(id));
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        entered::exit(self.number.span(id));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.close(&id);
    }
}
