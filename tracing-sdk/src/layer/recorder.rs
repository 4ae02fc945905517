//! The layer.

use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Subscriber};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Filtered;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::callsite::{self, CallSite};
use super::field::{Collect, Stored};
use super::filter::Wanted;
use super::follow;
use super::span::{self, Span, SpanStyle};
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
    S: Subscriber + for<'a> LookupSpan<'a>,
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
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    style: SpanStyle,
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
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        rebuild::enable();
        self.with_filter(Wanted)
    }
}

fn collect(site: &'static CallSite, record: impl FnOnce(&mut Collect)) -> Vec<(usize, Stored)> {
    let mut collect = Collect { site, values: Vec::new() };
    record(&mut collect);
    collect.values
}

/// Calls `run` with the span `id`. The values of a span were formatted before, so no code of the program runs under the
/// lock of its extensions.
fn with<S>(ctx: &Context<'_, S>, id: &Id, run: impl FnOnce(&mut Span))
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    if let Some(span) = ctx.span(id)
        && let Some(span) = span.extensions_mut().get_mut::<Span>()
    {
        run(span);
    }
}

impl<S> tracing_subscriber::Layer<S> for Recorder
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        rebuild::add(subscriber);
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let Some(span) = ctx.span(id) else { return };
        let site = callsite::of(attributes.metadata());
        let values = collect(site, |values| attributes.record(values));
        // There is one already if the program has two of these layers.
        span.extensions_mut().replace(Span::new(site, self.style, values));
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, ctx: Context<'_, S>) {
        let Some(metadata) = ctx.metadata(id) else { return };
        let values = collect(callsite::of(metadata), |values| record.record(values));
        with(&ctx, id, |span| span.record(values));
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, ctx: Context<'_, S>) {
        let mut flow = None;
        with(&ctx, follows, |span| flow = follow::from(span));
        if let Some(flow) = flow {
            with(&ctx, id, |span| span.follow(flow));
        }
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event::record(event);
    }

    fn on_enter(&self, id: &Id, ctx: Context<'_, S>) {
        with(&ctx, id, |span| span.enter(id.into_u64()));
    }

    fn on_exit(&self, id: &Id, ctx: Context<'_, S>) {
        span::exit(id.into_u64(), |id, run| with(&ctx, &Id::from_u64(id), run));
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        with(&ctx, &id, Span::close);
    }
}
