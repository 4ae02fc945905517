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
//! [`thread`] finds the sequences of the calling thread; [`intern`] numbers names; [`open`] writes the opening.

pub(crate) mod intern;
mod open;
pub(crate) mod thread;

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use client::write::{BufferExhaustedPolicy, TraceWriter};
use protos::{TracePacketWriter, TrackEventType};

use self::intern::{Interning, StaticName};
use crate::category::Members;
use crate::event::Event;
use crate::source::Running;
use crate::source::settings::{ABSOLUTE_CLOCK, INCREMENTAL_CLOCK, TRACE_CLOCK};
use crate::track::{Track, describe};

/// `SEQ_NEEDS_INCREMENTAL_STATE`: the packet cannot be read without those before it.
const NEEDS_STATE: u32 = 2;
/// How many tracks a sequence remembers; then it forgets all and describes them again.
const TRACKS_MAX: usize = 8192;
/// The longest chain of parents. Readers refuse 100 levels.
const DEPTH_MAX: usize = 90;

/// Events of this process that were lost because shared memory was full.
static LOST: AtomicU64 = AtomicU64::new(0);

/// How many events of this process were lost so far, all sessions together, because shared memory was full when they
/// were to be written.
#[must_use]
pub fn lost_events() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// What an event is, without its arguments.
pub(crate) struct Spec<'a> {
    pub(crate) kind: TrackEventType,
    pub(crate) members: Option<Members>,
    pub(crate) name: EventName<'a>,
    /// None: the track of the thread.
    pub(crate) track: Option<&'a Track<'a>>,
    /// Time of the event on the trace clock, ns; none: now.
    pub(crate) time_ns: Option<u64>,
}

