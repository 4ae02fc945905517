//! Spans, as slices.
//!
//! A span that is entered once is one slice of its thread. A span that is entered again has a slice for its whole life,
//! on a track of its own, and one for each time that it is entered, joined by a flow:
//!
//! ```text
//!   tracing spans / request      [------------------ request -------------------]
//!                                   \              \                  \
//!   thread 1                         [request]      \                  [request]
//!   thread 2                                         [request]
//! ```

use core::sync::atomic::{AtomicU64, Ordering};

use protos::TrackEventType;

use super::callsite::CallSite;
use super::values::{ARGUMENTS_MAX, Collect, Values};
use crate::category::Members;
use crate::clock;
use crate::event::Event;
use crate::event::annotate::Simple;
use crate::event::annotation_value::AnnotationValue;
use crate::flow::Flow;
use crate::intern::EventName;
use crate::sequence::thread::{self, Written};
use crate::sequence::{Arguments, Spec};
use crate::source::registry;
use crate::track::Track;

/// The parent of the tracks of spans.
static SPANS: Track<'static> = Track::named("tracing spans");

/// How many spans that another one follows are recorded, until it is entered.
const FOLLOWS_MAX: usize = 16;

/// How spans become slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanStyle {
    /// A slice on the thread each time a span is entered: for programs without async code.
    Sync,
    /// A slice for the whole life of each span, and one on the thread each time it is entered.
    Async,
    /// As `Sync`, until a span is entered for the second time: it goes on as `Async`, and so do later spans of its call
    /// site. The slice for its whole life then begins when it was made; or when it was entered first, if an earlier
    /// span of the call site ended that was entered once.
    #[default]
    Auto,
}

/// The slice for the whole life of a span.
#[derive(Clone, Copy, Default)]
struct Life {
    written: Written,
    /// The instances that it was last compared with.
    generation: Option<u32>,
}

/// A span that has not ended.
pub(super) struct Span {
    site: &'static CallSite,
    style: SpanStyle,
    values: Values,
    enters: u32,
    /// Tells apart the tracks and flows of spans; 0: not needed yet.
    number: u64,
    /// The instances that ran when it was made, and that time. Of a span that is expected to be entered once, those of
    /// its first slice.
    made_for: Written,
    made_ns: u64,
    life: Option<Life>,
    /// From spans that it follows.
    flows: Vec<Flow>,
}

/// What a slice on a thread, or on a track that the program named, is of its span.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// All that is known of the span.
    Whole,
    /// As `Whole`, on a track that the program named.
    Named,
    /// One part of an async span.
    Part,
}

/// A slice that a span has begun.
pub(super) struct Begun {
    pub(super) form: Form,
    pub(super) written: Written,
    /// Unless the span changes, its end has neither a track nor arguments.
    pub(super) has_plain_end: bool,
}

fn spec<'a>(
    kind: TrackEventType,
    site: &'static CallSite,
    track: Option<&'a Track<'a>>,
) -> Spec<'a, 'a> {
    let is_end = kind == TrackEventType::TYPE_SLICE_END;
    Spec {
        kind,
        members: (!is_end).then_some(Members::One(site.category)),
        name: if is_end { EventName::None } else { EventName::Static(&site.name) },
        track,
        place: if is_end { None } else { site.place.as_ref() },
        time_ns: None,
        clock: None,
        value: None,
    }
}

impl Span {
    /// A span of `site` without values.
    pub(super) fn new(site: &'static CallSite, style: SpanStyle) -> Self {
        Self {
            site,
            style,
            values: Values::default(),
            enters: 0,
            number: 0,
            made_for: Written::default(),
            made_ns: 0,
            life: None,
            flows: Vec::new(),
        }
    }

    /// As [`new`](Self::new), in the memory of one that has ended.
    pub(super) fn renew(&mut self, site: &'static CallSite, style: SpanStyle) {
        self.values.clear();
        self.flows.clear();
        (self.site, self.style, self.life) = (site, style, None);
        (self.enters, self.number, self.made_for) = (0, 0, Written::default());
    }

