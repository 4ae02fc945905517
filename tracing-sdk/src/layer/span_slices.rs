//! The slices of spans.
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

use core::cell::Cell;
use core::ptr;

use protos::TrackEventType;

use super::callsite::CallSite;
use super::scratch::Scratch;
use super::slot::Start;
use super::span_table::{LiveSpan, SpanId};
use super::style::SpanStyle;
use super::values::{ARGUMENTS_MAX, Values};
use crate::category::Members;
use crate::clock;
use crate::clock::event_time::When;
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

/// What a slice on a thread, or on a track that the program named, is of its span.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// All that is known of the span.
    Whole,
    /// As `Whole`, on a [track that the program named](named_track).
    Named,
    /// One part of an async span.
    Part,
}

/// A slice that a span has begun.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub(super) form: Form,
    pub(super) written: Written,
    /// Unless the span changes, its end has neither a track nor arguments.
    pub(super) has_plain_end: bool,
}

/// The instances that record spans of `site`.
#[inline]
fn instances(site: &'static CallSite) -> u32 {
    Members::One(site.category).instances()
}

fn begin_spec<'a>(site: &'static CallSite, track: Option<&'a Track<'a>>) -> Spec<'a, 'a> {
    Spec {
        kind: TrackEventType::TYPE_SLICE_BEGIN,
        members: Some(Members::One(site.category)),
        name: EventName::Static(&site.name),
        track,
        place: site.place.as_ref(),
        when: When::NOW,
        value: None,
    }
}

fn flow(number: u64) -> Flow {
    Flow::of_copy("tracing span", number)
}

/// A track that the program named. Each thread has one, which readers show as one track: slices of one track must be
/// nested, and those of several threads need not be.
pub(super) fn named_track(name: &str) -> Track<'_> {
    thread_local! {
        /// No other thread has its address meanwhile.
        static HERE: Cell<u8> = const { Cell::new(0) };
    }
    Track::dynamic(name).id(HERE.with(|here| ptr::from_ref(here).addr() as u64))
}

/// Where the slice of the whole life of span `number` is.
fn life_track<'a>(site: &'static CallSite, values: &'a Values, number: u64) -> Track<'a> {
    match values.track_name(site) {
        Some(name) => Track::dynamic(name),
        None => SPANS.child(site.name.text()),
    }
    // Spread: see `AsyncSlice::track_and_flow`.
    .id(flow(number).id() ^ Track::process().uuid())
}

/// A span of `site` is made, of which `scratch` has the values. Its parent has a handle for it.
#[inline(always)]
pub(super) fn begin_span(
    id: SpanId,
    site: &'static CallSite,
    style: SpanStyle,
    mut scratch: Option<&mut Scratch>,
    parent: Option<SpanId>,
) {
    let is_often = style == SpanStyle::Auto && site.enter_count.is_often();
    let style = if is_often { SpanStyle::Async } else { style };
    let bits = instances(site);
    let may_live = match style {
        SpanStyle::Sync => false,
        SpanStyle::Async => true,
        SpanStyle::Auto => !site.enter_count.is_once(),
    };
    let made = (bits != 0 && may_live).then(|| (thread::instances(bits), clock::now_ns()));
    let values = scratch.as_deref().map(|scratch| &scratch.values);
    let values = values.filter(|values| !values.is_empty());
    let parent_id = parent.map(|parent| parent.id);
    let Some(span) = id.begin(site, &Start { style, made, values, parent: parent_id }) else {
        // So many spans have not ended that this one is not recorded.
        if let Some(parent) = parent {
            parent.release();
        }
        return;
    };
    if let Some(scratch) = &mut scratch {
        scratch.set_values_of(span.slot);
    }
    if style == SpanStyle::Async && bits != 0 {
        span.begin_life_of_new(bits, scratch.map_or(&Values::default(), |scratch| &scratch.values));
    }
}

impl SpanId {
    /// Gives a handle back. True if it was the last one: then the span has ended, and lets go of its parent.
    pub(super) fn release(self) -> bool {
        let mut ended = self.without_handle();
        let is_last = ended.is_some();
        while let Some(span) = ended {
            let parent = span.slot.parent().map(|id| Self { id, ..self });
            span.end_span();
            ended = parent.and_then(Self::without_handle);
        }
        is_last
    }
}

