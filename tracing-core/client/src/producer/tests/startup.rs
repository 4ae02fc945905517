//! Startup tracing: the events that a dispatcher gets, and what its sources are called with.

use protos::DataSourceConfig;

use super::super::dispatch::Dispatcher;
use super::super::event::Setup;
use super::*;
use crate::data_source::{Ack, FlushRequest, Instance};
use crate::write::{Arbiter, BufferExhaustedPolicy, ServiceSupport, TraceWriter};
use abi::flush_flags::FlushFlags;
use abi::ids::InstanceId;
use abi::sync::{Mutex, lock};
use abi::time::BootTime;

const NAME: &str = "test.source";

const PATCHING: ServiceSupport = ServiceSupport { direct_patching: true, by_value: false };

type Steps = Arc<Mutex<Vec<String>>>;

/// Notes its steps, and writes a packet at each start.
struct Source {
    steps: Steps,
    writers: Vec<(Instance, TraceWriter)>,
}

impl Source {
    fn note(&self, step: &str, instance: &Instance) {
        let (id, buffer) = (instance.id(), instance.buffer());
        lock(&self.steps).push(format!("{step} {id} {buffer}"));
    }
}

impl DataSource for Source {
    fn setup(&mut self, instance: &Instance) {
        self.note("setup", instance);
    }

    fn start(&mut self, instance: &Instance) {
        self.note("start", instance);
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        writer.new_packet().for_testing().str("started");
        self.writers.push((instance.clone(), writer));
    }

    fn flush(&mut self, instance: &Instance, _: &FlushRequest, _: Ack) {
        self.note("flush", instance);
    }

    fn stop(&mut self, instance: &Instance, _: Ack) {
        self.note("stop", instance);
        self.writers.retain(|(running, _)| running != instance);
    }
}

/// Goes on with any config.
struct Undemanding;

impl DataSource for Undemanding {
    fn start(&mut self, _: &Instance) {}

    fn stop(&mut self, _: &Instance, _: Ack) {}

    fn can_adopt(&self, _: &DataSourceConfig, _: &DataSourceConfig) -> bool {
        true
    }
}

fn config() -> DataSourceConfig {
    // As in a config of a session: the first buffer of several.
    DataSourceConfig { name: Some(NAME.to_owned()), target_buffer: Some(1), ..Default::default() }
}

/// The same, as a service sends it.
fn config_of_session() -> DataSourceConfig {
    DataSourceConfig {
        target_buffer: Some(5),
        target_buffer_name: Some("main".to_owned()),
        tracing_session_id: Some(3),
        session_initiator: Some(protos::DataSourceConfigSessionInitiator(0)),
        trace_duration_ms: Some(0),
        stop_timeout_ms: Some(5000),
        enable_extra_guardrails: Some(false),
        ..config()
    }
}

/// A producer without threads, whose data source has started.
struct World {
    shared: Arc<Shared>,
    dispatcher: Dispatcher,
    arbiter: Arbiter,
    steps: Steps,
}

fn descriptor() -> DataSourceDescriptor {
    DataSourceDescriptor { name: Some(NAME.to_owned()), ..Default::default() }
}

impl World {
    fn with_timeout(timeout: Duration) -> Self {
        let steps = Steps::default();
        let source = Source { steps: steps.clone(), writers: Vec::new() };
        Self::with(timeout, steps, source)
    }

    fn with(timeout: Duration, steps: Steps, source: impl DataSource + 'static) -> Self {
        let told = steps.clone();
        let mut startup = StartupOptions::new(vec![config()]);
        startup.timeout = timeout;
        startup.on_event = Some(Arc::new(move |event| {
            lock(&told).push(match event {
                StartupEvent::Started { source } => format!("started {source}"),
                StartupEvent::Adopted { source } => format!("adopted {source}"),
                StartupEvent::Aborted { reason, discarded_packets, .. } => {
                    format!("aborted {reason:?} {discarded_packets}")
                }
            });
        }));
        let mut options = ProducerOptions::new("test");
        options.startup = Some(startup);
        let begun = options.begin_startup(Arc::new(ParkThread::default())).unwrap();
        let (memory, startup) = begun.unwrap();
        let arbiter = memory.arbiter().clone();
        let (events, inbox) = queue();
        let shared = Arc::new(Shared::new(options, events));
        shared.lock().startup = Some(memory);
        let dispatcher = Dispatcher::new(inbox, Some(startup));
        shared.register(descriptor(), source).unwrap();
        Self { shared, dispatcher, arbiter, steps }
    }

    fn new() -> Self {
        let mut world = Self::with_timeout(Duration::MAX);
        assert_eq!(world.steps(), ["setup 0 0", "start 0 0", "started test.source"]);
        world
    }

    /// What has happened since the last call.
    fn steps(&mut self) -> Vec<String> {
        self.dispatcher.process_events();
        core::mem::take(&mut *lock(&self.steps))
    }

