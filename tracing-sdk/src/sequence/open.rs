//! The opening of a sequence: its clock, its thread and its process (`ResetIncrementalState` in
//! `track_event_internal.cc`), and the ends of slices that found no memory before.

use core::sync::atomic::Ordering;

use protos::{ClockSnapshotWriter, TrackEventDefaultsWriter};
use protozero::Writer as _;

use super::thread_time::ThreadTime;
use super::{Arguments, Sequence, Spec};
use crate::clock::event_time::{CustomClock, When};
use crate::event::annotate::Simple;
use crate::event::annotation_value::AnnotationValue;
use crate::event::schema;
use crate::fields;
use crate::intern::StaticName;
use crate::source::settings::{
    ABSOLUTE_CLOCK, CLEARED, INCREMENTAL_CLOCK, NEEDS_STATE, Settings, TRACE_CLOCK,
};
use crate::track::Track;
use crate::track::describe::thread_field;
use crate::track::{describe, process};

/// Fields of `ProcessDescriptor` (`process_descriptor.proto`).
mod process_field {
    pub(super) const PID: u32 = 1;
    pub(super) const CMDLINE: u32 = 2;
    pub(super) const PROCESS_NAME: u32 = 6;
}

/// Fields of `ClockSnapshot.Clock` (`clock_snapshot.proto`).
mod clock_field {
    pub(super) const CLOCK_ID: u32 = 1;
    pub(super) const TIMESTAMP: u32 = 2;
    pub(super) const IS_INCREMENTAL: u32 = 3;
    pub(super) const UNIT_MULTIPLIER_NS: u32 = 4;
}

impl Sequence {
    /// Forgets what was defined, and writes the opening. False if it was lost, too.
    pub(super) fn open_again(&mut self, now_ns: u64) -> bool {
        // Before the first packet: a clear that comes later asks for another opening.
        self.clears_seen = self.running.clears.load(Ordering::Relaxed);
        self.interning.clear();
        self.clock_snapshots.clear();
        self.tracks.clear();
        self.last_ns = now_ns;
        let settings = &self.running.settings;
        let thread = Track::current_thread().uuid();
        self.tracks.insert(thread);
        let process = Track::process().uuid();
        let pid = std::process::id().into();

        let timestamp = first_timestamp(settings, now_ns);
        let mut packet = fields::begin(&mut self.writer, CLEARED, timestamp);
        let mut defaults = packet.trace_packet_defaults();
        defaults.timestamp_clock_id(settings.clock);
        let thread_time = self.thread_time.as_deref_mut();
        event_defaults(thread, thread_time, defaults.track_event_defaults());
        drop(defaults);
        if settings.clock != TRACE_CLOCK {
            snapshot(settings, now_ns, packet.clock_snapshot());
        }
        drop(packet);
        // Looked at after each packet: the next one may find memory again, and could not be read without this one.
        if self.writer.is_dropping() {
            return false;
        }

        let mut packet = fields::begin(&mut self.writer, NEEDS_STATE, timestamp);
        let mut descriptor = packet.track_descriptor();
        describe::begin(&mut descriptor, thread, Some(process));
        let mut description = descriptor.thread();
        let out = description.scope_mut();
        fields::number(out, thread_field::PID, pid);
        fields::number(out, thread_field::TID, os::thread::id().into());
        if let Some(name) = process::thread_name() {
            fields::text(out, thread_field::THREAD_NAME, name.as_bytes());
        }
        drop(description);
        drop(descriptor);
        drop(packet);
        // Looked at after each packet: the next one may find memory again, and could not be read without this one.
        if self.writer.is_dropping() {
            return false;
        }

        let mut packet = fields::begin(&mut self.writer, NEEDS_STATE, timestamp);
        let mut descriptor = packet.track_descriptor();
        describe::begin(&mut descriptor, process, None);
        let mut description = descriptor.process();
        let out = description.scope_mut();
        fields::number(out, process_field::PID, pid);
        let arguments = process::command_line();
        if let Some(name) = arguments.first() {
            fields::text(out, process_field::PROCESS_NAME, name.as_bytes());
        }
        for argument in arguments.iter() {
            fields::text(out, process_field::CMDLINE, argument.as_bytes());
        }
        drop(description);
        drop(descriptor);
        drop(packet);

        self.describe_thread_time(now_ns);
        self.write_schemas();
        // After a loss of one of them, the next event needs another opening.
        self.needs_opening = self.writer.is_dropping() || !self.write_late_ends(now_ns);
        !self.needs_opening
    }

