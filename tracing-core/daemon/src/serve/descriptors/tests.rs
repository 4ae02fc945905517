use abi::sync::{Arc, AtomicU64, Ordering};

use super::*;

const ROOM: usize = DESCRIPTORS_PER_MESSAGE;
const MESSAGE: u64 = DESCRIPTORS_PER_MESSAGE as u64;

/// A process that can open so many, and what changes that.
fn process(left: u64) -> (Descriptors, Arc<AtomicU64>) {
    process_on(true, left)
}

/// Of a kernel that knows the number, or counts.
fn process_on(is_known: bool, left: u64) -> (Descriptors, Arc<AtomicU64>) {
    let kernel = Arc::new(AtomicU64::new(left));
    let asked = Arc::clone(&kernel);
    let ask = move || Some(asked.load(Ordering::Relaxed));
    (Descriptors::with(left, is_known, Box::new(ask)), kernel)
}

/// Connections and messages take descriptors between two messages: there is room for all of the second one.
#[test]
fn what_is_accepted_and_received_counts() {
    for (accepted, received) in [(200, 0), (0, MESSAGE)] {
        let (mut it, kernel) = process(500);
        assert_eq!(it.openable(false, ROOM), Openable::Any);
        (0..accepted).for_each(|_| assert!(it.admits(false, 1)));
        it.count_opened(received);
        kernel.fetch_sub(accepted + received, Ordering::Relaxed);
        assert_eq!(it.openable(false, ROOM), Openable::Two, "{accepted} {received}");
    }
}

#[test]
fn there_is_room_for_the_largest_message() {
    for (left, room, expected) in [
        (ENOUGH, ROOM, Openable::Any),
        (ENOUGH - 1, ROOM, Openable::Two),
        (ENOUGH, ROOM - 1, Openable::Two),
        (ENOUGH, 1, Openable::Two),
        (ENOUGH, 0, Openable::Nothing),
        (PER_READ, ROOM, Openable::Two),
        (PER_READ - 1, ROOM, Openable::Nothing),
    ] {
        let (mut it, _kernel) = process(left);
        assert_eq!(it.openable(false, room), expected, "{left} {room}");
    }
}

/// A message without descriptors is received nevertheless.
#[test]
fn others_leave_the_last_ones_to_root_and_the_daemon() {
    let (mut it, kernel) = process(1600);
    for (left, others, root) in [
        (ENOUGH + 100, Openable::Any, Openable::Any),
        (ENOUGH + 99, Openable::Two, Openable::Any),
        (PER_READ + 100, Openable::Two, Openable::Two),
        (PER_READ + 99, Openable::Nothing, Openable::Two),
    ] {
        kernel.store(left, Ordering::Relaxed);
        it.left = 0;
        assert_eq!((it.openable(true, ROOM), it.openable(false, ROOM)), (others, root), "{left}");
    }
    for (left, others) in [(101, true), (100, true), (99, false), (0, false)] {
        kernel.store(left, Ordering::Relaxed);
        it.left = 0;
        assert_eq!((it.admits(true, 1), it.admits(false, 1)), (others, true), "{left}");
    }
    kernel.store(100, Ordering::Relaxed);
    it.left = 0;
    assert!(!it.admits(true, 2), "the memory of a producer comes later");
    assert_eq!(process(0).0.kept, DESCRIPTORS_KEPT_MIN);
}

#[test]
fn the_kernel_is_asked_when_the_number_is_old() {
    for (is_known, valid_ns) in [(true, DESCRIPTORS_ASKED_NS), (false, DESCRIPTORS_COUNTED_NS)] {
        let (mut it, kernel) = process_on(is_known, 5000);
        it.begin_turn(valid_ns + 1);
        assert_eq!(it.openable(false, ROOM), Openable::Any);
        // Another thread.
        kernel.store(10, Ordering::Relaxed);
        it.begin_turn(2 * valid_ns + 1);
        assert_eq!(it.openable(false, ROOM), Openable::Any);
        it.begin_turn(2 * valid_ns + 2);
        assert_eq!(it.openable(false, ROOM), Openable::Two);
    }
}

#[test]
fn a_kernel_that_does_not_tell_admits_connections_and_no_descriptors() {
    let mut it = Descriptors::with(1000, true, Box::new(|| None));
    assert!(it.admits(true, 1));
    it.left = 0;
    assert_eq!(it.openable(true, ROOM), Openable::Nothing);
}
