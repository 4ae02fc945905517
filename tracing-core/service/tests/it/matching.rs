//! The budgets of matching expressions against names, and the errors when they are exceeded.

use super::*;
use protos::{
    TraceConfigTriggerConfig, TraceConfigTriggerConfigTrigger, consumer_port, producer_port,
};
use service::limits;

/// About 60 KiB once compiled.
const SLOW: &str = "(a|ab|abc|b){100}x?(a|ab|abc|b|.)*";

fn with_filter(regex: &str, count: usize) -> TraceConfig {
    let mut config = config(&vec!["ds"; count]);
    for source in &mut config.data_sources {
        source.producer_name_regex_filter = vec![regex.into()];
    }
    config
}

fn lines(shell: &Shell, text: &str) -> usize {
    shell.log.iter().filter(|line| line.1.contains(text)).count()
}

#[test]
fn a_producer_has_so_much_to_spend_on_its_name() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, with_filter(&format!("{SLOW}|honest"), 16), None);
    assert_eq!(consumer.ended(&mut shell), None);
    let hostile = producer(&mut shell, &"a".repeat(1024));
    for _ in 0..500 {
        hostile.register_name(&mut shell, "ds");
    }
    let first = shell.service.footprint().instances;
    assert!(first < 10, "{first} matches of {SLOW}");
    assert_eq!(lines(&shell, "exceeded its budget"), limits::LOG_LINES_PER_PEER_MAX as usize);
    // Other users are not affected.
    let honest = producer(&mut shell, "honest");
    honest.register_name(&mut shell, "ds");
    assert_eq!(shell.service.footprint().instances, first + 16);
    // In the next second there is a new budget.
    shell.advance_ms(1000);
    hostile.register_name(&mut shell, "ds");
    assert!(shell.service.footprint().instances > first + 16);
    hostile.disconnect(&mut shell);
    assert_eq!(lines(&shell, "more errors of it were not logged"), 1);
}

#[test]
fn a_turn_has_an_end_whatever_the_config() {
    let mut shell = Shell::new();
    let mut many: Vec<MockProducer> = (0..100)
        .map(|number| {
            let producer = producer(&mut shell, &format!("{number}{}", "a".repeat(1000)));
            producer.register_name(&mut shell, "ds");
            producer
        })
        .collect();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, with_filter(".*a", 1), None);
    assert_eq!(shell.service.footprint().instances, 100);
    consumer.free(&mut shell);
    many[0].commands(&mut shell);
    consumer.ended(&mut shell);
    // A session that exceeds the budget is refused, and nothing of it is left.
    consumer.enable(&mut shell, with_filter(&format!("\\d*{SLOW}"), 1), None);
    assert!(consumer.ended(&mut shell).unwrap().contains("exceeds its budget"));
    assert!(shell.service.is_idle());
    assert_eq!(words(&mut shell, &mut many[0]), ["setup 101", "stop 101"]);
    // Also the next one, in the same second.
    consumer.enable(&mut shell, with_filter(".*a", 1), None);
    assert!(consumer.ended(&mut shell).unwrap().contains("exceeds its budget"));
    many[0].commands(&mut shell);
    shell.advance_ms(1000);
    consumer.enable(&mut shell, with_filter(".*a", 1), None);
    assert_eq!(consumer.ended(&mut shell), None);
}

/// Slow expressions of one user do not affect the sessions of others.
#[test]
fn users_do_not_pay_for_each_other() {
    let mut shell = Shell::new();
    let honest = producer(&mut shell, "honest.producer");
    let long = producer(&mut shell, &"a".repeat(1024));
    for producer in [&honest, &long] {
        producer.register_name(&mut shell, "ds");
    }
    for _ in 0..20 {
        let mut hostile = MockConsumer::connect(&mut shell, 7);
        hostile.enable(&mut shell, with_filter(SLOW, 16), None);
        hostile.disconnect(&mut shell);
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, with_filter("hone[s]t.*", 1), None);
        assert_eq!(consumer.ended(&mut shell), None);
        assert_eq!(shell.service.footprint().instances, 1);
        consumer.disconnect(&mut shell);
    }
}

