//! What is lost while a session ends: its producers may still drop packets, leave, or be cut.

use super::*;

/// What a ledger says: reasons, and amounts.
fn amounts(shell: &mut Shell, consumer: &MockConsumer) -> Vec<(Reason, u64, bool)> {
    let amount = |entry: &LossLedgerEntry| {
        (entry.reason.unwrap(), entry.count.unwrap(), entry.at_least == Some(true))
    };
    ledger(shell, consumer).iter().map(amount).collect()
}

/// A writer may begin to drop packets behind the last flush of a session: its mark comes when the session is over.
#[test]
fn drops_between_the_last_flush_and_the_end() {
    let perhaps = (Reason::REASON_DROPPED_AT_END, 0, true);
    // A mark was told, but not how many packets were dropped. It is of the first session, as its writer.
    let dropped = (Reason::REASON_DROPPED, 0, true);
    for (before, since, marks, told) in [
        (0, 0, 0, &[][..]),
        (0, 1, 0, &[perhaps]),
        (0, 2, 1, &[perhaps]),
        (0, 2, 2, &[]),
        // Another session lost that.
        (1, 0, 0, &[]),
        (2, 1, 0, &[perhaps]),
        // The mark that came is of the older one.
        (1, 1, 1, &[perhaps]),
        (1, 1, 2, &[]),
    ] {
        let mut world = world(true, V1);
        let smb = world.producer.smb.clone().unwrap();
        (0..before).for_each(|_| smb.note_loss());
        let mut later = MockConsumer::connect(&mut world.shell, 0);
        later.enable(&mut world.shell, config(&["ds"]), None);
        let call = later.flush(&mut world.shell, 0);
        world.producer.ack_flush(&mut world.shell, 1);
        assert_eq!(later.flushed(&mut world.shell, call), Some(true));
        (0..since).for_each(|_| smb.note_loss());
        (0..marks).for_each(|at| world.commit_mark(at));
        later.disable(&mut world.shell);
        // What comes later is of other sessions.
        smb.note_loss();
        let case = format!("{before} before, {since} since, {marks} marks");
        assert_eq!(amounts(&mut world.shell, &later), told, "{case}");
        // Also when the producer leaves.
        drop(smb);
        world.producer.disconnect(&mut world.shell);
        assert_eq!(amounts(&mut world.shell, &later), told, "{case}");
        let perhaps = (Reason::REASON_LEFT_UNFINISHED, 0, true);
        let told: Vec<_> = [perhaps].into_iter().chain((marks > 0).then_some(dropped)).collect();
        assert_eq!(amounts(&mut world.shell, &world.consumer), told, "{case}");
    }
}

/// A session that was set up behind it has not lost it.
#[test]
fn a_mark_that_did_not_come_is_of_the_sessions_before() {
    let mut world = world(true, V1);
    world.producer.smb.as_ref().unwrap().note_loss();
    let mut later = MockConsumer::connect(&mut world.shell, 0);
    later.enable(&mut world.shell, config(&["ds"]), None);
    world.producer.disconnect(&mut world.shell);
    let perhaps = (Reason::REASON_LEFT_UNFINISHED, 0, true);
    assert_eq!(amounts(&mut world.shell, &world.consumer), [perhaps]);
    assert_eq!(amounts(&mut world.shell, &later), []);
}

/// Work in pieces: so many pages of memory are looked at in a turn.
const PIECE: u64 = 8 * service::limits::WORK_PER_ENTRY;

/// The end of a session takes what producers still hold, in pieces. One may be killed or cut meanwhile.
#[test]
fn a_producer_that_leaves_while_the_session_ends() {
    let left = |count, at_least| (Reason::REASON_LEFT_UNFINISHED, count, at_least);
    let cut = (Reason::REASON_CUT_PROTOCOL, 1, true);
    // All that it left is looked at before the session is over, or that would take longer.
    for (per_peer, is_seen) in [(u64::MAX, true), (PIECE, false)] {
        for is_cut in [false, true] {
            let mut world = world(true, V1);
            world.chunk(&["a"], NONE, End::Begun);
            world.shell.work_waits = true;
            world.shell.service.set_work(PIECE, PIECE);
            world.consumer.disable(&mut world.shell);
            world.shell.turn();
            assert!(world.shell.service.has_work(), "the session ends in pieces");
            if !is_seen {
                // What it sent is done first.
                for _ in 0..500 {
                    world.producer.call(&mut world.shell, Request::Sync(Default::default()));
                }
            }
            world.shell.service.set_work(per_peer, 1);
            let World { mut shell, producer, consumer, .. } = world;
            if is_cut {
                let client = producer.client;
                drop(producer);
                shell.input(Input::ProducerCut { client, why: Cut::Protocol });
            } else {
                producer.disconnect(&mut shell);
            }
            shell.service.set_work(PIECE, PIECE);
            while shell.service.has_work() {
                shell.turn();
            }
            shell.work_waits = false;
            let mut told = amounts(&mut shell, &consumer);
            told.sort_by_key(|told| told.0.0);
            let case = format!("seen {is_seen}, cut {is_cut}");
            let expected: Vec<_> = [left(u64::from(is_seen), !is_seen)]
                .into_iter()
                .chain(is_cut.then_some(cut))
                .collect();
            assert_eq!(told, expected, "{case}");
        }
    }
}

/// Chunks that the producer held were taken at the end of the session, but not the packets that it had begun.
#[test]
fn a_producer_that_leaves_after_its_part_of_the_end() {
    let mut last = 0;
    // The first one counts how many turns the end takes; so another producer is scraped when the second one leaves.
    for leaves in [false, true] {
        let mut world = world(true, V1);
        let request = protos::InitializeConnectionRequest {
            smb_scraping_mode: Some(protos::InitializeConnectionRequestProducerSMBScrapingMode(1)),
            ..Default::default()
        };
        let mut other = MockProducer::connect_with(&mut world.shell, peer(42), request, None);
        other.register_name(&mut world.shell, "ds");
        other.commands(&mut world.shell);
        register_writer(&mut world.shell, &other);
        world.chunk(&["a"], NONE, End::Begun);
        world.shell.work_waits = true;
        world.shell.service.set_work(PIECE, PIECE);
        world.consumer.disable(&mut world.shell);
        if !leaves {
            while world.consumer.ended(&mut world.shell).is_none() {
                world.shell.turn();
                last += 1;
            }
            continue;
        }
        (0..last - 2).for_each(|_| world.shell.turn());
        let World { mut shell, producer, mut consumer, .. } = world;
        assert_eq!(consumer.ended(&mut shell), None);
        producer.disconnect(&mut shell);
        while shell.service.has_work() {
            shell.turn();
        }
        shell.work_waits = false;
        let perhaps = (Reason::REASON_LEFT_UNFINISHED, 0, true);
        assert_eq!(amounts(&mut shell, &consumer), [perhaps]);
    }
}
