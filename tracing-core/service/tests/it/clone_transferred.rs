//! Clones that take whole buffers (`transfer_on_clone`): who has the packets then.

use super::clone::{COPIED, TRANSFERRED, ask, done, two_buffers, two_producers};
use super::*;
use protos::InitializeConnectionRequestProducerSMBScrapingMode as Scraping;
use protos::producer_port::Request;

#[test]
fn transfer_on_clone() {
    let mut shell = Shell::new();
    let (mut a, mut b, _consumer) = two_producers(&mut shell, two_buffers());
    b.write(&mut shell, WRITER, COPIED, &[payload("persistent")]);
    for round in 0..3u64 {
        if round < 2 {
            a.write(&mut shell, WRITER, TRANSFERRED, &[payload(&format!("transferred {round}"))]);
        }
        let (clone, call) = ask(&mut shell, 0, None);
        let flush = 2 * round + 1;
        assert_eq!(words(&mut shell, &mut a), [format!("flush {flush} of [1] flags 0x13")]);
        assert_eq!(words(&mut shell, &mut b), [format!("flush {} of [2] flags 0x13", flush + 1)]);
        a.ack_flush(&mut shell, flush);
        b.ack_flush(&mut shell, flush + 1);
        done(&mut shell, &clone, call);
        let mut expect = vec![format!("transferred {round}"), "persistent".into()];
        if round == 2 {
            expect.remove(0);
        }
        assert_eq!(payloads(&clone.read(&mut shell)), expect);
    }
}

#[test]
fn clone_transfer_flush() {
    let mut shell = Shell::new();
    let (mut a, mut b, _consumer) = two_producers(&mut shell, two_buffers());
    let (clone, call) = ask(&mut shell, 0, None);
    a.write(&mut shell, WRITER, TRANSFERRED, &[payload("a")]);
    b.write(&mut shell, WRITER, COPIED, &[payload("b 1")]);
    a.ack_flush(&mut shell, 1);
    // Its buffer is taken by now; the other one is not.
    a.write(&mut shell, WRITER, TRANSFERRED, &[payload("too late")]);
    b.write(&mut shell, WRITER, COPIED, &[payload("b 2")]);
    assert_eq!(clone.cloned(&mut shell, call), None);
    b.ack_flush(&mut shell, 2);
    b.write(&mut shell, WRITER, COPIED, &[payload("b 3")]);
    done(&mut shell, &clone, call);
    assert_eq!(payloads(&clone.read(&mut shell)), ["a", "b 1", "b 2"]);
}

/// A patch for a chunk that is not in the buffer.
fn patch(shell: &mut Shell, producer: &MockProducer) {
    let patch = protos::CommitDataRequestChunkToPatchPatch {
        offset: Some(0),
        data: Some(vec![0; 4]),
        ..Default::default()
    };
    let of_chunk = protos::CommitDataRequestChunkToPatch {
        target_buffer: Some(TRANSFERRED.get().into()),
        writer_id: Some(WRITER.get().into()),
        chunk_id: Some(0),
        patches: vec![patch],
        ..Default::default()
    };
    let request =
        protos::CommitDataRequest { chunks_to_patch: vec![of_chunk], ..Default::default() };
    producer.call(shell, Request::CommitData(request));
}

fn losses_of_clones(
    shell: &mut Shell,
    consumer: &MockConsumer,
) -> Vec<(Option<u64>, Option<bool>)> {
    let entries = ledger::ledger(shell, consumer).into_iter();
    let failed = Some(protos::LossLedgerReason::REASON_CLONE_FAILED);
    let of_clones = entries.filter(|entry| entry.reason == failed);
    of_clones.map(|entry| (entry.count, entry.at_least)).collect()
}

