use super::super::id;
use super::{Scheduling, nice, schedule};
use crate::sys;

#[test]
fn a_boost_never_lowers_a_priority() {
    let raised = |usual, boost| Scheduling::raised(usual, boost);
    assert_eq!(raised(0, 5), Scheduling::Nice(-5));
    assert_eq!(raised(-10, 5), Scheduling::Nice(-10));
    assert_eq!(raised(3, 0), Scheduling::Nice(0));
}

/// On a thread of its own: others keep what they have.
#[test]
fn a_thread_can_give_way() {
    let run = || {
        let usual = nice();
        schedule(id(), Scheduling::Nice((usual + 1).min(19))).expect("always allowed");
        (usual, nice())
    };
    let (usual, now) = std::thread::spawn(run).join().expect("no panic");
    assert_eq!(now, (usual + 1).min(19));
}

/// Whether it may be real-time or not, afterwards it is as it was.
#[test]
fn real_time_and_back() {
    let run = || {
        let (thread, usual) = (id(), nice());
        let boosted = schedule(thread, Scheduling::Fifo(1));
        if boosted.is_ok() {
            let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
            // The fields after the name: priority is the 16th of them, and minus 1 less the real-time priority.
            let stat = stat.expect("a thread");
            let priority = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(15));
            assert_eq!(priority, Some("-2"));
            schedule(thread, Scheduling::Nice(usual)).expect("back");
        }
        assert_eq!(nice(), usual);
        assert!(schedule(thread, Scheduling::Fifo(100)).is_err());
    };
    std::thread::spawn(run).join().expect("no panic");
}

#[test]
fn a_thread_changes_another_one() {
    let (ids, inbox) = std::sync::mpsc::channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let run = move || {
        ids.send(id()).expect("a receiver");
        wait.recv().expect_err("only the end");
        nice()
    };
    let other = std::thread::spawn(run);
    let thread = inbox.recv().expect("an id");
    schedule(thread, Scheduling::Nice(19)).expect("always allowed");
    drop(go);
    assert_eq!(other.join().expect("no panic"), 19);
    assert!(schedule(u32::MAX, Scheduling::Nice(19)).is_err());
}

/// A program that it starts would keep the priority after the boost.
#[test]
fn what_a_raised_thread_starts_is_not_raised() {
    let class_and_nice = || (sys::scheduler(id()).expect("a class"), nice());
    for raised in [Scheduling::Fifo(1), Scheduling::Nice(-5)] {
        let run = move || {
            let usual = class_and_nice();
            if schedule(id(), raised).is_err() {
                return;
            }
            let started = std::thread::spawn(class_and_nice).join().expect("no panic");
            assert_eq!(started, (libc::SCHED_OTHER, 0), "{raised:?}");
            schedule(id(), Scheduling::Nice(usual.1)).expect("back");
            assert_eq!(class_and_nice(), usual);
        };
        std::thread::spawn(run).join().expect("no panic");
    }
}