impl LiveSpan {
    /// The span is entered on the calling thread.
    #[inline]
    pub(super) fn enter(self) -> Begun {
        let Self { site, slot, .. } = self;
        let is_again = slot.count_enter() != 0;
        let style = slot.style();
        if style == SpanStyle::Async || (is_again && style == SpanStyle::Auto) {
            return self.enter_again();
        }
        // The end of the first slice needs the flow, if the span is entered again.
        let may_go_on = style == SpanStyle::Auto && site.enter_count.is_unknown();
        let (form, written) = self.begin_whole();
        Begun { form, written, has_plain_end: form == Form::Whole && !may_go_on }
    }

    #[inline(never)]
    fn enter_again(self) -> Begun {
        if self.slot.style() == SpanStyle::Auto {
            self.slot.set_async();
            self.site.enter_count.set_often();
        }
        Begun { form: Form::Part, written: self.begin_part(), has_plain_end: true }
    }

    /// Begins a slice on the calling thread in all instances that want it.
    pub(super) fn begin_slice(self, form: Form) -> Written {
        match form {
            Form::Part => self.begin_part(),
            Form::Whole | Form::Named => self.begin_whole().1,
        }
    }

    /// Almost all slices: there is no flow, and there may be values.
    #[inline]
    fn begin_whole(self) -> (Form, Written) {
        let bits = instances(self.site);
        if bits == 0 {
            return (Form::Whole, Written::default());
        }
        if self.slot.has_details() {
            return self.begin_whole_with_details(bits);
        }
        let now_ns = clock::now_ns();
        let written = thread::write_at(now_ns, bits, &begin_spec(self.site, None), None);
        self.slot.set_made(written, now_ns);
        (Form::Whole, written)
    }

    #[inline(never)]
    fn begin_whole_with_details(self, bits: u32) -> (Form, Written) {
        let mut scratch = Scratch::take();
        // The thread that made the span has its values, unless it made another one since.
        if !scratch.has_values_of(self.slot) {
            self.with(|details| {
                scratch.copy_values(details);
                scratch.take_flows(details);
                details.values.set_written();
            });
        }
        let now_ns = clock::now_ns();
        let (form, written) = self.write_whole(now_ns, bits, &scratch);
        self.note_begun(written, now_ns, &mut scratch);
        scratch.keep();
        (form, written)
    }

    fn write_whole(self, now_ns: u64, bits: u32, scratch: &Scratch) -> (Form, Written) {
        let site = self.site;
        let Scratch { values, flows, .. } = scratch;
        let named = values.track_name(site).map(named_track);
        let spec = begin_spec(site, named.as_ref());
        let form = if named.is_some() { Form::Named } else { Form::Whole };
        let mut place = [AnnotationValue::Simple(Simple::Absent); ARGUMENTS_MAX];
        let mut fill = |event: &mut Event<'_, '_>| {
            values.annotate(event, site, false);
            flows.iter().for_each(|flow| {
                event.flow(*flow);
            });
        };
        let few = flows.is_empty().then(|| values.arguments(site, &mut place)).flatten();
        let mut arguments = match few {
            Some(values) => Arguments::Annotations(&site.keys, values),
            None => Arguments::Closure(&mut fill),
        };
        (form, thread::write_at(now_ns, bits, &spec, Some(&mut arguments)))
    }

    /// A slice has begun in `written`. If that is no instance, the span gets its flows back.
    fn note_begun(self, written: Written, now_ns: u64, scratch: &mut Scratch) {
        if written.bits != 0 {
            self.slot.set_made(written, now_ns);
        } else if !scratch.flows.is_empty() {
            self.with(|details| scratch.flows.drain(..).for_each(|flow| details.follow(flow)));
        }
    }

    /// Begins a slice of an async span, and that of its whole life where it is missing.
    fn begin_part(self) -> Written {
        let bits = instances(self.site);
        if bits == 0 {
            return Written::default();
        }
        let generation = registry::generation();
        let mut scratch = Scratch::take();
        let (number, life) = self.with(|details| {
            scratch.take_flows(details);
            let life = details.life.claim_beginning(generation);
            if life.is_some() {
                scratch.copy_values(details);
            }
            (details.number(), life)
        });
        if let Some(life) = life {
            self.begin_life(bits, generation, number, life, &scratch.values);
        }
        let flows = &scratch.flows;
        let mut fill = |event: &mut Event<'_, '_>| {
            event.flow(flow(number));
            flows.iter().for_each(|flow| {
                event.flow(*flow);
            });
        };
        let mut arguments = Arguments::Closure(&mut fill);
        // The slice for the whole life has the place and the values.
        let spec = Spec { place: None, ..begin_spec(self.site, None) };
        let now_ns = clock::now_ns();
        let written = thread::write_at(now_ns, bits, &spec, Some(&mut arguments));
        self.note_begun(written, now_ns, &mut scratch);
        scratch.keep();
        written
    }

