//! Several sessions on a real kernel: beside each other, refused, and what each is told.

use std::fs::OpenOptions;
use std::io::Write as _;

use client::consumer::{Consumer, Waited};
use protos::{FtraceConfig, FtraceStats, FtraceStatsPhase as Phase, ObservableEventsType};

use super::contents::{EVENT_PRINT, PRINT_TEXT, Recorded, bytes, enable, session, strings};
use super::on_demand::{Instance, NAME, start};
use super::restores::{changed, is_set, is_used, settings_with};
use super::{FOREVER, alone};

fn write(folder: &str, text: &str) {
    let marker = OpenOptions::new().write(true).open(format!("{folder}/trace_marker"));
    marker.and_then(|mut marker| marker.write_all(text.as_bytes())).expect("a marker");
}

/// The markers of this test that were recorded.
fn markers(recorded: &Recorded) -> Vec<String> {
    let text = |event: &&[u8]| -> Option<String> {
        let text =
            String::from_utf8_lossy(bytes(bytes(event, EVENT_PRINT)?, PRINT_TEXT)?).into_owned();
        text.trim_end().strip_prefix("sessions: ").map(str::to_owned)
    };
    let mut texts: Vec<String> = recorded.events().values().flatten().filter_map(text).collect();
    texts.sort();
    texts
}

/// The statistics of a session that was refused.
fn refused(consumer: &mut Consumer) -> FtraceStats {
    let recorded = Recorded::read(consumer);
    assert!(recorded.bundles.is_empty());
    let [stats] = &recorded.stats[..] else { panic!("one packet: {:?}", recorded.stats) };
    assert_eq!(stats.phase, Some(Phase::START_OF_TRACE));
    stats.clone()
}

/// A session has started when the kernel records, and has ended when tracefs is as it was found.
#[test]
fn what_is_acknowledged_is_done() {
    let _alone = alone();
    let test = "what_is_acknowledged_is_done";
    let Some(instance) = Instance::of_test(test) else { return };
    let found = settings_with(NAME);
    let (service, producer) = start();
    for symbols in [false, true] {
        let mut consumer = service.consumer();
        consumer
            .observe_events(&[ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED])
            .expect("the service is there");
        enable(&mut consumer, |config| {
            config.ftrace_events = strings(&["ftrace/print", "sched/sched_switch"]);
            config.symbolize_ksyms = Some(symbols);
        });
        let Waited::Event(event) = consumer.wait(Some(FOREVER)).expect("it records") else {
            panic!("no event")
        };
        assert_eq!(event.all_data_sources_started, Some(true));
        write(&instance.0, "sessions: at once");
        assert_ne!(settings_with(NAME), found);
        assert_eq!(markers(&Recorded::read(&mut consumer)), ["at once"]);
        consumer.disable_tracing().expect("the service is there");
        assert_eq!(consumer.wait(Some(FOREVER)).expect("it records"), Waited::Ended);
        let now = settings_with(NAME);
        let changed = changed(&found, &now);
        assert!(changed.is_empty(), "they were {changed:?}");
    }
    drop(producer);
}

