use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::time::Duration;

use abi::ids::InstanceId;
use abi::sync::Arc;
use client::consumer::Waited;
use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use client::producer::Producer;
use client::write::BufferExhaustedPolicy;
use daemon::in_process::InProcessService;
use daemon::serve::service_config;
use protos::{
    DataSourceConfig, DataSourceConfigBufferExhaustedPolicy as ConfiguredPolicy, FtraceConfig,
    LossLedgerReason, ObservableEventsType, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource, TracePacket, TracePacketData,
};
use protozero::Message as _;

use super::super::controller::System as _;
use super::super::symbols::Restrict as _;
use super::super::table::kind::Pointers;
use super::system::{Linux, release};
use super::{FtraceOptions, FtraceSource, NAME, claim, descriptor, hard_reset, wait_started};
use crate::boost::Boosts;
use crate::instances::policy;
use crate::tests::World;

fn instance(id: u64, policy: Option<ConfiguredPolicy>) -> Instance {
    let config = DataSourceConfig { buffer_exhausted_policy: policy, ..Default::default() };
    Instance::detached(InstanceId::new(id), config)
}

fn source_of(world: &World) -> FtraceSource {
    let (root, options) = (&world.root, FtraceOptions::default());
    FtraceSource::new(root, options, &Arc::default(), &Boosts::ignored(root))
}

/// The service is told that an instance records only if it does.
#[test]
fn a_kernel_that_does_not_answer_counts_as_one_that_does_not_record() {
    let world = World::new();
    for answer in [true, false] {
        let (started, has_started) = sync_channel(1);
        started.send(answer).unwrap();
        assert_eq!(wait_started(&world.root, &has_started, Duration::ZERO), answer);
    }
    assert_eq!(world.log(), [""; 0]);
    let (_started, has_started) = sync_channel(1);
    assert!(!wait_started(&world.root, &has_started, Duration::ZERO));
    assert!(world.log()[0].contains("did not answer"));
}

/// A machine without tracefs: every instance is refused and answered, and the end waits for nothing.
#[test]
fn without_tracefs_all_is_answered() {
    let world = World::new();
    let mut source = source_of(&world);
    let (done, all_done) = channel::<()>();
    let ack = || {
        let done = done.clone();
        Ack::new(move || drop(done))
    };
    let instances: Vec<_> = (0..20).map(|id| instance(id, None)).collect();
    for instance in &instances {
        source.start(instance);
        source.flush(instance, &FlushRequest::default(), ack());
        source.stop(instance, ack());
    }
    drop(source);
    drop(done);
    assert!(all_done.recv().is_err(), "all acknowledgements are gone");
    let log = world.log();
    assert!(log.iter().any(|line| line.contains("linux.ftrace cannot read tracefs")), "{log:?}");
}

const SWITCH: &str = "sys/kernel/tracing/tracing_on";

/// A machine on which nothing is recorded.
fn with_tracefs() -> World {
    let world = World::new();
    mount(&world);
    world
}

fn mount(world: &World) {
    for (file, text) in [
        ("trace", ""),
        ("tracing_on", "0"),
        ("current_tracer", "nop"),
        ("trace_clock", "[boot]"),
        ("buffer_size_kb", "8192"),
        ("set_event", ""),
        ("events/enable", "0"),
        ("events/sched/sched_switch/enable", "0"),
        (
            "events/sched/sched_switch/format",
            "name: sched_switch\nID: 9\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n",
        ),
        ("per_cpu/cpu0/stats", ""),
        ("per_cpu/cpu0/trace_pipe_raw", ""),
    ] {
        world.put(&format!("sys/kernel/tracing/{file}"), text);
    }
}

/// One that records switches of the scheduler.
fn of_switches(id: u64) -> Instance {
    let ftrace_events = vec!["sched/sched_switch".to_owned()];
    let ftrace = FtraceConfig { ftrace_events, ..Default::default() };
    let config = DataSourceConfig { ftrace_config: Some(ftrace), ..Default::default() };
    Instance::detached(InstanceId::new(id), config)
}

/// A start returns when the kernel records, and the end is acknowledged when it does not any more.
#[test]
fn acknowledgements_come_when_all_is_done() {
    let world = with_tracefs();
    let mut source = source_of(&world);
    for id in 0..3 {
        let instance = of_switches(id);
        source.start(&instance);
        let state = || world.root.read_line(SWITCH);
        assert_eq!(state().as_deref(), Some("1"), "{:?}", world.log());
        let (root, (ended, has_ended)) = (world.root.clone(), channel());
        let done = Ack::new(move || ended.send(root.read_line(SWITCH)).expect("it is awaited"));
        source.stop(&instance, done);
        assert_eq!(has_ended.recv().expect("an answer").as_deref(), Some("0"));
    }
}

