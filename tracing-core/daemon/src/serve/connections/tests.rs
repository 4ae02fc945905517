use super::*;
use crate::limits::{
    CONNECTION_DESCRIPTORS_MAX, DESCRIPTOR_BYTES, FILES_IN_MEMORY_PER_USER_PART,
    FILES_IN_MEMORY_USERS_SHARE, LARGE_SOCKETS_MAX, LARGE_SOCKETS_PER_USER_MAX, WAITING_PART,
};
use service::shares::MemoryShares;

const MIB: u64 = 1 << 20;
const OWN_UID: u32 = 500;

/// A pool of 48 descriptors.
fn connections() -> Connections {
    of(48 + DESCRIPTORS_RESERVED_MIN, 0)
}

/// Those of a daemon to which so much is left.
fn of(descriptors: u64, memory_bytes: u64) -> Connections {
    Connections::new(Resources { descriptors, memory_bytes }, OwnUser::new(OWN_UID))
}

/// As many connections of one kind as there may be.
fn fill(connections: &Connections, uid: u32, port: PortKind) -> Vec<Slot> {
    std::iter::from_fn(|| connections.admit(PeerUser::Local(uid), port).ok()).take(1000).collect()
}

use PortKind::{Consumer, Producer};

#[test]
fn a_user_has_a_share_and_its_producers_leave_some_for_its_consumers() {
    let connections = connections();
    let producers = fill(&connections, 1000, Producer);
    assert_eq!(producers.len(), 4, "3/16 of 48 are 9 descriptors");
    assert_eq!(fill(&connections, 1000, Consumer).len(), 4, "1/4 are 12");
    assert_eq!(fill(&connections, 1001, Consumer).len(), 12);
    let _consumers = fill(&connections, 1000, Consumer);
    assert_eq!(fill(&connections, 1000, Producer).len(), 0);
    assert_eq!(fill(&connections, 1001, Producer).len(), 4, "another user has a share, too");
    drop(producers);
    assert_eq!(fill(&connections, 1000, Producer).len(), 4);
}

/// Memory that is not unmapped yet keeps the place of its producer, or a user that connects again and again could have
/// any number of them.
#[test]
fn memory_of_producers_that_left_takes_places() {
    let connections = connections();
    let held: Vec<_> = (0..20).map(|_| connections.hold_memory(PeerUser::Local(1000))).collect();
    assert_eq!(fill(&connections, 1000, Producer).len(), 0);
    assert_eq!(fill(&connections, 1001, Producer).len(), 2, "what is left of 1/2, and one more");
    drop(held);
    assert_eq!(fill(&connections, 1000, Producer).len(), 4);
    assert!(lock(&connections.0).users.is_empty());
}

#[test]
fn many_users_leave_a_part_for_root_and_the_daemon() {
    let connections = connections();
    let users = 1000..2000;
    let producers: Vec<_> =
        users.clone().flat_map(|uid| fill(&connections, uid, Producer)).collect();
    assert_eq!(producers.len(), 12 + 1, "1/2 of 48 descriptors, 9/16 with the first of each user");
    let consumers: Vec<_> = users.flat_map(|uid| fill(&connections, uid, Consumer)).collect();
    assert_eq!(consumers.len(), 10 + 6, "3/4 of all, 7/8 with the first of each user");
    assert_eq!(
        connections.admit(PeerUser::Remote, Consumer).unwrap_err().who,
        "users other than root and that of the service"
    );
    for uid in [0, OWN_UID] {
        assert_eq!(fill(&connections, uid, Producer).len(), 3, "all that is left");
        assert_eq!(fill(&connections, uid, Consumer).len(), 6, "up to all");
    }
}

/// Three users that take all they may have.
#[test]
fn a_few_users_do_not_keep_others_out() {
    let connections = connections();
    let fill = |uid| (fill(&connections, uid, Producer), fill(&connections, uid, Consumer));
    let _hostile: Vec<_> = (1000..1003).map(fill).collect();
    for uid in [1000, 1002] {
        let (producers, consumers) = fill(uid);
        assert_eq!((producers.len(), consumers.len()), (0, 0), "{uid}");
    }
    let (producers, consumers) = fill(2000);
    assert_eq!((producers.len(), consumers.len()), (1, 1));
}

