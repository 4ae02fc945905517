//! Random input: nothing panics, and the output is a message that is not longer than the input.

use proptest::prelude::*;

use super::engine::Regex;
use super::generator::{Generator, Target, encode};
use super::{FilterBudget, MessageFilter, Policy, Program, Rule, StringFilter};

/// Bytes that are often nested fields.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let scalar = prop_oneof![
        (1u8..16, 0u8..128).prop_map(|(f, v)| vec![f << 3, v]),
        (1u8..16, any::<u32>()).prop_map(|(f, v)| [&[f << 3 | 5][..], &v.to_le_bytes()].concat()),
        (1u8..16, any::<u64>()).prop_map(|(f, v)| [&[f << 3 | 1][..], &v.to_le_bytes()].concat()),
        proptest::collection::vec(any::<u8>(), 0..6),
    ];
    scalar.prop_recursive(5, 64, 6, |inner| {
        (1u8..16, proptest::collection::vec(inner, 0..6), any::<bool>()).prop_map(
            |(field, parts, wide)| {
                let body = parts.concat();
                let mut out = vec![field << 3 | 2];
                if wide {
                    out.extend([body.len() as u8 | 0x80, (body.len() >> 7) as u8]);
                } else {
                    protozero::wire::write::append_varint(&mut out, body.len() as u64);
                }
                out.extend(body);
                out
            },
        )
    })
}

fn rules() -> impl Strategy<Value = Vec<Vec<(u32, Rule)>>> {
    let rule = prop_oneof![
        Just(Rule::Deny),
        Just(Rule::Pass),
        (0u32..3).prop_map(Rule::Message),
        (0u32..200).prop_map(Rule::String),
    ];
    let message = proptest::collection::vec(rule, 16)
        .prop_map(|rules| (1u32..).zip(rules).collect::<Vec<_>>());
    proptest::collection::vec(message, 3)
}

/// The allowed fields of a message, found by another reader.
fn check_fields(program: &Program, message: u32, bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut reader = protozero::Reader::new(bytes);
    while let Some(field) = reader.next_field().expect("a message") {
        match program.rule(message, field.number) {
            Rule::Deny => prop_assert!(false, "field {} is denied", field.number),
            Rule::Message(inner) => {
                if let protozero::Value::Len(body) = field.value {
                    check_fields(program, inner, body)?;
                }
            }
            Rule::Pass | Rule::String(_) => {}
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn nothing_denied_passes(input in messages(), messages in rules()) {
        let mut generator = Generator::new(Target::V54);
        for fields in &messages {
            for &(field, rule) in fields {
                generator = generator.field(field, rule);
            }
            generator = generator.end();
        }
        let program = Program::parse(&generator.finish().0, None).expect("valid");
        let mut filter = MessageFilter::rooted(&program, &[]).expect("the root itself");
        let mut out = Vec::new();
        if filter.apply(&program, &StringFilter::default(), &mut FilterBudget::default(), &input, &mut out).is_ok() {
            prop_assert!(out.len() <= input.len());
            check_fields(&program, 0, &out)?;
            // The output passes again, and only redundant lengths change.
            let mut again = Vec::new();
            if !out.is_empty() {
                prop_assert!(filter.apply(&program, &StringFilter::default(), &mut FilterBudget::default(), &out, &mut again).is_ok());
            }
        } else {
            prop_assert!(out.is_empty());
        }
    }

    #[test]
    fn hostile_programs(words in proptest::collection::vec(any::<u32>(), 0..40), sums in any::<bool>()) {
        let small: Vec<u32> = words.iter().map(|word| word % 300).collect();
        let words = if sums { small } else { words };
        let code = encode(&words);
        let _ = Program::parse(&code, Some(&code));
        let _ = Program::parse(&code[..code.len() / 2], None);
    }

    /// Automata find the same as the machine.
    #[test]
    fn automata_and_the_machine_agree(
        pattern in r"(\(|\)|[ab|*?]|\\b|\[ab\]|a\{2\}|\(\?:){0,12}",
        texts in proptest::collection::vec("[ab ]{0,12}", 8),
    ) {
        for whole in [false, true] {
            let Ok(fast) = Regex::new(&pattern, whole, &mut (1 << 20)) else { continue };
            let slow = Regex::new(&pattern, whole, &mut 0).expect("the same");
            for text in &texts {
                for policy in [Policy::MatchBreak, Policy::MatchRedactGroups, Policy::AtraceRepeatedSearchRedactGroups] {
                    let run = |regex: &Regex| {
                        let mut bytes = text.as_bytes().to_vec();
                        let found = regex.redact_or_match(&mut bytes, policy, &mut FilterBudget::default());
                        (found, bytes)
                    };
                    prop_assert_eq!(run(&fast), run(&slow), "{} {:?}", pattern, text);
                }
            }
        }
    }
}
