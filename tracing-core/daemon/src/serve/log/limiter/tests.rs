use super::*;

const OWN_UID: u32 = 500;

fn who(client: u64, uid: u32) -> Option<ConnectionUser> {
    Some(ConnectionUser { client: ClientId::new(client), user: PeerUser::Local(uid) })
}

/// How many lines are written at one moment, of more than there may be.
fn written(limiter: &mut Limiter, now_ns: u64, about: Option<ConnectionUser>) -> u64 {
    (0..10_000).filter(|_| limiter.allow(now_ns, about)).count() as u64
}

#[test]
fn each_peer_has_a_share_and_gets_more_with_time() {
    let mut limiter = Limiter::new(OwnUser::new(OWN_UID));
    assert_eq!(written(&mut limiter, 0, who(1, 1000)), PEER.burst);
    assert_eq!(written(&mut limiter, 0, who(2, 1000)), PEER.burst, "another peer of the user");
    assert_eq!(written(&mut limiter, PEER.refill_ns - 1, who(1, 1000)), 0);
    assert_eq!(written(&mut limiter, PEER.refill_ns, who(1, 1000)), 1);
    let all = PEER.refill_ns * (PEER.burst + 7);
    assert_eq!(written(&mut limiter, all, who(1, 1000)), PEER.burst, "never more than that");
}

#[test]
fn a_user_gets_no_more_by_connecting_again() {
    let mut limiter = Limiter::new(OwnUser::new(OWN_UID));
    let mut lines = 0;
    for client in 0..100 {
        lines += written(&mut limiter, 0, who(client, 1000));
        limiter.forget(ClientId::new(client));
    }
    assert_eq!((lines, limiter.peers.len()), (USER.burst, 0));
    assert_eq!(written(&mut limiter, 0, who(200, 1001)), PEER.burst, "another user");
    assert_eq!(written(&mut limiter, 3 * USER.refill_ns, who(201, 1000)), 3);
}

#[test]
fn many_users_leave_lines_for_root_and_the_service() {
    let mut limiter = Limiter::new(OwnUser::new(OWN_UID));
    let lines: u64 = (1..100).map(|id| written(&mut limiter, 0, who(id, 1000 + id as u32))).sum();
    assert_eq!(lines, ALL.burst);
    for (client, uid) in [(200, 0), (201, OWN_UID)] {
        assert_eq!(written(&mut limiter, 0, who(client, uid)), PEER.burst);
    }
    assert_eq!(written(&mut limiter, 0, None), ALL.burst);
    let lines = written(&mut limiter, ALL.refill_ns, who(202, 5000));
    assert_eq!(lines, 1, "what is left comes back for all");
}

/// A line that is not written takes nothing of the other shares.
#[test]
fn a_refused_line_costs_nothing() {
    let mut limiter = Limiter::new(OwnUser::new(OWN_UID));
    written(&mut limiter, 0, who(1, 1000));
    let of_user: u64 = (2..100).map(|client| written(&mut limiter, 0, who(client, 1000))).sum();
    assert_eq!(of_user, USER.burst - PEER.burst);
    let of_all: u64 =
        (0..100).map(|id| written(&mut limiter, 0, who(200 + id, id as u32 + 1))).sum();
    assert_eq!(of_all, ALL.burst - USER.burst);
}

#[test]
fn what_was_not_shown_is_told_once() {
    let mut limiter = Limiter::new(OwnUser::new(OWN_UID));
    assert_eq!(limiter.due_ns(), None);
    written(&mut limiter, 5, who(1, 1000));
    written(&mut limiter, 6, who(2, 1001));
    assert!(limiter.allow(6, who(3, 1002)), "of this user nothing is missing");
    let due_ns = limiter.due_ns().unwrap();
    assert_eq!(due_ns, 5 + LOG_TELL_NS, "counted from the first");
    assert!(limiter.poll(due_ns - 1).is_empty());
    let count = 10_000 - PEER.burst;
    let line = |uid| format!("{count} messages about user {uid} not shown");
    assert_eq!(limiter.poll(due_ns), [line(1000), line(1001)]);
    assert!(limiter.poll(u64::MAX).is_empty());
    assert_eq!(limiter.due_ns(), None);
}

#[test]
fn accounts_have_a_bound_and_what_they_tell_has_one() {
    let mut limiter = Limiter::new(OwnUser::new(OWN_UID));
    for uid in 0..2 * LOG_USERS_MAX as u32 {
        for _ in 0..=PEER.burst {
            limiter.allow(0, who(uid.into(), 1000 + uid));
        }
    }
    assert_eq!(limiter.accounts.len(), LOG_USERS_MAX + 1);
    let lines = limiter.poll(u64::MAX);
    assert_eq!(lines.len(), LOG_USERS_TOLD_MAX + 1);
    let others = LOG_USERS_MAX + 1 - LOG_USERS_TOLD_MAX;
    let last = lines.last().unwrap();
    assert!(last.ends_with(&format!("messages about {others} more users not shown")), "{last}");
    // Those that have all of their share again make place.
    limiter.allow(u64::MAX / 2, who(1, 1));
    assert_eq!(limiter.accounts.len(), 1);
}

/// A refused connection is never forgotten, because it never was one.
#[test]
fn peers_that_are_not_forgotten_have_a_bound() {
    let mut limiter = Limiter::new(OwnUser::new(OWN_UID));
    for client in 0..4 * LOG_PEERS_MAX as u64 {
        limiter.allow(client * S, who(client, 1000));
    }
    assert!(limiter.peers.len() <= LOG_PEERS_MAX, "{}", limiter.peers.len());
}

#[test]
fn nothing_is_told_of_those_whose_lines_were_all_written() {
    let mut limiter = Limiter::new(OwnUser::new(OWN_UID));
    assert!(limiter.allow(0, who(1, 1000)));
    written(&mut limiter, 0, who(2, 1001));
    let expected = format!("{} messages about user 1001 not shown", 10_000 - PEER.burst);
    assert_eq!(limiter.poll(u64::MAX), [expected]);
}

/// What the timers of its sessions cause is on the account of their user, and on that of none of its connections.
#[test]
fn a_user_pays_for_its_sessions() {
    let mut limiter = Limiter::new(OwnUser::new(OWN_UID));
    let of_sessions = About::User(PeerUser::Local(1000));
    let lines = (0..10_000).filter(|_| limiter.allow(0, of_sessions)).count() as u64;
    assert_eq!((lines, limiter.peers.len()), (USER.burst, 0));
    assert_eq!(written(&mut limiter, 0, who(1, 1000)), 0);
    assert_eq!(written(&mut limiter, 0, None), ALL.burst);
    assert_eq!(written(&mut limiter, 0, who(2, 1001)), PEER.burst, "another user");
}
