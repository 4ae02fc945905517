//! Programs: tests named as in `filter_bytecode_parser_unittest.cc` and the suite of the generator.

use super::super::generator::{Generator, Target, encode};
use super::*;

#[track_caller]
fn parse(words: &[u32]) -> Program {
    Program::parse(&encode(words), None).expect("a valid program")
}

#[track_caller]
fn fails(words: &[u32]) -> ProgramError {
    Program::parse(&encode(words), None).expect_err("no program")
}

#[track_caller]
fn with(words: &[u32], overlay: &[u32]) -> Result<Program, ProgramError> {
    Program::parse(&encode(words), Some(&encode(overlay)))
}

/// The fields that pass, of the first 1000.
fn passing(program: &Program, message: u32) -> Vec<u32> {
    (0..1000).filter(|field| program.rule(message, *field) != Rule::Deny).collect()
}

const EOM: u32 = 0;
const fn simple(field: u32) -> u32 {
    field << 3 | 1
}
const fn range(field: u32) -> u32 {
    field << 3 | 2
}
const fn nested(field: u32) -> u32 {
    field << 3 | 3
}
const fn string(field: u32) -> u32 {
    field << 3 | 4
}
const fn typed(field: u32) -> u32 {
    field << 3 | 5
}

#[test]
fn golden_bytecode() {
    assert_eq!(encode(&[]), [0xa5, 0xc6, 0x88, 0xa1, 0x08]);
    assert_eq!(encode(&[simple(1), EOM]), [0x09, 0x00, 0xac, 0x81, 0x95, 0xa5, 0x07]);
    assert_eq!(encode(&[1, typed(3), 2]), [0x01, 0x1d, 0x02, 0xbb, 0xf3, 0xba, 0xa2, 0x05]);
}

#[test]
fn eom_handling() {
    // Without a checksum.
    assert_eq!(Program::parse(&[], None), Err(ProgramError::Empty));
    assert_eq!(Program::parse(&[1], None), Err(ProgramError::Checksum));
    assert_eq!(Program::parse(&[0x80], None), Err(ProgramError::Varint { offset: 0 }));
    // A program that allows nothing.
    assert_eq!(parse(&[]).message_count(), 0);
    assert_eq!(parse(&[]).rule(0, 1), Rule::Deny);
    assert_eq!(parse(&[EOM]).message_count(), 1);
    // The field number of an end of message is ignored.
    assert_eq!(parse(&[EOM | 5 << 3]).message_count(), 1);
    assert_eq!(fails(&[simple(1)]), ProgramError::Truncated);
    assert_eq!(fails(&[EOM, simple(1)]), ProgramError::Truncated);
    let program = parse(&[simple(1), EOM, EOM, simple(2), EOM]);
    assert_eq!(program.message_count(), 3);
    assert_eq!([0, 1, 2].map(|m| passing(&program, m)), [vec![1], vec![], vec![2]]);
}

#[test]
fn parser_simple_fields() {
    let program = parse(&[simple(1), simple(2), simple(127), simple(128), simple(900), EOM]);
    assert_eq!(passing(&program, 0), [1, 2, 127, 128, 900]);
    assert_eq!(program.rule(1, 1), Rule::Deny);
    assert_eq!(program.rule(0, u32::MAX), Rule::Deny);
    assert_eq!(fails(&[simple(0), EOM]), ProgramError::FieldZero { word: 0 });
    for operation in [6, 7] {
        let words = [simple(1), 2 << 3 | operation, EOM];
        assert_eq!(fails(&words), ProgramError::Operation { word: 1 });
    }
    // Fields below 128 may come in any order.
    assert_eq!(passing(&parse(&[simple(3), simple(2), simple(3), EOM]), 0), [2, 3]);
    for late in [simple(200), simple(199), range(150)] {
        let words = [simple(200), late, 60, EOM];
        let words = if late & 7 == 2 { &words[..] } else { &[words[0], late, EOM] };
        assert_eq!(fails(words), ProgramError::Order { word: 1 });
    }
}

#[test]
fn parser_simple_ranges() {
    let program = parse(&[range(1), 3, range(10), 0, range(20), 1, EOM]);
    assert_eq!(passing(&program, 0), [1, 2, 3, 20]);
    assert_eq!(fails(&[range(1)]), ProgramError::Truncated);
    // The largest allowed program.
    let program = parse(&[range(1), u32::MAX, EOM]);
    assert_eq!(program.rule(0, (1 << 29) - 1), Rule::Pass);
    assert_eq!(fails(&[range(200), u32::MAX, simple(201), EOM]), ProgramError::Order { word: 2 });
}

#[test]
fn parser_simple_fields_and_ranges() {
    let program = parse(&[simple(1), range(10), 2, simple(50), range(126), 4, simple(200), EOM]);
    assert_eq!(passing(&program, 0), [1, 10, 11, 50, 126, 127, 128, 129, 200]);
    let program = parse(&[range(130), 10, range(140), 5, simple(300), EOM]);
    let expected: Vec<u32> = (130..145).chain([300]).collect();
    assert_eq!(passing(&program, 0), expected);
}