#[test]
fn triggers_are_held_to_it_as_well() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let trigger = |number: usize| TraceConfigTriggerConfigTrigger {
        name: Some(number.to_string()),
        producer_name_regex: Some(SLOW.into()),
        ..Default::default()
    };
    let triggers = TraceConfigTriggerConfig {
        trigger_mode: Some(protos::TraceConfigTriggerConfigTriggerMode::STOP_TRACING),
        triggers: (0..16).map(trigger).collect(),
        trigger_timeout_ms: Some(10_000),
        ..Default::default()
    };
    let config = TraceConfig { trigger_config: Some(triggers), ..config(&["ds"]) };
    consumer.enable(&mut shell, config, None);
    assert_eq!(consumer.ended(&mut shell), None);
    let hostile = producer(&mut shell, &"a".repeat(1024));
    let names = (0..16).map(|number| number.to_string()).collect();
    let request = protos::ActivateTriggersRequest { trigger_names: names, ..Default::default() };
    hostile.call(&mut shell, producer_port::Request::ActivateTriggers(request));
    let activated = lines(&shell, "activated by");
    assert!(activated < 10);
    assert!(lines(&shell, "exceeded its budget") > 0);
    assert_eq!(not_matched(&mut shell, &consumer), (16 - activated) as u64);
}

/// The triggers in the ledger of a session for which the name of their producer was not matched.
fn not_matched(shell: &mut Shell, consumer: &MockConsumer) -> u64 {
    let entries = ledger::ledger(shell, consumer).into_iter();
    let reason = Some(protos::LossLedgerReason::REASON_TRIGGER_NOT_MATCHED);
    entries.filter(|entry| entry.reason == reason).map(|entry| entry.count.unwrap()).sum()
}

fn activate(shell: &mut Shell, producer: &MockProducer, names: Vec<String>) {
    let request = protos::ActivateTriggersRequest { trigger_names: names, ..Default::default() };
    producer.call(shell, producer_port::Request::ActivateTriggers(request));
}

fn with_triggers(regex: &str, count: usize) -> TraceConfig {
    let trigger = |number: usize| TraceConfigTriggerConfigTrigger {
        name: Some(number.to_string()),
        producer_name_regex: Some(regex.into()),
        ..Default::default()
    };
    let triggers = TraceConfigTriggerConfig {
        trigger_mode: Some(protos::TraceConfigTriggerConfigTriggerMode::STOP_TRACING),
        triggers: (0..count).map(trigger).collect(),
        trigger_timeout_ms: Some(10_000),
        ..Default::default()
    };
    TraceConfig { trigger_config: Some(triggers), ..config(&["ds"]) }
}

/// The ledger has no trigger that the session would not take from any producer now.
#[test]
fn a_trigger_that_came_too_often_need_not_be_matched() {
    for is_used_up in [false, true] {
        let mut shell = Shell::new();
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let mut config = with_triggers(&format!("honest|{SLOW}"), 16);
        config.trigger_config.as_mut().unwrap().triggers[0].max_per_24_h = Some(1);
        consumer.enable(&mut shell, config, None);
        if is_used_up {
            let honest = MockProducer::connect(&mut shell, "honest", peer(43));
            activate(&mut shell, &honest, vec!["0".into()]);
            assert_eq!(lines(&shell, "activated by"), 1);
        }
        let hostile = producer(&mut shell, &"a".repeat(1024));
        activate(&mut shell, &hostile, (1..16).map(|number| number.to_string()).collect());
        let before = not_matched(&mut shell, &consumer);
        assert!(before > 0);
        activate(&mut shell, &hostile, vec!["0".into()]);
        let told = not_matched(&mut shell, &consumer) - before;
        assert_eq!(told, u64::from(!is_used_up));
    }
}

