use protos::{
    DataSourceConfig, FrozenFtraceConfig, FtraceEventBundle, FtraceStats,
    FtraceStatsPhase as Phase, TracePacketData,
};

use super::FrozenFtraceProbe;
use crate::ftrace::page::Commit;
use crate::ftrace::page::made::Made;
use crate::tests::{Alone, Packets, World};

const RING: &str = "sys/kernel/tracing/instances/boot_map";
const FORMAT: &str = "name: cpu_idle\nID: 15\nformat:\n\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
\tfield:u32 state;\toffset:8;\tsize:4;\tsigned:0;\n\
\tfield:u32 cpu_id;\toffset:12;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";

/// `count` pages, each with an event of thread 9 that begins at this time, one of another id, and much padding.
fn pages(from: u64, count: u64) -> Vec<u8> {
    let page = |n: u64| {
        let event = |id: u8| [&[id, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0][..], &[0; 4]].concat();
        let made = Made::new(from + n).event(0, &event(15)).event(1, &event(16));
        made.long_event(1, &[17; 3000]).page(4096, Commit::Eight)
    };
    (0..count).flat_map(page).collect()
}

/// A machine with a ring of two CPUs: regular files, whose end is as that of a ring.
fn world(pages_of_cpus: [u64; 2]) -> World {
    let world = World::new();
    world.put("sys/kernel/tracing/trace", "");
    world.put(&format!("{RING}/trace"), "not empty");
    world.put(&format!("{RING}/buffer_size_kb"), "400\n");
    world.put(&format!("{RING}/events/power/cpu_idle/format"), FORMAT);
    for (cpu, count) in pages_of_cpus.into_iter().enumerate() {
        let path = format!("{RING}/per_cpu/cpu{cpu}/trace_pipe_raw");
        world.put(&path, pages(1000 * (cpu as u64 + 1), count));
    }
    world
}

fn start(world: &World, name: &str) -> (Alone<FrozenFtraceProbe>, Packets) {
    let frozen = FrozenFtraceConfig { instance_name: Some(name.to_owned()), ..Default::default() };
    let config = DataSourceConfig { frozen_ftrace_config: Some(frozen), ..Default::default() };
    let mut out = Packets::default();
    let mut probe = Alone::<FrozenFtraceProbe>::new(&world.root, &config);
    probe.start(&mut out);
    assert_eq!(probe.period(), None);
    (probe, out)
}

fn split(out: &mut Packets) -> (Vec<FtraceStats>, Vec<FtraceEventBundle>) {
    let (mut stats, mut bundles) = (Vec::new(), Vec::new());
    for packet in out.take() {
        match packet.data {
            Some(TracePacketData::FtraceStats(of)) => stats.push(of),
            Some(TracePacketData::FtraceEvents(bundle)) => bundles.push(bundle),
            other => panic!("{other:?}"),
        }
    }
    (stats, bundles)
}

/// The events of a bundle, which are unknown fields here.
fn events(bundle: &FtraceEventBundle) -> usize {
    bundle.unknown_fields.iter().filter(|field| field.number == 2).count()
}

#[test]
fn the_whole_ring_is_read_between_two_statistics() {
    // More than a round on one CPU, less on the other.
    let world = world([70, 3]);
    let (probe, mut out) = start(&world, "boot_map");
    let first = matches!(out.0.first().unwrap().data, Some(TracePacketData::FtraceStats(_)));
    let last = matches!(out.0.last().unwrap().data, Some(TracePacketData::FtraceStats(_)));
    assert!(first && last);
    let (stats, bundles) = split(&mut out);
    let expected = [(Some(Phase::START_OF_TRACE), Some(true)), (Some(Phase::END_OF_TRACE), None)];
    let phases: Vec<_> = stats.iter().map(|s| (s.phase, s.preserve_ftrace_buffer)).collect();
    assert_eq!(phases, expected);
    for (cpu, count) in [(0, 70), (1, 3)] {
        let of_cpu = bundles.iter().filter(|bundle| bundle.cpu == Some(cpu));
        assert_eq!(of_cpu.map(events).sum::<usize>(), count);
    }
    assert!(bundles.iter().all(|bundle| bundle.compact_sched.is_none()));
    assert_eq!(world.root.read_line(&format!("{RING}/trace")).unwrap(), "not empty");
    drop(probe);
    assert_eq!(world.root.read_line(&format!("{RING}/trace")).unwrap(), "");
    assert_eq!(world.log(), [""; 0]);
}

#[test]
fn a_ring_that_is_written_meanwhile_ends() {
    // The ring always gives another page. It has 400 kB: 100 pages are read, and one more.
    let world = world([500, 0]);
    let (_probe, mut out) = start(&world, "boot_map");
    let (_, bundles) = split(&mut out);
    assert_eq!(bundles.iter().map(events).sum::<usize>(), 101);
}

#[test]
fn a_page_that_is_none_is_an_error_of_the_end() {
    let world = world([1, 0]);
    world.put(&format!("{RING}/per_cpu/cpu0/trace_pipe_raw"), [0; 4096]);
    let (_probe, mut out) = start(&world, "boot_map");
    let (stats, _) = split(&mut out);
    assert_eq!((stats[0].ftrace_parse_errors.len(), stats[1].ftrace_parse_errors.len()), (0, 1));
}

#[test]
fn a_refusal_is_told_to_the_user_and_changes_nothing() {
    let world = world([1, 1]);
    for (name, why) in [
        ("", "instance_name is missing"),
        ("../boot_map", "is not accepted"),
        ("other", "tracefs has no instance `other`"),
    ] {
        let (probe, mut out) = start(&world, name);
        let (stats, bundles) = split(&mut out);
        let text = stats[0].atrace_errors.clone().unwrap();
        assert!(
            text.starts_with("linux.frozen_ftrace records nothing") && text.contains(why),
            "{text}"
        );
        assert_eq!((stats.len(), bundles.len(), world.log().len()), (1, 0, 1));
        drop(probe);
    }
    let none = World::new();
    let (_probe, mut out) = start(&none, "boot_map");
    assert_eq!((out.take().len(), none.log().len()), (1, 1));
    assert_eq!(world.root.read_line(&format!("{RING}/trace")).unwrap(), "not empty");
}
