//! Tracks and clocks, which are declared before they are used.

use std::io::Write;

use protos::TrackDescriptorWriter;
use protozero::Writer;

use super::counter::CounterValue;
use super::error::WriteError;
use super::output::append;
use super::slices::Slices;
use super::spec::{CounterSpec, TrackSpec};
use super::time::{Clock, KnownClock, in_range};
use super::trace::{BOOTTIME, OWN_CLOCK_IDS, TraceFile};
use super::track::{
    CounterTrack, Kind, LanesTrack, NamedTrack, ProcessTrack, StateTrack, ThreadTrack,
};

impl<W: Write> TraceFile<W> {
    /// The track of a process. The same `pid` is the same track; its first name stays.
    pub fn process(&mut self, pid: i32, name: &str) -> ProcessTrack {
        if let Some(known) = self.processes.get(&pid) {
            return ProcessTrack(*known);
        }
        let id = self.add_track(None, Kind::Slices(Slices::default()), Some(0), |track| {
            let mut process = track.process();
            process.pid(pid);
            if !name.is_empty() {
                process.process_name(name);
            }
        });
        self.processes.insert(pid, id);
        ProcessTrack(id)
    }

    /// The track of a thread. The same `pid` and `tid` are the same track; its first name stays.
    pub fn thread(&mut self, pid: i32, tid: i64, name: &str) -> ThreadTrack {
        if let Some(known) = self.threads.get(&(pid, tid)) {
            return ThreadTrack(*known);
        }
        let id = self.add_track(None, Kind::Slices(Slices::default()), Some(0), |track| {
            let mut thread = track.thread();
            thread.pid(pid).tid(tid);
            if !name.is_empty() {
                thread.thread_name(name);
            }
        });
        self.threads.insert((pid, tid), id);
        ThreadTrack(id)
    }

    /// A track with a name. Each call makes a track; a viewer joins siblings of one name.
    pub fn track<'a>(&mut self, spec: impl Into<TrackSpec<'a>>) -> NamedTrack {
        let spec = spec.into();
        let kind = Kind::Slices(Slices::default());
        NamedTrack(self.add_track(spec.parent, kind, None, |track| spec.write(track)))
    }

    /// A track whose slices may overlap: lanes of one name, which a viewer shows as one group.
    pub fn lanes<'a>(&mut self, spec: impl Into<TrackSpec<'a>>) -> LanesTrack {
        let spec = spec.into();
        let mut descriptor = Vec::new();
        let appended = append(&mut descriptor, |scope| {
            spec.write(&mut TrackDescriptorWriter::from_scope(scope));
        });
        self.keep(appended);
        let kind = Kind::Lanes { lanes: Vec::new(), descriptor: descriptor.into() };
        let id = self.add_track(spec.parent, kind, None, |track| spec.write(track));
        if let Some(Kind::Lanes { lanes, .. }) = self.kind_mut(id) {
            lanes.push((id.uuid, Slices::default()));
        }
        LanesTrack(id)
    }

    /// A counter.
    pub fn counter_track<'a>(&mut self, spec: impl Into<CounterSpec<'a>>) -> CounterTrack {
        let spec = spec.into();
        if self.keep(spec.check()).is_none() {
            let uuid = self.new_uuid();
            return CounterTrack(self.refused_track(uuid));
        }
        let sum = spec.is_incremental.then_some(CounterValue::ZERO);
        CounterTrack(self.add_track(spec.track.parent, Kind::Counter { sum }, None, |track| {
            spec.track.write(track);
            // The message must be there, also without fields.
            spec.write(&mut track.counter());
        }))
    }

    /// A track that shows one state at a time.
    pub fn state_track<'a>(&mut self, spec: impl Into<TrackSpec<'a>>) -> StateTrack {
        let spec = spec.into();
        StateTrack(self.add_track(spec.parent, Kind::State, None, |track| {
            spec.write(track);
            track.state();
        }))
    }

    /// Declares a built-in clock, such as REALTIME (1) or MONOTONIC (3): its time `value` is the trace's time
    /// `trace_ns`, both in ns.
    ///
    /// # Errors
    /// The id is that of BOOTTIME, which is the trace's own clock, is none of a built-in clock, or was declared.
    pub fn clock(&mut self, id: u32, value: u64, trace_ns: u64) -> Result<Clock, WriteError> {
        let is_known = self.clocks.iter().any(|clock| clock.id == id);
        if is_known || !(1..=63).contains(&id) || id == BOOTTIME {
            return Err(WriteError::BadClock);
        }
        self.add_clock(KnownClock { id, unit_ns: 1, value, trace_ns })
    }

    /// Declares a clock of one's own with units of `unit_ns` nanoseconds: its time `value` is the trace's time
    /// `trace_ns`.
    ///
    /// # Errors
    /// The unit is 0, or there are 62 such clocks.
    pub fn own_clock(
        &mut self,
        unit_ns: u64,
        value: u64,
        trace_ns: u64,
    ) -> Result<Clock, WriteError> {
        if unit_ns == 0 {
            return Err(WriteError::BadClock);
        }
        let id = self.next_own_clock;
        if !OWN_CLOCK_IDS.contains(&id) {
            return Err(WriteError::TooManyClocks);
        }
        self.next_own_clock += 1;
        self.add_clock(KnownClock { id, unit_ns, value, trace_ns })
    }

    /// Relates a clock to the trace's clock once more, because they drift apart.
    ///
    /// # Errors
    /// The clock is of another trace, one of the times is earlier than at the call before, or the packet cannot be
    /// written.
    pub fn sync_clock(
        &mut self,
        clock: Clock,
        value: u64,
        trace_ns: u64,
    ) -> Result<(), WriteError> {
        let mut known = *self.known_clock(clock)?;
        let (latest, latest_ns) = (known.value, known.trace_ns);
        if value < latest {
            return Err(WriteError::ClockWentBack { value, latest });
        }
        if trace_ns < latest_ns {
            return Err(WriteError::TraceTimeWentBack { trace_ns, latest_ns });
        }
        (known.value, known.trace_ns) = (value, in_range(trace_ns)?);
        self.write_snapshot(known)?;
        if let Some(slot) = self.clocks.get_mut(clock.idx as usize) {
            *slot = known;
        }
        Ok(())
    }
}
