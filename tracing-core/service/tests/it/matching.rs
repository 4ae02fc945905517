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
    assert!(lines(&shell, "activated by") < 10);
    assert_eq!(lines(&shell, "exceeded its budget"), 1);
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
