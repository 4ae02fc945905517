//! Checks the packets that the service itself writes. Each kind has its rule:
//!
//! | packet | rule |
//! |---|---|
//! | clock snapshot | all clocks, at one instant of an input; never back |
//! | marker | the bytes that readers look for |
//! | config, uuid, system | once, before the first packet of a producer, with the session's values |
//! | trigger | a producer fired it at that time, the config has it for that producer, and no limit is exceeded |
//! | event | in order of time, none before the session, begin and end once |
//! | concurrent session | that session exists, and the config asks for these events |
//! | statistics | consistent, and never decreasing |

use protos::{
    ClockSnapshot, ConcurrentSessionEvent, TraceConfig, TracePacket, TracePacketData as Data,
    TraceStats, TracingServiceEvent, TracingServiceEventEventType as Event, Trigger,
};
use protozero::Message as _;

use super::history::History;
use super::model::Known;
use super::sessions::Facts;
use super::shape::Filter;
use service::{TraceUuid, limits};

const MARKER: &[u8] = b"\x82\x47\x7a\x76\xb2\x8d\x42\xba\x81\xdc\x33\x32\x6d\x57\xa0\x79";

/// Checks the service's packets of one session.
#[derive(Debug, Default)]
pub(super) struct ServicePacketCheck {
    has_config: bool,
    has_uuid: bool,
    has_system: bool,
    has_provenance: bool,
    started: bool,
    ended: bool,
    snapshot_ns: Option<u64>,
    event_ns: u64,
    triggers: Vec<(u64, String)>,
    stats: Option<TraceStats>,
}

impl ServicePacketCheck {
    /// The first packet of a producer follows: the packets of the service that a reader needs must be there.
    ///
    /// # Errors
    /// The one that is missing.
    pub(super) fn producers_follow(&self, session: &Facts, honest: bool) -> Result<(), String> {
        if session.is_limited() {
            // Its file may be too small for them.
            return Ok(());
        }
        let builtin = session.builtin();
        let system = builtin.disable_system_info == Some(true)
            || Filter::of(&session.config) == Some(Filter::System);
        let there = [
            ("config", self.has_config || builtin.disable_trace_config == Some(true)),
            ("uuid", self.has_uuid),
            ("system", self.has_system || system),
            ("provenance", self.has_provenance),
            (
                "clock snapshot",
                // A hostile producer may write before the session starts.
                !honest
                    || self.snapshot_ns.is_some()
                    || builtin.disable_clock_snapshotting == Some(true),
            ),
        ];
        match there.into_iter().find(|(_, there)| !there) {
            Some((what, _)) => Err(format!("session {} without {what}", session.id)),
            None => Ok(()),
        }
    }

