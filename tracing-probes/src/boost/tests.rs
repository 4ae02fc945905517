use std::sync::Mutex as StdMutex;

use protos::{PriorityBoostConfig, PriorityBoostConfigBoostPolicy as Policy};

use super::*;

/// What a made-up kernel was told, and the highest real-time priority that it grants.
#[derive(Default)]
struct Kernel {
    told: StdMutex<Vec<(u32, Scheduling)>>,
    log: StdMutex<Vec<String>>,
    fifo_max: u32,
}

impl Kernel {
    fn boosts(self: &Arc<Self>, usual_nice: i32) -> Arc<Boosts> {
        let (kernel, logged) = (Arc::clone(self), Arc::clone(self));
        let schedule = move |id, scheduling| {
            if matches!(scheduling, Scheduling::Fifo(priority) if priority > kernel.fifo_max) {
                return Err(OsError::new("sched_setscheduler", libc::EPERM));
            }
            kernel.told.lock().unwrap().push((id, scheduling));
            Ok(())
        };
        let root = Root::at("/", move |line| logged.log.lock().unwrap().push(line.to_owned()));
        Arc::new(Boosts::with(&root, Vec::new(), usual_nice, Box::new(schedule)))
    }

    fn told(&self) -> Vec<(u32, Scheduling)> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    fn log(&self) -> String {
        std::mem::take(&mut *self.log.lock().unwrap()).join("\n")
    }
}

fn config(policy: i32, priority: u32) -> DataSourceConfig {
    let boost = PriorityBoostConfig {
        policy: Some(Policy(policy)),
        priority: Some(priority),
        ..Default::default()
    };
    DataSourceConfig {
        name: Some("linux.ftrace".into()),
        priority_boost: Some(boost),
        ..Default::default()
    }
}

const OTHER: i32 = 1;
const FIFO: i32 = 2;

#[test]
fn the_highest_boost_of_the_instances_that_live_counts() {
    let kernel = Arc::new(Kernel { fifo_max: 99, ..Kernel::default() });
    let boosts = kernel.boosts(3);
    let thread = boosts.join();
    let tell = |scheduling| vec![(thread.id, scheduling)];
    assert!(boosts.raise(&DataSourceConfig::default()).is_none());
    assert_eq!(kernel.told(), []);

    let low = boosts.raise(&config(OTHER, 20));
    assert_eq!(kernel.told(), tell(Scheduling::Nice(-20)));
    let high = boosts.raise(&config(FIFO, 1));
    assert_eq!(kernel.told(), tell(Scheduling::Fifo(1)));
    let lower = boosts.raise(&config(OTHER, 5));
    assert_eq!(kernel.told(), [], "a lower one changes nothing");
    drop(low);
    assert_eq!(kernel.told(), []);
    drop(high);
    assert_eq!(kernel.told(), tell(Scheduling::Nice(-5)));
    drop(lower);
    assert_eq!(kernel.told(), tell(Scheduling::Nice(3)));
    assert_eq!(kernel.log(), "");
}

#[test]
fn a_boost_never_lowers_a_priority() {
    let kernel = Arc::new(Kernel::default());
    let boosts = kernel.boosts(-10);
    let thread = boosts.join();
    let raised = boosts.raise(&config(OTHER, 5));
    assert_eq!(kernel.told(), [(thread.id, Scheduling::Nice(-10))]);
    drop(raised);
}

#[test]
fn a_refusal_is_a_line_in_the_log_and_leaves_the_others_alone() {
    let kernel = Arc::new(Kernel { fifo_max: 10, ..Kernel::default() });
    let boosts = kernel.boosts(0);
    let thread = boosts.join();
    let granted = boosts.raise(&config(FIFO, 10));
    kernel.told();
    assert!(boosts.raise(&config(FIFO, 11)).is_none());
    assert_eq!(kernel.told(), [(thread.id, Scheduling::Fifo(10))], "as it was");
    let log = kernel.log();
    assert!(log.contains("linux.ftrace: records without its priority_boost"), "{log}");
    assert!(log.contains("sched_setscheduler") && log.contains("CAP_SYS_NICE"), "{log}");
    drop(granted);
    assert_eq!(kernel.told(), [(thread.id, Scheduling::Nice(0))]);
}

#[test]
fn priorities_have_ranges() {
    let kernel = Arc::new(Kernel { fifo_max: u32::MAX, ..Kernel::default() });
    let boosts = kernel.boosts(0);
    for (policy, priority, told) in [
        (0, 1, "policy 0 is neither"),
        (3, 1, "policy 3 is neither"),
        (OTHER, 21, "takes 0 to 20, not 21"),
        (FIFO, 0, "takes 1 to 99, not 0"),
        (FIFO, 100, "takes 1 to 99, not 100"),
        (OTHER, 0, ""),
        (OTHER, 20, ""),
        (FIFO, 1, ""),
        (FIFO, 99, ""),
    ] {
        let raised = boosts.raise(&config(policy, priority));
        let log = kernel.log();
        assert_eq!(raised.is_some(), told.is_empty(), "{policy} {priority}: {log}");
        assert!(log.contains(told) && log.is_empty() == told.is_empty(), "{log}");
    }
}

#[test]
fn a_thread_that_begins_later_gets_what_the_others_have() {
    let kernel = Arc::new(Kernel { fifo_max: 99, ..Kernel::default() });
    let boosts = kernel.boosts(0);
    drop(boosts.join());
    assert_eq!(kernel.told(), [], "nothing was inherited");
    let raised = boosts.raise(&config(FIFO, 7));
    let thread = boosts.join();
    assert_eq!(kernel.told(), [(thread.id, Scheduling::Fifo(7))]);
    drop(thread);
    drop(raised);
    assert_eq!(kernel.told(), [], "no thread is left");
    // A thread that was still raised may have started the new one.
    let thread = boosts.join();
    assert_eq!(kernel.told(), [(thread.id, Scheduling::Nice(0))]);
}