#[test]
fn sockets_that_keep_much_are_counted_by_user() {
    let connections = of(1 << 20, 0);
    let enlarge = |uid, count: u64| {
        let slots = (0..count).map(|_| connections.admit(PeerUser::Local(uid), Consumer).unwrap());
        let mut slots: Vec<_> = slots.collect();
        (slots.iter_mut().filter_map(|slot| slot.enlarge().then_some(())).count() as u64, slots)
    };
    let (per_user, all) = (LARGE_SOCKETS_PER_USER_MAX, LARGE_SOCKETS_MAX);
    let (of_one, mut slots) = enlarge(1000, per_user + 2);
    assert_eq!(of_one, per_user);
    assert!(slots[0].enlarge(), "it is large");
    slots.remove(0);
    assert!(slots[per_user as usize].enlarge() && !slots[per_user as usize - 1].enlarge());
    let others: Vec<_> = (1001..1010).map(|uid| enlarge(uid, per_user)).collect();
    assert_eq!(of_one + others.iter().map(|(count, _)| count).sum::<u64>(), all);
    for uid in [0, OWN_UID] {
        assert_eq!(enlarge(uid, all + 1).0, all + 1, "the service trusts them");
    }
    drop((slots, others));
    assert_eq!(enlarge(1000, per_user).0, per_user);
}

#[test]
fn producers_of_the_daemon_leave_a_part_for_consumers() {
    let connections = connections();
    let _producers = fill(&connections, OWN_UID, Producer);
    assert_eq!(fill(&connections, 0, Producer).len(), 0);
    assert_eq!(fill(&connections, 1000, Consumer).len(), 12);
    assert_eq!(fill(&connections, 0, Consumer).len(), 12);
}

#[test]
fn a_user_without_connections_is_forgotten() {
    let connections = connections();
    let slots =
        [Producer, Consumer].map(|port| connections.admit(PeerUser::Local(7), port).unwrap());
    assert_eq!(lock(&connections.0).users.get(&PeerUser::Local(7)).unwrap().all, 3);
    drop(slots);
    let state = lock(&connections.0);
    assert_eq!((state.users.iter().count(), state.everybody, state.others), Default::default());
}

#[test]
fn any_number_of_descriptors_makes_a_pool() {
    for (left, pool) in [(0, 0), (16, 0), (64, 48), (128, 96), (1024, 768)] {
        assert_eq!(lock(&of(left, 0).0).pool, pool, "{left}");
    }
    // Then a higher limit would not help.
    for (left, can_grow) in [(43_689, true), (43_692, false), (u64::MAX, false)] {
        let connections = of(left, 0);
        let pool = lock(&connections.0).pool;
        assert_eq!(pool, CONNECTION_DESCRIPTORS_MAX - u64::from(can_grow), "{left}");
        let slots: Vec<_> =
            (0..pool).map(|_| connections.admit(PeerUser::Local(0), Consumer).unwrap()).collect();
        let refused = connections.admit(PeerUser::Local(0), Consumer).unwrap_err().to_string();
        assert_eq!(refused.contains("ulimit"), can_grow, "{refused}");
        drop(slots);
    }
    let connections = of(u64::MAX, 0);
    assert_eq!(fill(&connections, 1, Producer).len(), 1000);
    assert!(of(0, 0).admit(PeerUser::Local(0), Consumer).is_err());
}

#[test]
fn what_connections_keep_is_counted_by_user() {
    let connections = connections();
    connections.set_kept_max(1000);
    let slot = |uid| connections.admit(PeerUser::Local(uid), Consumer).unwrap();
    let keep = |slot: &mut Slot, bytes| slot.keep(CONNECTION_BYTES_FREE + bytes);
    let (mut one, mut two, mut other) = (slot(1000), slot(1000), slot(1001));
    assert!(slot(1000).keep(CONNECTION_BYTES_FREE), "a little is free");
    assert!(keep(&mut one, 600) && keep(&mut two, 400));
    assert!(!keep(&mut two, 401), "with the other one that is too much");
    assert!(keep(&mut one, 599) && keep(&mut two, 401) && keep(&mut other, 1000));
    // Who keeps less is never closed, although it is too much still.
    connections.set_kept_max(100);
    assert!(keep(&mut one, 500) && !keep(&mut one, 501) && keep(&mut one, 0));
    drop((one, two, other));
    let state = lock(&connections.0);
    assert_eq!((state.kept.iter().count(), state.kept_by_others), (0, 0));
}

