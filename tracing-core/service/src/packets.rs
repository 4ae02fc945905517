//! The packets that the service itself writes into a trace.
//!
//! All carry the service's uid and sequence 1. The validator drops packets of producers that have these fields or
//! kinds, so a reader can rely on them.

use super::service_packet::{BOOTTIME, PacketMaker, encode};
use super::session::events::{ConcurrentEvent, Lifecycle, SlowSources, TriggerHit};
use super::session::state::Session;
use crate::config::HostInfo;
use crate::config::ServiceConfig;
use crate::ids::TraceUuid;
use crate::sort::sort_by_time;
use crate::{clocks, provenance};
use abi::time::Now;

/// Bytes that no trace contains by chance, by which a reader finds the next packet in a damaged file.
const SYNC_MARKER: [u8; 16] = [
    0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba, 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79,
];
/// `TracingServiceEvent` of a kind without content.
pub(crate) fn lifecycle(maker: PacketMaker<'_>, kind: Lifecycle, at_ns: u64) -> Vec<u8> {
    maker.event(at_ns, |e| {
        match kind {
            Lifecycle::TracingStarted => e.tracing_started(true),
            Lifecycle::AllSourcesStarted => e.all_data_sources_started(true),
            Lifecycle::FlushStarted => e.flush_started(true),
            Lifecycle::AllSourcesFlushed => e.all_data_sources_flushed(true),
            Lifecycle::ReadCompleted => e.read_tracing_buffers_completed(true),
            Lifecycle::TracingDisabled => e.tracing_disabled(true),
        };
    })
}

fn clock_snapshot(maker: PacketMaker<'_>, session: &Session, now: &Now) -> Vec<u8> {
    let builtin = session.config.builtin_data_sources.as_ref();
    let primary = builtin.and_then(|b| b.primary_trace_clock).filter(|c| c.0 != 0);
    maker.packet(None, |p| {
        let mut body = p.clock_snapshot();
        for (id, reading) in clocks::readings(now) {
            body.clocks().clock_id(id).timestamp(reading);
        }
        body.primary_trace_clock(primary.unwrap_or(protos::BuiltinClock(BOOTTIME as i32)));
    })
}

/// The packet ends with the marker and has nothing that changes: readers search for the whole of it.
fn sync_marker(config: &ServiceConfig) -> Vec<u8> {
    encode(|p| {
        p.trusted_uid(config.uid as i32).trusted_packet_sequence_id(1);
        p.synchronization_marker(&SYNC_MARKER);
    })
}

fn system_info(maker: PacketMaker<'_>) -> Vec<u8> {
    let config = maker.config;
    let HostInfo { sysname, version, release, machine, machine_name, .. } = &config.host;
    maker.packet(None, |p| {
        let mut info = p.system_info();
        info.utsname().sysname(sysname).version(version).release(release).machine(machine);
        info.tracing_service_version(&config.version);
        if let Some(minutes) = config.host.timezone_off_mins {
            info.timezone_off_mins(minutes);
        }
        if let Some(hz) = config.host.hz {
            info.hz(hz);
        }
        if let Some(bytes) = config.host.page_bytes {
            info.page_size(bytes);
        }
        if let Some(cpus) = config.host.cpu_count {
            info.num_cpus(cpus);
        }
        if let Some(bytes) = config.host.ram_bytes {
            info.system_ram_bytes(bytes);
        }
        if !machine_name.is_empty() {
            info.machine_name(machine_name);
        }
    })
}

fn fill_trigger(mut out: protos::TriggerWriter<'_>, hit: &TriggerHit) {
    out.trigger_name(&hit.name).producer_name(&hit.producer);
    out.trusted_producer_uid(hit.uid as i32).stop_delay_ms(hit.delay_ms);
}

/// The config of the session, and the trigger that a clone was made for.
fn config_and_cause(maker: PacketMaker<'_>, session: &Session) -> Vec<Vec<u8>> {
    use protozero::Message as _;
    let body = session.config.encode_to_vec();
    let trace_config = maker.packet(None, |p| {
        p.trace_config_raw(&body);
    });
    let cloned_for = session.unread_events.clone_trigger.as_ref().map(|hit| {
        maker.packet(Some(hit.at_ns), |p| {
            fill_trigger(p.clone_snapshot_trigger(), hit);
        })
    });
    [trace_config].into_iter().chain(cloned_for).collect()
}

/// Triggers that are not in the trace yet.
fn triggers(maker: PacketMaker<'_>, session: &mut Session) -> Vec<Vec<u8>> {
    let events = &mut session.unread_events;
    let new = events.triggers.iter().skip(events.triggers_emitted);
    let packets =
        new.map(|hit| maker.packet(Some(hit.at_ns), |p| fill_trigger(p.trigger(), hit))).collect();
    events.triggers_emitted = events.triggers.len();
    packets
}

