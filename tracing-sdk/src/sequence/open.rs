//! The opening of a sequence: its clock, its thread and its process (track-event.md, section 5.2), and the ends of
//! slices that found no memory before.

use core::sync::atomic::Ordering;

use protos::{ClockSnapshotWriter, TrackEventDefaultsWriter};

use super::thread_time::ThreadTime;
use super::{Fill, Sequence, Spec};
use crate::event::annotate::Simple;
use crate::event::argument::Argument;
use crate::intern::StaticName;
use crate::source::settings::{
    ABSOLUTE_CLOCK, CLEARED, INCREMENTAL_CLOCK, NEEDS_STATE, Settings, TRACE_CLOCK,
};
use crate::track::Track;
use crate::track::process;

impl Sequence {
    /// Forgets what was defined, and writes the opening. False if it was lost, too.
    pub(super) fn open_again(&mut self, now_ns: u64) -> bool {
        // Before the first packet: a clear that comes later asks for another opening.
        self.clears_seen = self.running.clears.load(Ordering::Relaxed);
        self.interning.clear();
        self.tracks.clear();
        self.last_ns = now_ns;
        let settings = &self.running.settings;
        let thread = Track::current_thread().uuid();
        self.tracks.insert(thread);
        let process = Track::process().uuid();
        let pid = i32::try_from(std::process::id()).unwrap_or(0);

        let mut packet = self.writer.new_packet();
        packet.sequence_flags(CLEARED).timestamp(first_timestamp(settings, now_ns));
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

        let mut packet = self.writer.new_packet();
        packet.sequence_flags(NEEDS_STATE).timestamp(first_timestamp(settings, now_ns));
        let mut descriptor = packet.track_descriptor();
        descriptor.uuid(thread).parent_uuid(process);
        let mut description = descriptor.thread();
        description.pid(pid).tid(i64::from(os::thread::id()));
        if let Some(name) = process::thread_name() {
            description.thread_name(&name);
        }
        drop(description);
        drop(descriptor);
        drop(packet);
        // Looked at after each packet: the next one may find memory again, and could not be read without this one.
        if self.writer.is_dropping() {
            return false;
        }

        let mut packet = self.writer.new_packet();
        packet.sequence_flags(NEEDS_STATE).timestamp(first_timestamp(settings, now_ns));
        let mut descriptor = packet.track_descriptor();
        descriptor.uuid(process);
        let mut description = descriptor.process();
        description.pid(pid);
        let arguments = process::command_line();
        if let Some(name) = arguments.first() {
            description.process_name(name);
        }
        for argument in &arguments {
            description.cmdline(argument);
        }
        drop(description);
        drop(descriptor);
        drop(packet);

        self.describe_thread_time(now_ns);
        // After a loss of one of them, the next event needs another opening.
        self.needs_opening = self.writer.is_dropping() || !self.write_late_ends(now_ns);
        !self.needs_opening
    }

    fn describe_thread_time(&mut self, now_ns: u64) {
        // After a loss the sequence opens again.
        if let Some(thread_time) = &self.thread_time
            && !self.writer.is_dropping()
        {
            let mut packet = self.writer.new_packet();
            let timestamp = first_timestamp(&self.running.settings, now_ns);
            packet.sequence_flags(NEEDS_STATE).timestamp(timestamp);
            thread_time.describe(&mut packet.track_descriptor());
        }
    }

    /// Writes the ends that found no memory before. False if one finds none again.
    fn write_late_ends(&mut self, now_ns: u64) -> bool {
        static KEYS: [StaticName; 1] = [StaticName::key("lost_arguments")];
        let arguments = [Argument::Simple(Simple::bool(true))];
        let mut mark = Fill::Annotations(&KEYS, &arguments);
        while let Some(end) = self.late_ends.first() {
            // The sequence that began the slice has described its track.
            let track = end.track.map(Track::from_uuid);
            let spec = Spec { time_ns: Some(end.time_ns), ..Spec::end(track.as_ref()) };
            let fill = end.had_arguments.then_some(&mut mark);
            let _no_panic = self.encode_late_end(now_ns, &spec, fill);
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
    snapshot.clocks().clock_id(TRACE_CLOCK).timestamp(now_ns);
    let mut clock = |id, incremental| {
        let mut clock = snapshot.clocks();
        clock.clock_id(id).timestamp(now_ns / unit_ns);
        clock.is_incremental(incremental).unit_multiplier_ns(unit_ns);
    };
    if settings.clock == INCREMENTAL_CLOCK {
        clock(INCREMENTAL_CLOCK, true);
    }
    if unit_ns > 1 {
        clock(ABSOLUTE_CLOCK, false);
    }
}
