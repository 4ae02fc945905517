use super::*;
use abi::sync::{Arc, AtomicU64, Ordering};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// Clocks that the test sets.
#[derive(Clone, Default)]
struct Clocks {
    processor_ns: Arc<AtomicU64>,
    own_ns: Arc<AtomicU64>,
    readings: Arc<AtomicU64>,
}

impl Clocks {
    fn calls(&self) -> CallMeter {
        let (this, own_ns) = (self.clone(), Arc::clone(&self.own_ns));
        let processor = move || {
            this.readings.fetch_add(1, Ordering::Relaxed);
            this.processor_ns.load(Ordering::Relaxed)
        };
        let own = move || own_ns.load(Ordering::Relaxed);
        CallMeter::with(Box::new(clock::mono_ns), Box::new(processor), Box::new(own))
    }

    /// The loop is on a processor for so long.
    fn work(&self, ns: u64) {
        self.processor_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

/// A turn that begins after a call took long, at `SECOND`.
fn watched() -> (Clocks, CallMeter) {
    let clocks = Clocks::default();
    let mut calls = clocks.calls();
    clocks.work(10 * MS);
    assert_eq!(calls.cost(0, 10 * MS), 0, "nobody knows how much of it was work");
    calls.begin_turn(SECOND);
    (clocks, calls)
}

#[test]
fn a_call_that_takes_the_processor_counts() {
    let (clocks, mut calls) = watched();
    clocks.work(10 * MS);
    assert_eq!(calls.cost(SECOND, SECOND + 10 * MS), 10 * MS);
    clocks.work(5 * MS);
    assert_eq!(calls.cost(SECOND + 10 * MS, SECOND + 15 * MS), 5 * MS, "the same time once");
}

#[test]
fn a_call_that_is_interrupted_does_not_count() {
    let (clocks, mut calls) = watched();
    clocks.work(MS);
    assert_eq!(calls.cost(SECOND, SECOND + 10 * MS), 0);
}

#[test]
fn what_the_loop_did_before_does_not_count() {
    let (clocks, mut calls) = watched();
    clocks.work(10 * MS + MS);
    assert_eq!(calls.cost(SECOND + 10 * MS, SECOND + 20 * MS), 0);
    clocks.work(10 * MS + 5 * MS);
    assert_eq!(calls.cost(SECOND + 30 * MS, SECOND + 40 * MS), 5 * MS);
}

#[test]
fn what_takes_as_long_on_any_socket_does_not_count() {
    let (clocks, mut calls) = watched();
    clocks.own_ns.store(5 * MS, Ordering::Relaxed);
    clocks.work(10 * MS);
    assert_eq!(calls.cost(SECOND, SECOND + 10 * MS), 0);
    clocks.work(5 * MS + 11 * MS);
    assert_eq!(calls.cost(SECOND + 15 * MS, SECOND + 26 * MS), 11 * MS);
}

#[test]
fn turns_without_such_calls_read_no_clock() {
    let clocks = Clocks::default();
    let mut calls = clocks.calls();
    let readings = || clocks.readings.load(Ordering::Relaxed);
    calls.begin_turn(MS);
    assert_eq!(readings(), 0);
    calls.cost(MS, 4 * MS);
    calls.begin_turn(SECOND);
    assert_eq!(readings(), 2);
    calls.begin_turn(60 * SECOND);
    assert_eq!(readings(), 2);
}

#[test]
fn a_call_is_measured() {
    let mut calls = CallMeter::new();
    let mut time = CallTime::default();
    let end_ns = clock::mono_ns() + 2 * SLOW_CALL_NS;
    calls.measure(&mut time, || while clock::mono_ns() < end_ns {});
    assert!(time.has_slow());
    let (a, b) = Stream::pair().unwrap();
    own_ns(&a, &b);
    assert!(matches!(b.receive(&mut [0]), Ok(os::socket::Received::Nothing)), "nothing is left");
}

#[test]
fn two_calls_are_too_much() {
    let mut time = CallTime::default();
    time.add(SECOND, 0);
    assert!(!time.is_too_much());
    time.add(20 * MS, MS);
    assert!(time.is_too_much());
    assert_eq!(time.take_owed(), SECOND + 20 * MS);
    assert!(!time.owes());
}

#[test]
fn a_call_that_takes_long_now_and_then_is_not() {
    let mut time = CallTime::default();
    for seconds in 1..1000 {
        time.add(10 * MS, seconds * 10 * SECOND);
        assert!(!time.is_too_much());
    }
    for times in 1..=3 {
        time.add(10 * MS, 10_000 * SECOND + times * SECOND);
    }
    assert!(time.is_too_much());
}

#[test]
fn a_user_waits_for_its_calls() {
    const SOME: PeerUser = PeerUser::Local(1);
    let (one, other) = (ClientId::new(1), ClientId::new(2));
    let mut waits = CallWaits::default();
    assert!(!waits.hold(SOME, one));
    waits.charge(SOME, 10 * MS, SECOND);
    waits.charge(SOME, 10 * MS, SECOND + 10 * MS);
    let until_ns = SECOND + 2 * 8 * 10 * MS;
    assert_eq!(waits.due_ns(), Some(until_ns));
    assert!(
        waits.has(SOME) && !waits.has(PeerUser::Remote) && !waits.hold(PeerUser::Remote, other)
    );
    assert!(waits.hold(SOME, one) && waits.hold(SOME, other) && waits.hold(SOME, one));
    assert_eq!(waits.release(until_ns - 1).iter().count(), 0);
    let released: Vec<_> = waits.release(until_ns).into_iter().collect();
    assert_eq!(released, [one, other]);
    assert_eq!((waits.has(SOME), waits.due_ns()), (false, None));
    waits.charge(SOME, u64::MAX, SECOND);
    assert_eq!(waits.due_ns(), Some(11 * SECOND));
}

/// What a small socket does not take is sent again when it was enlarged: that call may take as long.
#[test]
fn each_call_that_sends_is_measured() {
    use crate::serve::connections::Connections;
    use crate::serve::port_kind::PortKind;
    use crate::serve::remote::SocketLink;
    use crate::serve::resources::Resources;
    use crate::system::closer::{Closer, CloserLimits, Origin};
    use crate::system::own_user::OwnUser;
    use abi::ids::CallId;
    use rustix::net::{SendFlags, send};
    use std::os::fd::AsFd as _;
    let (stream, _peer) = Stream::pair().unwrap();
    let same = stream.as_fd().try_clone_to_owned().unwrap();
    let own = OwnUser::new(500);
    let connections = Connections::new(Resources::of_descriptors(1 << 20), own);
    let slot = connections.admit(PeerUser::Local(1000), PortKind::Consumer).unwrap();
    let mut link = SocketLink::new(
        stream,
        PortKind::Consumer,
        Origin { client: ClientId::new(9), uid: 1000 },
        slot,
        &Closer::new(CloserLimits::new(1 << 20, own)),
        &crate::serve::unreceived::Unreceived::default(),
        &Arc::new(os::poll::Poller::new().unwrap()),
    );
    while send(&same, &[0; 100], SendFlags::DONTWAIT).is_ok() {}
    link.host.reply(CallId::new(1), Ok(vec![0; 1000].into()), false, None).unwrap();
    // Each call takes a second by this clock.
    let (seconds, clocks) = (AtomicU64::new(0), Clocks::default());
    let readings = Arc::clone(&clocks.readings);
    let mut meter = clocks.calls();
    meter.clock = Box::new(move || seconds.fetch_add(SECOND, Ordering::Relaxed));
    link.write(&mut meter, drop).unwrap();
    assert!(!link.host.wanted().write, "it was sent");
    assert_eq!(readings.load(Ordering::Relaxed), 2);
}
