use super::{Scheduling, nice, schedule};

/// On a thread of its own: others keep what they have.
#[test]
fn a_thread_can_give_way() {
    let run = || {
        let usual = nice();
        schedule(Scheduling::Nice((usual + 1).min(19))).expect("always allowed");
        (usual, nice())
    };
    let (usual, now) = std::thread::spawn(run).join().expect("no panic");
    assert_eq!(now, (usual + 1).min(19));
}

/// Whether it may be real-time or not, afterwards it is as it was.
#[test]
fn real_time_and_back() {
    let run = || {
        let usual = nice();
        let boosted = schedule(Scheduling::Fifo(1));
        if boosted.is_ok() {
            schedule(Scheduling::Nice(usual)).expect("back");
        }
        assert_eq!(nice(), usual);
        assert!(schedule(Scheduling::Fifo(100)).is_err());
    };
    std::thread::spawn(run).join().expect("no panic");
}
