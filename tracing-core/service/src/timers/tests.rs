//! The queue of timers alone: order, clocks, phases.

use super::*;

fn at(mono_ms: u64, slept_ms: u64) -> Now {
    let mono_ns = mono_ms * 1_000_000;
    Now { mono_ns, boot_ns: mono_ns + slept_ms * 1_000_000, ..Now::default() }
}

fn due(timers: &mut Timers, now: &Now) -> Vec<Timer> {
    std::iter::from_fn(|| timers.pop_due(now)).collect()
}

#[test]
fn ties_fire_by_purpose_and_then_by_id() {
    let mut timers = Timers::default();
    let now = at(10, 0);
    for timer in [
        Timer::Snapshot(SessionId::new(1)),
        Timer::Duration(SessionId::new(2)),
        Timer::Duration(SessionId::new(1)),
        Timer::FlushTimeout(FlushId::new(9)),
    ] {
        timers.set_in(&now, Clock::Monotonic, 1_000_000, timer);
    }
    timers.set_in(&now, Clock::Boot, 500_000, Timer::ClearState(SessionId::new(1)));
    assert_eq!(timers.next(&now), Some(BootTime::from_ns(10_500_000)));
    assert_eq!(
        due(&mut timers, &at(11, 0)),
        [
            Timer::ClearState(SessionId::new(1)),
            Timer::FlushTimeout(FlushId::new(9)),
            Timer::Duration(SessionId::new(1)),
            Timer::Duration(SessionId::new(2)),
            Timer::Snapshot(SessionId::new(1)),
        ]
    );
    assert_eq!(timers.len(), 0);
}

#[test]
fn setting_again_moves() {
    let mut timers = Timers::default();
    let now = at(0, 0);
    timers.set_in(&now, Clock::Monotonic, 1_000_000, Timer::Duration(SessionId::new(1)));
    timers.set_in(&now, Clock::Boot, 5_000_000, Timer::Duration(SessionId::new(1)));
    assert_eq!(timers.len(), 1);
    assert_eq!(due(&mut timers, &at(4, 0)), []);
    timers.cancel(Timer::Duration(SessionId::new(1)));
    timers.cancel(Timer::Duration(SessionId::new(1)));
    assert_eq!(timers.next(&now), None);
}

#[test]
fn sleep_delays_monotonic_timers_only() {
    let mut timers = Timers::default();
    let now = at(0, 0);
    timers.set_in(&now, Clock::Monotonic, 10_000_000, Timer::Duration(SessionId::new(1)));
    timers.set_in(&now, Clock::Boot, 10_000_000, Timer::Duration(SessionId::new(2)));
    // The machine slept for 100 ms: the shell wakes at the deadline it was told, too early for one.
    let later = at(1, 100);
    assert_eq!(due(&mut timers, &later), [Timer::Duration(SessionId::new(2))]);
    assert_eq!(timers.next(&later), Some(BootTime::from_ns(110_000_000)));
    assert_eq!(due(&mut timers, &at(10, 100)), [Timer::Duration(SessionId::new(1))]);
}

#[test]
fn periodic_work_keeps_to_multiples_of_its_period() {
    let mut timers = Timers::default();
    let mut now = at(1234, 0);
    now.mono_ns += 567;
    timers.set_aligned(&now, 100, Timer::Flush(SessionId::new(1)));
    assert_eq!(due(&mut timers, &at(1299, 0)), []);
    assert_eq!(due(&mut timers, &at(1300, 0)), [Timer::Flush(SessionId::new(1))]);
    timers.set_aligned(&at(1300, 0), 100, Timer::Flush(SessionId::new(1)));
    assert_eq!(timers.next(&at(1300, 0)), Some(BootTime::from_ns(1_400_000_000)));
}
