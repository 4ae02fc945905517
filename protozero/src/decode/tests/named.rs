//! Accessors and tables agree with a simple loop over the fields.

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::props;
use crate::decode::{Field, Reader, Value};
use crate::error::DecodeErrorKind::*;
use crate::error::ReadError;
use crate::rt;

rt::reader! {
    "Sample": SampleReader, SampleField, SampleTable;
    one {
        /// Number of samples.
        Count(u64) count = 8 as Uint64;
        Name(&'a str) name = 18 as String;
        Lazy(rt::Text<'a>) lazy = 74 as String;
    }
    many {
        Steps(i32) steps = 24 | 26 as Sint32;
        Marks(u32) marks = 37 | 34 as Fixed32;
        Inner(SampleReader<'a>) inner = 35 as Group;
        Outer(SampleReader<'a>) outer = 42 as Message;
    }
    oneof choice {
        Number(u32) number = 48 as Uint32;
        Blob(&'a [u8]) blob = 58 as Bytes;
    }
}

/// A `Sample` that is filled by a loop over a [`Reader`].
#[derive(Debug, Default, PartialEq)]
struct Plain<'a> {
    count: Option<u64>,
    name: Option<&'a str>,
    lazy: Option<&'a [u8]>,
    steps: Vec<Result<i32, ReadError>>,
    marks: Vec<Result<u32, ReadError>>,
    inner: Vec<&'a [u8]>,
    outer: Vec<&'a [u8]>,
    number: Option<u32>,
    blob: Option<&'a [u8]>,
    unknown: Vec<Field<'a>>,
}

fn plain(bytes: &[u8]) -> Result<Plain<'_>, ReadError> {
    let mut out = Plain::default();
    let mut reader = Reader::new(bytes);
    loop {
        let at = reader.position();
        let Some(field) = reader.next_field()? else { return Ok(out) };
        let is_step = matches!(field.value, Value::Varint(_) | Value::Len(_));
        match (field.number, field.value) {
            (1, Value::Varint(v)) => out.count = Some(v),
            (2, Value::Len(_)) => out.name = Some(field.value.string().map_err(|k| k.at(at))?),
            (9, Value::Len(v)) => out.lazy = Some(v),
            // A malformed packed field ends its elements.
            (3, value) if is_step => {
                let ended = out.steps.last().is_some_and(Result::is_err);
                let run = value.varints().unwrap().filter(|_| !ended);
                out.steps.extend(run.map(|v| {
                    v.map(|v| crate::wire::zigzag::decode32(v as u32)).map_err(|e| e.kind.at(at))
                }));
            }
            (4, value @ (Value::Fixed32(_) | Value::Len(_))) => {
                if out.marks.last().is_some_and(Result::is_err) {
                    continue;
                }
                let run = value.bytes().unwrap_or_default().len();
                match value.fixed32s() {
                    Ok(marks) => out.marks.extend(marks.map(Ok)),
                    Err(kind) => {
                        let whole = &value.bytes().unwrap()[..run - run % 4];
                        out.marks.extend(Value::Len(whole).fixed32s().unwrap().map(Ok));
                        out.marks.push(Err(kind.at(at)));
                    }
                }
            }
            (4, Value::Group(body)) => out.inner.push(body),
            (5, Value::Len(body)) => out.outer.push(body),
            (6, Value::Varint(v)) => (out.number, out.blob) = (Some(v as u32), None),
            (7, Value::Len(v)) => (out.number, out.blob) = (None, Some(v)),
            _ => out.unknown.push(field),
        }
    }
}

/// Parts of samples, and random bytes.
fn samples() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => (prop_oneof![Just(8u8), Just(24), Just(48), Just(16)], 0..0x80u8).prop_map(|(t, v)| vec![t, v]),
        4 => (prop_oneof![Just(18u8), Just(26), Just(34), Just(42), Just(58), Just(74)], vec(0..0x90u8, 0..10))
            .prop_map(|(t, v)| [&[t, v.len() as u8][..], &v].concat()),
        1 => any::<[u8; 4]>().prop_map(|v| [&[37][..], &v].concat()),
        1 => Just(vec![35, 8, 1, 36]),
        1 => Just(vec![130, 1, 1, b'x']),
    ];
    (vec(piece, 0..12), prop_oneof![9 => Just(Vec::new()), 1 => props::bytes()])
        .prop_map(|(pieces, end)| [pieces.concat(), end].concat())
}

fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let reader = SampleReader::new(bytes);
    let want = plain(bytes);
    let table = reader.table();
    let want = match (want, table) {
        (Err(want), table) => {
            prop_assert_eq!(table.err(), Some(want));
            if want.kind != Utf8 {
                prop_assert_eq!(reader.count(), Err(want));
                prop_assert_eq!(reader.blob(), Err(want));
                let last = reader.unknown_fields().into_iter().last();
                prop_assert_eq!(last.map(|field| field.err()), Some(Some(want)));
            }
            return Ok(());
        }
        (Ok(want), table) => (want, table.unwrap()),
    };
    let (want, table) = want;
    let bodies = |list: rt::Repeated<'_, SampleReader<'_>, _>| {
        list.into_iter().map(|m| m.unwrap().bytes().to_vec()).collect::<Vec<_>>()
    };
    let groups = |list: rt::Repeated<'_, SampleReader<'_>, rt::kind::Group>| {
        list.into_iter().map(|m| m.unwrap().bytes().to_vec()).collect::<Vec<_>>()
    };
    for by_name in [false, true] {
        let pick = |name: Option<u64>| if by_name { reader.count().unwrap() } else { name };
        prop_assert_eq!(pick(table.count), want.count);
        let name = if by_name { reader.name().unwrap() } else { table.name };
        prop_assert_eq!(name, want.name);
        let lazy = if by_name { reader.lazy().unwrap() } else { table.lazy };
        prop_assert_eq!(lazy.map(rt::Text::as_bytes), want.lazy);
        let steps = if by_name { reader.steps() } else { table.steps };
        prop_assert_eq!(&steps.iter().collect::<Vec<_>>(), &want.steps);
        let marks = if by_name { reader.marks() } else { table.marks };
        prop_assert_eq!(&marks.iter().collect::<Vec<_>>(), &want.marks);
        prop_assert_eq!(&groups(if by_name { reader.inner() } else { table.inner }), &want.inner);
        prop_assert_eq!(&bodies(if by_name { reader.outer() } else { table.outer }), &want.outer);
        let unknown = if by_name { reader.unknown_fields() } else { table.unknown_fields };
        prop_assert_eq!(&unknown.iter().collect::<Result<Vec<_>, _>>().unwrap(), &want.unknown);
        let choice = if by_name { reader.choice().unwrap() } else { table.choice };
        match choice {
            None => prop_assert_eq!((want.number, want.blob), (None, None)),
            Some(SampleField::Number(v)) => prop_assert_eq!(want.number, Some(v)),
            Some(SampleField::Blob(v)) => prop_assert_eq!(want.blob, Some(v)),
            Some(other) => prop_assert!(false, "{:?}", other),
        }
    }
    prop_assert_eq!(reader.number().unwrap(), want.number);
    prop_assert_eq!(reader.blob().unwrap(), want.blob);
    Ok(())
}