#[test]
fn what_many_users_keep_leaves_a_part_for_root_and_the_daemon() {
    let connections = connections();
    connections.set_kept_max(1000);
    let keeps = |uid: u32| {
        let mut slot = connections.admit(PeerUser::Local(uid), Consumer).unwrap();
        let fits = slot.keep(CONNECTION_BYTES_FREE + 1000);
        (fits, slot)
    };
    let kept: Vec<_> = [1000, 1001, 1002, 1003, 1004, OWN_UID, 0].map(keeps).into_iter().collect();
    let fits: Vec<bool> = kept.iter().map(|(fits, _)| *fits).collect();
    assert_eq!(fits, [true, true, true, true, false, true, true]);
}

/// What all users but root and that of the daemon may have of such a memory: buffers, files in memory, what connections
/// keep, large sockets, connections, and all else that is on accounts; and what they may have without connections.
fn sums(memory: u64) -> (u64, u64) {
    let connections = of(u64::MAX, memory);
    let state = lock(&connections.0);
    let files = memory / FILES_IN_MEMORY_PER_USER_PART * FILES_IN_MEMORY_USERS_SHARE;
    let large = state.of_others().large * shares::LARGE_BYTES;
    let kept = state.shares.kept.of_all as u64;
    let rest = MemoryShares::new(memory).sum().of_all as u64
        + files * 9 / 8
        + memory / WAITING_PART
        + large
        + kept;
    (rest + state.pool * DESCRIPTOR_BYTES, rest)
}

#[test]
fn all_that_users_may_have_is_less_than_the_memory() {
    for memory in [256, 300, 512, 1024, 2048, 4096, 8192, 16 * 1024, 64 * 1024].map(|mib| mib * MIB)
    {
        let (all, rest) = sums(memory);
        let left = memory.checked_sub(all).expect("less than there is");
        assert!(left >= memory / 32, "{left} of {memory} bytes are left for the service");
        assert!(all - rest >= memory / 32 || memory >= 16 * 1024 * MIB, "{memory}: connections");
    }
}

#[test]
fn what_connections_may_take_follows_the_memory() {
    let shares = |memory: u64| {
        let connections = of(1 << 20, memory);
        let state = lock(&connections.0);
        let kept = state.shares.kept;
        let large = (state.of_one().large, state.of_others().large);
        (state.pool, large, (kept.of_one as u64 / MIB, kept.of_all as u64 / MIB))
    };
    let large = (LARGE_SOCKETS_PER_USER_MAX, LARGE_SOCKETS_MAX);
    // What is not known, and what is large, limits nothing.
    for memory in [0, 16 * 1024 * MIB, u64::MAX] {
        assert_eq!(shares(memory), (CONNECTION_DESCRIPTORS_MAX, large, (64, 256)), "{memory}");
    }
    // Less than 256 MiB counts as that.
    for memory in [1, 128 * MIB, 256 * MIB] {
        assert_eq!(shares(memory), (261, (2, 9), (6, 8)), "{memory}");
    }
    assert_eq!(shares(1024 * MIB), (1026, (9, 39), (24, 32)));
}

#[test]
fn a_connection_that_is_refused_for_lack_of_memory_tells_so() {
    let connections = of(1 << 20, 256 * MIB);
    let all = fill(&connections, 1000, Consumer);
    assert_eq!(all.len(), 261 / 4);
    let refused = connections.admit(PeerUser::Local(1000), Consumer).unwrap_err().to_string();
    assert!(refused.contains("with more memory (MemoryMax=) there are more"), "{refused}");
}
