//! What some kernels have, and small ones do not: function graph, kprobes, a ring that survived a reboot. `cargo xtask
//! kernels` starts kernels of distributions that have it.

use std::fs::{self, File};

use client::consumer::{Consumer, Waited};
use daemon::in_process::InProcessService;
use protos::{
    DataSourceConfig, FrozenFtraceConfig, FtraceConfig, FtraceConfigKprobeEvent,
    FtraceConfigKprobeEventKprobeType as KprobeType, TraceConfig, TraceConfigBufferConfig,
};

use super::contents::{
    EVENT_PID, EVENT_PRINT, EVENT_TIME, PRINT_TEXT, Recorded, bytes, number, session, thread_id,
};
use super::on_demand::{Instance, source, start};
use super::restores::{is_set, is_used};
use super::{FOREVER, alone};

const TRACEFS: &str = "/sys/kernel/tracing";

const EVENT_FUNCTION_ENTRY: u32 = 437;
const EVENT_FUNCTION_EXIT: u32 = 438;
const EVENT_KPROBE: u32 = 542;
const ENTRY_FUNCTION: u32 = 2;
const EXIT_FUNCTION: u32 = 3;
const KPROBE_NAME: u32 = 1;
const KPROBE_TYPE: u32 = 2;
const KPROBE_BEGIN: u64 = 1;
const KPROBE_END: u64 = 2;

/// What each kernel calls when a file is opened.
const FUNCTION: &str = "vfs_open";
const CALLS: usize = 50;

fn call() {
    (0..CALLS).for_each(|_| _ = File::open("/proc/self/stat").expect("this process has a file"));
}

fn end(consumer: &mut Consumer) {
    consumer.disable_tracing().expect("the service is there");
    assert_eq!(consumer.wait(Some(FOREVER)).expect("it records"), Waited::Ended);
}

/// What this thread did while the main instance recorded: older kernels trace functions there alone.
fn record(service: &InProcessService, set: impl FnOnce(&mut FtraceConfig)) -> Recorded {
    let mut consumer = session(service, |config| {
        config.instance_name = None;
        set(config);
    });
    call();
    let recorded = Recorded::read(&mut consumer);
    for stats in &recorded.stats {
        assert_eq!((stats.unknown_ftrace_events.len(), stats.failed_ftrace_events.len()), (0, 0));
    }
    end(&mut consumer);
    recorded
}

/// The events of this thread with such a field.
fn of_this_thread(recorded: &Recorded, field: u32) -> Vec<Vec<u8>> {
    let events = recorded.events();
    let events = events.values().flatten();
    let own = events.filter(|event| number(event, EVENT_PID) == Some(thread_id().into()));
    let mut own: Vec<_> = own.collect();
    // The thread may have been on several processors.
    own.sort_by_key(|event| number(event, EVENT_TIME));
    own.into_iter().filter_map(|event| bytes(event, field).map(<[u8]>::to_vec)).collect()
}

/// Tells why a test cannot run here.
fn has(test: &str, file: &str, word: &str) -> Option<Instance> {
    let instance = Instance::of_test(test)?;
    let text = fs::read_to_string(format!("{TRACEFS}/{file}")).unwrap_or_default();
    let why = if !text.contains(word) {
        format!("this kernel has no `{word}` in {file}")
    } else if is_used() || is_set() {
        "another program records; stop it first".to_owned()
    } else {
        return Some(instance);
    };
    skip::test(test, &why);
    None
}

#[test]
fn functions_are_seen_with_their_names() {
    let _alone = alone();
    let test = "functions_are_seen_with_their_names";
    let Some(_instance) = has(test, "available_tracers", "function_graph") else { return };
    let (service, producer) = start();
    let recorded = record(&service, |config| {
        config.enable_function_graph = Some(true);
        config.function_filters = vec![FUNCTION.to_owned()];
        config.symbolize_ksyms = Some(true);
    });
    let calls = |event, function| {
        let events = of_this_thread(&recorded, event);
        let name = |event: &Vec<u8>| recorded.symbols.get(&number(event, function)?).cloned();
        let names: Vec<_> = events.iter().map(|event| name(event).expect("a name")).collect();
        assert!(names.iter().all(|name| name == FUNCTION), "{names:?}");
        names.len()
    };
    assert!(calls(EVENT_FUNCTION_ENTRY, ENTRY_FUNCTION) >= CALLS);
    assert!(calls(EVENT_FUNCTION_EXIT, EXIT_FUNCTION) >= CALLS);
    drop(producer);
}

#[test]
fn kprobes_see_calls_and_returns() {
    let _alone = alone();
    let test = "kprobes_see_calls_and_returns";
    let Some(_instance) = has(test, "README", "kprobe_events") else { return };
    let probes = || fs::read_to_string(format!("{TRACEFS}/kprobe_events")).unwrap_or_default();
    let found = probes();
    let (service, producer) = start();
    let probe = FtraceConfigKprobeEvent {
        probe: Some(FUNCTION.to_owned()),
        r#type: Some(KprobeType::KPROBE_TYPE_BOTH),
        ..Default::default()
    };
    let recorded = record(&service, |config| config.kprobe_events = vec![probe]);
    let events = of_this_thread(&recorded, EVENT_KPROBE);
    let kinds = events.iter().map(|event| {
        assert_eq!(bytes(event, KPROBE_NAME), Some(FUNCTION.as_bytes()));
        number(event, KPROBE_TYPE).expect("a type")
    });
    let kinds: Vec<u64> = kinds.collect();
    assert!(kinds.len() >= 2 * CALLS);
    // A call returns before the next one.
    assert!(kinds.chunks(2).all(|pair| pair == [KPROBE_BEGIN, KPROBE_END]), "{kinds:?}");
    assert_eq!(probes(), found, "the probes are removed");
    drop(producer);
}

/// The ring has the markers `frozen 0`, `frozen 1` and so on of the boot before, as many as `FTRACE_FROZEN` says.
#[test]
fn a_ring_that_survived_a_reboot_is_recorded_once() {
    const RING: &str = "boot_map";
    let _alone = alone();
    let test = "a_ring_that_survived_a_reboot_is_recorded_once";
    let Some(markers) = std::env::var("FTRACE_FROZEN").ok().and_then(|text| text.parse().ok())
    else {
        return skip::test(
            test,
            "this machine was not started again with a ring in memory that it keeps",
        );
    };
    let (service, producer) = start();
    let config = DataSourceConfig {
        name: Some("linux.frozen_ftrace".into()),
        frozen_ftrace_config: Some(FrozenFtraceConfig {
            instance_name: Some(RING.to_owned()),
            ..Default::default()
        }),
        ..Default::default()
    };
    let buffer = TraceConfigBufferConfig { size_kb: Some(32 * 1024), ..Default::default() };
    let config = TraceConfig {
        buffers: vec![buffer],
        data_sources: vec![source(config)],
        ..Default::default()
    };
    let record = || {
        let mut consumer = service.consumer();
        consumer.enable_tracing(&config, None).expect("the service is there");
        let recorded = Recorded::read(&mut consumer);
        end(&mut consumer);
        let texts = recorded.events();
        let texts = texts.values().flatten().filter_map(|event| {
            let text = bytes(bytes(event, EVENT_PRINT)?, PRINT_TEXT)?;
            let text = std::str::from_utf8(text).ok()?.trim_end();
            text.strip_prefix("frozen ")?.parse::<u32>().ok()
        });
        let mut numbers: Vec<u32> = texts.collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(record(), (0..markers).collect::<Vec<u32>>());
    assert_eq!(record(), []);
    drop(producer);
}
