//! What the layer records.

use core::fmt;

use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::callsite;
use super::follow;
use super::span::SpanStyle;
use super::spans::{SpanId, SubscriberNumber};
use super::{entered, event, rebuild};

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
        let mut live = id.make(callsite::of(attributes.metadata()), self.style);
        attributes.record(&mut live.span.collect());
        live.span.begin_life();
        live.insert(parent);
    }

    pub(super) fn number(&self) -> &SubscriberNumber {
        &self.number
    }

    /// Values that were not known when the span was made.
    pub(super) fn record(&self, id: &Id, record: &Record<'_>) {
        let id = self.number.span(id);
        let Some(site) = id.with(|span| span.site()) else { return };
        // Outside of the lock, because formatting runs code of the program.
        let mut late = id.make(site, self.style);
        record.record(&mut late.span.collect());
        id.change(|span| span.record(&mut late.span));
        late.recycle();
    }

    pub(super) fn follows_from(&self, id: &Id, follows: &Id) {
        if let Some(flow) = self.number.span(follows).with(|span| follow::from(span)).flatten() {
            self.number.span(id).change(|span| span.follow(flow));
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
        self.number.span(&id).release();
    }
}
