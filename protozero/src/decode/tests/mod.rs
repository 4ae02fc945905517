//! Malformed input, edge values, offsets of errors.

use std::vec::Vec;

use super::{Field, Fields, Malformed, PackedFixed32, PackedFixed64, PackedVarint, Reader, Value};
use crate::error::DecodeErrorKind::{self, *};

#[cfg(feature = "alloc")]
mod frames;
#[cfg(feature = "alloc")]
mod named;
#[cfg(feature = "alloc")]
mod scattered;
#[cfg(feature = "alloc")]
mod utf8;

/// Checks all fields, or the error after the last one.
fn check(bytes: &[u8], want: Result<&[(u32, Value<'_>)], (DecodeErrorKind, usize)>) {
    let mut reader = Reader::new(bytes);
    let mut got = Vec::new();
    let result = loop {
        match reader.next_field() {
            Ok(Some(Field { number, value, .. })) => got.push((number, value)),
            Ok(None) => break Ok(&got[..]),
            Err(error) => {
                assert_eq!(reader.next_field(), Ok(None), "no fields after an error");
                assert!(reader.is_empty());
                break Err((error.kind, error.offset));
            }
        }
    };
    assert_eq!(result, want, "{bytes:02x?}");
}

#[test]
fn fields_of_every_wire_type() {
    check(b"", Ok(&[]));
    check(&[8, 0], Ok(&[(1, Value::Varint(0))]));
    check(&[0x10, 0xac, 2, 0x10, 1], Ok(&[(2, Value::Varint(300)), (2, Value::Varint(1))]));
    check(&[0x1d, 1, 2, 3, 4], Ok(&[(3, Value::Fixed32(0x0403_0201))]));
    check(&[0x19, 1, 2, 3, 4, 5, 6, 7, 8], Ok(&[(3, Value::Fixed64(0x0807_0605_0403_0201))]));
    check(&[0x1a, 2, b'h', b'i', 0x1a, 0], Ok(&[(3, Value::Len(b"hi")), (3, Value::Len(b""))]));
    // Lengths may have padding.
    check(&[0x1a, 0x82, 0x80, 0x80, 0, b'h', b'i'], Ok(&[(3, Value::Len(b"hi"))]));
    // So may tags.
    check(&[0x88, 0x80, 0x80, 0, 5], Ok(&[(1, Value::Varint(5))]));
    let most = (1 << 29) - 1;
    check(&[0xf8, 0xff, 0xff, 0xff, 0x0f, 1], Ok(&[(most, Value::Varint(1))]));
}

#[test]
fn raw_is_the_encoded_field() {
    let bytes = [8, 1, 0x9a, 0x80, 0, 0x82, 0, 5, 6, 0x10, 7];
    let mut reader = Reader::new(&bytes);
    reader.next_field().unwrap();
    let field = reader.next_field().unwrap().unwrap();
    assert_eq!((field.number, field.raw), (3, &bytes[2..9]));
    assert_eq!((reader.position(), reader.remaining()), (9, &bytes[9..]));
}

#[test]
fn malformed_input() {
    check(&[8], Err((Truncated, 0)));
    check(&[8, 1, 0x80], Err((Truncated, 2)));
    check(&[8, 0x80], Err((Truncated, 0)));
    check(&[8, 1, 0x1a, 3, 1, 2], Err((Truncated, 2)));
    check(&[0x1d, 1, 2, 3], Err((Truncated, 0)));
    check(&[0x19, 1, 2, 3, 4, 5, 6, 7], Err((Truncated, 0)));
    check(&[0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0], Err((Truncated, 0)));
    check(&[0, 1], Err((FieldNumber, 0)));
    check(&[7, 1], Err((FieldNumber, 0)));
    check(&[0x80, 0, 1], Err((FieldNumber, 0)));
    // The upstream parser reads tag 2^35 + 8 as number 1.
    check(&[0x88, 0x80, 0x80, 0x80, 0x80, 1, 1], Err((FieldNumber, 0)));
    check(&[0xf8, 0xff, 0xff, 0xff, 0x1f, 1], Err((FieldNumber, 0)));
    for (tag, kind) in [(0x0c, EndGroup), (0x0e, WireType), (0x0f, WireType)] {
        check(&[8, 1, tag, 0], Err((kind, 2)));
    }
    let eleven = [8, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0];
    check(&eleven, Err((VarintTooLong, 0)));
    check(&eleven[..11], Err((VarintTooLong, 0)));
    check(&eleven[..10], Err((Truncated, 0)));
    assert_eq!(std::format!("{}", Truncated.at(7)), "the input ends inside a field at byte 7");
}

#[test]
fn a_tenth_byte_counts_with_one_bit() {
    let mut bytes = [0xff; 11];
    bytes[0] = 8;
    for top in [1, 3, 0x7f] {
        bytes[10] = top;
        check(&bytes, Ok(&[(1, Value::Varint(u64::MAX))]));
    }
    bytes[10] = 2;
    check(&bytes, Ok(&[(1, Value::Varint(u64::MAX >> 1))]));
}

#[test]
fn typed_views() {
    let v = Value::Varint(u64::MAX);
    assert_eq!((v.int32(), v.uint32(), v.int64()), (Ok(-1), Ok(u32::MAX), Ok(-1)));
    assert_eq!((v.sint32(), v.sint64(), v.bool()), (Ok(i32::MIN), Ok(i64::MIN), Ok(true)));
    assert_eq!(Value::Varint(1 << 32).bool(), Ok(true));
    assert_eq!(Value::Varint(0x1_0000_0002).int32(), Ok(2));
    assert_eq!(Value::Fixed32(1f32.to_bits()).float(), Ok(1.0));
    assert_eq!(Value::Fixed64(1f64.to_bits()).double(), Ok(1.0));
    assert_eq!(Value::Fixed64(u64::MAX).sfixed64(), Ok(-1));
    assert_eq!(Value::Len(b"\xff").string(), Err(Utf8));
    assert_eq!(Value::Len("é".as_bytes()).string(), Ok("é"));
    // A number is not accepted as bytes, nor bytes as a number.
    assert_eq!(v.bytes(), Err(WireTypeMismatch));
    assert_eq!(v.fixed32(), Err(WireTypeMismatch));
    assert_eq!(Value::Len(b"1").uint64(), Err(WireTypeMismatch));
    assert_eq!(Value::Fixed32(1).uint64(), Err(WireTypeMismatch));
}

#[test]
fn packed_and_unpacked_read_alike() {
    let collect = |v: Value<'_>| v.varints().unwrap().collect::<Result<Vec<_>, _>>();
    assert_eq!(collect(Value::Varint(300)), Ok(vec![300]));
    assert_eq!(collect(Value::Len(&[1, 0xac, 2])), Ok(vec![1, 300]));
    assert_eq!(collect(Value::Len(&[])), Ok(vec![]));
    assert_eq!(collect(Value::Len(&[1, 0xac])), Err(Truncated.at(1)));
    let cut: Vec<_> = PackedVarint::new(&[1, 0x80]).collect();
    assert_eq!(
        cut,
        [Ok(1), Err(Truncated.at(1))],
        "the elements before the error, one error, the end"
    );
    assert_eq!(Value::Fixed32(3).fixed32s().unwrap().collect::<Vec<_>>(), [3]);
    let run = PackedFixed32::new(&[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    assert_eq!(run.len(), 2);
    assert_eq!(run.collect::<Vec<_>>(), [1, 2]);
    assert_eq!(PackedFixed32::new(&[1, 0, 0]).unwrap_err(), PackedLength);
    assert_eq!(PackedFixed64::new(&[0; 12]).unwrap_err(), PackedLength);
    assert!(Value::Varint(1).fixed64s().is_err());
    assert!(Value::Fixed32(1).varints().is_err());
}

/// Reads the numbers of field 3, packed or unpacked, and the texts of field 4, like a generated
/// reader.
fn numbers(bytes: &[u8]) -> (Vec<u64>, Vec<Result<&str, crate::ReadError>>, usize) {
    let mut fields = Fields::new(bytes);
    let (mut numbers, mut texts, mut unknown) = (Vec::new(), Vec::new(), 0);
    loop {
        let result = (|| {
            match fields.next_tag()? {
                None => return Ok(false),
                Some(24) => numbers.push(fields.uint64()?),
                Some(26) => fields.begin_run(24)?,
                Some(34) => texts.push(Ok(fields.string()?)),
                Some(tag) => {
                    fields.unknown(tag)?;
                    unknown += 1;
                }
            }
            Ok(true)
        })();
        match result {
            Ok(true) => {}
            Ok(false) => return (numbers, texts, unknown),
            Err(Malformed) => texts.push(Err(fields.fail())),
        }
    }
}

#[test]
fn packed_fields_are_read_as_elements() {
    let (got, texts, unknown) =
        numbers(&[24, 1, 26, 3, 2, 0x83, 1, 26, 0, 8, 9, 26, 1, 4, 34, 1, b'x', 24, 5]);
    assert_eq!((got, texts, unknown), (vec![1, 2, 131, 4, 5], vec![Ok("x")], 1));
    assert_eq!(numbers(&[26, 0]), (vec![], vec![], 0));
    // A varint must end within its packed field. An error ends the message.
    let (got, texts, _) = numbers(&[8, 1, 26, 2, 1, 0x82, 24, 5]);
    assert_eq!((got, texts), (vec![1], vec![Err(Truncated.at(2))]));
    // The same number with another wire type is an unknown field.
    assert_eq!(numbers(&[29, 0, 0, 0, 0]), (vec![], vec![], 1));
}

#[test]
fn reading_continues_after_bad_utf8() {
    let (got, texts, _) = numbers(&[24, 1, 34, 1, 0xff, 24, 2]);
    assert_eq!((got, texts), (vec![1, 2], vec![Err(Utf8.at(2))]));
}

#[test]
fn truncated_bytes_end_in_one_error() {
    let whole = [24, 1, 26, 3, 2, 0x83, 1, 34, 2, b'h', b'i', 0x1d, 1, 2, 3, 4, 8, 0x80, 1];
    for end in 0..whole.len() {
        let (_, texts, _) = numbers(&whole[..end]);
        assert!(texts.iter().filter(|t| t.is_err()).count() <= 1, "{end}");
    }
}

#[test]
fn groups() {
    check(&[0x0b, 0x0c], Ok(&[(1, Value::Group(b""))]));
    let nested = [0x0b, 8, 5, 0x13, 0x18, 7, 0x14, 0x0c, 8, 1];
    check(&nested, Ok(&[(1, Value::Group(&nested[1..7])), (1, Value::Varint(1))]));
    // A field of every wire type. An end tag within bytes does not end the group.
    let all = [
        0x1b, 8, 1, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1a, 1, 0x1c, 0x15, 1, 2, 3, 4, 0x1b, 0x1c, 0x1c,
    ];
    check(&all, Ok(&[(3, Value::Group(&all[1..22]))]));
    let field = Reader::new(&all).next_field().unwrap().unwrap();
    assert_eq!((field.raw, field.value.body()), (&all[..], Ok(&all[1..22])));
    assert_eq!((field.value.bytes(), field.value.group().is_ok()), (Err(WireTypeMismatch), true));
    assert_eq!(Value::Len(b"").group(), Err(WireTypeMismatch));

    check(&[0x0c], Err((EndGroup, 0)));
    check(&[8, 1, 0x0b, 0x14], Err((EndGroup, 2)));
    check(&[0x0b, 0x13, 0x0c, 0x14], Err((EndGroup, 0)));
    for (body, kind) in [
        (&[][..], Truncated),
        (&[8], Truncated),
        (&[0x1a, 2, 1], Truncated),
        (&[0x13, 0x14], Truncated),
        (&[0, 0, 0x0c], FieldNumber),
        (&[0x0e, 0x0c], WireType),
        (&[8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0x0c], VarintTooLong),
    ] {
        check(&[&[8, 1, 0x0b], body].concat(), Err((kind, 2)));
    }
}

#[test]
fn depth_of_groups_is_limited() {
    for (depth, want) in [(100, None), (101, Some(TooDeep)), (1_000_000, Some(TooDeep))] {
        let mut bytes = vec![0x0b; depth];
        bytes.extend(vec![0x0c; depth]);
        let error = Reader::new(&bytes).next_field().err();
        assert_eq!(error, want.map(|kind: DecodeErrorKind| kind.at(0)), "{depth}");
    }
    assert_eq!(Reader::new(&[0x0b; 100]).next_field(), Err(Truncated.at(0)));
}

#[test]
fn groups_of_typed_readers() {
    let mut fields = Fields::new(&[0x0b, 8, 5, 0x0c, 24, 7, 0x0b, 0x14]);
    assert_eq!(fields.next_tag(), Ok(Some(0x0b)));
    assert_eq!(fields.group(0x0b), Ok(&[8, 5][..]));
    assert_eq!((fields.next_tag(), fields.uint64()), (Ok(Some(24)), Ok(7)));
    assert_eq!(fields.next_tag(), Ok(Some(0x0b)));
    assert_eq!(fields.group(0x0b), Err(Malformed));
    assert_eq!(fields.fail(), EndGroup.at(6));
    assert_eq!(fields.next_tag(), Ok(None));
}

#[test]
fn limits_are_shared_by_nested_readers() {
    let limits = super::Limits { bytes_max: 9, depth_max: 2, fields_max: 5 };
    let too_large = limits.budget().reader(&[0; 10]).map(|_| ());
    assert_eq!(too_large, Err(TooLarge.at(0)));

    // 1 { 2 { 1: 5  3 {} } }: the outermost and the innermost with a length, the middle one as a
    // group.
    let bytes = [0x0a, 7, 0x13, 8, 5, 0x1a, 0, 0x14];
    let bytes = [&bytes[..], &[0x80]].concat();
    let budget = limits.budget();
    let mut outer = budget.reader(&bytes).unwrap();
    let field = outer.next_field().unwrap().unwrap();
    let mut middle = outer.nested(&field).unwrap();
    let field = middle.next_field().unwrap().unwrap();
    let mut inner = middle.nested(&field).unwrap();
    assert_eq!(inner.position(), 3);
    let number = inner.next_field().unwrap().unwrap();
    assert_eq!(inner.nested(&number).map(|_| ()), Err(WireTypeMismatch.at(5)));
    let field = inner.next_field().unwrap().unwrap();
    assert_eq!(inner.nested(&field).map(|_| ()), Err(TooDeep.at(7)));
    assert_eq!(inner.next_field(), Ok(None));
    assert_eq!(middle.next_field(), Err(Truncated.at(8)), "the fifth field");
    assert_eq!(middle.next_field(), Ok(None));
    assert_eq!(outer.next_field(), Ok(None));
    assert_eq!(budget.reader(&[8, 1]).unwrap().next_field(), Err(TooManyElements.at(0)));
}

#[test]
#[cfg(feature = "alloc")]
fn memory_for_an_input() {
    use super::limits::growth_of;
    assert_eq!(growth_of(0), 32 << 20);
    assert_eq!(growth_of(1 << 10), (32 << 20) + (512 << 10));
    // Fifty megabytes of empty messages take no more than one of regular messages.
    assert_eq!(growth_of(50_000_000), 512 << 20);
    assert_eq!(growth_of(1 << 28), 1 << 30);
    assert_eq!(growth_of(usize::MAX), usize::MAX);
}
