//! Sessions with a trace filter.

use protos::{
    SemanticType, TraceConfigTraceFilter as Filter, TraceConfigTraceFilterStringFilterChain,
    TraceConfigTraceFilterStringFilterPolicy as Policy,
    TraceConfigTraceFilterStringFilterRule as Rule,
};

use super::*;
use service::ConsumerRequest;
use service::filter::Rule as FieldRule;
use service::filter::generator::{Generator, Target};
use testing::mock::{decode_file, decode_replies};
use testing::shell::Reply;

const FOR_TESTING: u32 = 900;
const ATRACE: SemanticType = SemanticType::SEMANTIC_TYPE_ATRACE;
const UNSPECIFIED: SemanticType = SemanticType::SEMANTIC_TYPE_UNSPECIFIED;

/// Allows whole packets, but of `for_testing` only the first field, by this rule.
fn program(target: Target, text: FieldRule) -> (Vec<u8>, Vec<u8>) {
    Generator::new(target)
        .field(1, FieldRule::Message(1))
        .end()
        .range(1, FOR_TESTING - 1)
        .field(FOR_TESTING, FieldRule::Message(2))
        .end()
        .field(1, text)
        .end()
        .finish()
}

fn atrace_rule(types: &[SemanticType]) -> Rule {
    Rule {
        policy: Some(Policy::SFP_ATRACE_MATCH_REDACT_GROUPS),
        regex_pattern: Some(r"B\|\d+\|pay(lo)ad\d(\d?)".into()),
        atrace_payload_starts_with: Some("payload".into()),
        semantic_type: types.to_vec(),
        ..Rule::default()
    }
}

fn rules(rules: Vec<Rule>) -> Option<TraceConfigTraceFilterStringFilterChain> {
    Some(TraceConfigTraceFilterStringFilterChain { rules, ..Default::default() })
}

fn with_filter(filter: Filter) -> TraceConfig {
    TraceConfig { trace_filter: Some(filter), ..config(&["ds"]) }
}

/// The filtered texts of a session with this filter.
fn read(filter: Filter, texts: &[&str]) -> Vec<String> {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, with_filter(filter));
    let packets: Vec<_> = texts.iter().map(|text| payload(text)).collect();
    producer.write(&mut shell, WRITER, BUFFER, &packets);
    payloads(&consumer.read(&mut shell))
}

#[test]
fn string_filtering() {
    let (code, _) = program(Target::V54, FieldRule::String(0));
    let filter = Filter {
        bytecode_v2: Some(code),
        string_filter_chain: rules(vec![atrace_rule(&[])]),
        ..Filter::default()
    };
    let texts = ["B|1023|payload1", "B|1023|other", "B|1023|payload10"];
    let expected = ["B|1023|payP6ad1", "B|1023|other", "B|1023|payP6ad1P"];
    assert_eq!(read(filter, &texts), expected);
}

#[test]
fn string_filtering_semantic_type_unspecified() {
    let redacted = |field, types: &[SemanticType]| {
        let (code, _) = program(Target::V54, FieldRule::String(field));
        let chain = rules(vec![atrace_rule(types)]);
        let filter =
            Filter { bytecode_v2: Some(code), string_filter_chain: chain, ..Filter::default() };
        read(filter, &["B|1|payload1"]) == ["B|1|payP6ad1"]
    };
    let kinds = [&[][..], &[UNSPECIFIED], &[ATRACE, UNSPECIFIED], &[ATRACE]];
    assert_eq!(kinds.map(|types| redacted(0, types)), [true, true, true, false]);
    assert_eq!(kinds.map(|types| redacted(1, types)), [false, false, true, true]);
}

#[test]
fn string_filtering_with_v54_overlay() {
    let (code, overlay) = program(Target::V2 { untyped: true }, FieldRule::String(1));
    let filter = Filter {
        bytecode_v2: Some(code),
        bytecode_overlay_v54: Some(overlay),
        string_filter_chain_v54: rules(vec![atrace_rule(&[ATRACE])]),
        ..Filter::default()
    };
    assert_eq!(read(filter, &["B|1|payload1"]), ["B|1|payP6ad1"]);
}

