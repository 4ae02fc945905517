//! The checks of a config are made in pieces, and its consumer pays for them.

use protos::consumer_port::Request as Ask;
use protos::{
    TraceConfig, TraceConfigSessionSemaphore as Semaphore, TraceConfigTraceFilter as Filter,
    TraceConfigTraceFilterStringFilterChain as Chain,
    TraceConfigTraceFilterStringFilterPolicy as Policy,
    TraceConfigTraceFilterStringFilterRule as Rule,
};

use crate::{MockConsumer, Shell, config};
use service::filter::Rule as FieldRule;
use service::filter::generator::{Generator, Target};
use service::limits;

/// The largest thing that is checked at once: an expression with its automaton.
const ONE: u64 = 2 * limits::REGEX_AUTOMATON_BYTES_MAX as u64 * limits::WORK_PER_COMPILED_BYTE;

/// Enables `config`, in pieces that are not larger than they may be. Returns how much it took, and in how many turns.
fn enable(shell: &mut Shell, consumer: &mut MockConsumer, config: TraceConfig) -> (u64, usize) {
    shell.work_waits = true;
    let begun = shell.service.work();
    consumer.enable(shell, config, None);
    let cost = shell.service.work() - begun;
    assert!(cost <= limits::WORK_PER_PEER + ONE, "{cost} at once");
    // Another consumer does not wait.
    let other = MockConsumer::connect(shell, 0);
    assert!(!shell.service.is_busy(other.client));
    assert_eq!(other.call(shell, Ask::QueryCapabilities(Default::default())).len(), 1);
    let turns = turns_until_rest(shell);
    shell.work_waits = false;
    (shell.service.work() - begun, turns)
}

/// Does turns until nothing waits. Returns how many there were; none cost more than it may.
fn turns_until_rest(shell: &mut Shell) -> usize {
    let mut turns = 0;
    while shell.service.has_work() {
        let before = shell.service.work();
        shell.turn();
        let cost = shell.service.work() - before;
        assert!(cost <= limits::WORK_PER_TURN + ONE, "{cost} in one turn");
        turns += 1;
    }
    turns
}

fn change_to(config: TraceConfig) -> Ask {
    let trace_config = Some(config.into());
    Ask::ChangeTraceConfig(protos::ChangeTraceConfigRequest { trace_config, ..Default::default() })
}

fn with_expressions(count: usize) -> TraceConfig {
    let mut config = config(&["ds"]);
    let names = &mut config.data_sources[0].producer_name_regex_filter;
    names.extend((0..count).map(|n| format!("p{n}[a-z]+")));
    let source = config.data_sources[0].clone();
    config.data_sources = vec![source; 4];
    config
}

#[test]
fn expressions_are_compiled_in_pieces() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let (cost, turns) = enable(&mut shell, &mut consumer, with_expressions(200));
    assert!(turns > 10, "{turns} turns");
    assert!(cost > 800 * 1024 * limits::WORK_PER_COMPILED_BYTE, "{cost}");
    let id = shell.service.session_of(consumer.client).unwrap();
    assert_eq!(shell.service.view(id).unwrap().state, "STARTED");
}

#[test]
fn expressions_of_a_change_are_compiled_in_pieces() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut asked = config(&["ds"]);
    asked.data_sources[0].producer_name_filter = vec!["nobody".into()];
    consumer.enable(&mut shell, asked, None);
    let offering = crate::producer(&mut shell, "p199abc");
    offering.register_name(&mut shell, "ds");
    assert_eq!(shell.service.footprint().instances, 0);
    shell.work_waits = true;
    shell.advance_ms(1000);
    let begun = shell.service.work();
    let call = shell.call_consumer(consumer.client, change_to(with_expressions(200)), None);
    let cost = shell.service.work() - begun;
    assert!(cost <= limits::WORK_PER_PEER + ONE, "{cost} at once");
    assert!(shell.take_replies_to(consumer.client, call).is_empty());
    assert!(turns_until_rest(&mut shell) > 5);
    assert_eq!(shell.take_replies_to(consumer.client, call).len(), 1);
    assert_eq!(shell.service.footprint().instances, 1);
    assert!(shell.service.work() - begun > 200 * 1024 * limits::WORK_PER_COMPILED_BYTE);
}

/// The config of the session is copied and encoded, however little is asked for.
#[test]
fn a_change_costs_what_the_config_of_the_session_has() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut large = config(&["ds"]);
    let source = large.data_sources[0].config.get_or_insert_default();
    source.legacy_config = Some("x".repeat(100_000));
    consumer.enable(&mut shell, large, None);
    let begun = shell.service.work();
    consumer.call(&mut shell, Ask::ChangeTraceConfig(Default::default()));
    let cost = shell.service.work() - begun;
    assert!(cost > 100_000 * limits::WORK_PER_ENCODED_BYTE, "{cost}");
}

