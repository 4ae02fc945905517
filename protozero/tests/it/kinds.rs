//! Maps, groups, closed enumerations and borrowed text in structs.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use protozero::{DecodeErrorKind, Enumeration, Message, MessageView, Oneof, UnknownFields};

use crate::derive::{check, decodes, fails};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(name = "test.Gear")]
enum Gear {
    Reverse = -1,
    #[default]
    Neutral,
    #[pb(name = "GEAR_FIRST")]
    First = 5,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(name = "test.Level", values(LOW = 0, HIGH = 3, TOP = 3, BELOW = -2))]
struct Level(i32);

#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Car {
    #[pb(enumeration, 1)]
    gear: Option<Gear>,
    #[pb(enumeration, 2, repeated)]
    gears: Vec<Gear>,
    #[pb(enumeration, 3, packed)]
    packed: Vec<Gear>,
    #[pb(map(int32, enumeration), 4)]
    by_number: BTreeMap<i32, Gear>,
    #[pb(oneof, 5, 6)]
    pick: Option<Pick>,
    #[pb(enumeration, 7)]
    level: Level,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
enum Pick {
    #[pb(enumeration, 5)]
    Gear(Gear),
    #[pb(group, 6, boxed)]
    Car(Box<Car>),
}

#[test]
fn enumerations_by_derive() {
    assert_eq!((Gear::NAME, Gear::CLOSED, Level::CLOSED), ("test.Gear", true, false));
    assert_eq!(Gear::VALUES, [("REVERSE", -1), ("NEUTRAL", 0), ("GEAR_FIRST", 5)]);
    assert_eq!(Gear::try_from_i32(-1), Some(Gear::Reverse));
    assert_eq!((Gear::try_from_i32(1), Gear::from_i32(1)), (None, Gear::Neutral));
    assert_eq!((Gear::First.to_i32(), Gear::First.name()), (5, Some("GEAR_FIRST")));
    assert_eq!(Level::TOP, Level::HIGH);
    assert_eq!((Level(9).name(), Level::BELOW.name()), (None, Some("BELOW")));
    assert_eq!(Level::from_name("TOP"), Some(Level(3)));
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
enum Side {
    #[default]
    Buy = 1,
    Sell = 0,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(name = "test.Deal", skip_unknown)]
struct Deal {
    #[pb(enumeration, 1)]
    side: Side,
}

/// Others take what is absent for 0.
#[test]
fn a_default_that_is_not_zero_is_written() {
    for (side, bytes) in [(Side::Buy, b"\x08\x01"), (Side::Sell, b"\x08\x00")] {
        assert_eq!(Deal { side }.encode_to_vec(), bytes);
        assert_eq!(Deal::decode(bytes), Ok(Deal { side }));
    }
}

/// Of a text that becomes a struct at once, and of one that is parsed with more care.
#[cfg(feature = "json")]
#[test]
fn a_zero_that_is_not_the_default_comes_from_json() {
    use protozero::json::{ParseOptions, from_str_with};
    let options = ParseOptions { ignore_unknown: true, ..ParseOptions::default() };
    for text in [r#"{"side":"SELL"}"#, r#"{"nobody":1,"side":"SELL"}"#, r#"{"nobody":1,"side":0}"#]
    {
        assert_eq!(
            from_str_with::<Deal>(text, &options).unwrap(),
            Deal { side: Side::Sell },
            "{text}"
        );
    }
}

#[test]
fn invalid_numbers_of_closed_enumerations_are_unknown_fields() {
    // A singular field, an unpacked element, elements of a packed field (one by one), a map entry
    // (as a whole), a oneof.
    for (bytes, kept) in [
        (&b"\x08\x01"[..], &b"\x08\x01"[..]),
        (b"\x10\x05\x10\x02", b"\x10\x02"),
        (b"\x1a\x04\x00\x02\x05\x03", b"\x18\x02\x18\x03"),
        (b"\x22\x04\x08\x01\x10\x02", b"\x22\x04\x08\x01\x10\x02"),
        (b"\x28\x01", b"\x28\x01"),
    ] {
        let car = Car::decode(bytes).unwrap();
        assert_eq!(car.unknown_fields.as_bytes(), kept, "{bytes:?}");
        assert_eq!((car.gear, &car.pick), (None, &None));
    }
    let car = Car::decode(b"\x10\x05\x10\x02\x1a\x04\x00\x02\x05\x03").unwrap();
    assert_eq!(car.gears, [Gear::First]);
    assert_eq!(car.packed, [Gear::Neutral, Gear::First]);
    // An invalid number does not remove the previous member.
    let car = Car::decode(b"\x28\x05\x28\x01").unwrap();
    assert_eq!(car.pick, Some(Pick::Gear(Gear::First)));
    check(b"\x38\x09", Car { level: Level(9), ..Car::default() });
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Maps {
    #[pb(map(string, int32), 1, or_unknown)]
    counts: BTreeMap<String, i32>,
    #[pb(map(sint64, message), 2)]
    nested: BTreeMap<i64, Maps>,
    #[pb(map(bool, bytes), 3)]
    hashed: HashMap<bool, Vec<u8>>,
    #[pb(map(string, string), 4)]
    checked: HashMap<String, String>,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
}

#[test]
fn maps() {
    check(
        b"\x0a\x05\x0a\x01a\x10\x02\x0a\x05\x0a\x01b\x10\x01\x12\x0b\x08\x01\x12\x07\x0a\x05\x0a\x01c\x10\x03\
          \x1a\x05\x08\0\x12\x01x\x1a\x05\x08\x01\x12\x01y",
        Maps {
            counts: [("b".to_owned(), 1), ("a".to_owned(), 2)].into(),
            nested: [(-1, Maps { counts: [("c".to_owned(), 3)].into(), ..Maps::default() })].into(),
            hashed: [(true, b"y".to_vec()), (false, b"x".to_vec())].into(),
            ..Maps::default()
        },
    );
    let one =
        |key: &str, value| Maps { counts: [(key.to_owned(), value)].into(), ..Maps::default() };
    // A missing key or value is the default, their order does not matter, the last one counts, and
    // other fields in an entry are ignored.
    decodes(b"\x0a\0", one("", 0));
    decodes(b"\x0a\x03\x0a\x01a", one("a", 0));
    decodes(b"\x0a\x05\x10\x07\x0a\x01a", one("a", 7));
    decodes(b"\x0a\x05\x0a\x01a\x10\x01\x0a\x05\x0a\x01a\x10\x02", one("a", 2));
    decodes(b"\x0a\x0a\x0a\x01b\x10\x01\x0a\x01a\x10\x02", one("a", 2));
    decodes(b"\x0a\x07\x18\x05\x0a\x01a\x10\x02", one("a", 2));
    // A key or value with another wire type is ignored.
    decodes(b"\x0a\x04\x08\x05\x10\x02", one("", 2));
    decodes(b"\x0a\x05\x0a\x01a\x12\0", one("a", 0));
    // Two messages within one entry are merged.
    decodes(
        b"\x12\x10\x12\x07\x0a\x05\x0a\x01a\x10\x01\x12\x05\x0a\x03\x0a\x01b",
        Maps {
            nested: [(
                0,
                Maps { counts: [("a".into(), 1), ("b".into(), 0)].into(), ..Maps::default() },
            )]
            .into(),
            ..Maps::default()
        },
    );
    // A key that is not UTF-8, and a field that is not an entry, are unknown fields. The first is an
    // error where the field does not say `or_unknown`.
    for bytes in [&b"\x0a\x03\x0a\x01\xff"[..], b"\x08\x01"] {
        assert_eq!(Maps::decode(bytes).unwrap().unknown_fields.as_bytes(), bytes);
    }
    fails::<Maps>(b"\x0a\0\x22\x03\x12\x01\xff", DecodeErrorKind::Utf8, 4);
    fails::<Maps>(b"\x0a\0\x0a\x01\x0a", DecodeErrorKind::Truncated, 4);
}

#[test]
fn a_closed_enumeration_knows_the_last_value_of_an_entry() {
    let known = Car::decode(b"\x22\x06\x08\x01\x10\x01\x10\x05").unwrap();
    assert_eq!(known, Car { by_number: [(1, Gear::First)].into(), ..Car::default() });
    let bytes = b"\x22\x06\x08\x01\x10\x05\x10\x01";
    let unknown = Car::decode(bytes).unwrap();
    assert!(unknown.by_number.is_empty());
    assert_eq!(unknown.unknown_fields.as_bytes(), bytes);
}

#[test]
fn levels_of_maps_count() {
    let mut bytes = Vec::new();
    for _ in 0..60 {
        let mut entry = vec![0x12, bytes.len() as u8];
        if bytes.len() > 127 {
            entry = vec![0x12, bytes.len() as u8 | 0x80, (bytes.len() >> 7) as u8];
        }
        entry.extend_from_slice(&bytes);
        bytes = vec![0x12, entry.len() as u8];
        if entry.len() > 127 {
            bytes = vec![0x12, entry.len() as u8 | 0x80, (entry.len() >> 7) as u8];
        }
        bytes.extend_from_slice(&entry);
    }
    // Sixty maps are 120 levels.
    assert_eq!(Maps::decode(&bytes).map_err(|e| e.kind), Err(DecodeErrorKind::TooDeep));
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Groups {
    #[pb(uint32, 1)]
    value: Option<u32>,
    #[pb(group, 2, boxed)]
    one: Option<Box<Groups>>,
    #[pb(group, 3, repeated)]
    many: Vec<Groups>,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
}

#[test]
fn groups() {
    let leaf = |value| Groups { value: Some(value), ..Groups::default() };
    check(
        b"\x08\x01\x13\x08\x02\x13\x14\x14\x1b\x08\x03\x1c\x1b\x1c",
        Groups {
            value: Some(1),
            one: Some(Box::new(Groups {
                value: Some(2),
                one: Some(Box::default()),
                ..Groups::default()
            })),
            many: vec![leaf(3), Groups::default()],
            ..Groups::default()
        },
    );
    // A second group is merged. A field with a length is an unknown field.
    decodes(
        b"\x13\x08\x02\x14\x13\x1b\x1c\x14",
        Groups {
            one: Some(Box::new(Groups { many: vec![Groups::default()], ..leaf(2) })),
            ..Groups::default()
        },
    );
    let kept = b"\x12\x02\x08\x01\x23\x2b\x08\x01\x2c\x24";
    assert_eq!(Groups::decode(kept).unwrap().unknown_fields.as_bytes(), kept);
    assert_eq!(Groups::decode(kept).unwrap().encode_to_vec(), kept);
    fails::<Groups>(b"\x08\x01\x13\x08", DecodeErrorKind::Truncated, 2);
    fails::<Groups>(b"\x08\x01\x13\x1c", DecodeErrorKind::EndGroup, 2);
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Texts {
    #[pb(string, 1)]
    checked: String,
    #[pb(string, 2, repeated)]
    many: Vec<String>,
    #[pb(string, 3)]
    cow: Cow<'static, str>,
    #[pb(string, 4)]
    boxed: Option<Box<str>>,
    #[pb(bytes, 5)]
    blob: Box<[u8]>,
    #[pb(bytes, 6)]
    cow_bytes: Option<Cow<'static, [u8]>>,
    #[pb(uint32, 7, required)]
    required: u32,
    #[pb(message, 8, required)]
    message: Inner,
    #[pb(int32, 9, default = -7)]
    number: Option<i32>,
    #[pb(string, 10, default = "seven")]
    pub r#type: Option<String>,
    #[pb(bytes, 11, default = b"\x07")]
    raw: Option<Vec<u8>>,
    #[pb(float, 12, default = f32::INFINITY)]
    far: Option<f32>,
    #[pb(enumeration, 13, default = Gear::First)]
    gear: Option<Gear>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Inner {
    #[pb(bool, 1)]
    yes: bool,
}

#[test]
fn texts_defaults_and_what_is_required() {
    check(b"\x38\0\x42\0", Texts::default());
    check(
        b"\x0a\x01a\x12\0\x1a\x01b\x22\x01c\x2a\x01d\x32\0\x38\x01\x42\x02\x08\x01\x48\x02\x52\0",
        Texts {
            checked: "a".into(),
            many: vec![String::new()],
            cow: "b".into(),
            boxed: Some("c".into()),
            blob: b"d"[..].into(),
            cow_bytes: Some(Cow::Borrowed(b"")),
            required: 1,
            message: Inner { yes: true },
            number: Some(2),
            r#type: Some(String::new()),
            ..Texts::default()
        },
    );
    // A missing required field has the default value.
    decodes(b"", Texts::default());
    fails::<Texts>(b"\x38\0\x0a\x01\xff", DecodeErrorKind::Utf8, 2);
    fails::<Texts>(b"\x38\0\x12\x02\xc3\x28", DecodeErrorKind::Utf8, 2);
    let texts = Texts::default();
    assert_eq!((texts.number_or_default(), texts.type_or_default()), (-7, "seven"));
    assert_eq!((texts.raw_or_default(), texts.far_or_default()), (&b"\x07"[..], f32::INFINITY));
    assert_eq!(texts.gear_or_default(), Gear::First);
    assert_eq!(Texts { number: Some(1), ..texts }.number_or_default(), 1);
}

#[derive(Clone, PartialEq, Debug, Default, MessageView)]
struct View<'a> {
    #[pb(string, 1)]
    text: &'a str,
    #[pb(bytes, 2)]
    blob: Option<&'a [u8]>,
    #[pb(string, 3, repeated)]
    cows: Vec<Cow<'a, str>>,
    #[pb(message, 4, boxed)]
    child: Option<Box<View<'a>>>,
    #[pb(map(string, bytes), 5)]
    map: BTreeMap<&'a str, &'a [u8]>,
    #[pb(oneof, 6, 7)]
    pick: Option<ViewPick<'a>>,
    #[pb(message, 8)]
    owned: Option<Inner>,
    #[pb(string, 9)]
    copied: String,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
enum ViewPick<'a> {
    #[pb(string, 6)]
    Text(&'a str),
    #[pb(message, 7, boxed)]
    View(Box<View<'a>>),
}

#[test]
fn views_borrow() {
    let bytes = b"\x0a\x02hi\x12\x01\xff\x1a\x01a\x22\x03\x0a\x01b\x2a\x06\x0a\x01k\x12\x01v\
                  \x3a\x03\x32\x01c\x42\x02\x08\x01\x4a\x01d\xa0\x06\x01"
        .to_vec();
    let view = View::decode(&bytes).unwrap();
    assert!(bytes.as_ptr_range().contains(&view.text.as_ptr()));
    assert!(matches!(view.cows[0], Cow::Borrowed("a")));
    assert_eq!(view.child.as_ref().unwrap().text, "b");
    assert_eq!(view.map["k"], b"v");
    let Some(ViewPick::View(inner)) = &view.pick else { panic!("{view:?}") };
    assert_eq!(inner.pick, Some(ViewPick::Text("c")));
    assert_eq!((view.copied.as_str(), view.unknown_fields.as_bytes()), ("d", &b"\xa0\x06\x01"[..]));
    assert_eq!(view.encode_to_vec(), bytes);
    assert_eq!(view.encoded_len(), bytes.len());
    // The view can merge other bytes with the same lifetime.
    let mut view = view;
    view.merge(b"\x0a\x05later").unwrap();
    assert_eq!((view.text, view.blob), ("later", Some(&b"\xff"[..])));
    let kind = View::decode(b"\x32\x01\xff").map_err(|error| error.kind);
    assert_eq!(kind, Err(DecodeErrorKind::Utf8));
}

#[cfg(feature = "bytes")]
#[test]
fn bytes_of_the_bytes_crate() {
    #[derive(Clone, PartialEq, Debug, Default, Message)]
    #[pb(skip_unknown)]
    struct Blobs {
        #[pb(bytes, 1)]
        one: bytes::Bytes,
        #[pb(bytes, 2, repeated)]
        many: Vec<bytes::Bytes>,
    }
    let blobs = Blobs { one: "a".into(), many: vec!["".into(), "b".into()] };
    check(b"\x0a\x01a\x12\0\x12\x01b", blobs.clone());
    let mut buffer = bytes::BytesMut::new();
    blobs.encode(&mut buffer).unwrap();
    assert_eq!(buffer, blobs.encode_to_vec());
    let mut slice = [0; 9];
    let mut left = &mut slice[..];
    blobs.encode(&mut left).unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(blobs.encode(&mut left), Err(protozero::WriteError::Full { capacity: 1 }));
}
