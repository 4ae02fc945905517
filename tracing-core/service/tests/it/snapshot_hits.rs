//! Triggers of CLONE_SNAPSHOT mode while no consumer wants to be told: none vanishes.

use super::detach::{attach, detach};
use super::ledger::ledger;
use super::triggers::{fire, observe_clones, observed, session, trigger, waiting};
use super::*;
use abi::ids::CallId;
use protos::TraceConfigTriggerConfigTriggerMode as Mode;
use protos::{LossLedgerReason, LossLedgerUnit, ObserveEventsResponse};
use protozero::Message as _;

/// Takes snapshots for "a" and "b", after so many milliseconds.
fn snapshots(delays_ms: [u32; 2]) -> TraceConfig {
    let triggers = vec![trigger("a", delays_ms[0]), trigger("b", delays_ms[1])];
    waiting(Mode::CLONE_SNAPSHOT, 8_640_000, triggers)
}

/// The triggers that a consumer was told of.
fn told(shell: &mut Shell, consumer: &MockConsumer, call: CallId) -> Vec<String> {
    let events = observed(shell, consumer, call);
    events.into_iter().filter_map(|event| event.clone_trigger_hit?.trigger_name).collect()
}

/// How many snapshots the ledger of a session says were not taken.
fn lost(shell: &mut Shell, consumer: &MockConsumer) -> Option<u64> {
    let entries = ledger(shell, consumer);
    assert!(entries.len() <= 1, "{entries:?}");
    let entry = entries.first()?;
    let reason = Some(LossLedgerReason::REASON_SNAPSHOT_NOT_TAKEN);
    assert_eq!((entry.reason, entry.unit), (reason, Some(LossLedgerUnit::UNIT_SNAPSHOTS)));
    assert_eq!((entry.producer_name.as_deref(), entry.at_least), (Some("mock_producer"), None));
    entry.count
}

fn log_has(shell: &Shell, text: &str) -> bool {
    shell.log.iter().any(|(_, line)| line.contains(text))
}

/// The one that attaches is told, whether it observes before or after that. One that only looks whether the session is
/// there (`--is_detached`) is not, and changes nothing.
#[test]
fn what_comes_while_a_session_is_detached_is_told_later() {
    for observes_first in [false, true] {
        let mut shell = Shell::new();
        let (producer, consumer) = session(&mut shell, snapshots([1, 1]));
        observe_clones(&mut shell, &consumer);
        assert!(detach(&mut shell, &consumer, "key"));
        fire(&mut shell, &producer, &["a", "b"]);
        shell.advance_ms(1);
        let probe = MockConsumer::connect(&mut shell, 0);
        assert!(attach(&mut shell, &probe, "key").is_some());
        assert!(detach(&mut shell, &probe, "key"));

        let other = MockConsumer::connect(&mut shell, 0);
        let before = observes_first.then(|| observe_clones(&mut shell, &other));
        assert!(attach(&mut shell, &other, "key").is_some());
        let call = before.unwrap_or_else(|| observe_clones(&mut shell, &other));
        assert_eq!(told(&mut shell, &other, call), ["a", "b"]);
        let again = observe_clones(&mut shell, &other);
        assert_eq!(told(&mut shell, &other, again), [""; 0], "each once");
        other.disable(&mut shell);
        assert_eq!(lost(&mut shell, &other), None);
    }
}

/// The same of a consumer that observes nothing at first.
#[test]
fn a_consumer_that_observes_later_is_told() {
    let mut shell = Shell::new();
    let (producer, consumer) = session(&mut shell, snapshots([1, 1]));
    fire(&mut shell, &producer, &["b"]);
    shell.advance_ms(1);
    let call = observe_clones(&mut shell, &consumer);
    assert_eq!(told(&mut shell, &consumer, call), ["b"]);
}

/// Events are sent when a turn is over. What a consumer asks for in the same turn, when its requests had to wait, does
/// not make it miss those that it would have got.
#[test]
fn a_consumer_that_asks_again_in_the_same_turn_is_told() {
    let mut shell = Shell::new();
    let (producer, consumer) = session(&mut shell, snapshots([1, 1]));
    fire(&mut shell, &producer, &["a"]);
    shell.advance_ms(1);
    shell.work_waits = true;
    // It has used up its allowance.
    let used =
        service::Input::FramesDecoded { client: consumer.client, refused: 1 << 10, bytes: 0 };
    shell.input(used);
    let calls = [(); 2].map(|()| observe_clones(&mut shell, &consumer));
    shell.work_waits = false;
    shell.advance_ms(1);
    let told = calls.map(|call| told(&mut shell, &consumer, call));
    assert_eq!(told, [vec!["a".to_owned()], vec![]]);
}

#[test]
fn what_nobody_asks_for_is_in_the_ledger_at_the_end() {
    let mut shell = Shell::new();
    let (producer, consumer) = session(&mut shell, snapshots([1, 1000]));
    fire(&mut shell, &producer, &["a", "b", "a"]);
    shell.advance_ms(1);
    assert_eq!(lost(&mut shell, &consumer), None, "they may still be told");
    consumer.disable(&mut shell);
    // The delay of one runs at the end.
    assert_eq!(lost(&mut shell, &consumer), Some(3));
    assert!(log_has(&shell, "so snapshots were not taken: 3"), "{:?}", shell.log);
    // One comes after the end.
    fire(&mut shell, &producer, &["b"]);
    let lines = shell.log.len();
    shell.advance_ms(1000);
    assert_eq!(lost(&mut shell, &consumer), Some(4));
    let uids = &shell.log_uids[lines..];
    assert!(!uids.is_empty() && uids.iter().all(Option::is_some), "on the account of its user");
    let lines = shell.log.len();
    consumer.free(&mut shell);
    assert!(!shell.log[lines..].iter().any(|(_, line)| line.contains("snapshots")));
}