    /// Collects values.
    pub(super) fn collect(&mut self) -> Collect<'_> {
        Collect { site: self.site, values: &mut self.values }
    }

    /// The span is made: its values are known.
    pub(super) fn begin_life(&mut self) {
        if self.style == SpanStyle::Auto && self.site.enter_count.is_often() {
            self.style = SpanStyle::Async;
        }
        let bits = Members::One(self.site.category).instances();
        let may_live = match self.style {
            SpanStyle::Sync => false,
            SpanStyle::Async => true,
            SpanStyle::Auto => !self.site.enter_count.is_once(),
        };
        if bits != 0 && may_live {
            self.made_for = thread::instances(bits);
            self.made_ns = clock::now_ns();
        }
        if self.style == SpanStyle::Async {
            self.live(bits);
        }
    }

    pub(super) fn site(&self) -> &'static CallSite {
        self.site
    }

    /// Values that were not known when the span was made: those of `late`.
    pub(super) fn record(&mut self, late: &mut Self) {
        self.values.merge(&mut late.values);
    }

    /// It follows from an event with this flow.
    pub(super) fn follow(&mut self, flow: Flow) {
        if self.flows.len() < FOLLOWS_MAX {
            self.flows.push(flow);
        }
    }

    /// The span is entered on the calling thread.
    pub(super) fn enter(&mut self) -> Begun {
        self.enters = self.enters.saturating_add(1);
        if self.enters > 1 && self.style == SpanStyle::Auto {
            self.style = SpanStyle::Async;
            self.site.enter_count.set_often();
        }
        let form = match (self.style, self.track_name()) {
            (SpanStyle::Async, _) => Form::Part,
            (_, Some(_)) => Form::Named,
            (_, None) => Form::Whole,
        };
        let written = self.begin(form);
        Begun { form, written, has_plain_end: form != Form::Named && !self.may_go_on(form) }
    }

    /// Begins a slice on the calling thread in all instances that want it.
    pub(super) fn begin(&mut self, form: Form) -> Written {
        let bits = Members::One(self.site.category).instances();
        if bits == 0 {
            return Written::default();
        }
        if form == Form::Whole && self.flows.is_empty() {
            return self.begin_whole(bits);
        }
        if form == Form::Part {
            self.live(bits);
        }
        let flow = (form == Form::Part).then(|| self.flow());
        let Self { site, values, flows, .. } = &*self;
        let named = self.track_name().map(Track::dynamic);
        let track = named.as_ref().filter(|_| form == Form::Named);
        let spec = spec(TrackEventType::TYPE_SLICE_BEGIN, site, track);
        // The slice for the whole life has the place and the values.
        let place = spec.place.filter(|_| form != Form::Part);
        let spec = Spec { place, ..spec };
        let is_plain = flow.is_none() && values.is_empty() && flows.is_empty();
        let mut fill = |event: &mut Event<'_, '_>| {
            match flow {
                Some(flow) => _ = event.flow(flow),
                None => values.annotate(event, site, false),
            }
            flows.iter().for_each(|flow| {
                event.flow(*flow);
            });
        };
        let now_ns = clock::now_ns();
        let mut arguments = Arguments::Closure(&mut fill);
        let arguments = (!is_plain).then_some(&mut arguments);
        let written = thread::write_locked(now_ns, bits, &spec, arguments);
        if written.bits != 0 {
            self.flows.clear();
            if form != Form::Part {
                self.values.set_written();
            }
            self.set_made(written, now_ns);
        }
        written
    }

    /// [`begin`](Self::begin) of almost all slices: there is no flow, and there may be values.
    fn begin_whole(&mut self, bits: u32) -> Written {
        let Self { site, values, .. } = &*self;
        let spec = spec(TrackEventType::TYPE_SLICE_BEGIN, site, None);
        let now_ns = clock::now_ns();
        let written = match values.is_empty() {
            true => thread::write_locked(now_ns, bits, &spec, None),
            false => {
                let mut place = [AnnotationValue::Simple(Simple::Absent); ARGUMENTS_MAX];
                let mut annotate = |event: &mut Event<'_, '_>| values.annotate(event, site, false);
                let mut arguments = match values.arguments(site, &mut place) {
                    Some(values) => Arguments::Annotations(&site.keys, values),
                    None => Arguments::Closure(&mut annotate),
                };
                thread::write_locked(now_ns, bits, &spec, Some(&mut arguments))
            }
        };
        if written.bits != 0 {
            self.values.set_written();
        }
        self.set_made(written, now_ns);
        written
    }

    /// A slice has begun in `written`. Its time is that of the whole life, if that is not known.
    fn set_made(&mut self, written: Written, now_ns: u64) {
        if written.bits != 0 && self.made_for.bits == 0 {
            (self.made_for, self.made_ns) = (written, now_ns);
        }
    }

    /// Begins the slice of the whole life in those instances that do not have it.
    fn live(&mut self, bits: u32) {
        let mut life = self.life.unwrap_or_default();
        let generation = Some(registry::generation());
        if bits == 0 || life.generation == generation {
            return;
        }
        life.generation = generation;
        let flow = self.flow();
        let Self { site, values, .. } = &*self;
        let track = self.track();
        let begin = spec(TrackEventType::TYPE_SLICE_BEGIN, site, Some(&track));
        let begin = Spec { time_ns: Some(self.made_ns), ..begin };
        let mut fill = |event: &mut Event<'_, '_>| {
            event.flow(flow);
            values.annotate(event, site, false);
        };
        let mut arguments = Arguments::Closure(&mut fill);
        let arguments = Some(&mut arguments);
        thread::write_missing_locked(bits, &mut life.written, self.made_for, &begin, arguments);
        self.life = Some(life);
    }

    /// Only when it is entered for the second time it is known whether the end of the first slice needs the flow. Then
    /// the flow would be missing.
    fn may_go_on(&self, form: Form) -> bool {
        form != Form::Part
            && self.style == SpanStyle::Auto
            && self.enters == 1
            && self.site.enter_count.is_unknown()
    }

    /// The span leaves a slice that it had begun on the calling thread.
    pub(super) fn end(&mut self, begun: &Begun) {
        let Begun { form, written, .. } = *begun;
        let flow = self.may_go_on(form).then(|| self.flow());
        let Self { site, values, flows, .. } = &*self;
        let named = self.track_name().map(Track::dynamic);
        let track = named.as_ref().filter(|_| form == Form::Named);
        let is_plain =
            flow.is_none() && (form == Form::Part || (values.is_empty() && flows.is_empty()));
        let mut fill = |event: &mut Event<'_, '_>| {
            if form != Form::Part {
                values.annotate(event, site, true);
            }
            flow.iter().chain(flows.iter().filter(|_| form != Form::Part)).for_each(|flow| {
                event.flow(*flow);
            });
        };
        let mut arguments = Arguments::Closure(&mut fill);
        let arguments = (!is_plain).then_some(&mut arguments);
        let end = spec(TrackEventType::TYPE_SLICE_END, site, track);
        thread::write_to_locked(written, &end, arguments);
    }

    /// The span has ended.
    pub(super) fn close(&mut self) {
        if self.enters == 1 && self.style == SpanStyle::Auto {
            self.site.enter_count.set_once();
        }
        let Some(life) = self.life.take().filter(|life| life.written.bits != 0) else { return };
        let Self { site, values, flows, .. } = &*self;
        let track = self.track();
        let end = spec(TrackEventType::TYPE_SLICE_END, site, Some(&track));
        let mut fill = |event: &mut Event<'_, '_>| {
            values.annotate(event, site, true);
            flows.iter().for_each(|flow| {
                event.flow(*flow);
            });
        };
        thread::write_to(life.written, &end, Some(&mut Arguments::Closure(&mut fill)));
    }

    fn flow(&mut self) -> Flow {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if self.number == 0 {
            self.number = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        Flow::scoped("tracing span", self.number)
    }

    /// The value of the field `track`.
    fn track_name(&self) -> Option<&str> {
        self.values.track_name(self.site)
    }

    /// Where the slice of its whole life is.
    fn track(&self) -> Track<'_> {
        match self.track_name() {
            Some(name) => Track::dynamic(name),
            None => SPANS.child(self.site.name.text()),
        }
        .id(self.number)
    }
}