/// A session that ends while its filters are compiled does not get them.
#[test]
fn a_session_may_end_while_its_filters_change() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let asked = TraceConfig { duration_ms: Some(2000), ..config(&["ds"]) };
    consumer.enable(&mut shell, asked, None);
    shell.work_waits = true;
    shell.advance_ms(1999);
    let call = shell.call_consumer(consumer.client, change_to(with_expressions(200)), None);
    shell.now_ns += 1_000_000;
    assert!(turns_until_rest(&mut shell) > 1);
    let replies = shell.take_replies_to(consumer.client, call);
    assert_eq!(replies.len(), 1);
    assert!(replies[0].response.is_none(), "refused");
}

#[test]
fn expressions_of_triggers_are_compiled_in_pieces() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let trigger = |n| protos::TraceConfigTriggerConfigTrigger {
        name: Some(format!("t{n}")),
        producer_name_regex: Some("p[a-z]+".into()),
        ..Default::default()
    };
    let triggers = protos::TraceConfigTriggerConfig {
        trigger_mode: Some(protos::TraceConfigTriggerConfigTriggerMode::START_TRACING),
        triggers: (0..500).map(trigger).collect(),
        trigger_timeout_ms: Some(1000),
        ..Default::default()
    };
    let config = TraceConfig { trigger_config: Some(triggers), ..config(&["ds"]) };
    let (_, turns) = enable(&mut shell, &mut consumer, config);
    assert!(turns > 5, "{turns} turns");
    let id = shell.service.session_of(consumer.client).unwrap();
    assert_eq!(shell.service.view(id).unwrap().state, "CONFIGURED");
}

fn with_rules(rules: Vec<Rule>) -> TraceConfig {
    let chain = Chain { rules, ..Default::default() };
    let program = Generator::new(Target::V54).field(1, FieldRule::Message(1)).end();
    let (bytecode, _) = program.range(1, 5000).end().finish();
    let filter = Filter {
        bytecode_v2: Some(bytecode),
        string_filter_chain: Some(chain),
        ..Default::default()
    };
    TraceConfig { trace_filter: Some(filter), ..config(&["ds"]) }
}

fn rule(expression: &str) -> Rule {
    Rule {
        policy: Some(Policy::SFP_MATCH_REDACT_GROUPS),
        regex_pattern: Some(expression.into()),
        ..Default::default()
    }
}

#[test]
fn rules_for_strings_are_compiled_in_pieces() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let rules = (0..500).map(|n| rule(&format!("secret{n} (.*)"))).collect();
    let (_, turns) = enable(&mut shell, &mut consumer, with_rules(rules));
    assert!(turns > 10, "{turns} turns");
    assert!(shell.service.session_of(consumer.client).is_some());
    // What is wrong with one is said, and there is no session.
    let mut second = MockConsumer::connect(&mut shell, 0);
    let mut rules: Vec<_> = (0..100).map(|_| rule("x")).collect();
    rules.push(rule("("));
    enable(&mut shell, &mut second, with_rules(rules));
    assert!(second.ended(&mut shell).unwrap().contains("trace_filter: invalid string filter"));
    assert_eq!(shell.service.session_of(second.client), None);
}

/// Each data source is looked at with the names of all buffers.
#[test]
fn data_sources_are_checked_in_pieces() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = config(&["ds"; 3000]);
    config.buffers = (0..limits::BUFFERS_PER_SESSION_MAX)
        .map(|n| protos::TraceConfigBufferConfig {
            name: Some(format!("buffer {n}")),
            ..crate::buffer(4)
        })
        .collect();
    // The last one is wrong: nothing is set up, and what was looked at is paid for.
    for source in &mut config.data_sources {
        source.config.as_mut().unwrap().target_buffer_name = Some("buffer 127".into());
    }
    let last = config.data_sources.last_mut().unwrap().config.as_mut().unwrap();
    last.target_buffer_name = Some("none".into());
    let (cost, turns) = enable(&mut shell, &mut consumer, config);
    assert!(turns > 5, "{turns} turns");
    assert!(cost > 3000 * 128 * 16, "{cost}");
    assert!(consumer.ended(&mut shell).unwrap().contains("none"));
    assert_eq!(shell.service.footprint().sessions, 0);
}

/// A consumer that leaves meanwhile leaves nothing behind, and its file is closed.
#[test]
fn a_consumer_that_leaves_while_its_config_is_checked() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let file = shell.open_file();
    shell.work_waits = true;
    let config = TraceConfig { write_into_file: Some(true), ..with_expressions(100) };
    consumer.enable(&mut shell, config, Some(file));
    assert!(shell.service.is_busy(consumer.client));
    let before = shell.service.work();
    consumer.disconnect(&mut shell);
    // At once: those who come and go leave nothing to be checked.
    assert_eq!(shell.service.footprint().connections, 0);
    assert_eq!(shell.service.work(), before);
    while shell.service.has_work() {
        shell.turn();
    }
    assert!(shell.files[&file].closed);
    let left = shell.service.footprint();
    assert_eq!((left.sessions, left.connections), (0, 0));
}