/// There is nothing more to record: a consumer that takes snapshots is told at once, and then of the end.
#[test]
fn a_delay_ends_with_the_session() {
    let mut shell = Shell::new();
    let (producer, consumer) = session(&mut shell, snapshots([10, 10]));
    let call = observe_clones(&mut shell, &consumer);
    fire(&mut shell, &producer, &["a", "b"]);
    shell.take_replies(consumer.client);
    consumer.disable(&mut shell);
    let replies = shell.take_replies(consumer.client);
    // Two events, and then the end.
    let hits = replies[..2].iter().map(|reply| {
        let response = ObserveEventsResponse::decode(reply.response.as_ref().unwrap()).unwrap();
        response.events?.clone_trigger_hit?.trigger_name
    });
    assert!(hits.eq(["a", "b"].map(|name| Some(name.to_owned()))), "{replies:?}");
    assert_eq!(lost(&mut shell, &consumer), None);
    assert_eq!(shell.service.footprint().delayed_hits, 0);
    // One may come later, and be taken.
    fire(&mut shell, &producer, &["b"]);
    shell.advance_ms(10);
    assert_eq!(told(&mut shell, &consumer, call), ["b"]);
}

/// A session that is being freed cannot be cloned any more.
#[test]
fn a_consumer_that_frees_its_session_is_not_told() {
    let mut shell = Shell::new();
    let (producer, consumer) = session(&mut shell, snapshots([10, 10]));
    let call = observe_clones(&mut shell, &consumer);
    fire(&mut shell, &producer, &["a"]);
    consumer.free(&mut shell);
    assert_eq!(told(&mut shell, &consumer, call), [""; 0]);
    assert!(log_has(&shell, "so snapshots were not taken: 1"), "{:?}", shell.log);
}

/// Nobody reads the ledger of a session that is gone: the log tells.
#[test]
fn the_log_has_what_waits_when_a_session_goes() {
    for delay_ms in [1, 1000] {
        let mut shell = Shell::new();
        let (producer, consumer) = session(&mut shell, snapshots([delay_ms; 2]));
        fire(&mut shell, &producer, &["a"]);
        assert!(detach(&mut shell, &consumer, "key"));
        shell.advance_ms(1);
        let other = MockConsumer::connect(&mut shell, 0);
        assert!(attach(&mut shell, &other, "key").is_some());
        other.disconnect(&mut shell);
        assert!(log_has(&shell, "so snapshots were not taken: 1"), "{:?}", shell.log);
        let held = shell.service.footprint();
        assert_eq!((held.sessions, held.timers, held.delayed_hits), (0, 0, 0));
    }
}

#[test]
fn a_trigger_without_room_after_the_end_is_in_the_ledger() {
    let mut shell = Shell::with(|config| config.limits.clone_hits_pending_max = 1);
    let (producer, consumer) = session(&mut shell, snapshots([1000, 1000]));
    fire(&mut shell, &producer, &["a"]);
    consumer.disable(&mut shell);
    fire(&mut shell, &producer, &["a"]);
    assert_eq!(lost(&mut shell, &consumer), Some(1), "the first one");
    fire(&mut shell, &producer, &["a"]);
    assert_eq!(lost(&mut shell, &consumer), Some(2), "the delay of the second one runs");
}

/// Those that wait for a consumer count among those whose delay runs. What is too much is lost at once, and told.
#[test]
fn what_is_too_much_is_in_the_ledger_and_in_the_log() {
    let mut shell = Shell::with(|config| config.limits.clone_hits_pending_max = 2);
    let (producer, consumer) = session(&mut shell, snapshots([1, 1]));
    assert!(detach(&mut shell, &consumer, "key"));
    for _ in 0..3 {
        fire(&mut shell, &producer, &["a"]);
        shell.advance_ms(1);
        assert!(shell.service.fullest().clone_hits_pending_max <= 2);
    }
    assert!(attach(&mut shell, &consumer, "key").is_some());
    assert_eq!(lost(&mut shell, &consumer), Some(1));
    let text = "no snapshot of session 1 is taken, because 2 triggers wait there for theirs";
    assert!(log_has(&shell, text), "{:?}", shell.log);
    // A producer can repeat it at will.
    for _ in 0..100 {
        fire(&mut shell, &producer, &["b"]);
    }
    assert_eq!(lost(&mut shell, &consumer), Some(101));
    let lines = shell.log.iter().filter(|(_, line)| line.contains("no snapshot")).count();
    assert_eq!(lines, service::limits::LOG_LINES_PER_PEER_MAX as usize);
    // There is room again once they were told.
    let call = observe_clones(&mut shell, &consumer);
    fire(&mut shell, &producer, &["b"]);
    shell.advance_ms(1);
    assert_eq!(told(&mut shell, &consumer, call), ["a", "a", "b"]);
    assert_eq!(lost(&mut shell, &consumer), Some(101));
}