#[test]
fn parser_nested_messages() {
    // A message that refers to itself, to a later and to an earlier one.
    let words = [nested(1), 0, nested(4), 2, nested(200), 1, EOM, nested(1), 0, EOM, EOM];
    let program = parse(&words);
    assert_eq!(program.rule(0, 1), Rule::Message(0));
    assert_eq!(program.rule(0, 4), Rule::Message(2));
    assert_eq!(program.rule(0, 200), Rule::Message(1));
    assert_eq!(program.rule(1, 1), Rule::Message(0));
    assert_eq!(fails(&[nested(1), 1, EOM]), ProgramError::NoSuchMessage { message: 1 });
    assert_eq!(fails(&[nested(200), 7, EOM]), ProgramError::NoSuchMessage { message: 7 });
    assert_eq!(fails(&[nested(1)]), ProgramError::Truncated);
}

#[test]
fn parser_strings() {
    let program = parse(&[string(1), typed(2), 3, typed(200), 0xffff, EOM]);
    assert_eq!(program.rule(0, 1), Rule::String(0));
    assert_eq!(program.rule(0, 2), Rule::String(3));
    assert_eq!(program.rule(0, 200), Rule::String(0xffff));
    assert_eq!(fails(&[typed(2)]), ProgramError::Truncated);
}

#[test]
fn overlays_are_bounded() {
    let overlay = |fields: u32| -> Vec<u32> {
        (1..=fields).flat_map(|field| [0, simple(field), 0]).collect()
    };
    let most = crate::limits::FILTER_OVERLAY_WORDS_MAX as u32 / 3;
    let program = with(&[EOM], &overlay(most)).unwrap();
    assert_eq!(program.rule(0, most), Rule::Pass);
    assert_eq!(with(&[EOM], &overlay(most + 1)).err(), Some(ProgramError::TooLarge));
}

#[test]
fn words_are_32_bits() {
    let long = [0xff, 0xff, 0xff, 0xff, 0x1f];
    assert_eq!(Program::parse(&long, None), Err(ProgramError::Varint { offset: 0 }));
    let long = [[0x80; 10].as_slice(), &[1]].concat();
    assert_eq!(Program::parse(&long, None), Err(ProgramError::Varint { offset: 0 }));
}

#[test]
fn programs_are_bounded() {
    let words = vec![EOM; crate::limits::FILTER_MESSAGES_MAX + 1];
    assert_eq!(fails(&words), ProgramError::TooLarge);
    assert_eq!(parse(&words[1..]).message_count(), words.len() - 1);
    let words = vec![simple(1); crate::limits::FILTER_WORDS_MAX + 1];
    assert_eq!(fails(&words), ProgramError::TooLarge);
}

/// Small fields may come behind large ones, which are in order.
#[test]
fn small_fields_come_in_any_order() {
    let program = parse(&[simple(200), simple(5), simple(300), EOM]);
    assert_eq!([5, 200, 300].map(|f| program.rule(0, f)), [Rule::Pass; 3]);
    assert_eq!([6, 128, 201].map(|f| program.rule(0, f)), [Rule::Deny; 3]);
}

#[test]
fn overlay_upgrade_to_filter_string() {
    let program = with(&[simple(1), simple(2), EOM], &[0, string(2), 0]).unwrap();
    assert_eq!([1, 2].map(|f| program.rule(0, f)), [Rule::Pass, Rule::String(0)]);
}

#[test]
fn overlay_add_new_field() {
    let program = with(&[simple(1), simple(3), EOM], &[0, typed(2), 1]).unwrap();
    assert_eq!([1, 2, 3].map(|f| program.rule(0, f)), [Rule::Pass, Rule::String(1), Rule::Pass]);
}

#[test]
fn overlay_add_field_at_end() {
    let program = with(&[simple(1), EOM], &[0, typed(9), 1]).unwrap();
    assert_eq!([1, 9].map(|f| program.rule(0, f)), [Rule::Pass, Rule::String(1)]);
}

#[test]
fn overlay_multiple_entries() {
    let overlay = [0, typed(1), 1, 0, simple(2), 0, 0, string(4), 0];
    let program = with(&[simple(1), string(2), simple(3), EOM], &overlay).unwrap();
    let rules = [Rule::String(1), Rule::Pass, Rule::Pass, Rule::String(0)];
    assert_eq!([1, 2, 3, 4].map(|f| program.rule(0, f)), rules);
}

#[test]
fn overlay_multiple_messages() {
    let base = [nested(1), 1, EOM, simple(1), EOM];
    let program = with(&base, &[0, typed(2), 3, 1, typed(1), 2]).unwrap();
    assert_eq!(program.rule(0, 2), Rule::String(3));
    assert_eq!(program.rule(1, 1), Rule::String(2));
    let error = with(&base, &[2, typed(2), 3]).unwrap_err();
    assert_eq!(error, ProgramError::NoSuchMessage { message: 2 });
}

