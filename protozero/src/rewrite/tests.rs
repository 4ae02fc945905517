use std::string::String;
use std::vec::Vec;

use super::{Slices, groups_to_lengths, lengths_to_groups};
use crate::decode::limits::DEPTH_MAX;
use crate::error::{DecodeErrorKind, ReadError};
use crate::sink::HeapSink;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b' ').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

pub(super) fn to_lengths(input: &[u8], piece: usize) -> Result<Vec<u8>, ReadError> {
    let mut stream = HeapSink::stream();
    groups_to_lengths(Slices::new(input.chunks(piece.max(1))), &mut stream.root())?;
    Ok(stream.finish().unwrap())
}

pub(super) fn to_groups(
    input: &[u8],
    piece: usize,
    is_message: impl FnMut(&[u32]) -> bool,
) -> Result<Vec<u8>, ReadError> {
    let mut stream = HeapSink::stream();
    let pieces = Slices::new(input.chunks(piece.max(1)));
    lengths_to_groups(pieces, &mut stream.root(), is_message)?;
    Ok(stream.finish().unwrap())
}

/// Checks both directions, in one piece and in many: groups on the left, lengths on the right.
fn check(groups: &str, lengths: &str, is_message: fn(&[u32]) -> bool) {
    let (groups, lengths) = (hex(groups), hex(lengths));
    for piece in [1, 2, 3, 7, 1000] {
        assert_eq!(to_lengths(&groups, piece), Ok(lengths.clone()), "pieces of {piece}");
        assert_eq!(to_groups(&lengths, piece, is_message), Ok(groups.clone()), "pieces of {piece}");
    }
}

#[test]
fn both_ways() {
    check("", "", |_| true);
    check("0b 0c", "0a 00", |_| true);
    check("08 96 01 0b 08 05 0c 10 07", "08 96 01 0a 02 08 05 10 07", |_| true);
    // Two levels. Only the path decides whether a field of number 2 is a message or a string.
    check("0b 13 12 01 78 14 0c 12 01 78", "0a 05 12 03 12 01 78 12 01 78", |path| {
        matches!(path, [1] | [1, 2])
    });
    // All wire types, and tags of five bytes.
    check(
        "fb ff ff ff 0f 0d 01 02 03 04 11 01 02 03 04 05 06 07 08 fc ff ff ff 0f",
        "fa ff ff ff 0f 0e 0d 01 02 03 04 11 01 02 03 04 05 06 07 08",
        |_| true,
    );
}

#[test]
fn padding_of_copied_fields_is_kept() {
    // A varint, a length and a tag with padding, in pieces of all lengths.
    let input = hex("88 00 85 80 00 12 82 80 00 68 69 0b 92 00 80 00 0c");
    let want = hex("88 00 85 80 00 12 82 80 00 68 69 0a 04 92 00 80 00");
    for piece in 1..20 {
        assert_eq!(to_lengths(&input, piece), Ok(want.clone()));
        assert_eq!(to_groups(&input, piece, |_| false).unwrap(), input);
    }
}

#[test]
fn malformed() {
    let check = |text: &str, kind: DecodeErrorKind, offset: usize| {
        for piece in [1, 2, 1000] {
            assert_eq!(to_lengths(&hex(text), piece), Err(kind.at(offset)), "{text}, {piece}");
            let back = to_groups(&hex(text), piece, |_| false);
            assert_eq!(back, Err(kind.at(offset)), "{text}, {piece}");
        }
    };
    check("08 01 0c", DecodeErrorKind::EndGroup, 2);
    check("08 01 0b 08 05", DecodeErrorKind::Truncated, 2);
    check("0b 08 05 14", DecodeErrorKind::EndGroup, 3);
    check("08", DecodeErrorKind::Truncated, 0);
    check("08 01 12 05 68 69", DecodeErrorKind::Truncated, 2);
    check("12 ff ff ff ff ff ff ff ff ff 01", DecodeErrorKind::Truncated, 0);
    check("08 01 00 01", DecodeErrorKind::FieldNumber, 2);
    check("0b 0e", DecodeErrorKind::WireType, 1);
    check("ff ff ff ff ff ff ff ff ff ff 01", DecodeErrorKind::VarintTooLong, 0);
    check("08 ff ff ff ff ff ff ff ff ff ff 01", DecodeErrorKind::VarintTooLong, 0);
    check("0d 01 02 03", DecodeErrorKind::Truncated, 0);
    check("11 01 02 03", DecodeErrorKind::Truncated, 0);
}

#[test]
fn a_length_limits_its_content() {
    let message = |path: &[u32]| path == [1];
    // A field beyond the end of its message, an open group at the end of its message, and an end
    // tag too many.
    for text in ["0a 02 12 05 68 69 68 69 68", "0a 01 0b 0c", "0a 02 0b 0b 0c 0c", "0a 01 0c"] {
        for piece in [1, 2, 1000] {
            assert!(to_groups(&hex(text), piece, message).is_err(), "{text}");
        }
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| {
        let mut text = String::new();
        text.push_str(&"0b".repeat(depth));
        text.push_str(&"0c".repeat(depth));
        hex(&text)
    };
    let most = DEPTH_MAX as usize;
    assert!(to_lengths(&nested(most), 3).is_ok());
    assert_eq!(to_lengths(&nested(most + 1), 3), Err(DecodeErrorKind::TooDeep.at(most)));
    assert_eq!(to_lengths(&nested(1_000_000), 4096), Err(DecodeErrorKind::TooDeep.at(most)));
    assert_eq!(to_groups(&nested(most + 1), 3, |_| true), Err(DecodeErrorKind::TooDeep.at(most)));
    let mut lengths = to_lengths(&nested(most), 3).unwrap();
    assert_eq!(to_groups(&lengths, 5, |_| true).unwrap(), nested(most));
    lengths.splice(0..0, [0x0a, lengths.len() as u8 | 0x80, (lengths.len() >> 7) as u8]);
    assert_eq!(to_groups(&lengths, 5, |_| true).unwrap_err().kind, DecodeErrorKind::TooDeep);
}

#[test]
fn the_pieces_do_not_change_the_output() {
    // Three levels, with fields before, between and after the inner messages. Their lengths are
    // just below and above 128.
    let field = |len: usize| [&[0x12, len as u8][..], &[b'x'; 200][..len]].concat();
    for (before, inside, behind) in [(60, 60, 60), (90, 30, 30), (2, 123, 0), (1, 123, 0)] {
        let (before, inside, behind) = (field(before), field(inside), field(behind));
        let innermost = [&[0x0b], &inside[..], &[0x0c]].concat();
        let inner = [&[0x0b], &before[..], &innermost, &innermost, &behind, &[0x0c]].concat();
        let message = [&before[..], &[0x0b], &inner, &before, &inner, &[0x0c], &behind].concat();
        let whole = to_lengths(&message, usize::MAX).unwrap();
        // Miri would need minutes for all.
        for piece in (1..message.len()).step_by(if cfg!(miri) { 257 } else { 1 }) {
            assert_eq!(to_lengths(&message, piece).unwrap(), whole, "pieces of {piece}");
        }
    }
}
