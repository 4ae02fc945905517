//! Bytes in several slices read the same as in one slice.

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::props;
use crate::decode::{Pieces, Reader, ScatteredReader, ScatteredValue, Value};
use crate::error::DecodeErrorKind::{self, *};

/// Splits `bytes` at `cuts`, which may be equal.
fn split_at_all<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// Copies the value to `out`, and returns whether it lies in several slices.
fn copy_if_split(value: ScatteredValue<'_, '_>, out: &mut Vec<u8>) -> bool {
    match value {
        ScatteredValue::Whole(_) => false,
        ScatteredValue::Len(pieces) | ScatteredValue::Group(pieces) => {
            *out = pieces.to_vec();
            true
        }
    }
}

/// Compares the fields of `slices` and `bytes`, which contain the same message, and of the messages
/// in them.
fn check_same(
    slices: ScatteredReader<'_, '_>,
    bytes: &[u8],
    depth: u32,
) -> Result<(), TestCaseError> {
    let (mut slices, mut whole) = (slices, Reader::new(bytes));
    loop {
        let start = whole.position();
        prop_assert_eq!(slices.position(), start);
        let (got, want) = (slices.next_field(), whole.next_field());
        let (got, want) = match (got, want) {
            (Ok(Some(got)), Ok(Some(want))) => (got, want),
            (got, want) => {
                prop_assert_eq!(
                    got.map(|field| field.is_none()),
                    want.map(|field| field.is_none())
                );
                prop_assert!(slices.next_field().unwrap().is_none());
                return Ok(());
            }
        };
        prop_assert_eq!(got.number, want.number);
        prop_assert!(got.raw == *want.raw);
        let mut copy = Vec::new();
        let cut = copy_if_split(got.value, &mut copy);
        let value = match got.value {
            ScatteredValue::Whole(value) => value,
            ScatteredValue::Len(_) => Value::Len(&copy),
            ScatteredValue::Group(_) => Value::Group(&copy),
        };
        prop_assert_eq!(value, want.value);
        if cut {
            prop_assert!(got.value.message().unwrap().remaining().as_slice().is_none());
        }
        if let Ok(pieces) = got.value.bytes() {
            let bytes = want.value.bytes().unwrap();
            prop_assert_eq!(pieces.is_utf8(), core::str::from_utf8(bytes).is_ok());
            prop_assert_eq!(&*pieces.to_cow(), bytes);
        }
        match (got.value.varints(), want.value.varints()) {
            (Ok(got), Ok(want)) => {
                prop_assert_eq!(got.collect::<Vec<_>>(), want.collect::<Vec<_>>())
            }
            (got, want) => prop_assert_eq!(got.err(), want.err()),
        }
        if let (Ok(inner), Ok(body), true) = (got.value.message(), want.value.body(), depth < 4) {
            check_same(inner, body, depth + 1)?;
        }
    }
}

