//! One thread's packets in one session: a sequence.
//!
//! A reader needs the packets of a sequence from its opening on: they define names, tracks and the clock. When packets
//! are lost, because shared memory was full, everything after them would be useless to it. So the sequence opens again
//! by itself:
//!
//! ```text
//!   opening: clock, thread, process ──> event ──> event ──> (lost) ──> opening ──> event ...
//!                                         ^                    │
//!             names and tracks are defined with their first use└── also after a clear by the service
//! ```
//!
//! [`thread`] finds the sequences of the calling thread; [`open`] writes the opening; [`short`] writes events without
//! arguments; [`mod@stamp`] makes timestamps; [`late`] keeps the ends of slices that found no memory;
//! [`clock_snapshots`] knows which snapshots of other clocks were written; [`thread_time`] counts processor time.

mod clock_snapshots;
mod late;
mod open;
mod short;
mod stamp;
#[cfg(test)]
mod tests;
pub(crate) mod thread;
mod thread_time;

use core::sync::atomic::{AtomicU64, Ordering};
use std::any::Any;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use client::write::TraceWriter;
use protos::{TrackEventType, TrackEventWriter};

use self::clock_snapshots::WrittenSnapshots;
use self::late::{LateEnd, LateEnds};
use self::stamp::stamp;
use self::thread_time::ThreadTime;
use crate::category::Members;
use crate::clock;
use crate::clock::event_time::When;
use crate::event::Event;
#[cfg(feature = "tracing")]
use crate::event::Priority;
use crate::event::annotation_value::AnnotationValue;
use crate::event::counter_value::CounterValue;
use crate::fields;
use crate::interceptor::Intercepted;
use crate::intern::{EventName, Interning, Place, StaticName, WrittenName};
use crate::source::running::Running;
use crate::source::settings::NEEDS_STATE;
use crate::stall;
use crate::track::{Track, describe};

/// How many tracks a sequence remembers; then it forgets all and describes them again.
const TRACKS_MAX: usize = 8192;
/// The longest chain of parents. Readers refuse 100 levels.
const DEPTH_MAX: usize = 90;
/// While events are lost, memory is asked for again after this time. The writer itself counts lost bytes instead, and a
/// thread that records seldom would lose events long after there is memory again.
const RETRY_NS: u64 = 1_000_000;

/// See [`lost_events`].
static LOST: AtomicU64 = AtomicU64::new(0);

/// How many events of this process were lost so far, all sessions together, because shared memory was full when they
/// were to be written. Ends of slices count, too, that came when their thread could not record any more: see
/// [`Slice`](crate::Slice).
///
/// ```
/// assert_eq!(tracing_sdk::lost_events(), 0, "`Init::shm_kb` is too small");
/// ```
#[inline]
#[must_use]
pub fn lost_events() -> u64 {
    if crate::on::ON { LOST.load(Ordering::Relaxed) } else { 0 }
}

/// What an event is, without its arguments.
pub(crate) struct Spec<'s, 't> {
    pub(crate) kind: TrackEventType,
    pub(crate) members: Option<Members>,
    pub(crate) name: EventName<'s>,
    /// None: the track of the thread.
    pub(crate) track: Option<&'s Track<'t>>,
    /// Where the event is in the source.
    pub(crate) place: Option<&'s Place>,
    pub(crate) when: When<'s>,
    /// The value of a counter.
    pub(crate) value: Option<CounterValue>,
}

impl<'s, 't> Spec<'s, 't> {
    /// An instant on the track of the thread.
    pub(crate) const fn instant(members: Members, name: EventName<'s>) -> Self {
        Self {
            kind: TrackEventType::TYPE_INSTANT,
            members: Some(members),
            name,
            track: None,
            place: None,
            when: When::NOW,
            value: None,
        }
    }

    /// The end of a slice. It never has a name: a reader closes the innermost open slice.
    pub(crate) const fn end(track: Option<&'s Track<'t>>) -> Self {
        Self {
            kind: TrackEventType::TYPE_SLICE_END,
            members: None,
            name: EventName::None,
            track,
            place: None,
            when: When::NOW,
            value: None,
        }
    }
}

/// What an event has beside its [`Spec`], if it is not short.
struct Content<'a, 'f> {
    /// How many events were lost before it.
    lost: u64,
    thread_time: Option<i64>,
    arguments: Option<&'a mut Arguments<'f>>,
}