#[test]
fn overlay_large_field_id() {
    let program = with(&[simple(1), simple(500), EOM], &[0, typed(500), 1, 0, typed(900), 2]);
    let program = program.unwrap();
    assert_eq!(program.rule(0, 500), Rule::String(1));
    assert_eq!(program.rule(0, 900), Rule::String(2));
}

/// Upstream calls this an overlap.
#[test]
fn overlay_before_and_inside_of_ranges() {
    let overlay = [0, typed(130), 1, 0, typed(200), 2, 0, typed(203), 3, 0, typed(209), 4];
    let program = with(&[range(200), 10, EOM], &overlay).unwrap();
    assert_eq!(program.rule(0, 130), Rule::String(1));
    assert_eq!(program.rule(0, 131), Rule::Deny);
    let rules: Vec<Rule> = (199..211).map(|f| program.rule(0, f)).collect();
    let mut expected = vec![Rule::Pass; 12];
    (expected[0], expected[11]) = (Rule::Deny, Rule::Deny);
    (expected[1], expected[4], expected[10]) = (Rule::String(2), Rule::String(3), Rule::String(4));
    assert_eq!(rules, expected);
}

#[test]
fn overlay_empty_overlay() {
    assert_eq!(with(&[simple(1), EOM], &[]).unwrap(), parse(&[simple(1), EOM]));
    let error = Program::parse(&encode(&[simple(1), EOM]), Some(&[]));
    assert_eq!(error, Err(ProgramError::Empty));
}

#[test]
fn overlay_error_invalid_opcode() {
    for word in [EOM, range(2), nested(2), 2 << 3 | 6, 2 << 3 | 7] {
        let error = with(&[simple(1), EOM], &[0, word, 0]).unwrap_err();
        assert_eq!(error, ProgramError::Operation { word: 1 });
    }
    let error = with(&[simple(1), EOM], &[0, string(0), 0]).unwrap_err();
    assert_eq!(error, ProgramError::FieldZero { word: 1 });
}

#[test]
fn overlay_error_truncated() {
    for overlay in [&[0][..], &[0, string(1)], &[0, string(1), 0, 0]] {
        assert_eq!(with(&[simple(1), EOM], overlay), Err(ProgramError::Truncated));
    }
}

#[test]
fn overlay_error_not_sorted() {
    let base = [simple(1), EOM, EOM];
    for (message, field) in [(0, 3), (0, 2)] {
        let overlay = [0, string(3), 0, message, string(field), 0];
        assert_eq!(with(&base, &overlay), Err(ProgramError::Order { word: 4 }));
    }
    let overlay = [1, string(3), 0, 0, string(4), 0];
    assert_eq!(with(&base, &overlay), Err(ProgramError::Order { word: 4 }));
}

#[test]
fn simple_fields() {
    let (code, overlay) =
        Generator::new(Target::V2 { untyped: false }).field(1, Rule::Pass).end().finish();
    assert_eq!((code, overlay), (encode(&[simple(1), EOM]), vec![]));
}

#[test]
fn simple_and_ranges() {
    let generator = Generator::new(Target::V54).field(1, Rule::Pass).range(2, 10).end();
    assert_eq!(generator.finish().0, encode(&[simple(1), range(2), 10, EOM]));
}

#[test]
fn nested_messages() {
    let generator = Generator::new(Target::V54).field(4, Rule::Message(1)).end().end();
    assert_eq!(generator.finish().0, encode(&[nested(4), 1, EOM, EOM]));
}

#[test]
fn semantic_type_overlay_v2() {
    let made = |untyped| {
        let generator = Generator::new(Target::V2 { untyped });
        let generator = generator.field(1, Rule::String(0)).field(2, Rule::String(1)).end();
        generator.field(3, Rule::String(2)).end().finish()
    };
    let overlay = encode(&[0, typed(2), 1, 1, typed(3), 2]);
    assert_eq!(made(false), (encode(&[string(1), EOM, EOM]), overlay.clone()));
    let (code, also) = made(true);
    assert_eq!((&code, &also), (&encode(&[string(1), string(2), EOM, string(3), EOM]), &overlay));
    let program = Program::parse(&code, Some(&also)).unwrap();
    assert_eq!(program.rule(1, 3), Rule::String(2));
}

#[test]
fn semantic_type_v54_no_overlay() {
    let generator = Generator::new(Target::V54).field(2, Rule::String(1)).end();
    assert_eq!(generator.finish(), (encode(&[typed(2), 1, EOM]), vec![]));
}

#[test]
fn allow_in_v1() {
    let made = |strings| {
        let generator = Generator::new(Target::V1 { strings });
        generator.field(1, Rule::String(0)).field(2, Rule::String(1)).end().finish()
    };
    assert_eq!(made(true), (encode(&[simple(1), simple(2), EOM]), vec![]));
    assert_eq!(made(false), (encode(&[EOM]), vec![]));
}
