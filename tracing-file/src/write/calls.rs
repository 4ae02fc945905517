//! The calls that begin an event.

use std::io::Write;

use protos::TrackEventType;

use super::counter::CounterValue;
use super::event::{Begin, Complete, End, Event, Flow, Instant, Priority, Value};
use super::time::Timestamp;
use super::trace::TraceFile;
use super::track::{CounterTrack, OpenSlice, SliceTrack, StateTrack, ThreadTrack, Track, TrackId};

impl<W: Write> TraceFile<W> {
    /// A slice that is known as a whole. Slices of one track are written in the order of their begins, an outer one
    /// before those within it; on a [`LanesTrack`](super::LanesTrack) they may overlap.
    pub fn slice(
        &mut self,
        track: &impl SliceTrack,
        begin: impl Into<Timestamp>,
        duration: u64,
        name: &str,
    ) -> Event<'_, W, Complete> {
        let ends = Some(duration);
        self.event(track, begin, TrackEventType::TYPE_SLICE_BEGIN).ending(ends).named(name)
    }

    /// The begin of a slice. [`Event::open`] returns what ends it.
    #[must_use = "`open` returns what ends the slice"]
    pub fn begin(
        &mut self,
        track: &impl SliceTrack,
        at: impl Into<Timestamp>,
        name: &str,
    ) -> Event<'_, W, Begin> {
        self.event(track, at, TrackEventType::TYPE_SLICE_BEGIN).named(name)
    }

    /// The end of a slice. Its annotations join those of the begin.
    pub fn end(&mut self, slice: OpenSlice, at: impl Into<Timestamp>) -> Event<'_, W, End> {
        let track = slice.track;
        self.event_on(track, at, TrackEventType::TYPE_SLICE_END).of_slice(slice)
    }

    /// Leaves a slice open on purpose: it was not over when the trace ended.
    pub fn leave_open(&mut self, slice: OpenSlice) {
        if slice.track.trace == self.trace && slice.place.is_some() {
            self.open_slices = self.open_slices.saturating_sub(1);
        }
    }

    /// A moment.
    pub fn instant(
        &mut self,
        track: &impl SliceTrack,
        at: impl Into<Timestamp>,
        name: &str,
    ) -> Event<'_, W, Instant> {
        self.event(track, at, TrackEventType::TYPE_INSTANT).named(name)
    }

    /// A line of a log, as a moment on the track of its thread.
    pub fn log(
        &mut self,
        thread: &ThreadTrack,
        at: impl Into<Timestamp>,
        priority: Priority,
        message: &str,
    ) -> Event<'_, W, Instant> {
        self.event(thread, at, TrackEventType::TYPE_INSTANT).named("log").logging(priority, message)
    }

    /// A value of a counter: an `i64`, `i32`, `u32` or `f64`. It holds from `at` until the next one.
    pub fn counter(
        &mut self,
        track: &CounterTrack,
        at: impl Into<Timestamp>,
        value: impl Into<CounterValue>,
    ) -> Event<'_, W, Value> {
        self.event(track, at, TrackEventType::TYPE_COUNTER).valued(value.into())
    }

    /// A new state.
    pub fn state(
        &mut self,
        track: &StateTrack,
        at: impl Into<Timestamp>,
        state: &str,
    ) -> Event<'_, W, Value> {
        self.event(track, at, TrackEventType::TYPE_STATE).named(state)
    }

    /// The end of a state, with no other in its place.
    pub fn no_state(
        &mut self,
        track: &StateTrack,
        at: impl Into<Timestamp>,
    ) -> Event<'_, W, Value> {
        self.event(track, at, TrackEventType::TYPE_STATE)
    }

    /// A flow with an id that no other flow of this trace has.
    pub fn flow(&mut self) -> Flow {
        self.next_flow = self.next_flow.wrapping_add(1);
        Flow(self.next_flow)
    }

    fn event<'t, K>(
        &'t mut self,
        track: &impl Track,
        at: impl Into<Timestamp>,
        of: TrackEventType,
    ) -> Event<'t, W, K> {
        self.event_on(track.id(), at, of)
    }

    fn event_on<K>(
        &mut self,
        track: TrackId,
        at: impl Into<Timestamp>,
        of: TrackEventType,
    ) -> Event<'_, W, K> {
        self.fields.clear();
        Event::new(self, track, at.into(), of)
    }
}