/// The arguments of an event.
#[doc(hidden)]
pub enum Arguments<'f> {
    /// As many keys as values.
    Annotations(&'static [StaticName], &'f [AnnotationValue<'f>]),
    /// A line of the log, and nothing else.
    #[cfg(feature = "tracing")]
    Log(LogLine),
    /// Writes them.
    Closure(&'f mut (dyn FnMut(&mut Event<'_, '_>) + 'f)),
}

/// A line of the log that is the same each time.
#[cfg(feature = "tracing")]
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct LogLine {
    pub(crate) body: &'static StaticName,
    pub(crate) priority: Priority,
    /// As that of its event.
    pub(crate) place: Option<&'static Place>,
}

impl core::fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Arguments")
    }
}

/// The result of writing an event.
#[must_use]
pub(crate) struct Outcome {
    /// It was not lost.
    pub(crate) is_stored: bool,
    /// An argument panicked.
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

/// See the [module](self).
pub(crate) struct Sequence {
    running: Arc<Running>,
    writer: TraceWriter,
    /// After the writer, which gives it its last chunk when it is dropped.
    intercepted: Option<Box<dyn Intercepted>>,
    thread_time: Option<Box<ThreadTime>>,
    interning: Interning,
    clock_snapshots: WrittenSnapshots,
    /// Tracks that are described.
    tracks: HashSet<u64, BuildHasherDefault<UuidHasher>>,
    /// Time of the last packet on the incremental clock.
    last_ns: u64,
    clears_seen: u32,
    needs_opening: bool,
    /// The last opening that wrote schemas lost some: the next one writes none.
    has_lost_schemas: bool,
    /// It has an interceptor, or thread times.
    is_special: bool,
    /// Lost since the last event that was written.
    lost: u64,
    /// While events are lost: when memory was last asked for in vain.
    asked_ns: Option<u64>,
    late_ends: LateEnds,
}

impl Sequence {
    pub(crate) fn new(running: Arc<Running>) -> Self {
        let (writer, intercepted) = match &running.interceptor {
            Some(interceptor) => interceptor.writer(),
            None => (running.instance.trace_writer(stall::policy(&running.instance)), None),
        };
        let thread_time = ThreadTime::new(&running.settings);
        Self {
            writer,
            is_special: intercepted.is_some() || thread_time.is_some(),
            intercepted,
            thread_time,
            clears_seen: running.clears.load(Ordering::Relaxed),
            running,
            interning: Interning::default(),
            clock_snapshots: WrittenSnapshots::default(),
            tracks: HashSet::default(),
            last_ns: 0,
            needs_opening: true,
            has_lost_schemas: false,
            lost: 0,
            asked_ns: None,
            late_ends: LateEnds::default(),
        }
    }

    /// The serial number of its instance.
    pub(crate) fn serial(&self) -> u32 {
        self.running.serial
    }

    /// Looks whether the service has asked to clear the incremental state.
    pub(crate) fn check_clears(&mut self) {
        let clears = self.running.clears.load(Ordering::Relaxed);
        self.needs_opening |= clears != self.clears_seen;
        self.clears_seen = clears;
    }

    pub(crate) fn flush(&mut self) {
        self.writer.flush();
        if self.has_late_ends() {
            let now_ns = clock::now_ns();
            if self.needs_opening {
                self.open_again(now_ns);
            }
            self.writer.flush();
        }
    }

    /// Whether ends of slices wait for memory.
    pub(crate) fn has_late_ends(&self) -> bool {
        self.late_ends.len() != 0
    }

    /// The session has ended, so nothing that is written now reaches it.
    pub(crate) fn end(mut self: Box<Self>) {
        self.lose_late_ends();
    }

    fn lose_late_ends(&mut self) {
        let late_ends = core::mem::take(&mut self.late_ends);
        LOST.fetch_add(late_ends.len() as u64, Ordering::Relaxed);
    }

    /// Writes one event; `now_ns` is the time of an event without one.
    #[inline(always)]
    pub(crate) fn write(
        &mut self,
        now_ns: u64,
        spec: &Spec<'_, '_>,
        arguments: Option<&mut Arguments<'_>>,
    ) -> Outcome {
        match self.write_short(now_ns, spec, arguments.as_deref()) {
            true => Outcome { is_stored: true, panic: None },
            false => self.write_long(now_ns, spec, arguments),
        }
    }

