//! Instances that ask for a higher priority of the program that records them.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use client::consumer::Waited;
use client::producer::Producer;
use daemon::in_process::InProcessService;
use daemon::serve::service_config;
use os::thread::{Scheduling, id, nice, schedule};
use protos::{PriorityBoostConfig, PriorityBoostConfigBoostPolicy as Policy};
use tracing_probes::Root;

use super::{FOREVER, alone, config};

/// The nice values of threads of this process that have one of these names.
fn nice_values(names: &[&str]) -> BTreeMap<String, i32> {
    let tasks = fs::read_dir("/proc/self/task").expect("this process has threads");
    let values = tasks.filter_map(|task| {
        let stat = fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let value = rest.split_whitespace().nth(16)?.parse().ok()?;
        names.contains(&name).then(|| (name.to_owned(), value))
    });
    values.collect()
}

/// Whether this process may raise its threads.
fn may_raise(boost: u32) -> bool {
    let raised = move || schedule(id(), Scheduling::Nice(-i32::try_from(boost).unwrap())).is_ok();
    std::thread::spawn(raised).join().expect("no panic")
}

/// The system decides whether it is granted. If it is not, that is told, and the recording has everything all the same.
#[test]
fn the_threads_of_the_producer_are_raised_while_the_instance_lives() {
    const BOOST: u32 = 7;
    let _alone = alone();
    let service = service_config("test").expect("this machine is known");
    let service = InProcessService::start(service, Box::new(|_, _: &str| {})).expect("a service");
    let producer = Producer::attach(service.producer(), tracing_probes::options());
    let producer = producer.expect("a producer");
    let log = Arc::<Mutex<Vec<String>>>::default();
    let logged = Arc::clone(&log);
    let root = Root::at("/", move |line| logged.lock().unwrap().push(line.to_owned()));
    tracing_probes::register_all_at(&producer, &root, tracing_probes::FtraceOptions::default())
        .expect("names are free");
    assert!(producer.sync(FOREVER), "the service takes the registrations");

    let mut config = config();
    let boost = PriorityBoostConfig {
        policy: Some(Policy::POLICY_SCHED_OTHER),
        priority: Some(BOOST),
        ..Default::default()
    };
    let sources = config.data_sources.iter_mut().filter_map(|source| source.config.as_mut());
    for source in sources.filter(|source| source.name.as_deref() == Some("linux.sys_stats")) {
        source.priority_boost = Some(boost.clone());
    }

    let mut consumer = service.consumer();
    consumer.enable_tracing(&config, None).expect("the service is there");
    consumer.flush(FOREVER).expect("the source has started");
    let threads = ["sys_stats", "tracing-sources", "tracing-io"];
    let with = |value: i32| threads.map(|name| (name.to_owned(), value)).into();
    let granted = may_raise(BOOST);
    let expected = if granted { -i32::try_from(BOOST).unwrap() } else { nice() };
    assert_eq!(nice_values(&threads), with(expected));
    assert_eq!(log.lock().unwrap().iter().any(|line| line.contains("CAP_SYS_NICE")), !granted);

    consumer.disable_tracing().expect("the service is there");
    assert_eq!(consumer.wait(Some(FOREVER)).expect("it records"), Waited::Ended);
    assert_eq!(nice_values(&threads), with(nice()));
}
