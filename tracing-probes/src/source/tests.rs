use std::io;

use abi::ids::InstanceId;
use abi::sync::{Arc, AtomicUsize, Mutex, Ordering, lock};
use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use protos::{DataSourceConfig, SysStatsConfig};

use super::{Source, Spawn};
use crate::boost::Boosts;
use crate::inode_file_map::InodeFileMapProbe;
use crate::limits::INSTANCES_PER_SESSION_MAX;
use crate::probe::Probe;
use crate::process_stats::ProcessStatsProbe;
use crate::sys_stats::SysStatsProbe;
use crate::sysfs_power::SysfsPowerProbe;
use crate::system_info::SystemInfoProbe;
use crate::systemd_journald::JournaldProbe;
use crate::tests::World;

type Run = Box<dyn FnOnce() + Send>;

/// Threads that were asked for. A test runs them when it likes: one that it does not run stands still.
#[derive(Clone, Default)]
struct Threads(Arc<Mutex<Vec<(String, Run)>>>);

impl Threads {
    fn spawn(&self) -> Arc<Spawn> {
        let threads = self.clone();
        Arc::new(move |name, run| {
            lock(&threads.0).push((name.to_owned(), run));
            Ok(())
        })
    }

    fn names(&self) -> Vec<String> {
        lock(&self.0).iter().map(|(name, _)| name.clone()).collect()
    }

    fn run(&self) {
        let threads = std::mem::take(&mut *lock(&self.0));
        threads.into_iter().for_each(|(_, run)| run());
    }
}

fn instance(id: u64, session: u64) -> Instance {
    let sys_stats = SysStatsConfig { meminfo_period_ms: Some(1), ..Default::default() };
    let config = DataSourceConfig {
        tracing_session_id: Some(session),
        sys_stats_config: Some(sys_stats),
        ..Default::default()
    };
    Instance::detached(InstanceId::new(id), config)
}

/// Starts, flushes and stops many instances of one session and one of another, while the thread stands still.
fn check_hostile_config<P: Probe>(name: &str) {
    const HOSTILE: u64 = 4500;
    let (world, threads) = (World::new(), Threads::default());
    let mut source =
        Source::<P>::with_threads(&world.root, &Boosts::ignored(&world.root), threads.spawn());
    let answered = Arc::new(AtomicUsize::new(0));
    let ack = || {
        let answered = Arc::clone(&answered);
        Ack::new(move || {
            answered.fetch_add(1, Ordering::Relaxed);
        })
    };
    let instances: Vec<_> = (0..HOSTILE).map(|id| instance(id, 1)).collect();
    instances.iter().for_each(|instance| source.start(instance));
    let honest = instance(HOSTILE, 2);
    source.start(&honest);
    assert_eq!(threads.names(), [name]);
    assert_eq!(world.log().len(), 1, "the refusal is logged, once");

    let running = INSTANCES_PER_SESSION_MAX + 1;
    // Some of those that were refused, too.
    let flushed = || instances.iter().take(running + 10).chain([&honest]);
    for _ in 0..900 {
        flushed().for_each(|it| source.flush(it, &FlushRequest::default(), ack()));
    }
    let inbox = source.instances.inbox().unwrap();
    assert_eq!(inbox.waiting(), running);
    let asked = 900 * flushed().count();
    assert_eq!(answered.load(Ordering::Relaxed), asked - running, "one flush of each waits");
    instances.iter().chain([&honest]).for_each(|instance| source.stop(instance, ack()));
    assert_eq!(inbox.waiting(), running);
    drop(source);
    threads.run();
    assert_eq!(answered.load(Ordering::Relaxed), asked + instances.len() + 1, "all are answered");
    assert_eq!(threads.names(), [""; 0], "there was one thread");
}

#[test]
fn thousands_of_instances_and_flushes_take_one_thread() {
    check_hostile_config::<SysStatsProbe>("sys_stats");
    check_hostile_config::<ProcessStatsProbe>("process_stats");
    check_hostile_config::<SystemInfoProbe>("system_info");
    check_hostile_config::<InodeFileMapProbe>("inode_file_map");
    check_hostile_config::<SysfsPowerProbe>("sysfs_power");
    check_hostile_config::<JournaldProbe>("systemd_journald");
}