/// The semaphores of a config are compared with those of all sessions, so they are few, and each comparison costs work.
#[test]
fn semaphores_are_few_and_cost() {
    let semaphores = |count: usize| {
        let semaphore = |n| Semaphore { name: Some(format!("s{n}")), ..Default::default() };
        TraceConfig { session_semaphores: (0..count).map(semaphore).collect(), ..config(&[]) }
    };
    let mut shell = Shell::new();
    let mut first = MockConsumer::connect(&mut shell, 0);
    let (alone, _) = enable(&mut shell, &mut first, semaphores(256));
    assert!(first.ended(&mut shell).is_none());
    let mut second = MockConsumer::connect(&mut shell, 0);
    let (cost, _) = enable(&mut shell, &mut second, semaphores(1));
    assert!(cost > 256 * 16, "{cost}, and {alone} alone");
    assert!(second.ended(&mut shell).unwrap().contains("semaphore"));
    let mut third = MockConsumer::connect(&mut shell, 0);
    enable(&mut shell, &mut third, semaphores(257));
    let error = third.ended(&mut shell).unwrap();
    assert!(error.contains("too many session_semaphores: 257, at most 256 are allowed"), "{error}");
}

/// The names that a config lists are sorted once, so there are not more than that takes little time for.
#[test]
fn names_of_producers_and_machines_are_bounded() {
    let max = limits::FILTER_NAMES_PER_SESSION_MAX;
    for (count, is_refused) in [(max, false), (max + 1, true)] {
        let mut shell = Shell::new();
        let offering = crate::producer(&mut shell, "p7");
        offering.register_name(&mut shell, "ds");
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let mut asked = config(&["ds"]);
        let source = &mut asked.data_sources[0];
        source.producer_name_filter = (1..count).rev().map(|n| format!("p{n}")).collect();
        source.machine_name_filter = vec!["host".into()];
        let before = shell.service.work();
        consumer.enable(&mut shell, asked, None);
        assert_eq!(shell.service.footprint().instances, usize::from(!is_refused));
        if is_refused {
            let (_, line) = shell.log.last().unwrap();
            assert!(line.contains("too many names"), "{line}");
        } else {
            let cost = shell.service.work() - before;
            assert!(cost >= max as u64 * limits::WORK_PER_ENTRY, "sorting is paid: {cost}");
        }
    }
}

/// A trigger sets the duration while a change waits for its turn. The change takes that from nothing that it replaces.
#[test]
fn a_change_keeps_the_duration_that_a_trigger_has_set() {
    let mut shell = Shell::new();
    let starting = crate::triggers::starting(vec![crate::triggers::trigger("go", 1234)]);
    let (producer, consumer) = crate::triggers::session(&mut shell, starting.clone());
    shell.work_waits = true;
    shell.advance_ms(500);
    let changed = TraceConfig { trigger_config: starting.trigger_config, ..with_expressions(200) };
    let call = shell.call_consumer(consumer.client, change_to(changed), None);
    crate::triggers::fire(&mut shell, &producer, &["go"]);
    assert!(turns_until_rest(&mut shell) > 1);
    let replies = shell.take_replies_to(consumer.client, call);
    assert!(replies[0].response.is_some(), "it was changed");
    shell.work_waits = false;
    let packets = consumer.read(&mut shell);
    let durations = packets.iter().filter_map(|packet| match &packet.data {
        Some(protos::TracePacketData::TraceConfig(config)) => Some(config.duration_ms),
        _ => None,
    });
    assert_eq!(durations.collect::<Vec<_>>(), [Some(1234)]);
}

/// A registration that waits for its turn when the filters change is set up once.
#[test]
fn a_change_leaves_a_registration_that_waits_to_its_turn() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut asked = config(&["ds"]);
    asked.data_sources[0].producer_name_filter = vec!["nobody".into()];
    consumer.enable(&mut shell, asked.clone(), None);
    let producer = crate::producer(&mut shell, "p");
    shell.work_waits = true;
    let mut registered = 0;
    while !shell.service.is_busy(producer.client) {
        producer.register_name(&mut shell, "ds");
        registered += 1;
    }
    assert_eq!(shell.service.footprint().instances, 0);
    asked.data_sources[0].producer_name_filter = vec!["p".into()];
    consumer.call(&mut shell, change_to(asked));
    turns_until_rest(&mut shell);
    assert_eq!(shell.service.footprint().instances, registered);
}