    /// As [`write`](Self::write), for every kind of event.
    #[inline(never)]
    fn write_long(
        &mut self,
        now_ns: u64,
        spec: &Spec<'_, '_>,
        arguments: Option<&mut Arguments<'_>>,
    ) -> Outcome {
        if self.writer.is_dropping() {
            self.retry_if_due(now_ns);
        }
        let is_ready = (!self.needs_opening || self.open_again(now_ns))
            && spec.when.clock.is_none_or(|clock| self.write_clock_snapshot(clock, now_ns))
            && spec.track.is_none_or(|track| self.describe_chain(track, now_ns, spec));
        if !is_ready {
            self.count_loss(now_ns, spec, arguments.is_some());
            return Outcome { is_stored: false, panic: None };
        }
        let had_arguments = arguments.is_some();
        let filled = match arguments {
            None if self.lost == 0 && !self.is_special => self.encode(now_ns, spec, None),
            arguments => self.encode_special(now_ns, spec, arguments),
        };
        let is_stored = !self.writer.is_dropping();
        match is_stored {
            true => (self.lost, self.asked_ns) = (0, None),
            false => self.count_loss(now_ns, spec, had_arguments),
        }
        Outcome { is_stored, panic: filled.err() }
    }

    #[cold]
    fn retry_if_due(&mut self, now_ns: u64) {
        if self.asked_ns.is_none_or(|asked_ns| now_ns.saturating_sub(asked_ns) >= RETRY_NS) {
            self.asked_ns = Some(now_ns);
            self.writer.retry();
        }
    }

    /// Encodes an event that has more than plain fields: arguments, a loss before it, or the time of the thread.
    /// Delivers it if there is an interceptor.
    #[inline(never)]
    fn encode_special(
        &mut self,
        now_ns: u64,
        spec: &Spec<'_, '_>,
        arguments: Option<&mut Arguments<'_>>,
    ) -> std::thread::Result<()> {
        let thread_time =
            if self.is_special { self.sample_thread_time(now_ns, spec) } else { None };
        let filled =
            self.encode_all(now_ns, spec, Content { lost: self.lost, thread_time, arguments });
        if self.is_special {
            self.deliver();
        }
        filled
    }

    /// The end of a slice that found no memory before. Losses and thread times belong to the next event.
    #[cold]
    fn encode_late_end(
        &mut self,
        now_ns: u64,
        spec: &Spec<'_, '_>,
        arguments: Option<&mut Arguments<'_>>,
    ) -> std::thread::Result<()> {
        self.encode_all(now_ns, spec, Content { lost: 0, thread_time: None, arguments })
    }

    /// [`encode`](Self::encode) with arguments. One copy for all callers: it is 5 KB.
    #[inline(never)]
    fn encode_all(
        &mut self,
        now_ns: u64,
        spec: &Spec<'_, '_>,
        content: Content<'_, '_>,
    ) -> std::thread::Result<()> {
        self.encode(now_ns, spec, Some(content))
    }

    /// For events on the track of the thread, if the session asks for it.
    #[cold]
    fn sample_thread_time(&mut self, now_ns: u64, spec: &Spec<'_, '_>) -> Option<i64> {
        let thread_time = self.thread_time.as_mut().filter(|_| spec.track.is_none())?;
        // The event may have another time, but the thread has used the processor until now.
        Some(thread_time.sample(now_ns))
    }

    /// Hands what was written to the interceptor, if there is one.
    #[cold]
    fn deliver(&mut self) {
        if let Some(intercepted) = &mut self.intercepted {
            intercepted.deliver(&mut self.writer);
        }
    }

    /// Inlined twice: without arguments nothing takes the address of the two writers, and they stay in registers.
    #[inline(always)]
    fn encode(
        &mut self,
        now_ns: u64,
        spec: &Spec<'_, '_>,
        content: Option<Content<'_, '_>>,
    ) -> std::thread::Result<()> {
        let settings = &self.running.settings;
        let interning = &mut self.interning;
        // Whatever can panic comes before the packet: then no unwinding takes the address of the writers.
        let stamp = stamp(&mut self.last_ns, settings, now_ns, spec.when);
        let categories = spec.members.as_ref().map_or(&[][..], Members::as_slice);
        categories.iter().for_each(|category| interning.category(category));
        let name = interning.name(spec.name, settings.drop_dynamic_names);
        let track = spec.track.map(Track::uuid);
        let place = spec.place.map(|place| interning.place(place));

        let mut packet = self.writer.new_packet();
        packet.timestamp(stamp.value);
        if let Some(clock) = stamp.clock {
            packet.timestamp_clock_id(clock);
        }
        packet.sequence_flags(NEEDS_STATE);
        let mut message = packet.track_event();
        message.r#type(spec.kind);
        for category in categories {
            message.category_iids(category.iid().into());
        }
        match name {
            WrittenName::None => {}
            WrittenName::Iid(iid) => {
                message.name_iid(iid);
            }
            WrittenName::Text(name) => {
                message.name(name);
            }
        }
        if let Some(track) = track {
            message.track_uuid(track);
        }
        if let Some(place) = place {
            message.source_location_iid(place);
        }
        match spec.value {
            None => {}
            Some(CounterValue::Int(value)) => {
                message.counter_value(value);
            }
            Some(CounterValue::Double(value)) => {
                message.double_counter_value(value);
            }
        }
        let filled = match content {
            None => Ok(()),
            Some(Content { lost, thread_time, arguments }) => {
                if let Some(value) = thread_time {
                    message.extra_counter_values(value);
                }
                fill_event(&mut message, interning, settings.drop_annotations, lost, arguments)
            }
        };
        drop(message);
        if interning.has_definitions() {
            interning.define(packet);
        }
        filled
    }

