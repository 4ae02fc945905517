use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Connections whose users are their hundreds. What is below a hundred has none.
#[derive(Default)]
struct Connections {
    order: Order,
    served: BTreeMap<u64, Served>,
}

fn user_of(key: u64) -> Option<PeerUser> {
    u32::try_from(key / 100).ok().filter(|uid| *uid > 0).map(PeerUser::Local)
}

fn ready(keys: impl IntoIterator<Item = u64>) -> Vec<Ready> {
    keys.into_iter().map(|key| Ready { key, ..Ready::default() }).collect()
}

impl Connections {
    /// The keys in the order in which they are served.
    fn sorted(&mut self, keys: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut ready = ready(keys);
        for key in ready.iter().map(|event| event.key) {
            self.served.entry(key).or_insert(self.order.now());
        }
        self.order.sort(&mut ready, |key| Some((user_of(key)?, self.served[&key])));
        ready.iter().map(|event| event.key).collect()
    }

    fn serve(&mut self, keys: &[u64]) {
        for &key in keys {
            self.served.insert(key, self.order.serve(user_of(key).unwrap()));
        }
    }
}

#[test]
fn users_take_turns_and_others_come_first() {
    let it = &mut Connections::default();
    let keys = [101, 102, 103, 104, 3, 201, 301, 302, 1];
    assert_eq!(it.sorted(keys), [3, 1, 101, 201, 301, 102, 302, 103, 104]);
}

#[test]
fn what_was_not_served_comes_first_the_next_time() {
    let it = &mut Connections::default();
    let keys = [101, 102, 103, 201, 301];
    assert_eq!(it.sorted(keys), [101, 201, 301, 102, 103]);
    it.serve(&[101, 201]);
    assert_eq!(
        it.sorted(keys),
        [301, 102, 201, 103, 101],
        "the next user, and its next connection"
    );
    it.serve(&[301, 102, 201, 103]);
    assert_eq!(it.sorted(keys), [201, 301, 101, 102, 103]);
}

/// However many connections one user has, one of another user waits for one of them.
#[test]
fn one_among_many() {
    let it = &mut Connections::default();
    for _ in 0..10 {
        let served = it.sorted((100..200).chain([250]));
        let place = served.iter().position(|key| *key == 250).unwrap();
        assert!(place <= 1, "{place}");
        it.serve(&served[..3]);
    }
    // And each of the many has its turn.
    let mut seen = BTreeSet::new();
    for _ in 0..100 {
        let served = it.sorted(100..200);
        it.serve(&served[..1]);
        seen.insert(served[0]);
    }
    assert_eq!(seen.len(), 100);
}

/// Connections that end and come again have ever larger keys. One that stays has its turn among them.
#[test]
fn connections_that_come_again_keep_none_waiting() {
    let it = &mut Connections::default();
    let mut keys: Vec<u64> = (100..111).collect();
    let (mut newest, mut turns) = (110, Vec::new());
    for turn in 0..25 {
        let served = it.sorted(keys.iter().copied());
        it.serve(&served[..3]);
        for key in &served[..3] {
            if *key == 100 {
                turns.push(turn);
                continue;
            }
            newest += 1;
            keys.retain(|other| other != key);
            keys.push(newest);
        }
    }
    // Eleven connections, three in a turn: ten others come before it at most.
    assert_eq!(turns, [0, 3, 6, 9, 12, 15, 18, 21, 24]);
}

/// One that asks rarely comes before those that ask all the time.
#[test]
fn what_was_not_served_for_long_comes_first() {
    let it = &mut Connections::default();
    it.sorted(100..120);
    it.serve(&[107]);
    for _ in 0..3 {
        it.serve(&(100..107).collect::<Vec<_>>());
        it.serve(&(108..120).collect::<Vec<_>>());
    }
    assert_eq!(it.sorted(100..120)[0], 107);
    assert_eq!(it.sorted(100..121)[..2], [107, 100], "a new one comes last");
    it.serve(&[107, 100]);
    assert_eq!(it.sorted([100, 107, 101]), [101, 107, 100]);
}