proptest! {
    #[test]
    fn tables_and_accessors_agree_with_a_loop(bytes in samples()) {
        check(&bytes)?;
    }

    #[test]
    fn any_bytes(bytes in props::bytes()) {
        check(&bytes)?;
    }
}

#[test]
fn the_last_message_is_not_merged() {
    rt::reader! {
        "Holder": HolderReader, HolderField, HolderTable;
        one { Sample(SampleReader<'a>) sample = 10 as Message; }
    }
    let bytes = b"\x0a\x02\x08\x05\x0a\x03\x12\x01x";
    let table = HolderReader::new(bytes).table().unwrap();
    let sample = table.sample.unwrap().table().unwrap();
    assert_eq!((sample.count, sample.name), (None, Some("x")));
    assert!(matches!(HolderReader::new(bytes).iter().next(), Some(Ok(HolderField::Sample(_)))));
}

#[test]
fn text_is_checked_when_asked_for() {
    let reader = SampleReader::new(b"\x4a\x03a\xffb");
    let text = reader.lazy().unwrap().unwrap();
    assert_eq!((text.as_bytes(), text.to_str()), (&b"a\xffb"[..], Err(Utf8)));
    assert_eq!(
        (&*text.to_str_lossy(), std::format!("{text}")),
        ("a\u{fffd}b", "a\u{fffd}b".into())
    );
    assert_eq!(std::format!("{text:?}"), r#""a\xffb""#);
    assert!(rt::Text::new(b"hi") == "hi" && text != "hi");
    // Text that is not UTF-8 fails its accessor and the table, but no other accessor.
    let bytes = b"\x12\x01\xff\x08\x05";
    assert_eq!(SampleReader::new(bytes).name(), Err(Utf8.at(0)));
    assert_eq!(SampleReader::new(bytes).count(), Ok(Some(5)));
    assert_eq!(SampleReader::new(bytes).table().map(|t| t.count), Err(Utf8.at(0)));
}

#[test]
fn debug_shows_elements() {
    let table = SampleReader::new(b"\x1a\x02\x02\x04\xa0\x06\x01").table().unwrap();
    assert_eq!(std::format!("{:?}", table.steps), "[1, 2]");
    assert!(std::format!("{table:?}").contains("number: 100"));
}
