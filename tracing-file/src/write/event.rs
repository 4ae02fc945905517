//! One event in the making: what it carries beside its name and time.

use std::io::Write;
use std::marker::PhantomData;

use protos::{LogMessagePriority, TrackEventType, TrackEventWriter};

use super::arg::{Arg, ArgDict, ArgList};
use super::counter::CounterValue;
use super::error::WriteError;
use super::intern::Name;
use super::time::Timestamp;
use super::trace::TraceFile;
use super::track::{Kind, OpenSlice, TrackId};

/// An arrow through events: [`TraceFile::flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow(pub(super) u64);

impl Flow {
    /// The flow with this id. An id means the same flow in the whole trace, also in other sequences.
    #[must_use]
    pub const fn from_id(id: u64) -> Self {
        Self(id)
    }

    /// Its id.
    #[must_use]
    pub const fn id(self) -> u64 {
        self.0
    }
}

/// How much a line of a log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The least.
    Verbose,
    /// For developers.
    Debug,
    /// Normal.
    Info,
    /// Something looks wrong.
    Warn,
    /// Something failed.
    Error,
    /// The program ends.
    Fatal,
}

impl Priority {
    const fn number(self) -> LogMessagePriority {
        LogMessagePriority(match self {
            Self::Verbose => 2,
            Self::Debug => 3,
            Self::Info => 4,
            Self::Warn => 5,
            Self::Error => 6,
            Self::Fatal => 7,
        })
    }
}

/// Kind of an event: a slice that is known as a whole.
#[derive(Debug)]
pub struct Complete(());
/// Kind of an event: the begin of a slice.
#[derive(Debug)]
pub struct Begin(());
/// Kind of an event: the end of a slice.
#[derive(Debug)]
pub struct End(());
/// Kind of an event: a moment.
#[derive(Debug)]
pub struct Instant(());
/// Kind of an event: a value of a counter, or a state.
#[derive(Debug)]
pub struct Value(());

/// Kinds of events that have categories and flows.
pub trait Sliced {}
impl Sliced for Complete {}
impl Sliced for Begin {}
impl Sliced for Instant {}

/// An event in the making. It is written when it is dropped, or by [`emit`](Self::emit), which returns its error.
///
/// The last parameter is its kind, which says what it can carry. Helpers of a program name it, and the kinds of tracks:
///
/// ```
/// use std::io::Write;
/// use tracing_file::write::{
///     ArgDict, ArgList, Complete, End, Event, OpenSlice, Parent, SliceTrack, Sliced, Timestamp, TraceFile, Track,
///     TrackId, TrackSpec, WriteError,
/// };
///
/// /// A slice, and what all slices of this program carry.
/// fn work<'t, W: Write>(
///     trace: &'t mut TraceFile<W>,
///     track: &impl SliceTrack,
///     at: impl Into<Timestamp>,
///     ns: u64,
/// ) -> Event<'t, W, Complete> {
///     tagged(trace.slice(track, at, ns, "work"))
/// }
///
/// /// Ends have no category.
/// fn tagged<'t, W: Write, K: Sliced>(event: Event<'t, W, K>) -> Event<'t, W, K> {
///     event.category("work").dict("where", place)
/// }
///
/// fn place(place: &mut ArgDict<'_, '_>) {
///     place.arg("rack", 7).list("units", |units: &mut ArgList<'_, '_>| {
///         units.push(1).push(2);
///     });
/// }
///
/// fn end<W: Write>(trace: &mut TraceFile<W>, slice: OpenSlice, at: u64) -> Event<'_, W, End> {
///     trace.end(slice, at).arg("ok", true)
/// }
///
/// fn below<W: Write>(trace: &mut TraceFile<W>, parent: &impl Parent) -> TrackId {
///     trace.track(TrackSpec::new("below").under(parent)).id()
/// }
///
/// let mut trace = TraceFile::create(Vec::new())?;
/// let track = trace.track("T");
/// below(&mut trace, &track);
/// work(&mut trace, &track, 5, 10).emit()?;
/// let slice = tagged(trace.begin(&track, 20, "open")).open();
/// end(&mut trace, slice, 30);
/// trace.finish()?;
/// # Ok::<(), WriteError>(())
/// ```
pub struct Event<'t, W: Write, K> {
    trace: &'t mut TraceFile<W>,
    draft: Option<Draft>,
    kind: PhantomData<K>,
}