    /// Serves a connection to a service that answers the first call with `response` and then goes away.
    fn serve(&mut self, response: Option<InitializeConnectionResponse>) {
        let link = Box::new(Leaving::answering(response));
        let park = Arc::new(ParkThread::default());
        let mut connection = ProducerConnection::new(self.shared.clone(), link, park);
        assert!(connection.begin());
        while !matches!(connection.step(None), Stepped::Ended(_)) {}
        connection.end();
        self.shared.send_event(SourceEvent::Disconnected);
    }

    fn setup(&self, config: DataSourceConfig) -> Setup {
        let source = self.shared.lock().sources.get(NAME).map(|it| it.source.clone());
        Setup {
            id: InstanceId::new(7),
            config: config.into(),
            source,
            arbiter: Some(self.arbiter.clone()),
        }
    }

    /// The service asks for an instance.
    fn ask(&self, config: &DataSourceConfig) {
        self.shared.send_event(SourceEvent::Setup(self.setup(config.clone())));
    }

    /// The service starts it.
    fn start(&self, config: &DataSourceConfig) {
        self.shared.send_event(SourceEvent::Start(self.setup(config.clone())));
    }

    fn flush(&self) {
        self.shared.send_event(SourceEvent::Flush {
            arbiter: self.arbiter.clone(),
            id: abi::ids::FlushId::new(1),
            instances: vec![InstanceId::new(7)],
            flags: FlushFlags::default(),
        });
    }

    fn stop(&self) {
        self.shared.send_event(SourceEvent::Stop(InstanceId::new(7)));
    }

    /// Buffers of the chunks that the arbiter commits, and the instances that it reports as started or stopped.
    fn sent(&self) -> (Vec<u32>, Vec<&'static str>) {
        let (mut buffers, mut told) = (Vec::new(), Vec::new());
        while let Some(outgoing) = self.arbiter.poll_request(BootTime::from_ns(0)) {
            match outgoing.request {
                Request::CommitData(commit) => {
                    buffers
                        .extend(commit.chunks_to_move.iter().map(|it| it.target_buffer.unwrap()));
                }
                Request::NotifyDataSourceStarted(_) => told.push("started"),
                Request::NotifyDataSourceStopped(_) => told.push("stopped"),
                _ => {}
            }
        }
        (buffers, told)
    }
}

#[test]
fn an_instance_with_an_equal_config_goes_on() {
    let mut world = World::new();
    world.arbiter.attach(PATCHING);
    let config = config_of_session();
    world.ask(&config);
    world.flush();
    assert_eq!((world.steps(), world.sent().0), (vec![], vec![]));
    world.start(&config);
    assert_eq!(world.steps(), ["adopted test.source"]);
    world.flush();
    world.stop();
    assert_eq!(world.steps(), ["flush 7 5", "stop 7 5"]);
    assert_eq!(world.sent(), (vec![5], vec!["started", "stopped"]));
}

#[test]
fn a_service_may_start_an_instance_without_setting_it_up() {
    let mut world = World::new();
    world.arbiter.attach(PATCHING);
    world.start(&config_of_session());
    assert_eq!(world.steps(), ["adopted test.source"]);
}

#[test]
fn an_instance_with_another_config_is_one_of_its_own() {
    let mut world = World::new();
    world.arbiter.attach(PATCHING);
    let other = DataSourceConfig { legacy_config: Some("other".to_owned()), ..config_of_session() };
    world.ask(&other);
    world.start(&other);
    world.stop();
    assert_eq!(world.steps(), ["setup 7 5", "start 7 5", "stop 7 5"]);
    assert_eq!(world.sent().0, [5]);
    // It can still be adopted, once.
    world.start(&config_of_session());
    assert_eq!(world.steps(), ["adopted test.source"]);
    world.stop();
    world.start(&config_of_session());
    assert_eq!(world.steps(), ["stop 7 5", "setup 7 5", "start 7 5"]);
}

#[test]
fn a_source_decides_which_configs_go_on_but_never_for_another_source() {
    let other = DataSourceConfig { name: Some("other".to_owned()), ..config() };
    let not_equal = DataSourceConfig { legacy_config: Some("other".to_owned()), ..config() };
    for (config, is_adopted) in [(other, false), (not_equal, true)] {
        let mut world = World::with(Duration::MAX, Steps::default(), Undemanding);
        world.arbiter.attach(PATCHING);
        world.start(&config);
        assert_eq!(world.steps().len(), if is_adopted { 2 } else { 1 });
    }
}

#[test]
fn a_timeout_discards_what_was_recorded() {
    let mut world = World::new();
    world.dispatcher.check_timeout(Duration::ZERO);
    assert_eq!(world.steps(), ["stop 0 0", "aborted Timeout 1"]);
    world.arbiter.attach(PATCHING);
    assert_eq!(world.sent().0, [0], "so that the chunk is freed");
    world.start(&config_of_session());
    assert_eq!(world.steps(), ["setup 7 5", "start 7 5"]);
}

