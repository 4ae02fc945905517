use super::*;

const MS: u64 = 1_000_000;

fn who(client: u64, user: PeerUser) -> Option<ConnectionUser> {
    Some(ConnectionUser { client: ClientId::new(client), user })
}

#[test]
fn a_long_turn_tells_its_longest_task() {
    let mut turn = WatchedTurn::default();
    turn.begin(1000 * MS);
    turn.task(1001 * MS, Task::ProducerRequest, who(70_000, PeerUser::Local(1000)));
    turn.task(1091 * MS, Task::ConsumerRequest, who(70_001, PeerUser::Local(0)));
    let slow = turn.end(1101 * MS).unwrap();
    let busy = "a request of a producer (connection 70000 of user 1000)";
    assert_eq!(slow.line, format!("a turn took 101 ms, 90 of them {busy}"));
    assert_eq!(slow.who, who(70_000, PeerUser::Local(1000)));
    // The next turn begins anew.
    turn.begin(2000 * MS);
    turn.task(2000 * MS, Task::Timers, None);
    assert_eq!(turn.end(2100 * MS), None, "exactly as long as it may take");
    turn.begin(3000 * MS);
    let line = "a turn took 500 ms, 500 of them connections";
    assert_eq!(turn.end(3500 * MS), Some(SlowTurn { line: line.into(), who: None }));
}

#[test]
fn a_turn_that_does_not_end_is_told_once() {
    let (mut turn, mut looks) = (WatchedTurn::default(), Looks::default());
    let shared = Arc::clone(&turn.shared);
    assert_eq!(looks.look(&shared, 1), None, "it sleeps");
    turn.begin(1000 * MS);
    turn.task(1000 * MS, Task::File, None);
    assert_eq!(looks.look(&shared, 1500 * MS), None, "found for the first time");
    turn.task(1600 * MS, Task::ConsumerRequest, who(70_000, PeerUser::Remote));
    let busy = "a request of a consumer (connection 70000 of users of other machines)";
    let line = format!("a turn has not ended after 1500 ms, busy with {busy}");
    assert_eq!(looks.look(&shared, 2500 * MS), Some(line));
    assert_eq!(looks.look(&shared, 3500 * MS), None);
    turn.end(4000 * MS);
    assert_eq!(looks.look(&shared, 4500 * MS), None);
    // Another one.
    turn.begin(5000 * MS);
    assert_eq!(looks.look(&shared, 5010 * MS), None);
    assert_eq!(looks.look(&shared, 5090 * MS), None, "not long yet");
    assert!(looks.look(&shared, 6010 * MS).is_some());
}

#[test]
fn the_thread_reads_what_the_loop_stores() {
    let shared = Shared::default();
    for task in TASKS {
        for who in [None, who(0, PeerUser::Remote), who(u64::MAX >> 8, PeerUser::Local(u32::MAX))] {
            let busy = Busy { task, who };
            shared.store(busy);
            assert_eq!(shared.load(), busy);
        }
    }
}