/// What is not in the fields of the event yet.
struct Draft {
    of: TrackEventType,
    track: TrackId,
    at: Timestamp,
    /// A whole slice: how long it is, in units of its clock.
    duration: Option<u64>,
    /// The slice that ends.
    slice: Option<OpenSlice>,
    value: Option<CounterValue>,
    log: Option<(u64, LogMessagePriority)>,
    location_iid: Option<u64>,
    flows: Vec<(u64, bool)>,
    error: Option<WriteError>,
}

/// Texts that are interned, each kind with numbers of its own.
#[derive(Clone, Copy)]
enum Texts {
    /// Of events.
    Names,
    Categories,
    /// Of annotations.
    ArgNames,
}

impl<'t, W: Write, K> Event<'t, W, K> {
    pub(super) fn new(
        trace: &'t mut TraceFile<W>,
        track: TrackId,
        at: Timestamp,
        of: TrackEventType,
    ) -> Self {
        trace.event_count += 1;
        let (duration, slice, value, log) = (None, None, None, None);
        let (location_iid, flows, error) = (None, Vec::new(), None);
        let draft =
            Draft { of, track, at, duration, slice, value, log, location_iid, flows, error };
        Self { trace, draft: Some(draft), kind: PhantomData }
    }

    /// Adds an annotation.
    pub fn arg<'v>(self, name: &str, value: impl Into<Arg<'v>>) -> Self {
        let value = value.into();
        self.annotate(name, |annotation| value.write(annotation))
    }

    /// Adds an annotation that is a list.
    pub fn list(self, name: &str, fill: impl FnOnce(&mut ArgList<'_, '_>)) -> Self {
        self.annotate(name, |annotation| fill(&mut ArgList(annotation)))
    }

    /// Adds an annotation that is a dictionary.
    pub fn dict(self, name: &str, fill: impl FnOnce(&mut ArgDict<'_, '_>)) -> Self {
        self.annotate(name, |annotation| fill(&mut ArgDict(annotation)))
    }

    /// Adds fields of `TrackEvent` that have no method here, such as extensions. Nothing checks them.
    pub fn fields(mut self, fill: impl FnOnce(&mut TrackEventWriter<'_>)) -> Self {
        let put = self.trace.put(fill);
        self.note(put);
        self
    }

    /// Writes the event.
    ///
    /// # Errors
    /// The event breaks a rule of its track, or cannot be written. Then it is not in the trace.
    pub fn emit(mut self) -> Result<(), WriteError> {
        self.commit().map(drop)
    }

    fn annotate(
        mut self,
        name: &str,
        fill: impl FnOnce(&mut protos::DebugAnnotationWriter<'_>),
    ) -> Self {
        let number = self.intern(Texts::ArgNames, name);
        let put = self.trace.put(|event| {
            let mut annotation = event.debug_annotations();
            match number {
                Name::Full => annotation.name(name),
                Name::Known(iid) | Name::New(iid) => annotation.name_iid(iid),
            };
            fill(&mut annotation);
        });
        self.note(put);
        self
    }

    pub(super) fn named(mut self, name: &str) -> Self {
        let number = self.intern(Texts::Names, name);
        let put = self.trace.put(|event| {
            match number {
                Name::Full => event.name(name),
                Name::Known(iid) | Name::New(iid) => event.name_iid(iid),
            };
        });
        self.note(put);
        self
    }

    pub(super) fn ending(mut self, duration: Option<u64>) -> Self {
        if let Some(draft) = &mut self.draft {
            draft.duration = duration;
        }
        self
    }

    pub(super) fn of_slice(mut self, slice: OpenSlice) -> Self {
        if let Some(draft) = &mut self.draft {
            draft.slice = Some(slice);
        }
        self
    }

    pub(super) fn valued(mut self, value: CounterValue) -> Self {
        if let Some(draft) = &mut self.draft {
            draft.value = Some(value);
        }
        self
    }

    pub(super) fn logging(mut self, priority: Priority, message: &str) -> Self {
        let (iid, is_new) = match self.trace.log_bodies.name(message) {
            Name::Known(iid) => (iid, false),
            Name::New(iid) => (iid, true),
            // A message has no other form.
            Name::Full => (self.trace.log_bodies.fresh(), true),
        };
        if is_new {
            let defined = self.trace.define(|data| {
                data.log_message_body().iid(iid).body(message);
            });
            self.note(defined);
        }
        if let Some(draft) = &mut self.draft {
            draft.log = Some((iid, priority.number()));
        }
        self
    }

    /// How to name `text` in this event, which defines a text that is new.
    fn intern(&mut self, texts: Texts, text: &str) -> Name {
        if !self.trace.options.interning {
            return Name::Full;
        }
        let interner = match texts {
            Texts::Names => &mut self.trace.names,
            Texts::Categories => &mut self.trace.categories,
            Texts::ArgNames => &mut self.trace.arg_names,
        };
        let name = interner.name(text);
        if let Name::New(iid) = name {
            let defined = self.trace.define(|data| match texts {
                Texts::Names => {
                    data.event_names().iid(iid).name(text);
                }
                Texts::Categories => {
                    data.event_categories().iid(iid).name(text);
                }
                Texts::ArgNames => {
                    data.debug_annotation_names().iid(iid).name(text);
                }
            });
            self.note(defined);
        }
        name
    }

    fn note(&mut self, result: Result<(), WriteError>) {
        if let (Err(error), Some(draft)) = (result, &mut self.draft) {
            draft.error.get_or_insert(error);
        }
    }

    /// Checks and writes the event. Returns the lane and the id of a slice that is open now.
    fn commit(&mut self) -> Result<Option<(u32, u64)>, WriteError> {
        let Some(mut draft) = self.draft.take() else { return Ok(None) };
        if let Some(error) = draft.error.take() {
            return Err(error);
        }
        draft.write(self.trace)
    }
}

impl<W: Write, K: Sliced> Event<'_, W, K> {
    /// Adds a category.
    pub fn category(mut self, name: &str) -> Self {
        let number = self.intern(Texts::Categories, name);
        let put = self.trace.put(|event| {
            match number {
                Name::Full => event.categories(name),
                Name::Known(iid) | Name::New(iid) => event.category_iids(iid),
            };
        });
        self.note(put);
        self
    }

    /// Begins a flow here, or leads it here and on.
    pub fn flow(self, flow: Flow) -> Self {
        self.add_flow(flow, false)
    }

    /// Leads a flow here, where it ends.
    pub fn end_flow(self, flow: Flow) -> Self {
        self.add_flow(flow, true)
    }

    /// Adds the place in the source from which it comes.
    pub fn source_location(mut self, file: &str, function: &str, line: u32) -> Self {
        let is_log = self.draft.as_ref().is_some_and(|draft| draft.log.is_some());
        let put = if is_log || self.trace.options.interning {
            let (iid, is_new) = self.trace.locations.number(file, function, line);
            if let Some(draft) = &mut self.draft {
                draft.location_iid = Some(iid);
            }
            if is_new { self.define_location(iid, file, function, line) } else { Ok(()) }
        } else {
            self.trace.put(|event| {
                let mut place = event.source_location();
                place.file_name(file);
                if !function.is_empty() {
                    place.function_name(function);
                }
                place.line_number(line);
            })
        };
        self.note(put);
        self
    }

    /// Events with the same text belong together and may be shown in the same colour.
    pub fn correlation(self, id: &str) -> Self {
        self.fields(|event| {
            event.correlation_id_str(id);
        })
    }

    fn define_location(
        &mut self,
        iid: u64,
        file: &str,
        function: &str,
        line: u32,
    ) -> Result<(), WriteError> {
        self.trace.define(|data| {
            let mut place = data.source_locations();
            place.iid(iid).file_name(file);
            if !function.is_empty() {
                place.function_name(function);
            }
            place.line_number(line);
        })
    }

    fn add_flow(mut self, flow: Flow, ends: bool) -> Self {
        if let Some(draft) = &mut self.draft {
            match draft.flows.iter().find(|(id, _)| *id == flow.0) {
                Some((_, known)) if *known == ends => return self,
                Some(_) => {
                    draft.error.get_or_insert(WriteError::FlowTwice { id: flow.0 });
                    return self;
                }
                None => draft.flows.push((flow.0, ends)),
            }
        }
        let put = self.trace.put(|event| {
            if ends {
                event.terminating_flow_ids(flow.0)
            } else {
                event.flow_ids(flow.0)
            };
        });
        self.note(put);
        self
    }
}

