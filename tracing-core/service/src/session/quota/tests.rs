use super::*;
use crate::input::Peer;

fn owner(uid: u32, is_unlimited: bool) -> Owner {
    Owner { user: User::of(&Peer { uid, ..Peer::default() }), is_unlimited }
}

/// Adds instances of a user until one is refused.
fn fill(quota: &mut Quota, owner: Owner, bytes: usize) -> (usize, Full) {
    let mut count = 0;
    loop {
        match quota.check(owner, bytes) {
            Ok(()) => quota.add(owner, bytes),
            Err(full) => return (count, full),
        }
        count += 1;
        assert!(count < 100_000, "nothing is refused");
    }
}

#[test]
fn nobody_crowds_out_another() {
    let part = 5;
    let mut quota = Quota::new(part * QUOTA_PARTS);
    for uid in 1..=QUOTA_PARTS_OF_USERS as u32 {
        assert_eq!(fill(&mut quota, owner(uid, false), 0), (part, Full::User));
    }
    // Many users together leave a part to root.
    assert_eq!(fill(&mut quota, owner(100, false), 0), (0, Full::User));
    let root = owner(0, true);
    let rest = QUOTA_PARTS - QUOTA_PARTS_OF_USERS;
    assert_eq!(fill(&mut quota, root, 0), (part * rest, Full::Session));
    // What one gives back, it can have again.
    quota.remove(owner(1, false), 0);
    assert_eq!(quota.check(owner(2, false), 0), Err(Full::User));
    assert_eq!(quota.check(owner(1, false), 0), Ok(()));
    assert_eq!(quota.check(root, 0), Ok(()));
}

#[test]
fn the_bytes_of_configs_have_the_same_parts() {
    let bytes = INSTANCE_CONFIG_BYTES_PER_SESSION_MAX / QUOTA_PARTS / 4;
    let mut quota = Quota::new(1000);
    for uid in 1..=QUOTA_PARTS_OF_USERS as u32 {
        assert_eq!(fill(&mut quota, owner(uid, false), bytes), (4, Full::User));
    }
    assert_eq!(fill(&mut quota, owner(100, false), bytes), (0, Full::User));
    assert_eq!(fill(&mut quota, owner(0, true), bytes).1, Full::Session);
}

#[test]
fn users_without_instances_are_forgotten() {
    let mut quota = Quota::new(1000);
    for round in 0..3 {
        let owner = owner(7, round == 1);
        quota.add(owner, 10);
        quota.add(owner, 20);
        quota.remove(owner, 20);
        quota.remove(owner, 10);
        assert_eq!((quota.all, quota.of_users), Default::default());
        assert!(quota.by_user.is_empty());
    }
}
