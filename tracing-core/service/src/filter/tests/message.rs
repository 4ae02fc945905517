//! Whole messages: tests named as in `message_filter_unittest.cc`.

use protos::{TracePacket, TracePacketData};
use protozero::Message as _;

use super::super::generator::{Generator, Target};
use super::*;

/// Applies `program` to a message of its root.
fn filtered(program: &Program, input: &[u8]) -> Result<Vec<u8>, FilterError> {
    let mut out = vec![0xaa];
    let mut filter = MessageFilter::rooted(program, &[]).unwrap();
    let result = filter.apply(
        program,
        &StringFilter::default(),
        &mut FilterBudget::default(),
        input,
        &mut out,
    );
    assert_eq!(out[0], 0xaa);
    assert!(out.len() <= input.len() + 1, "output is never longer");
    result.map(|()| out[1..].to_vec())
}

fn program(generator: Generator) -> Program {
    let (code, overlay) = generator.finish();
    let overlay = (!overlay.is_empty()).then_some(overlay);
    Program::parse(&code, overlay.as_deref()).unwrap()
}

/// Root: 1 plain, 2 message 1, 3 string. Message 1: 1 plain, 2 the root again.
fn nested() -> Program {
    let generator = Generator::new(Target::V54);
    let root = generator.field(1, Rule::Pass).field(2, Rule::Message(1));
    let inner = root.field(3, Rule::String(0)).end().field(1, Rule::Pass);
    program(inner.field(2, Rule::Message(0)).end())
}

#[test]
fn end_to_end() {
    let program = nested();
    let check = |input: &[u8], expected: &[u8]| {
        assert_eq!(filtered(&program, input), Ok(expected.to_vec()), "{input:x?}");
    };
    check(&[0x08, 0x05, 0x20, 0x01], &[0x08, 0x05]);
    check(&[0x20, 0x01], &[]);
    // All kinds of numbers.
    check(&[0x09, 1, 2, 3, 4, 5, 6, 7, 8], &[0x09, 1, 2, 3, 4, 5, 6, 7, 8]);
    check(&[0x0d, 1, 2, 3, 4, 0x25, 1, 2, 3, 4], &[0x0d, 1, 2, 3, 4]);
    check(&[0x0a, 2, 7, 7, 0x22, 2, 7, 7], &[0x0a, 2, 7, 7]);
    // Shortest forms.
    check(&[0x88, 0x00, 0x85, 0x80, 0x00], &[0x08, 0x05]);
    check(&[0x0a, 0x82, 0x80, 0x00, 7, 7], &[0x0a, 2, 7, 7]);
    // A message is kept if it is empty or becomes empty; a denied one is removed with its fields.
    check(&[0x12, 0], &[0x12, 0]);
    check(&[0x12, 2, 0x20, 0x01], &[0x12, 0]);
    check(&[0x12, 4, 0x08, 1, 0x20, 1, 0x08, 2], &[0x12, 2, 0x08, 1, 0x08, 2]);
    check(&[0x12, 6, 0x12, 4, 0x08, 1, 0x20, 1], &[0x12, 4, 0x12, 2, 0x08, 1]);
    // Only plain fields may be numbers: a string or message in the program must not be a number here.
    check(&[0x10, 1, 0x18, 1, 0x15, 0, 0, 0, 0], &[]);
    check(&[0x1a, 1, b'x'], &[0x1a, 1, b'x']);
}

#[test]
fn nested_lengths_keep_their_width() {
    let mut long = vec![0x12, 0x84, 0x80, 0x01];
    long.splice(1..4, [0x83, 0x01]);
    long.extend([0x08, 1, 0x22, 126]);
    long.extend([7; 126]);
    long.push(0);
    assert_eq!(long[1..3], [0x83, 0x01]);
    // Of 131 bytes of content two are left.
    let content = [&[0x08, 1, 0x22, 0x7f][..], &[7; 127]].concat();
    let input = [&[0x12, 0x83, 0x01][..], &content].concat();
    assert_eq!(filtered(&nested(), &input), Ok(vec![0x12, 0x82, 0x00, 0x08, 1]));
    // The shortest form of a redundant length counts.
    let input = [0x12, 0x82, 0x80, 0x80, 0x00, 0x08, 1];
    assert_eq!(filtered(&nested(), &input), Ok(vec![0x12, 2, 0x08, 1]));
}

