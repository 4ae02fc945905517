//! Tests are named as in the suites of `protozero/filtering`, if they test the same.

mod budget;
mod bytecode;
mod message;
mod strings;
mod tokens;

use super::*;
use protos::{
    SemanticType, TraceConfigTraceFilterStringFilterChain as Chain,
    TraceConfigTraceFilterStringFilterPolicy as WirePolicy,
};

/// A filter over packets of one message: fields 1 plain, 2 string, 3 typed string.
fn config() -> TraceConfigTraceFilter {
    let (code, _) = generator::Generator::new(generator::Target::V54)
        .field(1, Rule::Message(1))
        .end()
        .field(1, Rule::Pass)
        .field(2, Rule::String(0))
        .field(3, Rule::String(1))
        .end()
        .finish();
    TraceConfigTraceFilter { bytecode_v2: Some(code), ..Default::default() }
}

fn rule(policy: i32, regex: &str, name: &str) -> TraceConfigTraceFilterStringFilterRule {
    TraceConfigTraceFilterStringFilterRule {
        policy: Some(WirePolicy(policy)),
        regex_pattern: Some(regex.into()),
        name: Some(name.into()),
        ..Default::default()
    }
}

fn chain(rules: Vec<TraceConfigTraceFilterStringFilterRule>) -> Option<Chain> {
    Some(Chain { rules, ..Default::default() })
}

fn apply(filter: &mut TraceFilter, packet: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    filter.apply(packet, None, &mut out);
    out
}

#[test]
fn the_newer_chain_replaces_by_name_and_adds() {
    let mut config = config();
    config.string_filter_chain = chain(vec![rule(1, "a(.*)", "x"), rule(1, "b(.*)", "")]);
    config.string_filter_chain_v54 =
        chain(vec![rule(1, "c(.*)", "x"), rule(1, "d(.*)", ""), rule(1, "e(.*)", "new")]);
    let mut filter = TraceFilter::from_config(&config).unwrap();
    for (text, redacted) in [("a1", "a1"), ("b1", "bP"), ("c1", "cP"), ("d1", "dP"), ("e1", "eP")] {
        let packet = [&[0x12, 2], text.as_bytes()].concat();
        assert_eq!(apply(&mut filter, &packet)[2..], *redacted.as_bytes());
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let error = |change: &dyn Fn(&mut TraceConfigTraceFilter)| {
        let mut config = config();
        change(&mut config);
        TraceFilter::from_config(&config).unwrap_err().to_string()
    };
    let with = |rule: TraceConfigTraceFilterStringFilterRule| {
        error(&|config| config.string_filter_chain = chain(vec![rule.clone()]))
    };
    assert!(with(rule(0, "a", "")).contains("unknown policy 0"));
    assert!(with(rule(6, "a", "")).contains("unknown policy 6"));
    assert!(with(rule(1, "a(", "")).contains("regex \"a(\""));
    assert!(with(rule(1, r"(a)\1", "")).contains("backreferences are not supported"));
    assert!(with(rule(1, "(?=a)b", "")).contains("look-around"));
    for (pattern, reason) in [
        ("a(", "unclosed group"),
        ("a{1000}{1000}", "compiled, it exceeds the size limit of 64 KiB"),
        (&*"(a)".repeat(400), "too many groups for 1205 states: use fewer, or (?:..)"),
    ] {
        let text = format!("trace_filter: invalid string filter: regex {pattern:?}: {reason}");
        assert_eq!(with(rule(1, pattern, "")), text);
    }
    // An expression must not close the group around it.
    assert!(with(rule(1, "a)|(b", "")).contains("regex"));
    assert!(with(rule(1, "a{1000}{1000}", "")).contains("size limit"));
    for kind in [-1, 128, i32::MAX] {
        let mut typed = rule(1, "a", "");
        typed.semantic_type = vec![SemanticType(kind)];
        assert!(with(typed).contains("semantic type"));
    }
    assert!(
        error(&|c| c.bytecode_v2 = Some(vec![1])).contains("bytecode is invalid: the checksum")
    );
    assert!(error(&|c| c.bytecode_v2 = None).contains("it is empty"));
    assert!(error(&|c| c.bytecode_overlay_v54 = Some(vec![1])).contains("bytecode is invalid"));
    assert!(error(&|c| c.bytecode_v2 = Some(generator::encode(&[9, 0]))).contains("no root"));
}

#[test]
fn the_newer_program_is_preferred() {
    let mut config = config();
    config.bytecode = Some(generator::encode(&[0x0b, 1, 0, 0]));
    assert_eq!(apply(&mut TraceFilter::from_config(&config).unwrap(), &[8, 1]), [8, 1]);
    config.bytecode_v2 = None;
    assert!(apply(&mut TraceFilter::from_config(&config).unwrap(), &[8, 1]).is_empty());
}

#[test]
fn statistics() {
    let mut filter = TraceFilter::from_config(&config()).unwrap();
    let mut out = vec![9];
    filter.apply(&[8, 1, 0x28, 1], Some(2), &mut out);
    assert_eq!(out, [9, 8, 1]);
    filter.apply(&[8], None, &mut out);
    assert_eq!(out, [9, 8, 1], "nothing of what is no message");
    filter.pass(10);
    let stats = FilterStats {
        input_packets: 3,
        input_bytes: 15,
        output_bytes: 12,
        errors: 1,
        bytes_discarded_per_buffer: vec![0, 0, 2],
    };
    assert_eq!(*filter.stats(), stats);
    let mut fork = filter.fork();
    assert_eq!(*fork.stats(), FilterStats::default());
    assert_eq!(apply(&mut fork, &[8, 1, 0x28, 1]), [8, 1]);
}
