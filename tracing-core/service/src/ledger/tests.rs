use super::*;

fn who(client: u64, uid: u32) -> LossOwner {
    let peer = Peer { uid, pid: Some(7), ..Peer::default() };
    let id = ProducerId::new(client as u16);
    LossOwner::new(ClientId::new(client), id, format!("p{client}").into(), &peer)
}

fn lose(ledger: &mut Ledger, (client, uid): (u64, u32), is_unlimited: bool, at_ns: u64) {
    let amount = Amount { count: 2, at_least: at_ns > 1 };
    let loss = Loss { amount, ..Loss::new(who(client, uid), Reason::LeftUnfinished) };
    ledger.add(loss, is_unlimited, at_ns);
}

fn entries(ledger: &Ledger) -> Vec<(String, u64)> {
    let entries = ledger.to_proto().map(|ledger| ledger.entries).unwrap_or_default();
    let entry = |e: LossLedgerEntry| (e.producer_name.unwrap_or_default(), e.count.unwrap_or(0));
    entries.into_iter().map(entry).collect()
}

#[test]
fn equal_losses_are_one_entry() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.to_proto(), None);
    lose(&mut ledger, (3, 1000), false, 1);
    lose(&mut ledger, (3, 1000), false, 9);
    let entry = LossLedgerEntry {
        reason: Some(LossLedgerReason::REASON_LEFT_UNFINISHED),
        producer_name: Some("p3".into()),
        producer_id: Some(3),
        uid: Some(1000),
        pid: Some(7),
        first_timestamp: Some(1),
        last_timestamp: Some(9),
        count: Some(4),
        unit: Some(LossLedgerUnit::UNIT_PACKETS),
        at_least: Some(true),
        ..Default::default()
    };
    assert_eq!(ledger.to_proto().unwrap().entries, [entry]);
}

#[test]
fn a_long_name_is_not_kept() {
    let mut ledger = Ledger::default();
    let source = Some("n".repeat(100_000).into());
    let loss = Loss { source, ..Loss::new(who(3, 1000), Reason::UserFull) };
    ledger.add(loss, false, 1);
    let kept: Vec<_> = ledger.entries.values().map(|e| e.source.as_ref().unwrap().len()).collect();
    assert_eq!(kept, [LEDGER_NAME_BYTES_MAX]);
}

/// What the producers of one user do has no effect on the entries of others.
#[test]
fn a_user_has_so_many_entries() {
    let mut ledger = Ledger::default();
    for client in 0..1000 {
        lose(&mut ledger, (client, 1000), false, 1);
    }
    assert_eq!(ledger.len(), LEDGER_ENTRIES_PER_USER + 1);
    let all = entries(&ledger);
    let others = 2 * (1000 - LEDGER_ENTRIES_PER_USER as u64);
    assert!(all.contains(&(String::new(), others)), "none is left out: {all:?}");
    lose(&mut ledger, (2000, 1001), false, 1);
    assert!(entries(&ledger).contains(&("p2000".into(), 2)));
}

/// What all users do leaves entries to root and the users of service and session, and there is a bound.
#[test]
fn all_users_have_so_many_entries() {
    let mut ledger = Ledger::default();
    for client in 0..1000 {
        lose(&mut ledger, (client, 1000 + client as u32), false, 1);
    }
    assert_eq!(ledger.len(), LEDGER_ENTRIES_OF_USERS + 1);
    for client in 1000..2000 {
        lose(&mut ledger, (client, 0), true, 2);
    }
    assert_eq!(ledger.len(), LEDGER_ENTRIES_MAX + 1);
    assert!(entries(&ledger).contains(&("p1000".into(), 2)));
    let sum: u64 = entries(&ledger).iter().map(|(_, count)| count).sum();
    assert_eq!(sum, 2 * 2000);
}

/// A consumer gets it in one frame, whatever the names.
#[test]
fn its_message_has_a_bound() {
    use protozero::Message as _;
    let mut ledger = Ledger::default();
    for client in 0..1000 {
        let name: Arc<str> = "\u{1f980}".repeat(1000).into();
        let who = LossOwner { name: name.clone(), ..who(client, 0) };
        let mut loss = Loss::new(who, Reason::UserFull);
        loss.source = Some(name);
        ledger.add(loss, true, u64::MAX);
    }
    let bytes = ledger.to_proto().unwrap().encode_to_vec().len();
    assert!(bytes <= crate::limits::IPC_STATE_BYTES_MAX / 2, "{bytes}");
}