/// What a clone took goes back to its source if the clone fails, unless newer packets would be before it.
#[test]
fn a_transferred_buffer_goes_back_if_the_clone_fails() {
    #[derive(Clone, Copy, PartialEq)]
    enum Comes {
        Nothing,
        Packet,
        LatePatch,
    }
    for comes in [Comes::Nothing, Comes::Packet, Comes::LatePatch] {
        let mut shell = Shell::with_checked_buffers();
        let (mut a, b, consumer) = two_producers(&mut shell, two_buffers());
        a.write(&mut shell, WRITER, TRANSFERRED, &[payload("a")]);
        let (clone, call) = ask(&mut shell, 0, None);
        a.ack_flush(&mut shell, 1);
        match comes {
            Comes::Nothing => {}
            Comes::Packet => a.write(&mut shell, WRITER, TRANSFERRED, &[payload("b")]),
            Comes::LatePatch => patch(&mut shell, &a),
        }
        assert_eq!(clone.cloned(&mut shell, call), None);
        clone.disconnect(&mut shell);
        a.write(&mut shell, WRITER, TRANSFERRED, &[payload("c")]);
        let (read, told) = match comes {
            Comes::Packet => (["b", "c"], &[(Some(0), Some(true))][..]),
            Comes::Nothing | Comes::LatePatch => (["a", "c"], &[][..]),
        };
        let failed = ledger::stats(&mut shell, &consumer).buffer_stats[0].patches_failed;
        assert_eq!(failed, Some(u64::from(comes == Comes::LatePatch)));
        assert_eq!(losses_of_clones(&mut shell, &consumer), told);
        assert_eq!(payloads(&consumer.read(&mut shell)), read);
        // The next clone gets what is there then.
        b.ack_flush(&mut shell, 2);
        a.write(&mut shell, WRITER, TRANSFERRED, &[payload("d")]);
        let (clone, call) = ask(&mut shell, 0, None);
        a.ack_flush(&mut shell, 3);
        b.ack_flush(&mut shell, 4);
        done(&mut shell, &clone, call);
        assert_eq!(payloads(&clone.read(&mut shell)), ["d"]);
        assert_eq!(losses_of_clones(&mut shell, &consumer), told);
    }
}

/// The flush of the other buffers takes nothing of writers into the place of one that was taken.
#[test]
fn the_flush_of_other_buffers_leaves_the_place_of_a_taken_one_empty() {
    let mut shell = Shell::new();
    let request = protos::InitializeConnectionRequest {
        producer_name: Some("a".into()),
        smb_scraping_mode: Some(Scraping::SMB_SCRAPING_ENABLED),
        ..Default::default()
    };
    let mut a = MockProducer::connect_with(&mut shell, peer(42), request, None);
    a.register_name(&mut shell, "a");
    let mut b = producer(&mut shell, "b");
    b.register_name(&mut shell, "b");
    let mut source = MockConsumer::connect(&mut shell, 0);
    source.enable(&mut shell, two_buffers(), None);
    a.commands(&mut shell);
    b.commands(&mut shell);
    let request = protos::RegisterTraceWriterRequest {
        trace_writer_id: Some(WRITER.get().into()),
        target_buffer: Some(TRANSFERRED.get().into()),
        ..Default::default()
    };
    a.call(&mut shell, Request::RegisterTraceWriter(request));
    // It is not committed.
    a.fill_chunk(WRITER, TRANSFERRED, &[payload("x")]);
    let (mut clone, call) = ask(&mut shell, 0, None);
    a.ack_flush(&mut shell, 1);
    clone.enable(&mut shell, config(&[]), None);
    b.ack_flush(&mut shell, 2);
    assert!(clone.cloned(&mut shell, call).unwrap().error.is_some(), "it has a session");
    assert_eq!(losses_of_clones(&mut shell, &source), []);
    assert_eq!(payloads(&source.read(&mut shell)), ["x"]);
}

/// A clone that clears other buffers takes no place of what goes back.
#[test]
fn a_buffer_goes_back_although_another_one_was_cleared() {
    for clears_both in [false, true] {
        let mut shell = Shell::new();
        let mut config = two_buffers();
        config.buffers[1].clear_before_clone = Some(true);
        config.buffers[0].clear_before_clone = clears_both.then_some(true);
        let (mut a, mut b, consumer) = two_producers(&mut shell, config);
        let (first, _) = ask(&mut shell, 0, None);
        a.write(&mut shell, WRITER, TRANSFERRED, &[payload("a")]);
        b.write(&mut shell, WRITER, COPIED, &[payload("b")]);
        a.ack_flush(&mut shell, 1);
        let (_second, _) = ask(&mut shell, 0, None);
        first.disconnect(&mut shell);
        let (read, told) = match clears_both {
            false => (&["a"][..], &[][..]),
            true => (&[][..], &[(Some(0), Some(true))][..]),
        };
        assert_eq!(losses_of_clones(&mut shell, &consumer), told);
        assert_eq!(payloads(&consumer.read(&mut shell)), read);
    }
}