/// An instance that would record nothing takes no place, and its reason is in the log.
#[test]
fn an_instance_that_would_record_nothing_is_refused() {
    let (world, threads) = (World::new(), Threads::default());
    let boosts = Boosts::ignored(&world.root);
    let mut source = Source::<SysStatsProbe>::with_threads(&world.root, &boosts, threads.spawn());
    let sys_stats = SysStatsConfig {
        meminfo_period_ms: Some(1000),
        stat_period_ms: Some(1500),
        ..Default::default()
    };
    let config = DataSourceConfig { sys_stats_config: Some(sys_stats), ..Default::default() };
    source.start(&Instance::detached(InstanceId::new(1), config));
    assert_eq!(threads.names(), [""; 0]);
    let log = world.log();
    assert!(
        log[0].starts_with("linux.sys_stats: an instance records nothing: the period"),
        "{log:?}"
    );
}

#[test]
fn an_instance_that_has_stopped_makes_place() {
    let world = World::new();
    let mut source = Source::<SystemInfoProbe>::new(&world.root, &Boosts::ignored(&world.root));
    for round in 0..3 {
        let ids = (0..INSTANCES_PER_SESSION_MAX as u64).map(|id| 100 * round + id);
        let instances: Vec<_> = ids.map(|id| instance(id, 1)).collect();
        instances.iter().for_each(|instance| source.start(instance));
        let (done, all_done) = std::sync::mpsc::channel::<()>();
        for instance in &instances {
            let done = done.clone();
            source.stop(instance, Ack::new(move || drop(done)));
        }
        drop(done);
        all_done.recv().unwrap_err();
    }
    // Only that there is no such file.
    assert_eq!(world.log().len(), 1);
}

#[test]
fn one_thread_for_each_kind() {
    let (world, threads) = (World::new(), Threads::default());
    let mut stuck = Source::<ProcessStatsProbe>::with_threads(
        &world.root,
        &Boosts::ignored(&world.root),
        threads.spawn(),
    );
    stuck.start(&instance(1, 1));
    // The first one stands still: it is not run.
    let others = Threads::default();
    let mut other = Source::<SysStatsProbe>::with_threads(
        &world.root,
        &Boosts::ignored(&world.root),
        others.spawn(),
    );
    other.start(&instance(2, 1));
    assert_eq!((threads.names().len(), others.names().len()), (1, 1));
    let answered = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&answered);
    let done = Ack::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    other.stop(&instance(2, 1), done);
    drop(other);
    others.run();
    assert_eq!(answered.load(Ordering::Relaxed), 1);
}

#[test]
fn without_a_thread_an_instance_is_refused_and_the_next_one_tries_again() {
    let (world, threads) = (World::new(), Threads::default());
    let fails: Arc<Spawn> = Arc::new(|_, _| Err(io::Error::from(io::ErrorKind::WouldBlock)));
    let mut source =
        Source::<SystemInfoProbe>::with_threads(&world.root, &Boosts::ignored(&world.root), fails);
    source.start(&instance(1, 1));
    assert_eq!(world.log().len(), 1);
    source.spawn = threads.spawn();
    source.start(&instance(2, 1));
    assert_eq!(threads.names(), ["system_info"]);
}

#[test]
fn a_config_cannot_end_the_program() {
    use client::write::BufferExhaustedPolicy as Policy;
    use protos::DataSourceConfigBufferExhaustedPolicy as Configured;
    let policy = |configured| {
        let config = DataSourceConfig { buffer_exhausted_policy: configured, ..Default::default() };
        super::policy(&Instance::detached(InstanceId::new(1), config))
    };
    let abort = Some(Configured::BUFFER_EXHAUSTED_STALL_THEN_ABORT);
    assert_eq!(policy(abort), Policy::StallThenDrop);
    assert_eq!(policy(None), Policy::StallThenDrop);
    assert_eq!(policy(Some(Configured::BUFFER_EXHAUSTED_DROP)), Policy::Drop);
}