/// A daemon may be started before tracefs is mounted.
#[test]
fn tracefs_that_comes_later_is_found_by_the_next_session() {
    let world = World::new();
    let mut source = source_of(&world);
    let is_told = |world: &World| {
        let log = world.log();
        log.iter().any(|line| line.contains("linux.ftrace cannot read tracefs"))
    };
    source.start(&of_switches(1));
    assert!(is_told(&world));
    mount(&world);
    source.start(&of_switches(2));
    assert_eq!(world.root.read_line(SWITCH).as_deref(), Some("1"));
    assert!(!is_told(&world));
}

/// Upstream: the set-up of a session that starts later switched the recording of all others off.
#[test]
fn a_set_up_changes_nothing() {
    let world = with_tracefs();
    let ring = "sys/kernel/tracing/trace";
    world.put(SWITCH, "1").put(ring, "of others");
    let state = || [SWITCH, ring].map(|file| world.root.read_line(file));
    let before = state();
    let mut source = source_of(&world);
    let instance = of_switches(1);
    source.setup(&instance);
    assert_eq!(state(), before);
    source.stop(&instance, Ack::ignored());
    // A thread would be waited for.
    drop(source);
    assert_eq!(state(), before);
}

/// Upstream: the kernel went on recording when a signal ended the program.
#[test]
fn the_end_of_the_program_ends_the_recording() {
    let world = with_tracefs();
    let state = || world.root.read_line(SWITCH);
    let mut source = source_of(&world);
    (0..2).for_each(|id| source.start(&of_switches(id)));
    assert_eq!(state().as_deref(), Some("1"), "{:?}", world.log());
    drop(source);
    assert_eq!(state().as_deref(), Some("0"));
}

/// Upstream: a config that was refused was never acknowledged, and each session with it ended five seconds late.
#[test]
fn what_is_refused_is_answered() {
    let world = World::new();
    // Nothing can be set in it.
    world.put("sys/kernel/tracing/trace", "");
    let mut source = source_of(&world);
    let answered = Arc::new(AtomicUsize::new(0));
    for id in 0..5 {
        let instance = instance(id, None);
        source.start(&instance);
        let answered = Arc::clone(&answered);
        source.stop(&instance, Ack::new(move || _ = answered.fetch_add(1, Ordering::Relaxed)));
    }
    // A stop that came before a start is carried out when the next start returns. The source lives on: the
    // acknowledgements do not come from its end.
    assert!(answered.load(Ordering::Relaxed) >= 3, "{answered:?}");
    drop(source);
    assert_eq!(answered.load(Ordering::Relaxed), 5);
}

/// Upstream: neither the start nor the end of a session with a refused source was acknowledged, and its user was not
/// told why.
#[test]
fn a_session_with_a_refused_source_starts_and_ends() {
    let world = World::new();
    let service = service_config("test").unwrap();
    let service = InProcessService::start(service, Box::new(|_, _: &str| {})).unwrap();
    let producer = Producer::attach(service.producer(), crate::options()).unwrap();
    let source = source_of(&world);
    producer.register(descriptor(), source).unwrap();
    assert!(producer.sync(Duration::MAX));

    let mut consumer = service.consumer();
    consumer.observe_events(&[ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED]).unwrap();
    let config = DataSourceConfig { name: Some(NAME.to_owned()), ..Default::default() };
    let config = TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() }],
        data_sources: vec![TraceConfigDataSource { config: Some(config), ..Default::default() }],
        data_source_stop_timeout_ms: Some(u32::MAX),
        ..Default::default()
    };
    consumer.enable_tracing(&config, None).unwrap();
    // The producer answers it behind the start.
    consumer.flush(Duration::MAX).unwrap();
    let Waited::Event(event) = consumer.wait(Some(Duration::ZERO)).unwrap() else {
        panic!("it has not started")
    };
    assert_eq!(event.all_data_sources_started, Some(true));
    consumer.disable_tracing().unwrap();
    assert_eq!(consumer.wait(Some(Duration::MAX)).unwrap(), Waited::Ended);

    let (mut told, mut losses) = (Vec::new(), Vec::new());
    let read = consumer.read_buffers(Duration::MAX, |packet| {
        match TracePacket::decode(packet.bytes()).unwrap().data {
            Some(TracePacketData::FtraceStats(stats)) => told.extend(stats.atrace_errors),
            Some(TracePacketData::TraceStats(stats)) => losses = stats.loss_ledger.unwrap().entries,
            _ => {}
        }
        Ok(())
    });
    read.unwrap();
    let [told] = &told[..] else { panic!("{told:?}") };
    assert!(told.starts_with("linux.ftrace records nothing: "), "{told}");
    let reasons: Vec<_> = losses.iter().map(|loss| loss.reason).collect();
    assert_eq!(reasons, [Some(LossLedgerReason::REASON_INSTANCE_REFUSED)]);
}