/// The events of a session that were not read yet, by time; those of one instant in the order in which one causes
/// the next.
fn events(maker: PacketMaker<'_>, session: &mut Session) -> Vec<Vec<u8>> {
    let events = std::mem::take(&mut session.unread_events.lifecycle);
    let last = |kind| events.iter().rposition(|(k, _)| *k == kind);
    // A clone begins with a flush, and ends when it is made.
    let flush = last(Lifecycle::FlushStarted);
    let end = last(Lifecycle::TracingDisabled).unwrap_or(events.len());
    let mut all: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut cloned = Vec::new();
    for (index, at_ns) in std::mem::take(&mut session.unread_events.buffers_cloned) {
        let packet = maker.event(at_ns, |e| {
            e.buffer_cloned(index);
        });
        cloned.push((at_ns, packet));
    }
    let mut clone_started = session.unread_events.clone_started.take().map(|at_ns| {
        let packet = maker.event(at_ns, |e| {
            e.clone_started(true);
        });
        (at_ns, packet)
    });
    for (at, &(kind, at_ns)) in events.iter().enumerate() {
        if at == end {
            all.append(&mut cloned);
        }
        all.push((at_ns, lifecycle(maker, kind, at_ns)));
        if Some(at) == flush {
            all.extend(clone_started.take());
        }
    }
    all.extend(clone_started);
    all.append(&mut cloned);
    let list = |slow: &SlowSources, mut w: protos::TracingServiceEventDataSourcesWriter<'_>| {
        for (producer, source) in &slow.sources {
            w.data_source().producer_name(producer).data_source_name(source);
        }
    };
    if let Some(slow) = session.unread_events.slow_start.take() {
        let packet = maker.event(slow.at_ns, |e| {
            list(&slow, e.slow_starting_data_sources());
        });
        all.push((slow.at_ns, packet));
    }
    if let Some(slow) = session.unread_events.flush_slow.take() {
        let packet = maker.event(slow.at_ns, |e| {
            list(&slow, e.last_flush_slow_data_sources());
        });
        all.push((slow.at_ns, packet));
    }
    sort_by_time(&mut all, |(at_ns, _)| *at_ns);
    all.into_iter().map(|(_, packet)| packet).collect()
}

fn concurrent(maker: PacketMaker<'_>, session: &mut Session) -> Vec<Vec<u8>> {
    let mut events: Vec<_> = std::mem::take(&mut session.unread_events.concurrent).into();
    sort_by_time(&mut events, |e| e.at_ns);
    let encode = |e: ConcurrentEvent| {
        maker.packet(Some(e.at_ns), |p| {
            let mut body = p.concurrent_session_event();
            body.state(protos::ConcurrentSessionEventState(e.state.number()));
            if !e.name.is_empty() {
                body.session_name(&e.name);
            }
            body.session_id(e.id.get()).consumer_uid(e.uid as i32);
            body.num_data_sources(e.instance_count);
        })
    };
    events.into_iter().map(encode).collect()
}

/// Adds the packets that the service itself writes at the beginning of a pass. `origin` is
/// the provenance packet, for the first pass.
pub(crate) fn of_pass(
    session: &mut Session,
    maker: PacketMaker<'_>,
    origin: Option<Vec<u8>>,
) -> Vec<Vec<u8>> {
    let builtin = session.builtin();
    let mut packets = Vec::new();
    let mut snapshots: Vec<Now> = session.unread_events.first_snapshot.take().into_iter().collect();
    snapshots.extend(std::mem::take(&mut session.unread_events.snapshots));
    // Some may be from before the start, and readers refuse one that goes back.
    sort_by_time(&mut snapshots, |snapshot| snapshot.boot_ns);
    session.unread_events.newest_read =
        snapshots.last().copied().or(session.unread_events.newest_read);
    for snapshot in snapshots {
        packets.push(clock_snapshot(maker, session, &snapshot));
    }
    if std::mem::take(&mut session.unread_events.sync_marker) {
        packets.push(sync_marker(maker.config));
    }
    let first = !std::mem::replace(&mut session.unread_events.initial_done, true);
    if builtin.disable_trace_config != Some(true) {
        if first {
            packets.extend(config_and_cause(maker, session));
        }
        packets.extend(triggers(maker, session));
    }
    if first {
        let TraceUuid { lsb, msb } = session.uuid;
        packets.push(maker.packet(None, |p| {
            p.trace_uuid().msb(msb).lsb(lsb);
        }));
        if builtin.disable_extension_descriptors != Some(true) {
            packets.extend(provenance::extensions(maker));
        }
        packets.extend(origin);
        if builtin.disable_system_info != Some(true) {
            packets.push(system_info(maker));
        }
    }
    if builtin.disable_service_events != Some(true) {
        packets.extend(events(maker, session));
    }
    if session.wants_concurrent_events() {
        packets.extend(concurrent(maker, session));
    }
    packets
}
