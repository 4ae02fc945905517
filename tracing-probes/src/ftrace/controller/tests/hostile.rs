//! A tracefs that prints anything: nothing panics, no path leads out of it, what was changed is put back as far as the
//! kernel lets it, and memory has a bound.

use allocation_counter::measure;
use proptest::prelude::*;
use proptest::sample::select;
use protos::FtraceConfigKprobeEvent;

use super::*;
use crate::ftrace::format::Format;
use crate::ftrace::tracefs::{
    buffer_kb, clocks, cpu_list, cpu_stats, events_listed, functions_listed, kprobe_profile,
    printk_formats,
};

/// Files that are read, in the main directory or in an instance.
const FILES: &[&str] = &[
    "buffer_percent",
    "buffer_size_kb",
    "buffer_subbuf_size_kb",
    "current_tracer",
    "events/enable",
    "events/ftrace/print/format",
    "events/header_page",
    "events/power/cpu_frequency/enable",
    "events/power/cpu_frequency/format",
    "events/raw_syscalls/sys_enter/filter",
    "events/raw_syscalls/sys_enter/format",
    "events/sched/sched_switch/filter",
    "events/sched/sched_switch/format",
    "events/sched/sched_switch/trigger",
    "events/sched/sched_waking/format",
    "events/user/made_by_hand/format",
    "kprobe_events",
    "kprobe_profile",
    "max_graph_depth",
    "options/overwrite",
    "per_cpu/cpu0/buffer_size_kb",
    "per_cpu/cpu0/stats",
    "per_cpu/cpu1/stats",
    "printk_formats",
    "set_event",
    "set_event_notrace_pid",
    "set_event_pid",
    "set_ftrace_filter",
    "set_graph_function",
    "trace_clock",
    "tracing_cpumask",
    "tracing_on",
];

/// What texts of tracefs consist of.
const TOKENS: &[&[u8]] = &[
    b"\n",
    b" ",
    b"\t",
    b"\0",
    b"\xff",
    b":",
    b";",
    b".",
    b",",
    b"-",
    b"/",
    b"!",
    b"#",
    b"[",
    b"]",
    b"(",
    b")",
    b"\"",
    b"0",
    b"1",
    b"7",
    b"X",
    b"*",
    b"~",
    b"0x",
    b"ffffffff81000000",
    b"4294967296",
    b"65536",
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"name: ",
    b"ID: ",
    b"format:\n",
    b"\tfield:",
    b"unsigned int",
    b"__data_loc char[] ",
    b"__rel_loc u8[] ",
    b"char ",
    b" comm[16]",
    b" common_pid",
    b" commit",
    b"offset:",
    b"size:",
    b"signed:",
    b"print fmt:",
    b"(expanded: ",
    b"entries: ",
    b"overrun: ",
    b"now ts: ",
    b"5.000007",
    b"boot",
    b"[local]",
    b"mono_raw",
    b"nop",
    b"function_graph",
    b"..",
    b"sched",
    b"sched_switch",
    b"sched:sched_switch",
    b"../../etc:passwd",
    b" : ",
    b"0-8191,",
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    let joined = |tokens: Vec<&[u8]>| tokens.concat();
    let some = proptest::collection::vec(select(TOKENS), 0..12).prop_map(joined);
    let lines = (proptest::collection::vec(select(TOKENS), 1..6), 1..2000_usize)
        .prop_map(|(tokens, times)| tokens.concat().repeat(times));
    let bytes = proptest::collection::vec(any::<u8>(), 0..64);
    prop_oneof![4 => some, 1 => lines, 1 => bytes]
}

/// A file, and what it prints; or the error of a read.
fn file() -> impl Strategy<Value = Printed> {
    let prefix = select(&["", "instances/other/"][..]);
    let errors = [libc::EIO, libc::EACCES, libc::EINVAL, libc::ENODEV, libc::EFBIG];
    let printed = prop_oneof![9 => text().prop_map(Ok), 1 => select(errors.to_vec()).prop_map(Err)];
    (prefix, select(FILES), printed)
        .prop_map(|(prefix, file, text)| (format!("{prefix}{file}"), text))
}

/// Sessions that read each of the files.
fn configs() -> Vec<FtraceConfig> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let all = &["sched/*", "raw_syscalls/*", "user/*", "cpu_idle", FREQUENCY, PRINT];
    let kprobe = FtraceConfigKprobeEvent {
        probe: Some("kfree".to_owned()),
        r#type: Some(protos::FtraceConfigKprobeEventKprobeType::KPROBE_TYPE_BOTH),
        ..Default::default()
    };
    let alone = FtraceConfig {
        tids_to_trace: vec![9],
        tracing_cpumask: Some("1".to_owned()),
        use_monotonic_raw_clock: Some(true),
        kprobe_events: vec![kprobe],
        ..polls(10)
    };
    let graph = FtraceConfig {
        enable_function_graph: Some(true),
        function_filters: names(&["kfree"]),
        syscall_events: names(&["sys_read"]),
        symbolize_ksyms: Some(true),
        ..wants(all)
    };
    let preserve = FtraceConfig { preserve_ftrace_buffer: Some(true), ..wants(all) };
    let instance = FtraceConfig { instance_name: Some("other".to_owned()), ..preserve.clone() };
    vec![wants(all), alone, graph, preserve, instance]
}

