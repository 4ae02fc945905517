//! What a real kernel's events become: each test records an instance of tracefs of its own, and knows what happened.
//! Without the right to use tracefs, a test says that it was skipped.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::Child;

use client::consumer::Consumer;
use protos::{
    DataSourceConfig, FtraceConfig, FtraceConfigCompactSchedConfig, FtraceCpuStats,
    FtraceEventBundle, FtraceStats, TraceConfig, TraceConfigBufferConfig,
};
use protozero::{Message as _, Reader, Value};

use super::on_demand::{Instance, NAME, cat, end, source, start};
use super::{FOREVER, alone};

/// The fields of a message.
pub(super) fn fields(message: &[u8]) -> Vec<(u32, Value<'_>)> {
    let mut reader = Reader::new(message);
    let mut fields = Vec::new();
    while let Some(field) = reader.next_field().expect("a valid message") {
        fields.push((field.number, field.value));
    }
    fields
}

pub(super) fn number(message: &[u8], field: u32) -> Option<u64> {
    fields(message).into_iter().rev().find_map(|(number, value)| match value {
        Value::Varint(value) if number == field => Some(value),
        _ => None,
    })
}

pub(super) fn bytes(message: &[u8], field: u32) -> Option<&[u8]> {
    fields(message).into_iter().rev().find_map(|(number, value)| match value {
        Value::Len(value) if number == field => Some(value),
        _ => None,
    })
}

/// Numbers of fields. Those of packets, bundles and events are not compiled into the probes as messages.
const PACKET_BUNDLE: u32 = 1;
const PACKET_INTERNED: u32 = 12;
const PACKET_STATS: u32 = 34;
const BUNDLE_EVENT: u32 = 2;
pub(super) const EVENT_TIME: u32 = 1;
pub(super) const EVENT_PID: u32 = 2;
pub(super) const EVENT_PRINT: u32 = 3;
const EVENT_SWITCH: u32 = 4;
pub(super) const PRINT_TEXT: u32 = 2;
const INTERNED_SYMBOL: u32 = 26;
const SWITCH_PREV_PID: u32 = 2;
const SWITCH_PREV_STATE: u32 = 4;
const SWITCH_NEXT_PID: u32 = 6;
const SWITCH_NEXT_PRIO: u32 = 7;

/// What a session has recorded.
#[derive(Default)]
pub(super) struct Recorded {
    /// Whole bundles.
    pub(super) bundles: Vec<Vec<u8>>,
    pub(super) stats: Vec<FtraceStats>,
    /// Names of functions of the kernel, by the numbers that events have.
    pub(super) symbols: BTreeMap<u64, String>,
}

impl Recorded {
    /// Flushes, and takes what there is.
    pub(super) fn read(consumer: &mut Consumer) -> Self {
        let mut recorded = Self::default();
        consumer.flush(FOREVER).expect("the sources flush");
        let read = consumer.read_buffers(FOREVER, |packet| {
            let packet = packet.bytes();
            recorded.bundles.extend(bytes(packet, PACKET_BUNDLE).map(<[u8]>::to_vec));
            for (field, value) in bytes(packet, PACKET_INTERNED).map(fields).unwrap_or_default() {
                if let (INTERNED_SYMBOL, Value::Len(symbol)) = (field, value) {
                    let name = bytes(symbol, 2).expect("a name");
                    let name = String::from_utf8_lossy(name).into_owned();
                    recorded.symbols.insert(number(symbol, 1).expect("a number"), name);
                }
            }
            let stats = bytes(packet, PACKET_STATS);
            recorded
                .stats
                .extend(stats.map(|stats| FtraceStats::decode(stats).expect("statistics")));
            Ok(())
        });
        read.expect("it reads");
        for stats in &recorded.stats {
            assert_eq!(stats.ftrace_parse_errors, [], "readers refuse the trace");
        }
        recorded
    }

    fn decoded(&self) -> impl Iterator<Item = FtraceEventBundle> {
        self.bundles.iter().map(|bundle| FtraceEventBundle::decode(bundle).expect("a bundle"))
    }