impl<W: Write> Event<'_, W, Begin> {
    /// Writes the begin, and returns what ends the slice.
    #[must_use = "a slice that is not ended is open at the end of the trace"]
    pub fn open(mut self) -> OpenSlice {
        let track = self.draft.as_ref().map(|draft| draft.track);
        let opened = self.commit();
        let place = self.trace.keep(opened).flatten();
        let uuid_only = TrackId { trace: self.trace.trace, idx: u32::MAX, uuid: 0 };
        OpenSlice { track: track.unwrap_or(uuid_only), place }
    }
}

impl<W: Write, K> Drop for Event<'_, W, K> {
    fn drop(&mut self) {
        let result = self.commit();
        self.trace.keep(result);
    }
}

impl Draft {
    fn write<W: Write>(
        mut self,
        trace: &mut TraceFile<W>,
    ) -> Result<Option<(u32, u64)>, WriteError> {
        if self.track.trace != trace.trace {
            return Err(WriteError::Foreign);
        }
        if let Some(slice) = self.slice.take() {
            return self.end(slice, trace).map(|()| None);
        }
        if self.track.idx as usize >= trace.tracks.len() {
            return Err(WriteError::NoTrack);
        }
        trace.restart_sums();
        self.put_rest(trace)?;
        let at_ns = trace.trace_ns(self.at)?;
        let is_begin = self.of == TrackEventType::TYPE_SLICE_BEGIN;
        if !is_begin {
            trace.write_event(self.of, self.track.uuid, self.at)?;
            self.keep_value(trace);
            return Ok(None);
        }
        let end = match self.duration {
            None => None,
            Some(duration) => {
                let value = self.at.value.checked_add(duration);
                let value = value.ok_or(WriteError::TimeRange { value: self.at.value })?;
                let end = Timestamp { value, ..self.at };
                Some((end, trace.trace_ns(end)?))
            }
        };
        let lane = self.free_lane(trace, at_ns)?;
        let (uuid, slices) = slices(trace, self.track, lane).ok_or(WriteError::Foreign)?;
        let Some((end, end_ns)) = end else {
            let id = slices.begin(at_ns)?;
            trace.open_slices += 1;
            trace.write_event(self.of, uuid, self.at)?;
            return Ok(Some((lane, id)));
        };
        slices.complete(at_ns, end_ns)?;
        trace.write_event(self.of, uuid, self.at)?;
        trace.fields.clear();
        trace.write_event(TrackEventType::TYPE_SLICE_END, uuid, end)?;
        Ok(None)
    }