    /// A packet of the service.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub(super) fn packet(
        &mut self,
        known: &mut Known<'_>,
        session: &Facts,
        bytes: &[u8],
    ) -> Result<(), String> {
        let packet = TracePacket::decode(bytes).map_err(|e| format!("the service wrote: {e}"))?;
        let at_ns = packet.timestamp;
        let checked = match &packet.data {
            Some(Data::ClockSnapshot(snapshot)) => self.clocks(known.history, session, snapshot),
            Some(Data::SynchronizationMarker(marker)) => is(marker == MARKER),
            Some(Data::TraceConfig(config)) => {
                let first = !std::mem::replace(&mut self.has_config, true);
                let hidden = session.builtin().disable_trace_config == Some(true);
                is(first && !hidden && unchangeable(config) == unchangeable(&session.config))
            }
            Some(Data::TraceUuid(uuid)) => {
                let first = !std::mem::replace(&mut self.has_uuid, true);
                let (lsb, msb) = (uuid.lsb.unwrap_or(0), uuid.msb.unwrap_or(0));
                let packet_uuid = TraceUuid { lsb, msb };
                is(first && packet_uuid == session.uuid)
            }
            Some(Data::SystemInfo(info)) => {
                let first = !std::mem::replace(&mut self.has_system, true);
                let hidden = session.builtin().disable_system_info == Some(true);
                let right = info.tracing_service_version.as_deref() == Some("simulated")
                    && info.machine_name.as_deref() == Some("sim");
                is(first && !hidden && right)
            }
            Some(Data::TraceProvenance(provenance)) => {
                let first = !std::mem::replace(&mut self.has_provenance, true);
                is(first && provenance.buffers.len() <= session.config.buffers.len())
            }
            Some(Data::ServiceEvent(event)) => self.event(known, session, at_ns, event),
            Some(Data::ConcurrentSessionEvent(event)) => concurrent(known, session, at_ns, event),
            Some(Data::Trigger(trigger)) => self.trigger(known, session, at_ns, trigger),
            Some(Data::CloneSnapshotTrigger(trigger)) => {
                known.marks.event("a clone contains its trigger");
                let by_hand = trigger.trigger_name.as_deref() == Some("by hand");
                let fired = known.history.has_fired(at_ns.unwrap_or(0), trigger);
                is(session.is_clone() && (by_hand || fired))
            }
            Some(Data::TraceStats(stats)) => self.stats(session, stats),
            // The filter has removed `system_info`.
            None if Filter::of(&session.config) == Some(Filter::System) => Ok(()),
            _ => Err("a packet of no known kind".into()),
        };
        checked.map_err(|error| {
            format!("session {}: a wrong packet of the service: {error}: {packet:?}", session.id)
        })
    }

    fn clocks(
        &mut self,
        history: &History,
        session: &Facts,
        snapshot: &ClockSnapshot,
    ) -> Result<(), String> {
        let read = |c: &protos::ClockSnapshotClock| (c.clock_id, c.timestamp.unwrap_or(0));
        let clocks: Vec<_> = snapshot.clocks.iter().map(read).collect();
        let ids: Vec<_> = clocks.iter().filter_map(|(id, _)| *id).collect();
        let Ok(times) = <[u64; 6]>::try_from(clocks.iter().map(|(_, at)| *at).collect::<Vec<_>>())
        else {
            return Err("clocks are missing".into());
        };
        if ids != [6, 2, 4, 1, 3, 5] || !history.instants.contains(&times) {
            return Err("there was no such instant".into());
        }
        if times[0] < self.snapshot_ns.unwrap_or(0) {
            return Err("back in time".into());
        }
        self.snapshot_ns = Some(times[0]);
        is(session.builtin().disable_clock_snapshotting != Some(true))
    }

    fn event(
        &mut self,
        known: &mut Known<'_>,
        session: &Facts,
        at_ns: Option<u64>,
        event: &TracingServiceEvent,
    ) -> Result<(), String> {
        let at_ns = at_ns.ok_or("no time")?;
        let origin = known.sessions.get(session.origin).map_or(0, |s| s.made_ns);
        if at_ns < origin.max(self.event_ns) || at_ns > known.history.now_ns {
            return Err(format!("at {at_ns}, after {}", self.event_ns));
        }
        self.event_ns = at_ns;
        let right = match event.event_type.as_ref().ok_or("nothing")? {
            Event::TracingStarted(true) => !std::mem::replace(&mut self.started, true),
            Event::TracingDisabled(true) => !std::mem::replace(&mut self.ended, true),
            Event::AllDataSourcesStarted(true)
            | Event::AllDataSourcesFlushed(true)
            | Event::ReadTracingBuffersCompleted(true)
            | Event::FlushStarted(true) => true,
            Event::CloneStarted(true) => session.is_clone(),
            Event::BufferCloned(index) => {
                session.is_clone() && (*index as usize) < session.config.buffers.len()
            }
            Event::SlowStartingDataSources(sources) => !sources.data_source.is_empty(),
            Event::LastFlushSlowDataSources(sources) => {
                known.marks.event("data sources were slow to flush");
                !sources.data_source.is_empty()
            }
            _ => false,
        };
        is(right && session.builtin().disable_service_events != Some(true))
    }

    fn trigger(
        &mut self,
        known: &mut Known<'_>,
        session: &Facts,
        at_ns: Option<u64>,
        trigger: &Trigger,
    ) -> Result<(), String> {
        let at_ns = at_ns.ok_or("no time")?;
        takes(session, trigger)?;
        let origin = known.sessions.get(session.origin).map_or(0, |s| s.made_ns);
        if at_ns < origin || !known.history.has_fired(at_ns, trigger) {
            return Err("no producer fired it".into());
        }
        let name = trigger.trigger_name.clone().unwrap_or_default();
        self.triggers.push((at_ns, name.clone()));
        let last_day = self.triggers.iter().filter(|(at, other)| {
            *other == name && at_ns.saturating_sub(*at) < limits::TRIGGER_WINDOW_NS
        });
        let count = last_day.count();
        let max = wanted(session, &name).and_then(|t| t.max_per_24_h).unwrap_or(0) as usize;
        if max > 0 && count > max {
            return Err(format!("taken {count} times, at most {max} in a day"));
        }
        known.marks.event("a trigger is in the trace");
        is(session.builtin().disable_trace_config != Some(true))
    }

    fn stats(&mut self, session: &Facts, stats: &TraceStats) -> Result<(), String> {
        let buffers = &session.config.buffers;
        if stats.buffer_stats.len() != buffers.len() {
            return Err("a buffer is missing".into());
        }
        for (buffer, config) in stats.buffer_stats.iter().zip(buffers) {
            let number = |field: Option<u64>| field.unwrap_or(0);
            let came = number(buffer.chunks_written) + number(buffer.chunks_rewritten);
            let went = number(buffer.chunks_read) + number(buffer.chunks_overwritten);
            let size = u64::from(config.size_kb.unwrap_or(0)) * 1024;
            if went > came || number(buffer.buffer_size) != size {
                return Err("a buffer does not add up".into());
            }
        }
        let [asked, done, failed] =
            [stats.flushes_requested, stats.flushes_succeeded, stats.flushes_failed]
                .map(|count| count.unwrap_or(0));
        if done + failed > asked {
            return Err("flushes do not add up".into());
        }
        let in_buffers =
            |w: &protos::TraceStatsWriterStats| (w.buffer.unwrap_or(0) as usize) < buffers.len();
        if !stats.writer_stats.iter().all(in_buffers) {
            return Err("a writer of no buffer".into());
        }
        let filtered = stats.filter_stats.as_ref().map(|filter| {
            let [input, output] = [filter.input_bytes, filter.output_bytes].map(|n| n.unwrap_or(0));
            let discarded: u64 = filter.bytes_discarded_per_buffer.iter().sum();
            output + discarded <= input
        });
        if filtered != session.config.trace_filter.as_ref().map(|_| true) {
            return Err("the filter does not add up".into());
        }
        let before = self.stats.replace(stats.clone()).unwrap_or_default();
        let rises = |of: fn(&TraceStats) -> Option<u64>| of(&before) <= of(stats);
        let all = rises(|s| s.invalid_packets)
            && rises(|s| s.flushes_requested)
            && rises(|s| s.flushes_succeeded)
            && rises(|s| s.flushes_failed)
            && rises(|s| s.chunks_discarded)
            && rises(|s| s.patches_discarded)
            && rises(|s| s.filter_stats.as_ref().and_then(|f| f.input_bytes));
        is(all)
    }
}