/// A session that adopted the recording may wait for a trigger for a long time, so the timeout holds for it, too.
#[test]
fn a_timeout_also_ends_what_is_adopted_and_not_started() {
    let mut world = World::new();
    world.arbiter.attach(PATCHING);
    world.ask(&config_of_session());
    assert_eq!(world.steps(), [""; 0]);
    world.dispatcher.check_timeout(Duration::ZERO);
    assert_eq!(world.steps(), ["stop 7 5", "aborted Timeout 1", "setup 7 5"]);
    assert_eq!(world.sent(), (vec![0], vec![]));
    world.start(&config_of_session());
    assert_eq!(world.steps(), ["start 7 5"]);
}

#[test]
fn a_session_may_end_before_it_starts() {
    let mut world = World::new();
    world.arbiter.attach(PATCHING);
    world.ask(&config_of_session());
    world.stop();
    assert_eq!(world.steps(), ["stop 7 5", "aborted Ended 1"]);
    assert_eq!(world.sent(), (vec![0], vec!["stopped"]));
}

#[test]
fn an_unregistered_source_has_no_instances() {
    let mut world = World::new();
    world.shared.unregister(NAME);
    assert_eq!(world.steps(), ["stop 0 0", "aborted Ended 1"]);
    let source = Source { steps: world.steps.clone(), writers: Vec::new() };
    world.shared.register(descriptor(), source).unwrap();
    assert_eq!(world.steps(), [""; 0], "it has had its startup");
}

#[test]
fn a_service_takes_the_memory_or_refuses_it() {
    let response = |taken, by_value| InitializeConnectionResponse {
        using_shmem_provided_by_producer: Some(taken),
        use_shmem_emulation: Some(by_value),
        ..Default::default()
    };
    // It refuses the producer: the next service may take it.
    let mut world = World::new();
    world.serve(None);
    assert_eq!(world.steps(), [""; 0]);
    world.serve(Some(response(false, false)));
    assert_eq!(world.steps(), ["stop 0 0", "aborted Refused 1"]);
    assert!(world.shared.lock().startup.is_none());
    assert!(world.arbiter.is_disconnected(), "nobody frees its memory");
    // The connection is lost before a session adopts the instance.
    for (taken, by_value) in [(true, false), (false, true), (true, true)] {
        let mut world = World::new();
        world.serve(Some(response(taken, by_value)));
        assert_eq!(world.steps(), ["stop 0 0", "aborted Disconnected 1"]);
        assert!(world.shared.lock().startup.is_none());
    }
}

/// The thread of the data sources, with its real waits.
#[test]
fn the_thread_of_the_sources_ends_startup_tracing() {
    for (timeout, reason) in [(Duration::ZERO, "Timeout"), (Duration::MAX, "Ended")] {
        let world = World::with_timeout(timeout);
        let steps = world.steps.clone();
        let dispatcher = world.dispatcher;
        let thread = std::thread::spawn(move || dispatcher.run());
        let (done, wait) = queue();
        // Twice: the timeout is checked after each event.
        for _ in 0..2 {
            world.shared.send_event(SourceEvent::Fence(done.clone()));
            wait.recv();
        }
        world.shared.send_event(SourceEvent::End);
        thread.join().unwrap();
        let steps = lock(&steps);
        assert_eq!(steps.last(), Some(&format!("aborted {reason} 1")));
        assert_eq!(steps.len(), 5, "{steps:?}");
    }
}

#[test]
fn memory_of_startup_tracing_has_sizes_that_services_take() {
    for (whole, page, legal) in [
        (0, 0, (256 << 10, 4096)),
        (5000, 0, (8192, 4096)),
        (1 << 20, 32 << 10, (1 << 20, 32 << 10)),
        (40_000, 32 << 10, (64 << 10, 32 << 10)),
        (1 << 20, 64 << 10, (1 << 20, 4096)),
        (1 << 20, 5000, (1 << 20, 4096)),
        (1 << 20, 3 << 12, (1 << 20, 4096)),
        (1 << 20, 1 << 11, (1 << 20, 4096)),
        (1 << 30, 0, (32 << 20, 4096)),
    ] {
        let mut options = ProducerOptions::new("test");
        (options.shm_bytes_hint, options.page_bytes_hint) = (whole, page);
        let sizes = options.startup_sizes();
        assert_eq!((sizes.whole_bytes, sizes.page_bytes), legal);
    }
}

/// The service could not be told of it.
#[test]
fn a_descriptor_that_fits_into_no_request_is_an_error() {
    let (events, _inbox) = queue();
    let shared = Shared::new(ProducerOptions::new("test"), events);
    let named = |len: usize| {
        let name = Some("x".repeat(len));
        let source = Source { steps: Steps::default(), writers: Vec::new() };
        shared.register(DataSourceDescriptor { name, ..Default::default() }, source)
    };
    let most = abi::limits::IPC_ARGS_BYTES_MAX;
    let refused = named(most);
    assert!(matches!(refused, Err(ProducerError::TooLong { .. })), "{refused:?}");
    named(most - 100).unwrap();
}