    /// All events, by processor.
    pub(super) fn events(&self) -> BTreeMap<u32, Vec<&[u8]>> {
        let mut events: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (bundle, decoded) in self.bundles.iter().zip(self.decoded()) {
            let of_bundle = fields(bundle).into_iter().filter_map(|(number, value)| match value {
                Value::Len(event) if number == BUNDLE_EVENT => Some(event),
                _ => None,
            });
            events.entry(decoded.cpu.expect("a processor")).or_default().extend(of_bundle);
        }
        events
    }
}

pub(super) fn session(
    service: &daemon::in_process::InProcessService,
    set: impl FnOnce(&mut FtraceConfig),
) -> Consumer {
    let mut consumer = service.consumer();
    enable(&mut consumer, set);
    // The answer comes when all have started.
    consumer.flush(FOREVER).expect("the sources flush");
    consumer
}

/// Asks for a session, and waits for nothing.
pub(super) fn enable(consumer: &mut Consumer, set: impl FnOnce(&mut FtraceConfig)) {
    let mut ftrace = FtraceConfig {
        instance_name: Some(NAME.to_owned()),
        // Only flushes read the rings.
        drain_period_ms: Some(60_000),
        buffer_size_kb: Some(1024),
        ..Default::default()
    };
    set(&mut ftrace);
    let ftrace = source(DataSourceConfig {
        name: Some("linux.ftrace".into()),
        ftrace_config: Some(ftrace),
        ..Default::default()
    });
    let buffer = TraceConfigBufferConfig { size_kb: Some(32 * 1024), ..Default::default() };
    let config =
        TraceConfig { buffers: vec![buffer], data_sources: vec![ftrace], ..Default::default() };
    consumer.enable_tracing(&config, None).expect("the service is there");
}

pub(super) fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn markers_come_back_in_order() {
    let _alone = alone();
    let Some(instance) = Instance::of_test("markers_come_back_in_order") else { return };
    let (service, producer) = start();
    let mut consumer =
        session(&service, |config| config.ftrace_events = strings(&["ftrace/print"]));
    let mut marker =
        OpenOptions::new().write(true).open(format!("{}/trace_marker", instance.0)).unwrap();
    let written = [
        b"x".to_vec(),
        [b'y'; 200].to_vec(),
        [b'z'; 4000].to_vec(),
        b"before\0behind".to_vec(),
        b"no \xff\xfe text".to_vec(),
        "ende \u{1f600}".as_bytes().to_vec(),
    ];
    // Before Linux 6.8 a marker has at most 1024 bytes; the call tells how many it took.
    let written = written.map(|mut text| {
        text.truncate(marker.write(&text).expect("the kernel takes a marker"));
        text
    });
    let recorded = Recorded::read(&mut consumer);
    let mut events: Vec<(u64, &[u8])> = recorded
        .events()
        .into_values()
        .flatten()
        .map(|event| (number(event, EVENT_TIME).expect("a time"), event))
        .collect();
    events.sort();
    assert_eq!(events.len(), written.len());
    for ((_, event), text) in events.iter().zip(&written) {
        assert_eq!(number(event, EVENT_PID), Some(u64::from(thread_id())));
        let print = bytes(event, EVENT_PRINT).expect("a print event");
        let found = bytes(print, PRINT_TEXT).expect("its text");
        // The kernel ends a marker with a line feed, and text ends at the first zero byte.
        let text = text.split(|byte| *byte == 0).next().unwrap();
        let text = String::from_utf8_lossy(text).into_owned();
        let found = String::from_utf8_lossy(found);
        assert_eq!(found.trim_end_matches('\n'), text);
    }
    drop((consumer, marker));
    drop(producer);
}

/// A small marker is alone on its page, as the large one behind it has no space there.
#[test]
fn a_flush_finds_what_is_behind_pages_that_are_not_full() {
    let _alone = alone();
    let name = "a_flush_finds_what_is_behind_pages_that_are_not_full";
    let Some(instance) = Instance::of_test(name) else { return };
    let (service, producer) = start();
    let mut consumer = session(&service, |config| {
        config.ftrace_events = strings(&["ftrace/print"]);
        config.buffer_size_kb = Some(2048);
        config.drain_period_ms = Some(60_000);
    });
    let marker = OpenOptions::new().write(true).open(format!("{}/trace_marker", instance.0));
    let mut marker = marker.expect("the instance has a marker");
    const PAIRS: usize = 100;
    for _ in 0..PAIRS {
        for text in [&[b's'; 100][..], &[b'l'; 4000]] {
            assert!(marker.write(text).expect("the kernel takes a marker") >= 100);
        }
    }
    let recorded = Recorded::read(&mut consumer);
    let events: usize = recorded.events().into_values().map(|events| events.len()).sum();
    assert_eq!(events, 2 * PAIRS);
    drop((consumer, marker));
    drop(producer);
}

