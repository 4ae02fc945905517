use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

const OWN_UID: u32 = 500;

/// The time of the tests begins long after boot.
const NOW_NS: u64 = 1_000_000_000_000;

/// A value whose drop waits until its sender is gone, and which tells that it begins.
struct Busy(Sender<u32>, Receiver<()>, u32);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.send(self.2);
        let _ = self.1.recv();
    }
}

struct World {
    mapper: EndMapper,
    begun: (Sender<u32>, Receiver<u32>),
}

impl World {
    fn new() -> Self {
        Self { mapper: EndMapper(Mapper::new(OwnUser::new(OWN_UID))), begun: channel() }
    }

    /// Memory whose end takes until the result is dropped.
    fn unmap(&self, uid: u32) -> Sender<()> {
        let (end, ends) = channel();
        self.mapper.0.unmap(uid, Busy(self.begun.0.clone(), ends, uid));
        end
    }

    /// Memory that is mapped: what becomes known of it.
    fn map(&self, uid: u32) -> Receiver<Result<(), MemoryIsSlow>> {
        let (answer, answers) = channel();
        self.mapper.0.map(uid, move |result| drop(answer.send(result)));
        answers
    }

    fn begins(&self) -> u32 {
        self.begun.1.recv_timeout(Duration::from_secs(10)).expect("the thread is free")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.mapper.0.0.state)
    }

    /// Memory of a user is slow for as long as it may be.
    fn make_slow(&self, uid: u32) {
        self.state().note(uid, u64::MAX, clock::mono_ns());
    }
}

/// One job runs at a time, so a job that takes long is known to be about memory of its own user.
#[test]
fn one_job_runs_at_a_time_and_users_take_turns() {
    let world = World::new();
    let first = world.unmap(7);
    assert_eq!(world.begins(), 7);
    let others = [7, 7, 8, 9].map(|uid| world.unmap(uid));
    assert!(world.begun.1.try_recv().is_err());
    drop((first, others));
    assert_eq!([(); 4].map(|()| world.begins()), [8, 9, 7, 7]);
}

#[test]
fn its_thread_ends_after_the_last_job() {
    let world = World::new();
    let Mapper(shared) = world.mapper.0.clone();
    let last = world.unmap(7);
    assert_eq!(world.begins(), 7);
    drop(last);
    drop(world);
    let (state, ten_seconds) = (lock(&shared.state), Duration::from_secs(10));
    let waited = shared.ended.wait_timeout_while(state, ten_seconds, |state| state.has_thread);
    assert!(!waited.unwrap().1.timed_out());
}

#[test]
fn memory_that_took_long_is_slow_for_eight_times_as_long() {
    let mut state = State::default();
    state.note(7, 50_000_000, NOW_NS);
    assert!(!state.is_slow(7, NOW_NS), "as long as it may take");
    state.note(7, 50_000_001, NOW_NS);
    state.note(8, u64::MAX, NOW_NS);
    for (uid, wait_ns) in [(7, 400_000_008), (8, 10_000_000_000)] {
        assert!(state.is_slow(uid, NOW_NS + wait_ns - 1) && !state.is_slow(uid, NOW_NS + wait_ns));
    }
    assert!(!state.is_slow(9, NOW_NS));
    // A job that runs.
    state.running = Some((9, NOW_NS));
    assert!(!state.is_slow(9, NOW_NS + 50_000_000) && state.is_slow(9, NOW_NS + 50_000_001));
    assert!(!state.is_slow(10, NOW_NS + 50_000_001));
}

#[test]
fn slow_memory_is_not_unmapped_before_its_time_and_keeps_nobody_waiting() {
    let mut state = State::default();
    let unmap = || Job::Unmap(Box::new(()));
    state.waiting.insert(7, VecDeque::from([unmap()]));
    state.waiting.insert(8, VecDeque::from([unmap()]));
    state.note(7, SLOW_MEMORY_NS + 1, NOW_NS);
    let pop = |state: &mut State, now_ns| state.pop(now_ns).map(|(uid, _, is_slow)| (uid, is_slow));
    assert_eq!(pop(&mut state, NOW_NS), Some((8, false)));
    assert_eq!(pop(&mut state, NOW_NS), None);
    assert_eq!(pop(&mut state, NOW_NS + 500_000_000), Some((7, false)));
    assert_eq!(state.waiting.iter().count(), 0);
    // At the end nothing waits for its time.
    state.waiting.insert(7, VecDeque::from([unmap()]));
    state.note(7, SLOW_MEMORY_NS + 1, NOW_NS);
    state.ended = true;
    assert_eq!(pop(&mut state, NOW_NS), Some((7, false)));
}

/// What waits to be mapped learns it at once, also behind what waits to be unmapped.
#[test]
fn slow_memory_is_not_mapped() {
    let world = World::new();
    let busy = world.unmap(8);
    assert_eq!(world.begins(), 8);
    let later = world.unmap(7);
    let waiting = world.map(7);
    world.make_slow(7);
    assert_eq!(world.map(7).try_recv(), Ok(Err(MemoryIsSlow)), "without the thread");
    drop(busy);
    assert_eq!(waiting.recv(), Ok(Err(MemoryIsSlow)));
    assert_eq!(world.map(9).recv(), Ok(Ok(())), "another user");
    assert!(world.begun.1.try_recv().is_err());
    drop(later);
}

#[test]
fn root_and_the_user_of_the_daemon_are_trusted() {
    let world = World::new();
    for (uid, is_trusted) in [(0, true), (OWN_UID, true), (7, false)] {
        let busy = world.unmap(uid);
        assert_eq!(world.begins(), uid);
        // As if it had begun long ago.
        world.state().running = Some((uid, 0));
        assert_eq!(world.map(uid).try_recv().is_err(), is_trusted);
        drop(busy);
    }
}
