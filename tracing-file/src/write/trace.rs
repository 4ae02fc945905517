//! A trace that is being written: its tracks, clocks and packets.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use protos::{
    InternedDataWriter, TracePacketWriter, TrackDescriptorWriter, TrackEventType, TrackEventWriter,
};
use protozero::Writer;

use super::counter::CounterValue;
use super::error::WriteError;
use super::intern::Interner;
use super::options::TraceOptions;
use super::output::{Output, append};
use super::time::{Clock, KnownClock, Timestamp, in_range};
use super::track::{Kind, KnownTrack, TrackId};

/// A descriptor fails in a reader that finds 100 levels (`track_event_track_hierarchy_too_deep`).
const DEPTH_MAX: u32 = 98;

/// Clocks of a sequence have ids below 128. 64 and 65 are those of the SDK's own deltas.
pub(super) const OWN_CLOCK_IDS: std::ops::Range<u32> = 66..128;

/// `BUILTIN_CLOCK_BOOTTIME`.
pub(super) const BOOTTIME: u32 = 6;

/// The clock of differences, if these are on.
const DELTA_CLOCK: u32 = 64;

/// Tells traces of one program apart, so that a track of one is not used in another.
static NEXT_TRACE: AtomicU32 = AtomicU32::new(0);

/// A trace that is being written. Its memory does not depend on the number of events, only on that of tracks.
///
/// Events that break a rule are refused, and the others are written. [`finish`](Self::finish) returns the first
/// refusal; [`Event::emit`](super::Event::emit) returns that of one event at once.
#[derive(Debug)]
#[must_use = "`finish` writes the end of the trace and reports errors"]
pub struct TraceFile<W: Write> {
    pub(super) out: Output<W>,
    pub(super) options: TraceOptions,
    pub(super) trace: u32,
    pub(super) tracks: Vec<KnownTrack>,
    /// Uuids of what the kernel has numbers for: each has one track.
    pub(super) processes: BTreeMap<i32, TrackId>,
    pub(super) threads: BTreeMap<(i32, i64), TrackId>,
    pub(super) clocks: Vec<KnownClock>,
    pub(super) next_own_clock: u32,
    next_uuid: u64,
    pub(super) next_flow: u64,
    pub(super) names: Interner<Box<str>>,
    pub(super) categories: Interner<Box<str>>,
    pub(super) arg_names: Interner<Box<str>>,
    pub(super) log_bodies: Interner<Box<str>>,
    pub(super) locations: super::location::Locations,
    /// Body of the `TrackEvent` in the making.
    pub(super) fields: Vec<u8>,
    /// Body of the `InternedData` that the next event brings along.
    pub(super) interned: Vec<u8>,
    /// Flags 1 were written.
    is_sequence_open: bool,
    /// Time of the last event, and the track that events have by default, if timestamps are differences.
    delta: Option<(u64, u64)>,
    pub(super) open_slices: u64,
    pub(super) event_count: u64,
    refused: Option<(u64, u64, WriteError)>,
}

impl<W: Write> TraceFile<W> {
    /// A trace that goes to `out`, which needs no buffer of its own.
    ///
    /// # Errors
    /// None today; a header of a trace would be written here.
    pub fn create(out: W) -> Result<Self, WriteError> {
        TraceOptions::default().create(out)
    }

    fn with_options(out: W, options: TraceOptions) -> Self {
        Self {
            out: Output::new(out),
            options,
            trace: NEXT_TRACE.fetch_add(1, Ordering::Relaxed),
            tracks: Vec::new(),
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
            clocks: Vec::new(),
            next_own_clock: OWN_CLOCK_IDS.start,
            next_uuid: options.id_base,
            next_flow: options.id_base,
            names: Interner::default(),
            categories: Interner::default(),
            arg_names: Interner::default(),
            log_bodies: Interner::default(),
            locations: super::location::Locations::default(),
            fields: Vec::new(),
            interned: Vec::new(),
            is_sequence_open: false,
            delta: None,
            open_slices: 0,
            event_count: 0,
            refused: None,
        }
    }

