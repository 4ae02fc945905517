use super::*;

/// Users: a hundred connections each, and none below a hundred.
fn user_of(key: u64) -> Option<User> {
    u32::try_from(key / 100).ok().filter(|uid| *uid > 0).map(User::Local)
}

fn ready(keys: impl IntoIterator<Item = u64>) -> Vec<Ready> {
    keys.into_iter().map(|key| Ready { key, ..Ready::default() }).collect()
}

/// The keys in the order in which they are served.
fn order(order: &mut Order, keys: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut ready = ready(keys);
    order.sort(&mut ready, user_of);
    ready.iter().map(|event| event.key).collect()
}

fn serve(order: &mut Order, keys: &[u64]) {
    keys.iter().for_each(|&key| order.served(user_of(key).unwrap(), key));
}

#[test]
fn users_take_turns_and_others_come_first() {
    let it = &mut Order::default();
    let keys = [101, 102, 103, 104, 3, 201, 301, 302, 1];
    assert_eq!(order(it, keys), [3, 1, 101, 201, 301, 102, 302, 103, 104]);
}

#[test]
fn what_was_not_served_comes_first_the_next_time() {
    let it = &mut Order::default();
    let keys = [101, 102, 103, 201, 301];
    assert_eq!(order(it, keys), [101, 201, 301, 102, 103]);
    serve(it, &[101, 201]);
    assert_eq!(
        order(it, keys),
        [301, 102, 201, 103, 101],
        "the next user, and its next connection"
    );
    serve(it, &[301, 102, 201, 103]);
    assert_eq!(order(it, keys), [201, 301, 101, 102, 103]);
}

/// However many connections one user has, one of another user waits for one of them.
#[test]
fn one_among_many() {
    let it = &mut Order::default();
    for _ in 0..10 {
        let served = order(it, (100..200).chain([250]));
        let place = served.iter().position(|key| *key == 250).unwrap();
        assert!(place <= 1, "{place}");
        serve(it, &served[..3]);
    }
    // And each of the many has its turn.
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let served = order(it, 100..200);
        serve(it, &served[..1]);
        seen.insert(served[0]);
    }
    assert_eq!(seen.len(), 100);
}

/// Connections that end and come again have ever larger keys. One that stays has its turn among them.
#[test]
fn connections_that_come_again_keep_none_waiting() {
    let it = &mut Order::default();
    let mut keys: Vec<u64> = (100..111).collect();
    let (mut newest, mut turns) = (110, Vec::new());
    for turn in 0..25 {
        let served = order(it, keys.iter().copied());
        serve(it, &served[..3]);
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

#[test]
fn connections_that_are_not_ready_are_forgotten() {
    let it = &mut Order::default();
    let keys: Vec<u64> = (1..50).map(|uid| uid * 100).collect();
    serve(it, &keys);
    order(it, [100, 200]);
    assert_eq!(it.since.len(), 2);
}
