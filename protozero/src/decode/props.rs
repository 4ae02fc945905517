//! Random bytes: the fast readers agree with a slow and simple reader, and never panic.

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Fields, PackedVarint, Reader, Value};
use crate::error::{DecodeErrorKind, ReadError};

fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, DecodeErrorKind> {
    let mut value = 0u128;
    for i in 0..10 {
        let byte = *bytes.get(*at + i).ok_or(DecodeErrorKind::Truncated)?;
        value |= u128::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            *at += i + 1;
            return Ok(value as u64);
        }
    }
    Err(DecodeErrorKind::VarintTooLong)
}

/// Skips a group after its begin tag, and returns where its end tag begins.
fn slow_group(
    bytes: &[u8],
    at: &mut usize,
    number: u64,
    depth: u32,
) -> Result<usize, DecodeErrorKind> {
    if depth > 100 {
        return Err(DecodeErrorKind::TooDeep);
    }
    loop {
        let start = *at;
        let tag = varint(bytes, at)?;
        if tag >> 3 == 0 || tag >> 32 != 0 {
            return Err(DecodeErrorKind::FieldNumber);
        }
        let skip = match tag & 7 {
            0 => varint(bytes, at).map(|_| 0)?,
            1 => 8,
            2 => varint(bytes, at)?,
            3 => slow_group(bytes, at, tag >> 3, depth + 1).map(|_| 0)?,
            4 if tag >> 3 == number => return Ok(start),
            4 => return Err(DecodeErrorKind::EndGroup),
            5 => 4,
            _ => return Err(DecodeErrorKind::WireType),
        };
        if skip > (bytes.len() - *at) as u64 {
            return Err(DecodeErrorKind::Truncated);
        }
        *at += skip as usize;
    }
}

/// Fields as (number, value, start, end).
type Slow<'a> = (Vec<(u32, Value<'a>, usize, usize)>, Option<ReadError>);

fn slow(bytes: &[u8]) -> Slow<'_> {
    let mut fields = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let result = (|| {
            let tag = varint(bytes, &mut at)?;
            if tag >> 3 == 0 || tag >> 32 != 0 {
                return Err(DecodeErrorKind::FieldNumber);
            }
            let mut take = |len: u64| {
                let from = at as u64;
                if len > bytes.len() as u64 - from {
                    return Err(DecodeErrorKind::Truncated);
                }
                at += len as usize;
                Ok(&bytes[from as usize..at])
            };
            let value = match tag & 7 {
                0 => Value::Varint(varint(bytes, &mut at)?),
                1 => Value::Fixed64(u64::from_le_bytes(take(8)?.try_into().unwrap())),
                5 => Value::Fixed32(u32::from_le_bytes(take(4)?.try_into().unwrap())),
                2 => {
                    let len = varint(bytes, &mut at)?;
                    if len > (bytes.len() - at) as u64 {
                        return Err(DecodeErrorKind::Truncated);
                    }
                    let from = at;
                    at += len as usize;
                    Value::Len(&bytes[from..at])
                }
                3 => {
                    let from = at;
                    let end = slow_group(bytes, &mut at, tag >> 3, 1)?;
                    Value::Group(&bytes[from..end])
                }
                4 => return Err(DecodeErrorKind::EndGroup),
                _ => return Err(DecodeErrorKind::WireType),
            };
            Ok((tag as u32 >> 3, value))
        })();
        match result {
            Ok((number, value)) => fields.push((number, value, start, at)),
            Err(kind) => return (fields, Some(kind.at(start))),
        }
    }
    (fields, None)
}

/// Mostly valid fields, with some other bytes between.
pub(super) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => (any::<u64>(), 0..64u32, 0..70u32).prop_map(|(v, shift, number)| {
            let mut out = Vec::new();
            for mut v in [u64::from(number) << 3, v >> shift] {
                while v > 0x7f { out.push(v as u8 | 0x80); v >>= 7; }
                out.push(v as u8);
            }
            out
        }),
        2 => vec(any::<u8>(), 0..20).prop_map(|b| [&[0x1a, b.len() as u8], &b[..]].concat()),
        1 => any::<[u8; 4]>().prop_map(|b| [&[0x25], &b[..]].concat()),
        1 => any::<[u8; 8]>().prop_map(|b| [&[0x81, 0x02], &b[..]].concat()),
        // Begin and end tags of groups 3 and 4.
        3 => prop_oneof![Just(0x1bu8), Just(0x1c), Just(0x23), Just(0x24)].prop_map(|b| vec![b]),
        1 => vec(any::<u8>(), 0..12),
        1 => vec(prop_oneof![Just(0x80u8), Just(0xff), any::<u8>()], 0..14),
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn reader(bytes in bytes()) {
        let (want, want_error) = slow(&bytes);
        let mut reader = Reader::new(&bytes);
        let mut error = None;
        let mut got = Vec::new();
        loop {
            let start = reader.position();
            match reader.next_field() {
                Ok(None) => break,
                Ok(Some(f)) => {
                    prop_assert_eq!(f.raw, &bytes[start..reader.position()]);
                    got.push((f.number, f.value, start, reader.position()));
                }
                Err(e) => error = Some(e),
            }
        }
        prop_assert_eq!((got, error), (want, want_error));
    }

    #[test]
    fn fields(bytes in bytes()) {
        let (want, want_error) = slow(&bytes);
        let mut fields = Fields::new(&bytes);
        let mut got = Vec::new();
        let error = loop {
            match fields.next_tag() {
                Ok(None) => break None,
                Ok(Some(tag)) => match fields.unknown(tag) {
                    Ok(f) => got.push((f.number, f.value)),
                    Err(_) => break Some(fields.fail()),
                },
                Err(_) => break Some(fields.fail()),
            }
        };
        prop_assert_eq!(fields.next_tag(), Ok(None));
        let want: Vec<_> = want.iter().map(|f| (f.0, f.1)).collect();
        prop_assert_eq!((got, error), (want, want_error));
    }

    #[test]
    fn packed(run in vec(prop_oneof![Just(0x80u8), Just(0xff), 0..0x80u8, any::<u8>()], 0..40)) {
        let mut at = 0;
        let mut want = Vec::new();
        while at < run.len() {
            let start = at;
            let item = varint(&run, &mut at).map_err(|kind| kind.at(start));
            want.push(item);
            if item.is_err() { break; }
        }
        prop_assert_eq!(PackedVarint::new(&run).collect::<Vec<_>>(), want);
    }
}