#[test]
fn passthrough() {
    let all = program(Generator::new(Target::V54).range(1, 1000).end());
    let packet = TracePacket {
        timestamp: Some(u64::MAX),
        data: Some(TracePacketData::ForTesting(protos::TestEvent {
            str: Some("x".repeat(1000)),
            ..Default::default()
        })),
        ..Default::default()
    };
    let bytes = packet.encode_to_vec();
    let out = filtered(&all, &bytes).unwrap();
    assert_eq!(TracePacket::decode(&out).unwrap(), packet);
}

#[test]
fn change_root() {
    let program = nested();
    assert!(MessageFilter::rooted(&program, &[1]).is_none());
    assert!(MessageFilter::rooted(&program, &[2, 1]).is_none());
    assert!(MessageFilter::rooted(&program, &[9]).is_none());
    assert!(MessageFilter::rooted(&program, &[2, 2, 2]).is_some());
    let mut filter = MessageFilter::rooted(&program, &[2]).unwrap();
    let mut out = Vec::new();
    let input = [0x08, 1, 0x1a, 1, b'x'];
    filter
        .apply(&program, &StringFilter::default(), &mut FilterBudget::default(), &input, &mut out)
        .unwrap();
    assert_eq!(out, [0x08, 1]);
}

#[test]
fn string_filter() {
    let program = nested();
    let mut strings = StringFilter::default();
    let (policy, regex) = (Policy::MatchRedactGroups, "secret (.*)");
    strings.add(StringRule { policy, regex, atrace_prefix: "", name: "", types: vec![] }).unwrap();
    let mut filter = MessageFilter::rooted(&program, &[]).unwrap();
    let mut out = Vec::new();
    let input = [&[0x12, 4, 0x12, 2, 0x08, 1, 0x1a, 10][..], b"secret abc"].concat();
    filter.apply(&program, &strings, &mut FilterBudget::default(), &input, &mut out).unwrap();
    assert_eq!(out, [&[0x12, 4, 0x12, 2, 0x08, 1, 0x1a, 10][..], b"secret P60"].concat());
}

#[test]
fn malformed_input() {
    let program = nested();
    let mut filter = MessageFilter::rooted(&program, &[]).unwrap();
    let mut out = Vec::new();
    let strings = StringFilter::default();
    let bad: [(&[u8], FilterError); 8] = [
        (&[], FilterError::Empty),
        (&[0x08, 1, 0x0b], FilterError::WireType { offset: 2 }),
        (&[0x08, 1, 0x12, 5, 1], FilterError::Length { offset: 3 }),
        // A length that leads out of the message around it; a field that its end cuts off.
        (&[0x12, 3, 0x12, 9, 0, 1, 1, 1, 1, 1], FilterError::Length { offset: 3 }),
        (&[0x12, 1, 0x08, 0x01], FilterError::Truncated { offset: 3 }),
        (&[0x12, 2, 0x22, 1, 0], FilterError::Length { offset: 3 }),
        (&[0x12, 3, 0x09, 1, 2], FilterError::Truncated { offset: 5 }),
        (&[0x12, 3, 0x0d, 1, 2], FilterError::Truncated { offset: 5 }),
    ];
    for (input, error) in bad {
        assert_eq!(
            filter.apply(&program, &strings, &mut FilterBudget::default(), input, &mut out),
            Err(error),
            "{input:x?}"
        );
        assert!(out.is_empty(), "{out:?}");
        // The filter can be used again.
        filter
            .apply(&program, &strings, &mut FilterBudget::default(), &[0x12, 2, 0x08, 1], &mut out)
            .unwrap();
        assert_eq!(std::mem::take(&mut out), [0x12, 2, 0x08, 1]);
    }
}

