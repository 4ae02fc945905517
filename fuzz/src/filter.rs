//! Trace filters: programs and expressions of consumers, over packets of producers.

use protos::{
    TraceConfigTraceFilter, TraceConfigTraceFilterStringFilterChain as Chain,
    TraceConfigTraceFilterStringFilterPolicy as Policy,
    TraceConfigTraceFilterStringFilterRule as StringRule,
};
use service::filter::generator::{Generator, Target, encode};
use service::filter::{Program, Rule, TraceFilter};

/// A part of the input; its first byte is its length.
fn part<'a>(input: &mut &'a [u8]) -> &'a [u8] {
    let Some((len, rest)) = input.split_first() else { return &[] };
    let (part, rest) = rest.split_at(usize::from(*len).min(rest.len()));
    *input = rest;
    part
}

/// Any bytecode with any overlay, with or without a valid checksum, applied to any packet: the output is a message, is
/// not longer than the input, and does not change when filtered again.
pub fn filter_program(mut input: &[u8]) {
    let Some(head) = input.split_off_first() else { return };
    let code = |bytes: &[u8], sealed: bool| {
        if sealed {
            encode(&bytes.iter().map(|b| u32::from(*b)).collect::<Vec<_>>())
        } else {
            bytes.to_vec()
        }
    };
    let program = code(part(&mut input), head & 1 == 0);
    let overlay = code(part(&mut input), head & 2 == 0);
    let overlay = (head & 4 == 0).then_some(overlay);
    if Program::parse(&program, overlay.as_deref()).is_err() {
        return;
    }
    let config = TraceConfigTraceFilter {
        bytecode: (head & 8 == 0).then(|| program.clone()),
        bytecode_v2: (head & 8 != 0).then_some(program),
        bytecode_overlay_v54: overlay,
        ..Default::default()
    };
    let Ok(mut filter) = TraceFilter::from_config(&config) else { return };
    let (mut out, mut again) = (Vec::new(), Vec::new());
    filter.apply(input, Some(0), &mut out);
    assert!(out.len() <= input.len());
    filter.apply(&out, None, &mut again);
    assert_eq!(filter.stats().input_packets, 2);
    assert!(again.len() <= out.len());
    let mut reader = protozero::Reader::new(&out);
    while reader.next_field().expect("a message").is_some() {}
}

/// The lengths of all fields, without those of their length prefixes.
fn lens(message: &[u8]) -> Vec<(u32, usize)> {
    let mut reader = protozero::Reader::new(message);
    let mut lens = Vec::new();
    while let Some(field) = reader.next_field().expect("a message") {
        let protozero::Value::Len(bytes) = field.value else { panic!("only strings were there") };
        lens.push((field.number, bytes.len()));
    }
    lens
}

/// Any string rules with any string: lengths do not change, and nothing but the string changes.
pub fn string_rules(mut input: &[u8]) {
    let mut chains = [Chain::default(), Chain::default()];
    let rules = input.split_off_first().map_or(0, |b| b % 4);
    for _ in 0..rules {
        let Some(head) = input.split_off_first() else { return };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let rule = StringRule {
            policy: Some(Policy(i32::from(head & 7))),
            regex_pattern: Some(text(part(&mut input))),
            atrace_payload_starts_with: (head & 8 != 0).then(|| text(part(&mut input))),
            name: (head & 16 != 0).then(|| "name".into()),
            semantic_type: if head & 32 != 0 { vec![protos::SemanticType(1)] } else { Vec::new() },
            ..Default::default()
        };
        chains[usize::from(head & 64 != 0)].rules.push(rule);
    }
    let [older, newer] = chains;
    let program = Generator::new(Target::V54)
        .field(1, Rule::Message(1))
        .end()
        .field(1, Rule::String(0))
        .field(2, Rule::String(1))
        .field(3, Rule::Pass)
        .end();
    let config = TraceConfigTraceFilter {
        bytecode_v2: Some(program.finish().0),
        string_filter_chain: Some(older),
        string_filter_chain_v54: Some(newer),
        ..Default::default()
    };
    let Ok(mut filter) = TraceFilter::from_config(&config) else { return };
    let text = &input[..input.len().min(0x3fff)];
    let mut packet = Vec::new();
    for field in 1..=3u8 {
        packet.extend([field << 3 | 2, text.len() as u8 | 0x80, (text.len() >> 7) as u8]);
        packet.extend_from_slice(text);
    }
    let mut out = Vec::new();
    filter.apply(&packet, None, &mut out);
    assert_eq!(lens(&out), lens(&packet));
    assert!(out.ends_with(text));
}
