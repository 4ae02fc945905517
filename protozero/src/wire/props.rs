//! Compares the functions of this module with simple ones: a loop over bytes, a `Vec`.

use proptest::prelude::*;
use std::vec::Vec;

use super::hostile::{self, SplitVarint};
use super::{tag, trusted, varint, write};
use crate::error::DecodeErrorKind::{self, FieldNumber, Truncated, VarintTooLong};

/// Reads a varint of at most `max` bytes from the start, with wide arithmetic and one loop.
fn naive(bytes: &[u8], max: usize) -> Result<(u64, usize), DecodeErrorKind> {
    let mut value = 0u128;
    for (i, byte) in bytes.iter().enumerate().take(max) {
        value |= u128::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((value as u64, i + 1));
        }
    }
    Err(if bytes.len() < max { Truncated } else { VarintTooLong })
}

fn naive_bytes(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 & 0x7f | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// Random bytes, many of which begin with a varint: complete, padded or truncated.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let head = prop::collection::vec(0x80u8..=0xff, 0..13);
    let stop = prop::option::of(prop_oneof![Just(0u8), Just(1), 0u8..0x80]);
    let tail = prop::collection::vec(any::<u8>(), 0..12);
    (head, stop, tail)
        .prop_map(|(head, stop, tail)| head.into_iter().chain(stop).chain(tail).collect())
}

/// Values of all encoded lengths.
fn value() -> impl Strategy<Value = u64> {
    (0u32..65, any::<u64>()).prop_map(|(bits, value)| value.checked_shr(bits).unwrap_or(0))
}

fn with_rest<T>(taken: Result<(T, usize), DecodeErrorKind>, bytes: &[u8]) -> hostile::Taken<'_, T> {
    taken.map(|(value, len)| (value, &bytes[len..]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn varints_are_the_naive_ones(bytes in bytes()) {
        let expected = with_rest(naive(&bytes, 10), &bytes);
        prop_assert_eq!(hostile::varint(&bytes), expected);
        prop_assert_eq!(hostile::skip_varint(&bytes), expected.map(|(_, rest)| rest));
        prop_assert_eq!(hostile::varint_within::<1>(&bytes), with_rest(naive(&bytes, 1), &bytes));
        prop_assert_eq!(hostile::varint_within::<4>(&bytes), with_rest(naive(&bytes, 4), &bytes));
        prop_assert_eq!(hostile::varint_within::<5>(&bytes), with_rest(naive(&bytes, 5), &bytes));
        prop_assert_eq!(hostile::varint_within::<10>(&bytes), expected);
    }

    #[test]
    fn tags_are_varints_of_32_bits_with_a_number(bytes in bytes()) {
        let expected = naive(&bytes, 10).and_then(|(value, len)| match u32::try_from(value) {
            Ok(tag) if tag >> 3 != 0 => Ok((tag, len)),
            _ => Err(FieldNumber),
        });
        prop_assert_eq!(hostile::tag(&bytes), with_rest(expected, &bytes));
    }

    #[test]
    fn runs_lie_inside(bytes in bytes()) {
        let expected = naive(&bytes, 10).and_then(|(len, at)| {
            let end = usize::try_from(len).ok().and_then(|len| at.checked_add(len));
            match end.filter(|&end| end <= bytes.len()) {
                Some(end) => Ok((&bytes[at..end], end)),
                None => Err(Truncated),
            }
        });
        prop_assert_eq!(hostile::delimited(&bytes), with_rest(expected, &bytes));
    }

    #[test]
    fn byte_by_byte_is_all_at_once(bytes in bytes()) {
        let mut split = SplitVarint::new();
        let mut seen = Err(Truncated);
        for &byte in &bytes {
            match split.push(byte) {
                Ok(None) => prop_assert!(!split.is_empty()),
                Ok(Some(whole)) => { seen = Ok(whole); break }
                Err(kind) => { seen = Err(kind); break }
            }
        }
        prop_assert_eq!(seen, naive(&bytes, 10));
        prop_assert_eq!(split.is_empty(), seen != Err(Truncated) || bytes.is_empty());
    }

    #[test]
    fn usual_lengths(bytes in bytes()) {
        let three = naive(&bytes, 3).ok().map(|(len, at)| (len as usize, &bytes[at..]));
        prop_assert_eq!(trusted::length(&bytes), three);
        if let Some(four) = bytes.first_chunk() {
            let padded = naive(four, 4).ok().filter(|(_, width)| *width == 4);
            prop_assert_eq!(trusted::padded(*four), padded.map(|(len, _)| len as u32));
        }
    }

    #[test]
    fn what_is_written_is_canonical(value in value(), room in 0usize..12) {
        let expected = naive_bytes(value);
        let mut out = std::vec![7];
        write::append_varint(&mut out, value);
        prop_assert_eq!(&out[1..], &expected);

        let mut to = [0xee; 12];
        let len = write::varint(&mut to[..room], value);
        if expected.len() <= room {
            prop_assert_eq!(&to[..len], &expected);
        } else {
            prop_assert_eq!(len, 0);
        }
        prop_assert!(to[len..].iter().all(|&byte| byte == 0xee), "the bytes after it do not change");
    }

    #[test]
    fn filled_to_a_width(value in value(), width in 1usize..=10) {
        let mut to = std::vec![0xee; width];
        write::fill(&mut to, value);
        let kept = if width < 10 { value & ((1 << (7 * width)) - 1) } else { value };
        prop_assert_eq!(naive(&to, 10), Ok((kept, width)));
    }

    #[test]
    fn prefixes_are_fields(number in 1..=tag::NUMBER_MAX, value in value(), len in 0usize..1 << 28) {
        let mut prefix = write::Prefix::<24>::new();
        prop_assert!(prefix.is_empty());
        prefix.uint(number, value);
        prefix.head(number, len);
        let mut out = Vec::new();
        write::append_tag(&mut out, number, tag::VARINT);
        write::append_varint(&mut out, value);
        write::append_head(&mut out, number, len);
        prop_assert_eq!(prefix.as_bytes(), &out);
        prop_assert_eq!(prefix.len(), out.len());
        let tag = u64::from(number) << 3;
        let expected = [naive_bytes(tag), naive_bytes(value), naive_bytes(tag | 2), naive_bytes(len as u64)];
        prop_assert_eq!(out, expected.concat());
        prop_assert!(prefix.as_array()[prefix.len()..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn short_tags(number in 1u32..16, wire_type in 0u32..8) {
        prop_assert_eq!(naive_bytes(u64::from(tag::tag(number, wire_type))), [tag::one_byte(number, wire_type)]);
    }
}

#[test]
#[should_panic(expected = "full")]
fn a_full_prefix_says_so() {
    let mut prefix = write::Prefix::<3>::new();
    prefix.uint(1, 7);
    prefix.varint(300);
}

#[test]
fn nothing_fills_nothing() {
    write::fill(&mut [], 1);
    assert_eq!(write::varint(&mut [], 1), 0);
    assert_eq!(varint::len(0), 1);
}