/// A program may name fields that no message can have.
#[test]
fn numbers_beyond_the_largest_are_denied() {
    let program = program(Generator::new(Target::V54).range(1, u32::MAX).end());
    let field = |number: u64| {
        let mut bytes = Vec::new();
        protozero::wire::write::append_varint(&mut bytes, number << 3);
        bytes.push(1);
        bytes
    };
    let largest = field((1 << 29) - 1);
    assert_eq!(filtered(&program, &largest), Ok(largest));
    for beyond in [1 << 29, (1 << 32) - 2, 1 << 32] {
        assert_eq!(filtered(&program, &field(beyond)), Ok(Vec::new()), "{beyond}");
    }
}

#[test]
fn depth_is_bounded() {
    let program = program(Generator::new(Target::V54).field(1, Rule::Message(0)).end());
    let deep = |levels: usize| {
        let mut bytes = vec![];
        for _ in 0..levels {
            let mut outer = vec![0x0a];
            protozero::wire::write::append_varint(&mut outer, bytes.len() as u64);
            outer.extend(bytes);
            bytes = outer;
        }
        bytes
    };
    // The innermost message is empty, which takes no level.
    let max = crate::limits::FILTER_DEPTH_MAX + 1;
    assert_eq!(filtered(&program, &deep(max)), Ok(deep(max)));
    assert!(matches!(filtered(&program, &deep(max + 1)), Err(FilterError::Depth { .. })));
}

#[test]
fn numbers_no_field_can_have() {
    let all = program(Generator::new(Target::V54).range(1, u32::MAX >> 3).end());
    // 2^29 and 2^32 + 1, which truncated to 32 bits would be 1.
    for tag in [1u64 << 32, ((1u64 << 32) + 1) << 3] {
        let mut input = Vec::new();
        protozero::wire::write::append_varint(&mut input, tag);
        input.push(1);
        assert_eq!(filtered(&all, &input), Ok(vec![]));
    }
}

#[test]
fn semantic_type_end_to_end() {
    let generator = Generator::new(Target::V2 { untyped: true });
    let program = program(generator.field(1, Rule::String(1)).field(2, Rule::String(2)).end());
    let mut strings = StringFilter::default();
    for (regex, types) in [("a(.*)", vec![1]), ("b(.*)", vec![2]), ("c(.*)", vec![])] {
        let policy = Policy::MatchRedactGroups;
        strings.add(StringRule { policy, regex, atrace_prefix: "", name: "", types }).unwrap();
    }
    let mut filter = MessageFilter::rooted(&program, &[]).unwrap();
    for (field, text, expected) in [
        (1, b"a1", b"aP"),
        (1, b"b1", b"b1"),
        (1, b"c1", b"c1"),
        (2, b"a1", b"a1"),
        (2, b"b1", b"bP"),
    ] {
        let mut out = Vec::new();
        let input = [&[field << 3 | 2, 2], &text[..]].concat();
        filter.apply(&program, &strings, &mut FilterBudget::default(), &input, &mut out).unwrap();
        assert_eq!(out[2..], *expected);
    }
}

/// The real schema: every message of a trace is allowed.
#[test]
fn real_trace_passthrough() {
    let all =
        program(Generator::new(Target::V54).field(1, Rule::Message(1)).end().range(1, 999).end());
    let packets: Vec<u8> = (0..100u64)
        .flat_map(|n| {
            let packet = TracePacket { timestamp: Some(n << n.min(40)), ..Default::default() };
            let bytes = packet.encode_to_vec();
            [&[0x0a, bytes.len() as u8][..], &bytes].concat()
        })
        .collect();
    assert_eq!(filtered(&all, &packets), Ok(packets));
}
