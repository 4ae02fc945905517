//! The budget of expressions and strings.

use super::super::FilterConfigError;
use super::super::engine::Regex;
use super::*;
use crate::limits;

/// An expression whose automaton would have 2^400 states.
const HOSTILE: &str = "[ab]*a[ab]{400}(N)";

fn with_rules(
    rules: Vec<TraceConfigTraceFilterStringFilterRule>,
) -> Result<TraceFilter, FilterConfigError> {
    TraceFilter::from_config(&TraceConfigTraceFilter {
        string_filter_chain: chain(rules),
        ..config()
    })
}

/// A packet of untyped strings.
fn packet(texts: &[&[u8]]) -> Vec<u8> {
    let mut packet = Vec::new();
    for text in texts {
        packet.push(0x12);
        protozero::wire::write::append_varint(&mut packet, text.len() as u64);
        packet.extend_from_slice(text);
    }
    packet
}

#[test]
fn expressions_of_a_filter_are_bounded_together() {
    let large = "[ab]{600}(N)";
    let error = with_rules(vec![rule(1, large, ""); 1000]).unwrap_err();
    assert!(error.to_string().contains("too large: at most 4096 KiB, compiled"), "{error}");
    // Also if each replaces the one before.
    let mut config = config();
    config.string_filter_chain_v54 = chain(vec![rule(1, large, "same"); 1000]);
    assert!(TraceFilter::from_config(&config).unwrap_err().to_string().contains("too large"));
}

#[test]
fn automata_of_a_filter_are_bounded_together() {
    let mut left = limits::FILTER_AUTOMATA_BYTES_PER_SESSION_MAX;
    let mut before = left;
    let mut count = 0;
    while left > 0 {
        count += 1;
        Regex::new(".*a[ab]{8}(N)", true, &mut left).unwrap();
        assert!(before - left <= 3 * limits::REGEX_AUTOMATON_BYTES_MAX);
        before = left;
    }
    assert!((16..200).contains(&count), "{count}: the last ones have none");
    let groups = "(a)".repeat(400);
    let error = Regex::new(&groups, true, &mut left).unwrap_err();
    assert!(error.to_string().contains("too many groups"));
}

/// Without an automaton an expression takes more steps.
#[test]
fn a_filter_with_many_expressions_has_automata_for_the_first_ones() {
    let steps = |count: usize| {
        let rules = vec![rule(1, ".*a[ab]{8}(N)", ""); count];
        let mut filter = with_rules(rules).unwrap();
        apply(&mut filter, &packet(&[b"abababab"]));
        filter.steps()
    };
    let one = steps(1);
    assert!(steps(8) <= 8 * one);
    assert!(steps(200) > 2 * 200 * one);
}

#[test]
fn a_packet_that_costs_too_much_comes_out_empty() {
    let text: Vec<u8> = (0..60_000u32).map(|i| b"ab"[(i * i / 7) as usize % 2]).collect();
    let costly = packet(&[b"an", &text]);
    for rules in [1, 8] {
        for policy in [1, 3, 5] {
            let mut filter = with_rules(vec![rule(policy, HOSTILE, ""); rules]).unwrap();
            if policy == 5 {
                let line = [&b"B|1|"[..], &text].concat();
                assert!(apply(&mut filter, &packet(&[&line])).is_empty());
            } else {
                assert!(apply(&mut filter, &costly).is_empty());
            }
            assert_eq!(filter.stats().errors, 1);
            assert!(filter.steps() <= limits::FILTER_STEPS_PER_PACKET_MAX);
        }
    }
    // So does a packet with many strings, each of which is within the budget.
    let mut filter = with_rules(vec![rule(1, HOSTILE, "")]).unwrap();
    let some = &text[..400];
    let kept = apply(&mut filter, &packet(&[some; 4]));
    assert_eq!(kept, packet(&[some; 4]));
    let steps = filter.steps() / 4;
    let many = (limits::FILTER_STEPS_PER_PACKET_MAX / steps) as usize + 1;
    assert!(apply(&mut filter, &packet(&vec![some; many])).is_empty(), "{many} strings");
    filter.begin_pass();
    assert_eq!(apply(&mut filter, &packet(&[some])), packet(&[some]), "each packet has its own");
}

/// The packets of the service come together: reading cannot pause between them.
#[test]
fn packets_of_the_service_share_what_one_may_cost() {
    let mut filter = with_rules(vec![rule(1, "x(.*)", ""); 100]).unwrap();
    let large = packet(&[&[b'a'; 150_000]]);
    let kept = |filter: &mut TraceFilter, buffer| {
        let mut out = Vec::new();
        filter.apply(&large, buffer, &mut out);
        !out.is_empty()
    };
    assert_eq!([(); 3].map(|()| kept(&mut filter, None)), [true, true, false]);
    assert!(kept(&mut filter, Some(0)));
    filter.begin_pass();
    assert!(kept(&mut filter, None));
}

/// Rules like those of Android: the bytes that are read, not the steps, decide when reading pauses.
#[test]
fn a_normal_filter_fills_two_replies_in_a_turn() {
    let mut rules = Vec::new();
    for name in ["VerifyClass", "Lock contention on", "binder transaction", "Choreographer"] {
        for policy in [2, 4, 5] {
            for tail in [r"(.*)", r"\w+ (\S+) .*", r"[^:]*:(\d+)(?: by (.*))?"] {
                let mut rule = rule(policy, &format!(r"B\|\d+\|{name} {tail}"), "");
                rule.atrace_payload_starts_with = Some(name.into());
                rules.push(rule);
            }
        }
    }
    rules.push(rule(3, r"(?i)(?:com|org)\.(?:android|google)(?:\.\w+)*(?:/\w+)?", ""));
    rules.push(rule(1, r".*(?:user|account|mail)=(\S+).*", ""));
    let mut filter = with_rules(rules).unwrap();
    let lines: [&[u8]; 5] = [
        b"B|1234|VerifyClass com.example.app.SomeActivity",
        b"B|1234|Lock contention on a monitor lock (owner tid: 4321)",
        b"C|1234|some counter of an app|17",
        b"com.android.systemui",
        b"something else with mail=name@example.com in it",
    ];
    let before = packet(&lines);
    let after = apply(&mut filter, &before);
    assert_eq!(after.len(), before.len());
    assert!(after.windows(11).any(|bytes| bytes == b"P60REDACTED"));
    let per_byte = filter.steps() / before.len() as u64;
    // At least two replies in each turn.
    let turn_bytes = limits::FILTER_STEPS_PER_TURN / per_byte;
    assert!(turn_bytes > 2 * limits::READ_PASS_BYTES as u64, "{per_byte} steps for a byte");
    filter.begin_pass();
    let ordinary = packet(&[b"B|1234|doFrame", b"E|1234", b"S|1234|deliverInputEvent|99"]);
    assert_eq!(apply(&mut filter, &ordinary), ordinary);
    let per_byte = filter.steps() / ordinary.len() as u64;
    assert!(per_byte < limits::FILTER_STEPS_PER_BYTE, "{per_byte} steps for a byte");
}