pub(super) fn thread_id() -> u32 {
    let link = fs::read_link("/proc/thread-self").expect("a thread");
    link.file_name().and_then(|name| name.to_str()?.parse().ok()).expect("a number")
}

/// Makes a process and this one wait for each other.
fn ping_pong(other: &mut Child, times: usize) {
    for _ in 0..times {
        other.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        other.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    }
}

/// A switch: when, to which thread, its priority, and the state of the thread before.
type Switch = (u64, i64, i64, i64);

fn switches_one_by_one(recorded: &Recorded) -> BTreeMap<u32, Vec<Switch>> {
    let switch = |event: &[u8]| {
        let fields = bytes(event, EVENT_SWITCH)?;
        let value = |field| number(fields, field).map_or(0, u64::cast_signed);
        let (next, prio, state) = (SWITCH_NEXT_PID, SWITCH_NEXT_PRIO, SWITCH_PREV_STATE);
        Some((number(event, EVENT_TIME)?, value(next), value(prio), value(state)))
    };
    let events = recorded.events().into_iter();
    events.map(|(cpu, events)| (cpu, events.into_iter().filter_map(switch).collect())).collect()
}

fn switches_in_columns(recorded: &Recorded) -> BTreeMap<u32, Vec<Switch>> {
    let mut switches: BTreeMap<u32, Vec<Switch>> = BTreeMap::new();
    for bundle in recorded.decoded() {
        let Some(columns) = bundle.compact_sched else { continue };
        let mut time = 0;
        let of_cpu = switches.entry(bundle.cpu.expect("a processor")).or_default();
        for (at, delta) in columns.switch_timestamp.iter().enumerate() {
            time += delta;
            of_cpu.push((
                time,
                columns.switch_next_pid[at].into(),
                columns.switch_next_prio[at].into(),
                columns.switch_prev_state[at],
            ));
        }
    }
    switches
}

#[test]
fn columns_have_the_switches_of_single_events() {
    let _alone = alone();
    let test = "columns_have_the_switches_of_single_events";
    let Some(_instance) = Instance::of_test(test) else { return };
    let (service, producer) = start();
    let compact = |enabled| {
        move |config: &mut FtraceConfig| {
            config.ftrace_events = strings(&["sched/sched_switch"]);
            // The switches of all programs have room, also while a machine is busy.
            config.buffer_size_kb = Some(16 * 1024);
            config.compact_sched = Some(FtraceConfigCompactSchedConfig {
                enabled: Some(enabled),
                ..Default::default()
            });
        }
    };
    let mut in_columns = session(&service, compact(true));
    let mut one_by_one = session(&service, compact(false));
    let mut other = cat();
    ping_pong(&mut other, 2000);
    end(other);
    // Each pass reads for both: nothing comes later for the first one.
    let singles = Recorded::read(&mut one_by_one);
    let columns = Recorded::read(&mut in_columns);
    let (mut singles_by_cpu, columns_by_cpu) =
        (switches_one_by_one(&singles), switches_in_columns(&columns));
    let mut compared = 0;
    for (cpu, singles) in &mut singles_by_cpu {
        // The first session began earlier, and its last flush came later.
        let (Some(first), Some(last)) = (singles.first(), singles.last()) else { continue };
        let both = first.0..=last.0;
        let columns = columns_by_cpu[cpu].iter().filter(|switch| both.contains(&switch.0));
        assert_eq!(columns.copied().collect::<Vec<_>>(), *singles);
        compared += singles.len();
    }
    assert!(compared > 1000, "{compared} switches");
    let lost = singles.decoded().filter(|bundle| bundle.lost_events == Some(true)).count();
    assert_eq!(lost, 0, "the ring is large enough");
    let ([begin, ..], [.., now]) = (&singles.stats[..], &singles.stats[..]) else { panic!("none") };
    for (cpu, events) in singles.events() {
        let read = |stats: &FtraceStats| {
            let of_cpu = |it: &&FtraceCpuStats| it.cpu == Some(cpu.into());
            stats.cpu_stats.iter().find(of_cpu).and_then(|it| it.read_events).expect("a number")
        };
        assert_eq!(events.len() as u64, read(now) - read(begin), "processor {cpu}");
        // The thread that runs until a switch is the one that the switch before it chose. The kernel itself leaves a
        // switch out now and then, one of some ten thousand; and some virtual machines tell of no switch that ends the
        // idle thread (0) of a processor. The number of all events is compared above.
        let switches: Vec<_> =
            events.iter().filter_map(|event| bytes(event, EVENT_SWITCH)).collect();
        let is_broken = |pair: &&[&[u8]]| {
            let chosen = number(pair[0], SWITCH_NEXT_PID);
            chosen != Some(0) && chosen != number(pair[1], SWITCH_PREV_PID)
        };
        let broken = switches.windows(2).filter(is_broken).count();
        assert!(broken <= 1 + switches.len() / 100, "{broken} of {}", switches.len());
    }
    drop((in_columns, one_by_one));
    drop(producer);
}