    /// Writes the newest snapshot of the clock of an event, unless that was done. False if it was lost.
    #[cold]
    pub(super) fn write_clock_snapshot(&mut self, clock: &CustomClock, now_ns: u64) -> bool {
        let written = clock.id().map_or(0, |id| self.clock_snapshots.version(id));
        let Some(snapshot) = clock.newer(written) else { return true };
        self.clock_snapshots.set(snapshot.id, snapshot.version);
        let timestamp = first_timestamp(&self.running.settings, now_ns);
        let mut packet = fields::begin(&mut self.writer, NEEDS_STATE, timestamp);
        let mut message = packet.clock_snapshot();
        write_clock(&mut message, TRACE_CLOCK, snapshot.boot_ns, None);
        write_clock(&mut message, snapshot.id, snapshot.value, Some((false, snapshot.unit_ns)));
        drop(message);
        drop(packet);
        !self.writer.is_dropping()
    }

    fn write_schemas(&mut self) {
        // After a loss the sequence opens again: without schemas, if they were lost. They may be larger than shared
        // memory, and would take all events with them.
        if !self.writer.is_dropping() && !core::mem::take(&mut self.has_lost_schemas) {
            schema::write(&mut self.writer);
            self.has_lost_schemas = self.writer.is_dropping();
        }
    }

    fn describe_thread_time(&mut self, now_ns: u64) {
        // After a loss the sequence opens again.
        if let Some(thread_time) = &self.thread_time
            && !self.writer.is_dropping()
        {
            let timestamp = first_timestamp(&self.running.settings, now_ns);
            let mut packet = fields::begin(&mut self.writer, NEEDS_STATE, timestamp);
            thread_time.describe(&mut packet.track_descriptor());
        }
    }

    /// Writes the ends that found no memory before. False if one finds none again.
    fn write_late_ends(&mut self, now_ns: u64) -> bool {
        static KEYS: [StaticName; 1] = [StaticName::key("lost_arguments")];
        let arguments = [AnnotationValue::Simple(Simple::bool(true))];
        let mut mark = Arguments::Annotations(&KEYS, &arguments);
        while let Some(end) = self.late_ends.first() {
            // The sequence that began the slice has described its track.
            let track = end.track.map(Track::from_uuid);
            let spec = Spec { when: When::boot(end.time_ns), ..Spec::end(track.as_ref()) };
            let arguments = end.had_arguments.then_some(&mut mark);
            let _no_panic = self.encode_late_end(now_ns, &spec, arguments);
            if self.writer.is_dropping() {
                return false;
            }
            self.late_ends.remove_first();
        }
        true
    }
}

/// The fields of each event that has none of its own.
fn event_defaults(
    thread: u64,
    thread_time: Option<&mut ThreadTime>,
    mut defaults: TrackEventDefaultsWriter<'_>,
) {
    defaults.track_uuid(thread);
    if let Some(thread_time) = thread_time {
        thread_time.open(&mut defaults);
    }
}

/// The timestamp of a packet at the moment of the opening.
fn first_timestamp(settings: &Settings, now_ns: u64) -> u64 {
    match settings.clock {
        INCREMENTAL_CLOCK => 0,
        _ => now_ns / settings.unit_ns,
    }
}

/// One moment on all clocks of the sequence.
fn snapshot(settings: &Settings, now_ns: u64, mut snapshot: ClockSnapshotWriter<'_>) {
    let unit_ns = settings.unit_ns;
    let mut clock = |id: u32, is_incremental: bool, unit_ns: u64| {
        let form = (id != TRACE_CLOCK).then_some((is_incremental, unit_ns));
        write_clock(&mut snapshot, id, now_ns / unit_ns, form);
    };
    let clocks = [
        (true, TRACE_CLOCK, 1),
        (settings.clock == INCREMENTAL_CLOCK, INCREMENTAL_CLOCK, unit_ns),
        (unit_ns > 1, ABSOLUTE_CLOCK, unit_ns),
    ];
    for (_, id, unit_ns) in clocks.into_iter().filter(|(is_there, ..)| *is_there) {
        clock(id, id == INCREMENTAL_CLOCK, unit_ns);
    }
}

/// The time of one clock. The last value says whether its times are differences, and how many nanoseconds it takes to
/// count one further; none: the trace clock, which counts nanoseconds.
fn write_clock(
    snapshot: &mut ClockSnapshotWriter<'_>,
    id: u32,
    value: u64,
    form: Option<(bool, u64)>,
) {
    let mut clock = snapshot.clocks();
    let out = clock.scope_mut();
    fields::number(out, clock_field::CLOCK_ID, id.into());
    fields::number(out, clock_field::TIMESTAMP, value);
    if let Some((is_incremental, unit_ns)) = form {
        fields::number(out, clock_field::IS_INCREMENTAL, is_incremental.into());
        fields::number(out, clock_field::UNIT_MULTIPLIER_NS, unit_ns);
    }
}