/// The second clone took what came behind the first one: the first one does not put its packets behind that.
#[test]
fn two_clones_with_transferred_buffers_fail() {
    let mut shell = Shell::new();
    let (mut a, _b, consumer) = two_producers(&mut shell, two_buffers());
    a.write(&mut shell, WRITER, TRANSFERRED, &[payload("a")]);
    let (first, _) = ask(&mut shell, 0, None);
    a.ack_flush(&mut shell, 1);
    a.write(&mut shell, WRITER, TRANSFERRED, &[payload("b"), payload("c")]);
    assert_eq!(payloads(&consumer.read(&mut shell)), ["b", "c"]);
    let (second, _) = ask(&mut shell, 0, None);
    a.ack_flush(&mut shell, 4);
    first.disconnect(&mut shell);
    let perhaps = [(Some(0), Some(true))];
    assert_eq!(losses_of_clones(&mut shell, &consumer), perhaps);
    second.disconnect(&mut shell);
    assert_eq!(payloads(&consumer.read(&mut shell)), Vec::<String>::new());
    a.write(&mut shell, WRITER, TRANSFERRED, &[payload("d")]);
    assert_eq!(payloads(&consumer.read(&mut shell)), ["d"]);
}

/// The consumer of a session that is over is told so when packets that a clone took are back, or in the clone.
#[test]
fn the_end_of_a_session_waits_for_what_a_clone_took() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Then {
        ConsumerLeaves,
        ProducerAnswers,
        FlushTimesOut,
    }
    for then in [Then::ConsumerLeaves, Then::ProducerAnswers, Then::FlushTimesOut] {
        let mut shell = Shell::new();
        let (mut a, b, mut consumer) = two_producers(&mut shell, two_buffers());
        a.write(&mut shell, WRITER, TRANSFERRED, &[payload("a")]);
        let (clone, call) = ask(&mut shell, 0, None);
        a.ack_flush(&mut shell, 1);
        consumer.disable(&mut shell);
        assert_eq!(consumer.ended(&mut shell), None, "{then:?}");
        let mut clone = Some(clone);
        match then {
            Then::ConsumerLeaves => clone.take().unwrap().disconnect(&mut shell),
            Then::ProducerAnswers => b.ack_flush(&mut shell, 2),
            Then::FlushTimesOut => shell.advance_ms(service::limits::FLUSH_TIMEOUT_MS),
        }
        assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""), "{then:?}");
        if let Some(clone) = &mut clone {
            done(&mut shell, clone, call);
            assert_eq!(payloads(&clone.read(&mut shell)), ["a"]);
        }
        let read: &[&str] = if clone.is_none() { &["a"] } else { &[] };
        assert_eq!(payloads(&consumer.read(&mut shell)), read, "{then:?}");
        assert_eq!(losses_of_clones(&mut shell, &consumer), [], "{then:?}");
    }
}

/// A producer that does not answer delays the end of a session by a clone for a short time only, whatever time the
/// session gives producers for flushes.
#[test]
fn the_flush_of_a_clone_does_not_delay_the_end_for_long() {
    let mut shell = Shell::new();
    let config = TraceConfig { flush_timeout_ms: Some(3_600_000), ..two_buffers() };
    let (mut a, _b, mut consumer) = two_producers(&mut shell, config);
    a.write(&mut shell, WRITER, TRANSFERRED, &[payload("a")]);
    let (clone, call) = ask(&mut shell, 0, None);
    a.ack_flush(&mut shell, 1);
    consumer.disable(&mut shell);
    shell.advance_ms(service::limits::CLONE_COPY_LAST_MS - 1);
    assert_eq!(consumer.ended(&mut shell), None);
    shell.advance_ms(1);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    done(&mut shell, &clone, call);
}

/// What a clone took is lost with it if its consumer leaves before all of it was sent.
#[test]
fn a_clone_whose_consumer_leaves_loses_what_it_took() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Leaves {
        BeforeReading,
        BeforeAllIsSent,
        Afterwards,
    }
    for leaves in [Leaves::BeforeReading, Leaves::BeforeAllIsSent, Leaves::Afterwards] {
        let mut shell = Shell::new();
        let (mut a, b, consumer) = two_producers(&mut shell, two_buffers());
        a.write(&mut shell, WRITER, TRANSFERRED, &[payload("a")]);
        let (clone, call) = ask(&mut shell, 0, None);
        a.ack_flush(&mut shell, 1);
        b.ack_flush(&mut shell, 2);
        done(&mut shell, &clone, call);
        shell.consumers_are_slow = true;
        if leaves != Leaves::BeforeReading {
            assert_eq!(payloads(&clone.read(&mut shell)), ["a"]);
        }
        if leaves == Leaves::Afterwards {
            shell.drain_consumers();
        }
        clone.disconnect(&mut shell);
        let told: &[_] = match leaves {
            Leaves::Afterwards => &[],
            Leaves::BeforeReading | Leaves::BeforeAllIsSent => &[(Some(0), Some(true))],
        };
        assert_eq!(losses_of_clones(&mut shell, &consumer), told, "{leaves:?}");
    }
}