#[test]
fn what_the_ring_lost_is_marked() {
    let _alone = alone();
    let Some(instance) = Instance::of_test("what_the_ring_lost_is_marked") else { return };
    let (service, producer) = start();
    let mut consumer = session(&service, |config| {
        config.ftrace_events = strings(&["ftrace/print"]);
        config.buffer_size_kb = Some(16);
    });
    let marker = OpenOptions::new().write(true).open(format!("{}/trace_marker", instance.0));
    let mut marker = marker.expect("the instance has a marker");
    let mut last = BTreeMap::<u32, u64>::new();
    let mut has_lost = false;
    for (count, loses) in [(3, false), (2000, true), (3, false)] {
        (0..count).for_each(|_| _ = marker.write(&[b'x'; 100]).unwrap());
        let recorded = Recorded::read(&mut consumer);
        let marked = recorded.decoded().filter(|bundle| bundle.lost_events == Some(true)).count();
        assert_eq!(marked > 0, loses, "{count} markers");
        for (bundle, decoded) in recorded.bundles.iter().zip(recorded.decoded()) {
            let cpu = decoded.cpu.expect("a processor");
            let times: Vec<u64> = fields(bundle)
                .into_iter()
                .filter_map(|(number, value)| match value {
                    Value::Len(event) if number == BUNDLE_EVENT => Some(event),
                    _ => None,
                })
                .filter_map(|event| number(event, EVENT_TIME))
                .collect();
            assert!(times.is_sorted());
            let before = last.insert(cpu, *times.last().expect("no bundle is empty"));
            assert!(before <= times.first().copied(), "time goes back between bundles");
            if let Some(before) = before {
                assert_eq!(decoded.previous_bundle_end_timestamp, Some(before));
            }
        }
        let lost = |stats: &FtraceStats| -> u64 {
            stats.cpu_stats.iter().filter_map(|cpu| cpu.overrun).sum()
        };
        let [.., begin, now] = &recorded.stats[..] else { panic!("a pair at each flush") };
        has_lost |= loses;
        assert_eq!(lost(now) > lost(begin), has_lost, "{count} markers");
    }
    drop((consumer, marker));
    drop(producer);
}

/// Every event that this kernel has is set up and recorded, some groups at a time.
#[test]
fn all_events_of_this_machine_are_taken() {
    let _alone = alone();
    let Some(instance) = Instance::of_test("all_events_of_this_machine_are_taken") else { return };
    let (service, producer) = start();
    let groups = fs::read_dir(format!("{}/events", instance.0)).expect("events");
    let groups = groups.map(|entry| entry.expect("a group"));
    let groups = groups.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut groups: Vec<String> =
        groups.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    groups.sort();
    assert!(!groups.is_empty());
    let mut events = 0;
    for groups in groups.chunks(8) {
        let mut consumer = session(&service, |config| {
            config.ftrace_events = groups.iter().map(|group| format!("{group}/*")).collect();
            config.disable_generic_events = Some(false);
        });
        end(cat());
        let recorded = Recorded::read(&mut consumer);
        events += recorded.events().values().map(Vec::len).sum::<usize>();
        let unknown = recorded.stats.iter().flat_map(|stats| &stats.unknown_ftrace_events);
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new(), "{groups:?}");
    }
    assert!(events > 0);
    drop(producer);
}
