//! The layer.

use core::fmt;

use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Metadata};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Filtered;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::callsite;
use super::filter::Wanted;
use super::follow;
use super::span::{self, Span, SpanStyle};
use super::spans::Spans;
use super::{event, rebuild};

/// What [`layer`] returns: a recorder that only gets what sessions want.
pub type Layer<S> = Filtered<Recorder, Wanted, S>;

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
    spans: Spans,
}

/// The same options. The spans are those of one subscriber, whose ids they have.
impl Clone for Recorder {
    fn clone(&self) -> Self {
        Self { style: self.style, spans: Spans::default() }
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

    /// The layer.
    pub fn build<S>(self) -> Layer<S>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    {
        rebuild::enable();
        self.with_filter(Wanted)
    }
}

impl Recorder {
    /// A span that was made just now.
    pub(super) fn new_span(&self, id: u64, attributes: &Attributes<'_>) -> Box<Span> {
        let mut span = self.spans.make(id, callsite::of(attributes.metadata()), self.style);
        attributes.record(&mut span.collect());
        span.begin_life();
        span
    }

    pub(super) fn spans(&self) -> &Spans {
        &self.spans
    }

    /// Values that were not known when the span was made.
    pub(super) fn record(
        &self,
        id: &Id,
        metadata: &'static Metadata<'static>,
        record: &Record<'_>,
    ) {
        let site = callsite::of(metadata);
        let id = id.into_u64();
        let mut late = self.spans.make(id, site, self.style);
        record.record(&mut late.collect());
        self.spans.with(id, |span| span.record(&mut late));
        self.spans.recycle(id, late);
    }

    pub(super) fn follows_from(&self, id: &Id, follows: &Id) {
        let mut flow = None;
        self.spans.with(follows.into_u64(), |span| flow = follow::from(span));
        if let Some(flow) = flow {
            self.spans.with(id.into_u64(), |span| span.follow(flow));
        }
    }
}

impl<S> tracing_subscriber::Layer<S> for Recorder
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        rebuild::add(subscriber);
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let id = id.into_u64();
        self.spans.insert(id, self.new_span(id, attributes), None, None);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, ctx: Context<'_, S>) {
        if let Some(metadata) = ctx.metadata(id) {
            self.record(id, metadata, record);
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        self.follows_from(id, follows);
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event::record(event);
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        self.spans.with(id.into_u64(), |span| span.enter(id.into_u64()));
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        span::exit(id.into_u64(), |id, run| self.spans.with(id, run));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        if let Some(mut span) = self.spans.remove(id.into_u64()) {
            span.close();
            self.spans.recycle(id.into_u64(), span);
        }
    }
}