    fn end<W: Write>(self, slice: OpenSlice, trace: &mut TraceFile<W>) -> Result<(), WriteError> {
        // The begin was refused, and is counted.
        let Some((lane, id)) = slice.place else { return Ok(()) };
        let at_ns = trace.trace_ns(self.at)?;
        let (uuid, slices) = slices(trace, self.track, lane).ok_or(WriteError::Foreign)?;
        slices.end(id, at_ns)?;
        trace.open_slices = trace.open_slices.saturating_sub(1);
        trace.write_event(self.of, uuid, self.at)
    }

    /// Fields whose form depends on calls that came after the first.
    fn put_rest<W: Write>(&self, trace: &mut TraceFile<W>) -> Result<(), WriteError> {
        if let Some(value) = self.value {
            let value = difference(trace, self.track, value);
            trace.put(|event| {
                match value {
                    CounterValue::Int(value) => event.counter_value(value),
                    CounterValue::Double(value) => event.double_counter_value(value),
                };
            })?;
        }
        match (self.log, self.location_iid) {
            (Some((body, priority)), location) => trace.put(|event| {
                let mut log = event.log_message();
                log.body_iid(body).prio(priority);
                if let Some(location) = location {
                    log.source_location_iid(location);
                }
            }),
            (None, Some(location)) => trace.put(|event| {
                event.source_location_iid(location);
            }),
            (None, None) => Ok(()),
        }
    }