    #[cold]
    fn count_loss(&mut self, now_ns: u64, spec: &Spec<'_, '_>, had_arguments: bool) {
        self.needs_opening = true;
        self.asked_ns.get_or_insert(now_ns);
        let is_end = spec.kind == TrackEventType::TYPE_SLICE_END;
        let time_ns = spec.when.boot_ns(now_ns);
        let late = LateEnd { time_ns, track: spec.track.map(Track::uuid), had_arguments };
        if !is_end || !self.late_ends.push(late) {
            self.lost += 1;
            LOST.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Describes `track`, and its ancestors first, unless that was done. False if a description was lost.
    #[inline]
    fn describe_chain(&mut self, track: &Track<'_>, now_ns: u64, spec: &Spec<'_, '_>) -> bool {
        self.is_described(track) || self.describe_new(track, now_ns, spec.when)
    }

    #[inline]
    fn is_described(&self, track: &Track<'_>) -> bool {
        !track.needs_descriptor() || self.tracks.contains(&track.uuid())
    }

    #[cold]
    fn describe_new(&mut self, track: &Track<'_>, now_ns: u64, when: When<'_>) -> bool {
        if self.tracks.len() >= TRACKS_MAX {
            self.tracks.clear();
        }
        // Without an allocation: each future and each span may have a track of its own.
        let mut chain = [None; DEPTH_MAX];
        let mut next = Some(track);
        for place in &mut chain {
            *place = next;
            next = next.and_then(Track::parent_track);
        }
        for track in chain.into_iter().rev().flatten().filter(|track| track.needs_descriptor()) {
            // A description of an ancestor would put that below itself.
            if !self.tracks.insert(track.uuid()) || track.is_same_as_one_above() {
                continue;
            }
            let settings = &self.running.settings;
            let stamp = stamp(&mut self.last_ns, settings, now_ns, when);
            let mut packet = fields::begin(&mut self.writer, NEEDS_STATE, stamp.value);
            if let Some(clock) = stamp.clock {
                packet.timestamp_clock_id(clock);
            }
            describe(track, &mut packet.track_descriptor());
            drop(packet);
            // Looked at after each packet: the next one may find memory again.
            if self.writer.is_dropping() {
                return false;
            }
        }
        true
    }
}

impl Drop for Sequence {
    /// The thread ends, or the session.
    fn drop(&mut self) {
        if self.has_late_ends() {
            self.flush();
            self.lose_late_ends();
        }
    }
}

/// Writes the arguments. A panic in one of them is passed on when the packet is complete.
#[inline(never)]
fn fill_event(
    message: &mut TrackEventWriter<'_>,
    interning: &mut Interning,
    drop_annotations: bool,
    lost: u64,
    arguments: Option<&mut Arguments<'_>>,
) -> std::thread::Result<()> {
    let mut event = Event::new(message, interning, drop_annotations);
    if lost != 0 {
        event.lost_events(lost);
    }
    match arguments {
        None => Ok(()),
        Some(Arguments::Annotations(keys, values)) => catch_unwind(AssertUnwindSafe(|| {
            for (key, value) in keys.iter().zip(*values) {
                event.annotate_with(key, *value);
            }
        })),
        #[cfg(feature = "tracing")]
        Some(Arguments::Log(LogLine { body, priority, place })) => {
            event.log_of_site("", Some(body), *priority, *place);
            Ok(())
        }
        Some(Arguments::Closure(fill)) => catch_unwind(AssertUnwindSafe(|| fill(&mut event))),
    }
}

/// A uuid is a hash already.
#[derive(Default)]
pub(crate) struct UuidHasher(u64);

impl Hasher for UuidHasher {
    fn finish(&self) -> u64 {
        // A user's ids are in the low bits; the table looks at the high ones, too.
        self.0 ^ (self.0 << 47)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, uuid: u64) {
        self.0 = uuid;
    }
}