/// A user with many producers does not use up what there is for the producers of others.
#[test]
fn producers_of_others_are_matched_when_the_budget_is_used_up() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, with_triggers(&format!("honest|{SLOW}"), 16), None);
    assert_eq!(consumer.ended(&mut shell), None);
    let honest = MockProducer::connect(&mut shell, "honest", peer(43));
    let hostile = producer(&mut shell, "honest");
    let long = std::iter::repeat_n(1024, 10);
    for len in long.chain([512, 256, 128, 64, 32, 16, 8, 6]) {
        let hostile = producer(&mut shell, &"a".repeat(len));
        activate(&mut shell, &hostile, (0..16).map(|number| number.to_string()).collect());
    }
    assert!(not_matched(&mut shell, &consumer) > 100);
    for (producer, is_matched) in [(&hostile, 0), (&honest, 1)] {
        activate(&mut shell, producer, vec!["1".into()]);
        assert_eq!(lines(&shell, "activated by \"honest\""), is_matched);
    }
}

/// What is left for producers of users that used little has an end, too.
#[test]
fn there_is_an_end_of_what_is_left_for_others() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, with_filter(SLOW, 1), None);
    assert_eq!(consumer.ended(&mut shell), None);
    let register = |shell: &mut Shell, uid, len, times| {
        let producer = MockProducer::connect(shell, &"a".repeat(len), peer(uid));
        let before = shell.service.footprint().instances;
        (0..times).for_each(|_| producer.register_name(shell, "ds"));
        shell.service.footprint().instances - before
    };
    // A match takes about two million steps, of 64 million.
    let of_one: usize = (0..20).map(|_| register(&mut shell, 42, 1000, 3)).sum();
    assert!((30..40).contains(&of_one), "{of_one} matches");
    // And about a million, of eight million.
    let of_others: usize = (100..130).map(|uid| register(&mut shell, uid, 500, 1)).sum();
    assert!((8..12).contains(&of_others), "{of_others} matches");
}

/// Each match of a slow expression is a turn of its own.
#[test]
fn one_request_does_not_match_many_slow_expressions_at_once() {
    let mut shell = Shell::new();
    let users = [0, 1, 2, 3];
    let mut consumers = users.map(|uid| MockConsumer::connect(&mut shell, uid));
    for consumer in &mut consumers {
        consumer.enable(&mut shell, with_triggers(SLOW, 16), None);
        assert_eq!(consumer.ended(&mut shell), None);
    }
    let hostile = producer(&mut shell, &"a".repeat(1024));
    let names: Vec<String> = (0..16).map(|number| number.to_string()).collect();
    // The largest class of expressions has 2048 states.
    let match_work = 2048 * 1025 * limits::WORK_PER_REGEX_STEP;
    shell.work_waits = true;
    let mut before = shell.service.work();
    activate(&mut shell, &hostile, names);
    let mut turns = 0;
    loop {
        let work = shell.service.work() - before;
        assert!(work <= match_work + 2 * limits::WORK_PER_TURN, "turn {turns}: {work}");
        if !shell.service.has_work() {
            break;
        }
        before = shell.service.work();
        shell.turn();
        turns += 1;
    }
    shell.work_waits = false;
    assert!(turns >= 12, "{turns} turns");
    for consumer in &consumers {
        assert!((12..16).contains(&not_matched(&mut shell, consumer)));
    }
}

#[test]
fn log_lines_about_a_consumer_are_bounded() {
    let mut shell = Shell::new();
    let consumer = MockConsumer::connect(&mut shell, 0);
    for _ in 0..3000 {
        consumer.call(&mut shell, consumer_port::Request::Detach(Default::default()));
        consumer.call(&mut shell, consumer_port::Request::ChangeTraceConfig(Default::default()));
    }
    assert_eq!(shell.log.len(), limits::LOG_LINES_PER_PEER_MAX as usize);
    consumer.disconnect(&mut shell);
    assert!(shell.log.last().unwrap().1.ends_with("left; 5984 more errors of it were not logged"));
}

#[test]
fn expressions_of_a_session_have_a_size() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, with_filter("(.{1000})*0", 1000), None);
    assert!(consumer.ended(&mut shell).unwrap().contains("1024 KiB, compiled"));
    consumer.enable(&mut shell, with_filter("com[.]example[.].*", 1000), None);
    assert_eq!(consumer.ended(&mut shell), None);
}