/// What the record of a killed daemon says is done when the program starts, before there is a session.
#[test]
fn a_start_puts_back_what_a_killed_daemon_has_left() {
    let setting = "proc/sys/kernel/kptr_restrict";
    let record = "run/tracing-probes/kptr_restrict";
    let world = World::new();
    world.put("proc/sys/kernel/random/boot_id", "boot-7\n").put("sys/kernel/tracing/trace", "");
    let restarted = |text: &str| {
        world.put(setting, "0").put(record, text);
        drop(source_of(&world));
        (world.root.read_line(setting), world.root.read_line(record).is_some(), world.log())
    };
    let (level, has_record, log) = restarted("ftrace 1 boot-7\n2\n");
    assert_eq!((level.as_deref(), has_record), (Some("2"), false), "{log:?}");
    assert!(log.iter().any(|line| line.contains("kptr_restrict: 2 is put back")), "{log:?}");
    for other in [
        "ftrace 1 boot-6\n2\n",
        "ftrace 1 boot-7\n2",
        "ftrace 1 boot-7\n\n",
        "ftrace 1 boot-7\nx\n",
        "",
    ] {
        assert_eq!(restarted(other).0.as_deref(), Some("0"), "{other:?}");
    }
    world.put("run/tracing-probes/root.ftrace", "ftrace 1 boot-7\nwrite tracing_on 1\n");
    world.put("sys/kernel/tracing/tracing_on", "0");
    drop(source_of(&world));
    assert_eq!(world.root.read_line("sys/kernel/tracing/tracing_on").as_deref(), Some("1"));
}

/// A program that records has locked tracefs, also one of another user, whose records are hidden.
#[test]
fn a_program_that_records_has_locked_tracefs() {
    let world = World::new();
    world.put("sys/kernel/tracing/trace", "").put("sys/kernel/tracing/tracing_on", "1");
    assert_eq!(claim::in_use(&world.root), None);
    let taken = claim::Claim::take(&world.root).unwrap();
    let why = claim::in_use(&world.root).unwrap();
    assert!(
        why.contains("sys/kernel/tracing/tracing_on): that program gets no more events"),
        "{why}"
    );
    let failures = hard_reset(&world.root);
    assert!(failures.iter().any(|line| *line == format!("linux.ftrace: {why}")), "{failures:?}");
    drop(taken);
    // A process that another test starts has a copy until its `exec`.
    while claim::in_use(&world.root).is_some() {
        std::thread::yield_now();
    }
}

#[test]
fn what_the_operator_decides() {
    let world = World::new();
    for (shows_pointers, keeps_kptr_restrict) in [(false, true), (true, false)] {
        let linux = Linux::new(&world.root, FtraceOptions { shows_pointers, keeps_kptr_restrict });
        assert_eq!(linux.pointers() == Pointers::Shown, shows_pointers);
        assert_eq!(linux.may_lower(), !keeps_kptr_restrict);
    }
}

#[test]
fn no_config_ends_the_program() {
    let abort = instance(1, Some(ConfiguredPolicy::BUFFER_EXHAUSTED_STALL_THEN_ABORT));
    assert_eq!(policy(&abort), BufferExhaustedPolicy::StallThenDrop);
    let drop = instance(1, Some(ConfiguredPolicy::BUFFER_EXHAUSTED_DROP));
    assert_eq!(policy(&drop), BufferExhaustedPolicy::Drop);
}

#[test]
fn releases_of_kernels() {
    for (text, expected) in [
        ("6.18.5-generic", Some((6, 18))),
        ("6.9-rc1", Some((6, 9))),
        ("7.0", Some((7, 0))),
        ("6", None),
        ("6.x", None),
        ("", None),
    ] {
        assert_eq!(release(text), expected, "{text}");
    }
}

/// A flush that waits for facts of ftrace is carried out, also where ftrace cannot record.
#[test]
fn a_flush_that_waits_for_facts_is_carried_out() {
    let world = World::new();
    let exchange = Arc::default();
    let mut source = FtraceSource::new(
        &world.root,
        FtraceOptions::default(),
        &exchange,
        &Boosts::ignored(&world.root),
    );
    let instance = instance(1, None);
    source.start(&instance);
    let (done, is_done) = channel::<()>();
    exchange.after_pass(0, ("test", 1), Box::new(move || drop(done)));
    assert!(is_done.recv().is_err(), "it was carried out");
    drop(source);
}

#[test]
fn own_threads_have_the_numbers_of_the_kernel() {
    for (namespace, threads) in [(4_026_531_836_u32, vec![8, 12]), (4_026_532_999, vec![])] {
        let world = World::new();
        world.put("proc/self/task/8/stat", "").put("proc/self/task/12/stat", "");
        let own = world.dir.path().join("proc/self/ns");
        std::fs::create_dir_all(&own).unwrap();
        std::os::unix::fs::symlink(format!("pid:[{namespace}]"), own.join("pid")).unwrap();
        let linux = Linux::new(&world.root, FtraceOptions::default());
        assert_eq!(linux.own_threads(), threads);
    }
}