/// The name of an event.
#[derive(Clone, Copy)]
pub(crate) enum EventName<'a> {
    None,
    Static(&'static StaticName),
    /// Written in full.
    Dynamic(&'a str),
    /// Written in full once for each sequence.
    Interned(&'a str),
}

/// Writes the arguments of an event.
pub(crate) type Fill<'f> = dyn FnMut(&mut Event<'_, '_>) + 'f;

/// See the [module](self).
pub(crate) struct Sequence {
    running: Arc<Running>,
    writer: TraceWriter,
    interning: Interning,
    /// Tracks that are described.
    tracks: HashSet<u64, BuildHasherDefault<UuidHasher>>,
    /// Time of the last packet on the incremental clock.
    last_ns: u64,
    clears_seen: u32,
    needs_opening: bool,
    /// An event is being written; stays set if its arguments panicked.
    in_event: bool,
    /// Lost since the last event that was written.
    lost: u64,
}

impl Sequence {
    pub(crate) fn new(running: Arc<Running>) -> Self {
        let policy = running.instance.policy_or(BufferExhaustedPolicy::Drop);
        Self {
            writer: running.instance.trace_writer(policy),
            clears_seen: running.clears.load(Ordering::Relaxed),
            running,
            interning: Interning::default(),
            tracks: HashSet::default(),
            last_ns: 0,
            needs_opening: true,
            in_event: false,
            lost: 0,
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
    }

    /// Writes one event; `now_ns` is the time of an event without one.
    pub(crate) fn write(&mut self, now_ns: u64, spec: &Spec<'_>, fill: Option<&mut Fill<'_>>) {
        if (self.needs_opening || self.in_event) && !self.recover(now_ns) {
            return self.count_loss();
        }
        if let Some(track) = spec.track {
            self.describe_chain(track, now_ns, spec.time_ns);
        }
        self.in_event = true;
        let settings = &self.running.settings;
        let mut open =
            OpenPacket { packet: self.writer.new_packet(), interning: &mut self.interning };
        let OpenPacket { packet, interning } = &mut open;
        stamp(packet, &mut self.last_ns, settings.clock, settings.unit_ns, now_ns, spec.time_ns);
        packet.sequence_flags(NEEDS_STATE);
        let mut message = packet.track_event();
        message.r#type(spec.kind);
        match spec.members {
            None => {}
            Some(Members::One(category)) => {
                message.category_iids(interning.category(category));
            }
            Some(Members::Many(members)) => {
                for category in members {
                    message.category_iids(interning.category(category));
                }
            }
        }
        match spec.name {
            EventName::Static(name) => match interning.event_name(name) {
                0 => {
                    message.name(name.text());
                }
                iid => {
                    message.name_iid(iid);
                }
            },
            EventName::None => {}
            EventName::Dynamic(_) | EventName::Interned(_) if settings.drop_dynamic_names => {
                message.name("FILTERED");
            }
            EventName::Dynamic(name) => {
                message.name(name);
            }
            EventName::Interned(name) => match interning.dynamic_event_name(name) {
                Some(iid) => {
                    message.name_iid(iid);
                }
                None => {
                    message.name(name);
                }
            },
        }
        if let Some(track) = spec.track {
            message.track_uuid(track.uuid());
        }
        let mut event = Event::new(&mut message, interning, settings.drop_annotations);
        if self.lost != 0 {
            event.lost_events(self.lost);
        }
        if let Some(fill) = fill {
            fill(&mut event);
        }
        drop(message);
        drop(open);
        self.in_event = false;
        match self.writer.is_dropping() {
            false => self.lost = 0,
            true => self.count_loss(),
        }
    }

    /// Prepares an event that cannot simply follow the last one. False if it is lost.
    #[cold]
    #[inline(never)]
    fn recover(&mut self, now_ns: u64) -> bool {
        if core::mem::take(&mut self.in_event) && self.writer.is_dropping() {
            // An argument of the last event panicked, and the event was lost, too.
            self.count_loss();
        }
        !self.needs_opening || self.open_again(now_ns)
    }

    #[cold]
    fn count_loss(&mut self) {
        self.needs_opening = true;
        self.lost += 1;
        LOST.fetch_add(1, Ordering::Relaxed);
    }

    /// Describes `track`, and its ancestors first, unless that was done.
    #[inline]
    fn describe_chain(&mut self, track: &Track<'_>, now_ns: u64, time_ns: Option<u64>) {
        if track.needs_descriptor() && !self.tracks.contains(&track.uuid()) {
            self.describe_new(track, now_ns, time_ns);
        }
    }

    #[cold]
    fn describe_new(&mut self, track: &Track<'_>, now_ns: u64, time_ns: Option<u64>) {
        if self.tracks.len() >= TRACKS_MAX {
            self.tracks.clear();
        }
        let mut chain = vec![track];
        while let Some(parent) = chain.last().and_then(|track| track.parent_track()) {
            if chain.len() >= DEPTH_MAX {
                break;
            }
            chain.push(parent);
        }
        for track in chain.into_iter().rev().filter(|track| track.needs_descriptor()) {
            if !self.tracks.insert(track.uuid()) {
                continue;
            }
            let settings = &self.running.settings;
            let mut packet = self.writer.new_packet();
            stamp(
                &mut packet,
                &mut self.last_ns,
                settings.clock,
                settings.unit_ns,
                now_ns,
                time_ns,
            );
            packet.sequence_flags(NEEDS_STATE);
            describe(track, &mut packet.track_descriptor());
        }
    }
}

/// A packet that defines the names it uses when it ends, also if an argument panics.
struct OpenPacket<'w, 'i> {
    packet: TracePacketWriter<'w>,
    interning: &'i mut Interning,
}

impl Drop for OpenPacket<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        if self.interning.has_news() {
            self.interning.define(&mut self.packet.interned_data());
        }
    }
}

/// Writes the time of a packet (track-event.md, section 6.3).
#[inline]
fn stamp(
    packet: &mut TracePacketWriter<'_>,
    last_ns: &mut u64,
    clock: u32,
    unit_ns: u64,
    now_ns: u64,
    time_ns: Option<u64>,
) {
    if let Some(time_ns) = time_ns {
        packet.timestamp(time_ns);
        if clock != TRACE_CLOCK {
            packet.timestamp_clock_id(TRACE_CLOCK);
        }
        return;
    }
    match clock {
        INCREMENTAL_CLOCK if now_ns >= *last_ns && unit_ns == 1 => {
            packet.timestamp(now_ns - *last_ns);
            *last_ns = now_ns;
        }
        INCREMENTAL_CLOCK if now_ns >= *last_ns => {
            let units = (now_ns - *last_ns) / unit_ns;
            packet.timestamp(units);
            // What is left over counts for the next packet.
            *last_ns += units * unit_ns;
        }
        // The clock went back. That does not happen to clocks of the kernel.
        INCREMENTAL_CLOCK if unit_ns == 1 => {
            packet.timestamp(now_ns).timestamp_clock_id(TRACE_CLOCK);
        }
        INCREMENTAL_CLOCK => {
            packet.timestamp(now_ns / unit_ns).timestamp_clock_id(ABSOLUTE_CLOCK);
        }
        _ => {
            packet.timestamp(now_ns / unit_ns);
        }
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