impl Facts {
    fn builtin(&self) -> protos::TraceConfigBuiltinDataSource {
        self.config.builtin_data_sources.clone().unwrap_or_default()
    }
}

fn is(right: bool) -> Result<(), String> {
    if right { Ok(()) } else { Err(String::new()) }
}

/// The parts of a config that the service does not change. Triggers change the duration, `ChangeTraceConfig` the
/// filters of producers.
fn unchangeable(config: &TraceConfig) -> TraceConfig {
    let mut config = config.clone();
    if config.trigger_config.is_some() {
        config.duration_ms = None;
    }
    for source in &mut config.data_sources {
        source.producer_name_regex_filter.clear();
    }
    config
}

/// The entry of a trigger in the config.
pub(super) fn wanted<'f>(
    session: &'f Facts,
    name: &str,
) -> Option<&'f protos::TraceConfigTriggerConfigTrigger> {
    let all = session.config.trigger_config.iter().flat_map(|config| &config.triggers);
    all.into_iter().find(|trigger| trigger.name.as_deref() == Some(name))
}

/// Whether a session may accept a trigger.
///
/// # Errors
/// Why not.
pub(super) fn takes(session: &Facts, trigger: &Trigger) -> Result<(), String> {
    let name = trigger.trigger_name.as_deref().unwrap_or_default();
    let wanted = wanted(session, name).ok_or("not in the config")?;
    let producer = trigger.producer_name.as_deref().unwrap_or_default();
    // The only expression that configs have matches odd numbers.
    let odd = producer.ends_with(['1', '3', '5', '7', '9']);
    if wanted.producer_name_regex.is_some() && !odd {
        return Err("its producer does not match".into());
    }
    if wanted.skip_probability.unwrap_or(0.0) >= 1.0 {
        return Err("its skip probability is 1".into());
    }
    let delay_ms = u64::from(wanted.stop_delay_ms.unwrap_or(0));
    if delay_ms == trigger.stop_delay_ms.unwrap_or(0) { Ok(()) } else { Err("the delay".into()) }
}

fn concurrent(
    known: &mut Known<'_>,
    session: &Facts,
    at_ns: Option<u64>,
    event: &ConcurrentSessionEvent,
) -> Result<(), String> {
    let other = known.sessions.get(event.session_id.unwrap_or(0)).ok_or("no such session")?;
    let wants = session.builtin().enable_concurrent_session_events == Some(true);
    let name = other.config.unique_session_name.clone().unwrap_or_default();
    is(wants
        && at_ns.is_some_and(|at| at <= known.history.now_ns)
        && event.consumer_uid == Some(other.uid.cast_signed())
        && event.session_name.clone().unwrap_or_default() == name)
}