    /// Keeps the value that is in the trace now: the next one of an incremental counter is a difference to it.
    fn keep_value<W: Write>(&self, trace: &mut TraceFile<W>) {
        if let Some(value) = self.value
            && let Some(Kind::Counter { sum: Some(sum) }) = trace.kind_mut(self.track)
        {
            *sum = sum.after(value.minus(*sum));
        }
    }

    /// The lane for a slice from `begin_ns`: a free one, or a new one.
    fn free_lane<W: Write>(
        &self,
        trace: &mut TraceFile<W>,
        begin_ns: u64,
    ) -> Result<u32, WriteError> {
        /// A viewer shows a group of lanes at once.
        const LANES_MAX: usize = 4096;
        let Some(Kind::Lanes { lanes, descriptor }) = trace.kind_mut(self.track) else {
            return Ok(0);
        };
        let free = lanes.iter().position(|(_, slices)| slices.is_free(begin_ns));
        let count = lanes.len();
        if let Some(free) = free {
            return Ok(free as u32);
        }
        if count >= LANES_MAX {
            return Err(WriteError::TooManyLanes);
        }
        let descriptor = descriptor.clone();
        let uuid = trace.new_uuid();
        trace.out.packet(|packet| {
            packet.track_descriptor().uuid(uuid).append_raw(&descriptor);
        })?;
        if let Some(Kind::Lanes { lanes, .. }) = trace.kind_mut(self.track) {
            lanes.push((uuid, super::slices::Slices::default()));
        }
        Ok(count as u32)
    }
}

/// The slices of a track, or of one lane, with its uuid.
fn slices<W: Write>(
    trace: &mut TraceFile<W>,
    track: TrackId,
    lane: u32,
) -> Option<(u64, &mut super::slices::Slices)> {
    match trace.kind_mut(track)? {
        Kind::Slices(slices) => Some((track.uuid, slices)),
        Kind::Lanes { lanes, .. } => {
            lanes.get_mut(lane as usize).map(|(uuid, slices)| (*uuid, slices))
        }
        Kind::Counter { .. } | Kind::State => None,
    }
}

/// What is written for a value: itself, or the difference to the one before.
fn difference<W: Write>(
    trace: &mut TraceFile<W>,
    track: TrackId,
    value: CounterValue,
) -> CounterValue {
    match trace.kind_mut(track) {
        Some(Kind::Counter { sum: Some(sum) }) => value.minus(*sum),
        _ => value,
    }
}