    /// A packet of one's own, on the sequence of this trace if `on_sequence`. The rules of this type do not hold for
    /// it: see [`lint`](crate::lint).
    ///
    /// # Errors
    /// The packet is too long or cannot be written.
    pub fn packet(
        &mut self,
        on_sequence: bool,
        fill: impl FnOnce(&mut TracePacketWriter<'_>),
    ) -> Result<(), WriteError> {
        let id = self.options.sequence_id;
        self.out.packet(|packet| {
            if on_sequence {
                packet.trusted_packet_sequence_id(id);
            }
            fill(packet);
        })
    }

    /// Writes what is left. The trace is complete then.
    ///
    /// # Errors
    /// The output fails, which is told first, slices are open, or events were refused whose errors nobody has seen.
    pub fn finish(mut self) -> Result<(), WriteError> {
        let flushed = self.out.flush();
        let refused = self.refused.take();
        if let Some((_, _, error @ WriteError::Io(_))) = refused {
            return Err(error);
        }
        flushed?;
        if let Some((count, event_idx, first)) = refused {
            return Err(WriteError::Refused { count, event_idx, first: Box::new(first) });
        }
        match self.open_slices {
            0 => Ok(()),
            count => Err(WriteError::OpenSlices { count }),
        }
    }

    /// Writes what is collected so far, so that others see it.
    ///
    /// # Errors
    /// The output fails.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.out.flush()
    }

    /// The output.
    pub fn get_mut(&mut self) -> &mut W {
        self.out.get_mut()
    }

