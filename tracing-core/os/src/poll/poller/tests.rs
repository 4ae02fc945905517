use super::*;
use crate::clock;
use crate::poll::Alarm;

#[test]
fn an_alarm_rings_when_it_is_time_and_not_before() {
    let poller = Poller::new().unwrap();
    let mut alarm = Alarm::new().unwrap();
    poller.add(&alarm, 7, Interest::READ).unwrap();
    let rings = |timeout| {
        let mut ready = Vec::new();
        poller.wait(&mut ready, timeout).unwrap();
        ready.len() == 1
    };
    assert!(!rings(Some(Duration::ZERO)));
    alarm.set(Some(u64::MAX)).unwrap();
    assert!(!rings(Some(Duration::ZERO)));
    let at_ns = clock::boot_ns() + 3_000_000;
    alarm.set(Some(at_ns)).unwrap();
    assert!(rings(None) && clock::boot_ns() >= at_ns);
    alarm.clear();
    assert!(!rings(Some(Duration::ZERO)));
    // An alarm whose time has passed rings at once.
    alarm.set(Some(0)).unwrap();
    assert!(rings(None));
    alarm.set(None).unwrap();
    assert!(!rings(Some(Duration::ZERO)));
}