#[test]
fn an_instance_beside_the_root_and_what_is_refused() {
    let _alone = alone();
    let test = "an_instance_beside_the_root_and_what_is_refused";
    let Some(instance) = Instance::of_test(test) else { return };
    if is_used() || is_set() {
        return skip::test(test, "another program records; stop it first");
    }
    let root = instance.0.split("/instances/").next().expect("a folder").to_owned();
    let (service, producer) = start();
    let prints = |more: &[&str]| [strings(&["ftrace/print"]), strings(more)].concat();
    let mut in_root = session(&service, |config: &mut FtraceConfig| {
        config.instance_name = None;
        config.ftrace_events = prints(&["no_such_event", "sched/none", "none/*"]);
    });
    let mut beside = session(&service, |config| config.ftrace_events = prints(&[]));
    let mut second = session(&service, |config| config.ftrace_events = prints(&[]));
    write(&root, "sessions: root");
    write(&instance.0, "sessions: instance");

    let with_threads = |config: &mut FtraceConfig| {
        config.ftrace_events = prints(&[]);
        config.tids_to_trace = vec![1];
    };
    let mut alone_too_late = session(&service, with_threads);
    let stats = refused(&mut alone_too_late);
    assert!(stats.exclusive_feature_error.unwrap_or_default().contains("tids_to_trace"));
    for (event, why) in [("../sched", "../sched"), ("a/b/c", "a/b/c"), ("sched/sched\n", "sched")] {
        let mut bad = session(&service, |config| config.ftrace_events = prints(&[event]));
        let stats = refused(&mut bad);
        let told = stats.atrace_errors.unwrap_or_default();
        assert!(told.contains("ftrace_events") && told.contains(why), "{told}");
        assert_eq!(stats.exclusive_feature_error, None);
    }
    let mut nowhere =
        session(&service, |config| config.instance_name = Some("no_such_instance".to_owned()));
    let told = refused(&mut nowhere).atrace_errors.unwrap_or_default();
    assert!(told.contains("no instance `no_such_instance`"), "{told}");

    // What was refused took nothing from the others.
    write(&instance.0, "sessions: later");
    let recorded = Recorded::read(&mut in_root);
    assert_eq!(markers(&recorded), ["root"]);
    let [.., start_stats, end_stats] = &recorded.stats[..] else { panic!("{:?}", recorded.stats) };
    let phases = (start_stats.phase, end_stats.phase);
    assert_eq!(phases, (Some(Phase::START_OF_TRACE), Some(Phase::END_OF_TRACE)));
    assert_eq!(recorded.stats.len() % 2, 0, "a pair at each flush");
    let mut missing = start_stats.unknown_ftrace_events.clone();
    missing.sort();
    assert_eq!(missing, ["no_such_event", "none/*", "sched/none"]);
    assert_eq!(start_stats.failed_ftrace_events, Vec::<String>::new());
    assert!(!end_stats.cpu_stats.is_empty());
    for consumer in [&mut beside, &mut second] {
        let recorded = Recorded::read(consumer);
        assert_eq!(markers(&recorded), ["instance", "later"]);
        let phases: Vec<_> = recorded.stats.iter().map(|stats| stats.phase).collect();
        let [.., a, b] = phases[..] else { panic!("{phases:?}") };
        assert_eq!((a, b), (Some(Phase::START_OF_TRACE), Some(Phase::END_OF_TRACE)));
    }
    drop((in_root, beside, second, alone_too_late, nowhere));
    drop(producer);
}

/// Others have left filters that let nothing pass.
#[test]
fn filters_of_others_keep_nothing_away() {
    let _alone = alone();
    let test = "filters_of_others_keep_nothing_away";
    let Some(instance) = Instance::of_test(test) else { return };
    let path = |file: &str| format!("{}/{file}", instance.0);
    let set = |file: &str, text: &str| std::fs::write(path(file), text).expect(file);
    let event_filter = "events/task/task_newtask/filter";
    let found = || {
        ["set_event_pid", "set_event_notrace_pid", "tracing_cpumask", event_filter]
            .map(|f| std::fs::read_to_string(path(f)).unwrap())
    };
    let cpus = std::fs::read_to_string(path("tracing_cpumask")).expect("a mask");
    set("set_event_pid", "1\n");
    set("set_event_notrace_pid", &format!("{}\n", std::process::id()));
    set("tracing_cpumask", "1");
    set(event_filter, "pid == 1");
    let left = found();
    let (service, producer) = start();
    let mut consumer = session(&service, |config: &mut FtraceConfig| {
        config.ftrace_events = strings(&["task/task_newtask"]);
    });
    assert!(std::process::Command::new("true").status().expect("a process").success());
    let recorded = Recorded::read(&mut consumer);
    assert!(recorded.events().values().flatten().count() > 0, "the process is seen");
    consumer.disable_tracing().expect("the service is there");
    assert_eq!(consumer.wait(Some(FOREVER)).expect("it records"), Waited::Ended);
    assert_eq!(found(), left);
    drop(producer);
    set(event_filter, "0");
    set("tracing_cpumask", &cpus);
    for file in ["set_event_pid", "set_event_notrace_pid"] {
        std::fs::File::create(path(file)).expect("it is cleared");
    }
}
