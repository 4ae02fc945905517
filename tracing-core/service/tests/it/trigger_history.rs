//! What is remembered of triggers for `max_per_24_h`, of several users.

use super::triggers::{fire, received, trigger, waiting};
use super::*;
use protos::TraceConfigTriggerConfigTrigger as Trigger;
use protos::TraceConfigTriggerConfigTriggerMode as Mode;

/// A session of that user with these triggers, each of which it takes once a day.
fn daily(shell: &mut Shell, uid: u32, names: &[&str]) -> MockConsumer {
    let once = |name: &&str| Trigger { max_per_24_h: Some(1), ..trigger(name, 1) };
    let triggers = names.iter().map(once).collect();
    let mut consumer = MockConsumer::connect(shell, uid);
    consumer.enable(shell, waiting(Mode::STOP_TRACING, 8_640_000, triggers), None);
    consumer
}

/// The triggers that a new session of a user takes.
fn taken(shell: &mut Shell, uid: u32, producer: &MockProducer, names: &[&str]) -> usize {
    let consumer = daily(shell, uid, names);
    fire(shell, producer, names);
    let count = received(&consumer.read(shell)).len();
    consumer.free(shell);
    count
}

#[test]
fn a_user_does_not_use_up_the_triggers_of_another() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    assert_eq!(taken(&mut shell, 6, &producer, &["a"]), 1);
    assert_eq!(taken(&mut shell, 5, &producer, &["a"]), 1);
    assert_eq!(taken(&mut shell, 6, &producer, &["a"]), 0);
    assert_eq!(taken(&mut shell, 5, &producer, &["a"]), 0);
}

/// Sessions of two users take the same activation: it counts for both.
#[test]
fn one_activation_counts_for_each_user() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    let both = [5, 6].map(|uid| daily(&mut shell, uid, &["a"]));
    fire(&mut shell, &producer, &["a"]);
    for consumer in both {
        assert_eq!(received(&consumer.read(&mut shell)).len(), 1);
        consumer.free(&mut shell);
    }
    for uid in [5, 6] {
        assert_eq!(taken(&mut shell, uid, &producer, &["a"]), 0);
    }
}

/// A user whose sessions take more names than are remembered forgets its own.
#[test]
fn a_user_does_not_throw_out_the_history_of_another() {
    let mut shell = Shell::with(|config| config.limits.trigger_names_max = 4);
    let producer = producer(&mut shell, "p");
    assert_eq!(taken(&mut shell, 5, &producer, &["a"]), 1);
    let many = ["b", "c", "d", "e", "f", "g", "h", "i"];
    assert_eq!(taken(&mut shell, 6, &producer, &many), many.len());
    assert_eq!(shell.service.footprint().trigger_names, 4);
    assert_eq!(taken(&mut shell, 5, &producer, &["a"]), 0, "it is remembered");
}