#[test]
fn string_filtering_v2_bytecode_unspecified_redaction() {
    let read = |types: &[SemanticType]| {
        let (code, _) = program(Target::V2 { untyped: true }, FieldRule::String(0));
        let rule = Rule {
            policy: Some(Policy::SFP_MATCH_REDACT_GROUPS),
            regex_pattern: Some("(secret)".into()),
            semantic_type: types.to_vec(),
            ..Rule::default()
        };
        let chain = rules(vec![rule]);
        let filter =
            Filter { bytecode_v2: Some(code), string_filter_chain: chain, ..Filter::default() };
        super::filtering::read(filter, &["secret"])
    };
    assert_eq!(read(&[UNSPECIFIED]), ["P60RED"]);
    assert_eq!(read(&[ATRACE]), ["secret"]);
}

/// A session with an invalid filter is refused.
#[test]
fn invalid_filters_are_refused() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let filters = [
        (Filter::default(), "bytecode is invalid"),
        (Filter { bytecode: Some(vec![1, 2]), ..Filter::default() }, "bytecode is invalid"),
        (
            Filter { string_filter_chain: rules(vec![Rule::default()]), ..Filter::default() },
            "filter",
        ),
    ];
    for (filter, text) in filters {
        consumer.enable(&mut shell, with_filter(filter), None);
        assert!(consumer.ended(&mut shell).unwrap().contains(text));
    }
    assert!(shell.service.is_idle());
}

#[test]
fn packets_that_are_nothing_stay_as_nothing() {
    let mut shell = Shell::new();
    // Only payloads pass, so the packets of the service are empty.
    let (code, _) = Generator::new(Target::V54)
        .field(1, FieldRule::Message(1))
        .end()
        .field(FOR_TESTING, FieldRule::Pass)
        .end()
        .finish();
    let filter = Filter { bytecode: Some(code), ..Filter::default() };
    let (mut producer, consumer) = recording(&mut shell, with_filter(filter));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    let packets = consumer.read(&mut shell);
    assert_eq!(payloads(&packets), ["a"]);
    let (last, others) = packets.split_last().unwrap();
    let empty = others.iter().filter(|p| **p == TracePacket::default()).count();
    assert_eq!(empty, others.len() - 1);
    // Statistics are not filtered, and count the filtered packets.
    let Some(TracePacketData::TraceStats(stats)) = &last.data else { panic!("no statistics") };
    let filtered = stats.filter_stats.as_ref().unwrap();
    assert_eq!(filtered.input_packets, Some(others.len() as u64));
    assert_eq!(filtered.errors, Some(0));
    assert!(filtered.bytes_discarded_per_buffer[0] > 0, "the trusted fields");
}

#[test]
fn write_into_file_filter_multiple_chunks() {
    let mut shell = Shell::new();
    let (code, _) = Generator::new(Target::V54)
        .field(1, FieldRule::Message(1))
        .end()
        .range(1, 1000)
        .end()
        .finish();
    let config = TraceConfig {
        write_into_file: Some(true),
        output_path: Some("/x".into()),
        buffers: vec![buffer(8192)],
        ..with_filter(Filter { bytecode: Some(code), ..Filter::default() })
    };
    let (producer, mut consumer) = recording(&mut shell, config);
    let text = "x".repeat(500 * 1024);
    let mut chunk = 0;
    for _ in 0..5 {
        chunk = write_large_from(&mut shell, &producer, chunk, &payload(&text));
    }
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    let file = shell.files.values().next().unwrap();
    let packets = decode_file(&file.bytes);
    assert_eq!(payloads(&packets).len(), 5);
    // The statistics count all packets before them.
    let mut reader = protozero::Reader::new(&file.bytes);
    let mut lens = Vec::new();
    while let Some(field) = reader.next_field().unwrap() {
        let protozero::Value::Len(packet) = field.value else { panic!("no trace") };
        lens.push(packet.len() as u64);
    }
    lens.pop();
    let Some(TracePacketData::TraceStats(stats)) = &packets.last().unwrap().data else { panic!() };
    let filtered = stats.filter_stats.as_ref().unwrap();
    assert_eq!(filtered.output_bytes, Some(lens.iter().sum()));
    assert_eq!(filtered.input_packets, Some(lens.len() as u64));
}