/// Bytes that a run may have at once: the pages of the largest that a kernel has, of two instances, and the table.
const BYTES_MAX: u64 = 128 << 20;

type Printed = (String, Result<Vec<u8>, i32>);

fn print(world: &World, files: &[Printed]) {
    for (path, text) in files {
        match text {
            Ok(text) => world.fake.print(path, text),
            Err(errno) => world.fake.deny(path, *errno),
        }
    }
}

/// Sessions that start, record and stop, while tracefs prints something.
fn check(before: &[Printed], later: &[Printed], cpus: &[String], order: Vec<FtraceConfig>) {
    let mut world = World::new();
    for cpu in cpus {
        world.fake.set(&format!("per_cpu/{cpu}/stats"), "now ts: 1.5\n");
    }
    print(&world, before);
    let used = measure(|| {
        let ids: Vec<u64> = (1..).take(order.len()).collect();
        for (id, config) in ids.iter().zip(order) {
            _ = world.start(*id, config);
        }
        world.play(CPU0, &[page(&[15, 5, 16, 17])]);
        world.pass();
        print(&world, later);
        world.pass();
        world.controller.flush(&ids, &mut |_, _| {});
        world.controller.pass_ready(u64::MAX, &mut |_, _| {});
        ids.iter().for_each(|id| world.controller.stop(*id));
    });
    assert!(used.bytes_max < BYTES_MAX, "{} bytes: {before:?} {later:?}", used.bytes_max);
    assert_eq!(world.controller.due_ns(), None);
    assert_eq!(world.fake.open_pipes(), 0);
    let [claimed, released] = world.here.claims.get();
    assert_eq!(claimed, released);
    assert_eq!(world.controller.directories.len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn whatever_tracefs_prints(
        before in proptest::collection::vec(file(), 0..5),
        later in proptest::collection::vec(file(), 0..5),
        cpus in proptest::collection::vec("cpu[0-9]{0,12}", 0..3),
        order in Just(configs()).prop_shuffle(),
    ) {
        check(&before, &later, &cpus, order);
    }
}

#[test]
fn a_number_in_each_file() {
    let numbers = [
        "",
        "0",
        "65536",
        "4294967295",
        "18446744073709551615",
        "-1",
        "X",
        "7 (expanded: 4294967295)",
    ];
    for file in FILES {
        for number in numbers {
            let printed = [(String::from(*file), Ok(number.into()))];
            check(&printed, &[], &[], configs());
            check(&[], &printed, &[], configs());
        }
    }
    check(&[], &[], &["cpu4294967295".to_owned(), "cpu1000000000".to_owned()], configs());
}

/// What a parser keeps is in proportion to its text, whatever that repeats.
#[test]
fn texts_take_memory_in_proportion() {
    type Parse = fn(&[u8]);
    const PARSERS: &[(&str, Parse)] = &[
        ("buffer_size_kb", |text| _ = std::hint::black_box(buffer_kb(text))),
        ("trace_clock", |text| _ = std::hint::black_box(clocks(text))),
        ("possible", |text| _ = std::hint::black_box(cpu_list(text))),
        ("stats", |text| _ = std::hint::black_box(cpu_stats(text))),
        ("set_event", |text| _ = std::hint::black_box(events_listed(text))),
        ("set_ftrace_filter", |text| _ = std::hint::black_box(functions_listed(text))),
        ("kprobe_profile", |text| _ = std::hint::black_box(kprobe_profile(text))),
        ("printk_formats", |text| _ = std::hint::black_box(printk_formats(text))),
        ("format", |text| _ = std::hint::black_box(Format::parse(text).is_some())),
    ];
    // The shortest line that each keeps something of, and each token.
    let lines: &[&[u8]] =
        &[b"a\n", b"a ", b"a:b\n", b"0x1:\n", b"0-8191,", b"field:a b;offset:0;size:0;signed:0;\n"];
    for line in TOKENS.iter().chain(lines) {
        let text = line.repeat((64 << 10) / line.len());
        for (name, parse) in PARSERS {
            let used = measure(|| parse(&text));
            // A name of one byte is a `String`, and its memory.
            assert!(
                used.bytes_max < 40 * (64 << 10),
                "{name}: {} bytes of {line:?}",
                used.bytes_max
            );
        }
    }
}