proptest! {
    #[test]
    fn scattered_fields_equal_contiguous_ones(bytes in props::bytes(), cuts in vec(0..200usize, 0..12)) {
        let slices = split_at_all(&bytes, &cuts);
        check_same(ScatteredReader::new(&slices), &bytes, 0)?;
    }

    #[test]
    fn nested_messages_equal_contiguous_ones(inner in props::bytes(), cuts in vec(0..300usize, 0..12)) {
        let len = [inner.len() as u8 | 0x80, (inner.len() >> 7) as u8];
        let bytes = [&[0x0a][..], &len, &inner, &[0x13, 0x0a], &len, &inner, &[0x14]].concat();
        let slices = split_at_all(&bytes, &cuts);
        check_same(ScatteredReader::new(&slices), &bytes, 0)?;
    }

    #[test]
    fn text_equals_contiguous_text(text in "[a-zé√𝄞]{0,20}", bad in any::<Option<(u8, u8)>>(), cuts in vec(0..80usize, 0..20)) {
        let mut bytes = text.into_bytes();
        if let (Some((at, byte)), false) = (bad, bytes.is_empty()) {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let slices = split_at_all(&bytes, &cuts);
        prop_assert_eq!(Pieces::new(&slices).is_utf8(), core::str::from_utf8(&bytes).is_ok());
    }

    #[test]
    fn taking_pieces_equals_splitting_a_slice(bytes in vec(any::<u8>(), 0..60), cuts in vec(0..80usize, 0..9), takes in vec(0..30usize, 0..9)) {
        let slices = split_at_all(&bytes, &cuts);
        let (mut pieces, mut rest) = (Pieces::new(&slices), &bytes[..]);
        for len in takes {
            let want = rest.split_at_checked(len);
            let got = pieces.take(len);
            prop_assert_eq!(got.map(|taken| taken.to_vec()), want.map(|(taken, _)| taken.to_vec()));
            rest = want.map_or(rest, |(_, rest)| rest);
            prop_assert!(pieces == *rest);
            prop_assert_eq!((pieces.len(), pieces.is_empty()), (rest.len(), rest.is_empty()));
            let mut out = [0; 7];
            let len = pieces.copy_to(&mut out);
            prop_assert_eq!(&out[..len], &rest[..rest.len().min(7)]);
        }
    }
}

/// Splits a message into three slices in every way, and checks the number of fields or the error.
fn check(bytes: &[u8], want: Result<usize, (DecodeErrorKind, usize)>) {
    for a in 0..=bytes.len() {
        for b in a..=bytes.len() {
            let slices = [&bytes[..a], &bytes[a..b], &bytes[b..]];
            let mut reader = ScatteredReader::new(&slices);
            let mut count = 0;
            let got = loop {
                match reader.next_field() {
                    Ok(Some(_)) => count += 1,
                    Ok(None) => break Ok(count),
                    Err(error) => break Err((error.kind, error.offset)),
                }
            };
            assert_eq!(got, want, "{slices:02x?}");
        }
    }
}

#[test]
fn split_anywhere() {
    check(
        b"\x08\x05\x1a\x03abc\x10\x80\x01\x1d\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08",
        Ok(5),
    );
    check(b"\x0b\x08\x05\x13\x18\x07\x14\x0c\x08\x01", Ok(2));
    check(b"\x08\x01\x0b\x13\x0c\x14", Err((EndGroup, 2)));
    check(b"\x08\x01\x1a\x05abc", Err((Truncated, 2)));
    check(b"\x08\x01\x0e\x01", Err((WireType, 2)));
    check(b"\x08\x01\x00\x01", Err((FieldNumber, 2)));
    check(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Err((VarintTooLong, 0)));
}

#[test]
fn a_field_in_one_slice_is_borrowed() {
    let slices: [&[u8]; 4] = [b"\x1a\x03abc\x1a", b"\x03", b"", b"def\x1a\x02g"];
    let mut reader = ScatteredReader::new(&slices);
    for at in [&slices[0][2..5], &slices[3][..3]] {
        let Some(Value::Len(body)) = reader.next_field().unwrap().unwrap().value.whole() else {
            panic!()
        };
        assert_eq!((body.as_ptr(), body.len()), (at.as_ptr(), 3));
    }
    assert_eq!(reader.next_field().unwrap_err(), Truncated.at(10));
}

#[test]
fn nested_beyond_the_limit() {
    // With slices of one byte, the cost is linear in their number for each level, not quadratic.
    let bytes = [vec![0x0b; 100], vec![0x0c; 100]].concat();
    let slices: Vec<_> = bytes.chunks(1).collect();
    let mut reader = ScatteredReader::new(&slices);
    for left in (0..100).rev() {
        let value = reader.next_field().unwrap().unwrap().value;
        reader = value.message().unwrap();
        assert_eq!(reader.remaining().len(), 2 * left);
    }
    let bytes = [0x0b; 101];
    let slices: Vec<_> = bytes.chunks(1).collect();
    assert_eq!(ScatteredReader::new(&slices).next_field().unwrap_err(), TooDeep.at(0));
}