    /// Begins the slice for the whole life of a span that was made just now, with these values.
    #[inline(never)]
    fn begin_life_of_new(self, bits: u32, values: &Values) {
        let generation = registry::generation();
        let (number, life) =
            self.with(|details| (details.number(), details.life.claim_beginning(generation)));
        if let Some(life) = life {
            self.begin_life(bits, generation, number, life, values);
        }
    }

    /// Begins the slice of the whole life in those instances that do not have it.
    fn begin_life(
        self,
        bits: u32,
        generation: u32,
        number: u64,
        mut life: Written,
        values: &Values,
    ) {
        let site = self.site;
        let track = life_track(site, values, number);
        let (made_for, made_ns) = self.slot.made();
        let spec = Spec { when: When::boot(made_ns), ..begin_spec(site, Some(&track)) };
        let mut fill = |event: &mut Event<'_, '_>| {
            event.flow(flow(number));
            values.annotate(event, site, false);
        };
        let mut arguments = Arguments::Closure(&mut fill);
        thread::write_missing(bits, &mut life, made_for, &spec, Some(&mut arguments));
        self.with(|details| details.life.note_begun(generation, life));
    }

    /// The span leaves a slice that it had begun on the calling thread.
    pub(super) fn end_slice(self, begun: &Begun) {
        let Begun { form, written, .. } = *begun;
        let site = self.site;
        // Only when it is entered for the second time it is known whether the end of the first slice needs the flow.
        // Then the flow would be missing.
        let may_go_on = form != Form::Part
            && self.slot.style() == SpanStyle::Auto
            && self.slot.enters() == 1
            && site.enter_count.is_unknown();
        let mut scratch = Scratch::take();
        scratch.clear();
        let number = self.with(|details| {
            if form != Form::Part {
                scratch.copy(details);
            }
            may_go_on.then(|| details.number())
        });
        let own = number.map(flow);
        let Scratch { values, flows, .. } = &*scratch;
        let named = values.track_name(site).map(named_track);
        let track = named.as_ref().filter(|_| form == Form::Named);
        let is_plain = own.is_none() && values.is_empty() && flows.is_empty();
        let mut fill = |event: &mut Event<'_, '_>| {
            values.annotate(event, site, true);
            own.iter().chain(flows).for_each(|flow| {
                event.flow(*flow);
            });
        };
        let mut arguments = Arguments::Closure(&mut fill);
        let arguments = (!is_plain).then_some(&mut arguments);
        thread::write_to(written, &Spec::end(track), arguments);
        scratch.keep();
    }

    /// Ends a slice of the calling thread that goes on at once, so its end says nothing of the span.
    #[cold]
    pub(super) fn interrupt(self, begun: &Begun) {
        let name = (begun.form == Form::Named).then(|| self.track_name()).flatten();
        let track = name.as_deref().map(named_track);
        thread::write_to(begun.written, &Spec::end(track.as_ref()), None);
    }

    /// The name of the track that the program chose.
    pub(super) fn track_name(self) -> Option<String> {
        self.with(|details| details.values.track_name(self.site).map(str::to_owned))
    }

    /// The span has ended.
    #[inline]
    pub(super) fn end_span(self) {
        match self.slot.style() {
            SpanStyle::Sync => {}
            SpanStyle::Async => self.end_life(),
            SpanStyle::Auto if self.slot.enters() == 1 => self.site.enter_count.set_once(),
            SpanStyle::Auto => {}
        }
        self.forget();
    }

    #[inline(never)]
    fn end_life(self) {
        let site = self.site;
        let mut scratch = Scratch::take();
        let (number, written) = self.with(|details| {
            scratch.copy(details);
            (details.number(), core::mem::take(&mut details.life).written)
        });
        if written.bits != 0 {
            let Scratch { values, flows, .. } = &*scratch;
            let track = life_track(site, values, number);
            let mut fill = |event: &mut Event<'_, '_>| {
                values.annotate(event, site, true);
                flows.iter().for_each(|flow| {
                    event.flow(*flow);
                });
            };
            let mut arguments = Arguments::Closure(&mut fill);
            thread::write_to(written, &Spec::end(Some(&track)), Some(&mut arguments));
        }
        scratch.keep();
    }
}