    /// Keeps the error of an event that nobody asked for: the first one, or that of the output.
    pub(super) fn keep<T>(&mut self, result: Result<T, WriteError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let idx = self.event_count.saturating_sub(1);
                match &mut self.refused {
                    Some((count, _, first)) => {
                        *count += 1;
                        if matches!(error, WriteError::Io(_)) {
                            *first = error;
                        }
                    }
                    none => *none = Some((1, idx, error)),
                }
                None
            }
        }
    }

    pub(super) fn kind_mut(&mut self, id: TrackId) -> Option<&mut Kind> {
        if id.trace != self.trace {
            return None;
        }
        self.tracks.get_mut(id.idx as usize).map(|track| &mut track.kind)
    }

    /// A uuid that no track of this trace has.
    pub(super) fn new_uuid(&mut self) -> u64 {
        self.next_uuid = self.next_uuid.wrapping_add(1);
        self.next_uuid
    }

    pub(super) fn add_track(
        &mut self,
        parent: Option<TrackId>,
        kind: Kind,
        timestamp: Option<u64>,
        describe: impl FnOnce(&mut TrackDescriptorWriter<'_>),
    ) -> TrackId {
        let uuid = self.new_uuid();
        let idx = u32::try_from(self.tracks.len()).unwrap_or(u32::MAX);
        let depth = match parent {
            None => Ok(0),
            Some(id) if id.trace != self.trace => Err(WriteError::Foreign),
            Some(id) => match self.tracks.get(id.idx as usize) {
                Some(parent) if parent.depth >= DEPTH_MAX => Err(WriteError::TracksTooDeep),
                Some(parent) => Ok(parent.depth + 1),
                None => Err(WriteError::Foreign),
            },
        };
        let Some(depth) = self.keep(depth) else { return self.refused_track(uuid) };
        let written = self.out.packet(|packet| {
            if let Some(timestamp) = timestamp {
                packet.timestamp(timestamp);
            }
            let mut track = packet.track_descriptor();
            track.uuid(uuid);
            describe(&mut track);
        });
        self.keep(written);
        self.tracks.push(KnownTrack { depth, kind });
        TrackId { trace: self.trace, idx, uuid }
    }

    /// A track that is not in the trace. Its events are refused, too.
    pub(super) fn refused_track(&self, uuid: u64) -> TrackId {
        TrackId { trace: self.trace, idx: u32::MAX, uuid }
    }

    pub(super) fn known_clock(&self, clock: Clock) -> Result<&KnownClock, WriteError> {
        let known = self.clocks.get(clock.idx as usize);
        known.filter(|_| clock.trace == self.trace).ok_or(WriteError::Foreign)
    }

    pub(super) fn add_clock(&mut self, clock: KnownClock) -> Result<Clock, WriteError> {
        in_range(clock.trace_ns)?;
        self.write_snapshot(clock)?;
        let idx = u32::try_from(self.clocks.len()).unwrap_or(u32::MAX);
        self.clocks.push(clock);
        Ok(Clock { trace: self.trace, idx })
    }

    pub(super) fn write_snapshot(&mut self, clock: KnownClock) -> Result<(), WriteError> {
        let id = self.options.sequence_id;
        self.out.packet(|packet| {
            packet.trusted_packet_sequence_id(id);
            let mut snapshot = packet.clock_snapshot();
            snapshot.clocks().clock_id(BOOTTIME).timestamp(clock.trace_ns);
            let mut own = snapshot.clocks();
            own.clock_id(clock.id).timestamp(clock.value);
            if OWN_CLOCK_IDS.contains(&clock.id) {
                own.unit_multiplier_ns(clock.unit_ns);
            }
        })
    }

    /// The time of the trace.
    pub(super) fn trace_ns(&self, at: Timestamp) -> Result<u64, WriteError> {
        match at.clock {
            None => in_range(at.value),
            Some(clock) => self.known_clock(clock)?.trace_ns(at.value),
        }
    }

    /// Lets incremental counters begin at 0 again if the next event opens the sequence: its flag 1 makes readers forget
    /// the sums of earlier values.
    pub(super) fn restart_sums(&mut self) {
        if self.is_sequence_open || self.interned.is_empty() {
            return;
        }
        for track in &mut self.tracks {
            if let Kind::Counter { sum: Some(sum) } = &mut track.kind {
                *sum = CounterValue::ZERO;
            }
        }
    }

    /// Writes the packet of an event on the track `uuid`, with the fields that are collected.
    pub(super) fn write_event(
        &mut self,
        of: TrackEventType,
        uuid: u64,
        at: Timestamp,
    ) -> Result<(), WriteError> {
        let at_ns = self.trace_ns(at)?;
        let clock = at.clock.map(|clock| self.known_clock(clock).copied()).transpose()?;
        let is_delta = self.options.delta_timestamps;
        if is_delta && self.delta.is_none() {
            self.open_sequence(uuid, at_ns)?;
        }
        let (mut stamp, mut clock_id) = (at.value, clock.map(|clock| clock.id));
        let mut track = Some(uuid);
        if let Some((last_ns, default)) = &mut self.delta {
            if clock.is_some() {
            } else if at_ns >= *last_ns {
                stamp = at_ns - *last_ns;
                *last_ns = at_ns;
            } else {
                clock_id = Some(BOOTTIME);
            }
            track = track.filter(|uuid| uuid != default);
        }
        let interned = &self.interned;
        let flags = match (self.is_sequence_open, interned.is_empty()) {
            (true, _) => Some(2),
            (false, false) => Some(3),
            (false, true) => None,
        };
        let (id, fields) = (self.options.sequence_id, &self.fields);
        self.out.packet(|packet| {
            packet.timestamp(stamp).trusted_packet_sequence_id(id);
            if let Some(clock_id) = clock_id {
                packet.timestamp_clock_id(clock_id);
            }
            if let Some(flags) = flags {
                packet.sequence_flags(flags);
            }
            if !interned.is_empty() {
                packet.interned_data_raw(interned);
            }
            let mut event = packet.track_event();
            event.r#type(of);
            if let Some(track) = track {
                event.track_uuid(track);
            }
            event.append_raw(fields);
        })?;
        self.is_sequence_open |= flags.is_some();
        self.interned.clear();
        Ok(())
    }

    /// The first packet of a sequence with differences of time.
    fn open_sequence(&mut self, track: u64, at_ns: u64) -> Result<(), WriteError> {
        let id = self.options.sequence_id;
        self.out.packet(|packet| {
            packet.trusted_packet_sequence_id(id).timestamp(0).sequence_flags(1);
            let mut defaults = packet.trace_packet_defaults();
            defaults.timestamp_clock_id(DELTA_CLOCK);
            defaults.track_event_defaults().track_uuid(track);
            drop(defaults);
            let mut snapshot = packet.clock_snapshot();
            snapshot.clocks().clock_id(BOOTTIME).timestamp(at_ns);
            let mut delta = snapshot.clocks();
            delta.clock_id(DELTA_CLOCK).timestamp(at_ns);
            delta.is_incremental(true).unit_multiplier_ns(1);
        })?;
        self.delta = Some((at_ns, track));
        self.is_sequence_open = true;
        Ok(())
    }

    /// Appends fields to the event in the making.
    pub(super) fn put(
        &mut self,
        fill: impl FnOnce(&mut TrackEventWriter<'_>),
    ) -> Result<(), WriteError> {
        append(&mut self.fields, |scope| fill(&mut TrackEventWriter::from_scope(scope)))
    }

    /// Appends entries to the interned data in the making.
    pub(super) fn define(
        &mut self,
        fill: impl FnOnce(&mut InternedDataWriter<'_>),
    ) -> Result<(), WriteError> {
        append(&mut self.interned, |scope| fill(&mut InternedDataWriter::from_scope(scope)))
    }
}

impl<W: Write> Drop for TraceFile<W> {
    /// Writes what is collected, as a `BufWriter` does; its error is lost.
    fn drop(&mut self) {
        let _ = self.out.flush();
    }
}

impl TraceOptions {
    /// A trace that goes to `out`.
    ///
    /// # Errors
    /// None today; a header of a trace would be written here.
    pub fn create<W: Write>(self, out: W) -> Result<TraceFile<W>, WriteError> {
        Ok(TraceFile::with_options(out, self))
    }
}