/// A filter for the text of packets; the expressions of `costly` ones are too large for an automaton.
fn text_filter(costly: bool) -> Filter {
    let (code, _) = program(Target::V54, FieldRule::String(0));
    let regex = if costly { "[ab]*a[ab]{30}(N)" } else { "x(.*)" };
    let rule = Rule {
        policy: Some(Policy::SFP_MATCH_REDACT_GROUPS),
        regex_pattern: Some(regex.into()),
        ..Rule::default()
    };
    let string_filter_chain = rules(vec![rule]);
    Filter { bytecode_v2: Some(code), string_filter_chain, ..Filter::default() }
}

fn write_texts(shell: &mut Shell, producer: &mut MockProducer) {
    for _ in 0..60 {
        producer.write(shell, WRITER, BUFFER, &[payload(&"b".repeat(3000))]);
    }
}

#[test]
fn costly_filters_take_several_turns() {
    let turns = [false, true].map(|costly| {
        let mut shell = Shell::new();
        let config =
            TraceConfig { buffers: vec![buffer(1024)], ..with_filter(text_filter(costly)) };
        let (mut producer, consumer) = recording(&mut shell, config);
        write_texts(&mut shell, &mut producer);
        shell.consumers_are_slow = true;
        let request = ConsumerRequest::ReadBuffers(Default::default());
        let call = shell.call_consumer(consumer.client, request, None);
        let (mut turns, mut all) = (0, Vec::new());
        while all.last().is_none_or(|reply: &Reply| reply.has_more) {
            all.extend(shell.take_replies_to(consumer.client, call));
            shell.drain_consumers();
            turns += 1;
        }
        let packets = decode_replies(&all);
        assert_eq!(payloads(&packets).len(), 60);
        turns
    });
    assert_eq!(turns[0], 1);
    assert!(turns[1] >= 8, "{turns:?}");
}

#[test]
fn costly_filters_write_small_pieces() {
    let pieces = [false, true].map(|costly| {
        let mut shell = Shell::new();
        let config = TraceConfig {
            write_into_file: Some(true),
            output_path: Some("/x".into()),
            buffers: vec![buffer(1024)],
            ..with_filter(text_filter(costly))
        };
        let (mut producer, consumer) = recording(&mut shell, config);
        write_texts(&mut shell, &mut producer);
        let before = shell.file_ops;
        consumer.disable(&mut shell);
        let file = shell.files.values().next().unwrap();
        assert_eq!(payloads(&decode_file(&file.bytes)).len(), 60);
        shell.file_ops - before
    });
    assert!(pieces[1] >= pieces[0] + 2, "{pieces:?}");
}

/// A packet whose filter exceeds its budget is empty, and the statistics count it.
#[test]
fn a_packet_too_costly_to_filter_is_empty() {
    let mut shell = Shell::new();
    let config = TraceConfig { buffers: vec![buffer(4096)], ..with_filter(text_filter(true)) };
    let (mut producer, consumer) = recording(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("short")]);
    let mut other = self::producer(&mut shell, "other");
    other.register_name(&mut shell, "ds");
    other.commands(&mut shell);
    write_large(&mut shell, &other, &payload(&"b".repeat(200_000)));
    let packets = consumer.read(&mut shell);
    assert_eq!(payloads(&packets), ["short"]);
    let Some(TracePacketData::TraceStats(stats)) = &packets.last().unwrap().data else { panic!() };
    assert_eq!(stats.filter_stats.as_ref().unwrap().errors, Some(1));
}
