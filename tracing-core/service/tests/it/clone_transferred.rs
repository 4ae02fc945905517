//! Clones that take whole buffers (`transfer_on_clone`): who has the packets then.

use super::clone::{COPIED, TRANSFERRED, ask, done, two_buffers, two_producers};
use super::*;

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
    for comes in [false, true] {
        let mut shell = Shell::new();
        let (mut a, b, consumer) = two_producers(&mut shell, two_buffers());
        a.write(&mut shell, WRITER, TRANSFERRED, &[payload("a")]);
        let (clone, call) = ask(&mut shell, 0, None);
        a.ack_flush(&mut shell, 1);
        if comes {
            a.write(&mut shell, WRITER, TRANSFERRED, &[payload("b")]);
        }
        assert_eq!(clone.cloned(&mut shell, call), None);
        clone.disconnect(&mut shell);
        a.write(&mut shell, WRITER, TRANSFERRED, &[payload("c")]);
        let (read, told) = match comes {
            false => (["a", "c"], &[][..]),
            true => (["b", "c"], &[(Some(0), Some(true))][..]),
        };
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
        match then {
            Then::ConsumerLeaves => clone.disconnect(&mut shell),
            Then::ProducerAnswers => b.ack_flush(&mut shell, 2),
            Then::FlushTimesOut => shell.advance_ms(service::limits::FLUSH_TIMEOUT_MS),
        }
        assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""), "{then:?}");
        let fails = then == Then::ConsumerLeaves;
        if !fails {
            done(&mut shell, &clone, call);
            assert_eq!(payloads(&clone.read(&mut shell)), ["a"]);
        }
        let read: &[&str] = if fails { &["a"] } else { &[] };
        assert_eq!(payloads(&consumer.read(&mut shell)), read, "{then:?}");
        assert_eq!(losses_of_clones(&mut shell, &consumer), [], "{then:?}");
    }
}

/// What a clone took is lost with it if nobody reads it.
#[test]
fn a_clone_that_nobody_reads_loses_what_it_took() {
    for is_read in [false, true] {
        let mut shell = Shell::new();
        let (mut a, b, consumer) = two_producers(&mut shell, two_buffers());
        a.write(&mut shell, WRITER, TRANSFERRED, &[payload("a")]);
        let (clone, call) = ask(&mut shell, 0, None);
        a.ack_flush(&mut shell, 1);
        b.ack_flush(&mut shell, 2);
        done(&mut shell, &clone, call);
        if is_read {
            assert_eq!(payloads(&clone.read(&mut shell)), ["a"]);
        }
        clone.disconnect(&mut shell);
        let told: &[_] = if is_read { &[] } else { &[(Some(0), Some(true))] };
        assert_eq!(losses_of_clones(&mut shell, &consumer), told);
    }
}
