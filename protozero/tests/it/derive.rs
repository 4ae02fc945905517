//! Owned messages through the derive macros: decoding and encoding.

use protozero::{
    DecodeContext, DecodeErrorKind, DecodeOptions, Enumeration, Message, Oneof, ReadError,
    UnknownFields, WriteError,
};

#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Color(i32);

impl Color {
    const RED: Self = Self(0);
    const BLUE: Self = Self(7);
}

impl Enumeration for Color {
    const NAME: &'static str = "test.Color";
    const VALUES: &'static [(&'static str, i32)] = &[("RED", 0), ("BLUE", 7), ("AZURE", 7)];
    fn from_i32(number: i32) -> Self {
        Self(number)
    }
    fn to_i32(self) -> i32 {
        self.0
    }
}

impl std::fmt::Debug for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        protozero::rt::debug_enum(*self, f)
    }
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Scalars {
    #[pb(int32, 1)]
    int32: Option<i32>,
    #[pb(int64, 2)]
    int64: Option<i64>,
    #[pb(uint32, 3)]
    uint32: Option<u32>,
    #[pb(uint64, 4)]
    uint64: Option<u64>,
    #[pb(sint32, 5)]
    sint32: Option<i32>,
    #[pb(sint64, 6)]
    sint64: Option<i64>,
    #[pb(fixed32, 7)]
    fixed32: Option<u32>,
    #[pb(fixed64, 8)]
    fixed64: Option<u64>,
    #[pb(sfixed32, 9)]
    sfixed32: Option<i32>,
    #[pb(sfixed64, 10)]
    sfixed64: Option<i64>,
    #[pb(float, 11)]
    float: Option<f32>,
    #[pb(double, 12)]
    double: Option<f64>,
    #[pb(bool, 13)]
    bool: Option<bool>,
    #[pb(string, 14)]
    string: Option<String>,
    #[pb(bytes, 15)]
    bytes: Option<Vec<u8>>,
    #[pb(enumeration, 16)]
    color: Option<Color>,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Lists {
    #[pb(uint64, 1, packed)]
    packed: Vec<u64>,
    #[pb(uint64, 2, repeated)]
    repeated: Vec<u64>,
    #[pb(fixed32, 3, packed)]
    fixed: Vec<u32>,
    #[pb(string, 4, repeated)]
    names: Vec<String>,
    #[pb(bytes, 5, repeated)]
    blobs: Vec<Vec<u8>>,
    #[pb(enumeration, 6, packed)]
    colors: Vec<Color>,
    #[pb(sint32, 7, packed)]
    signed: Vec<i32>,
    #[pb(bool, 8, packed)]
    flags: Vec<bool>,
    #[pb(double, 9, packed)]
    doubles: Vec<f64>,
    #[pb(message, 10, repeated)]
    children: Vec<Scalars>,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Proto3 {
    #[pb(uint32, 1)]
    number: u32,
    #[pb(string, 2)]
    name: String,
    #[pb(bytes, 3)]
    blob: Vec<u8>,
    #[pb(double, 4)]
    ratio: f64,
    #[pb(enumeration, 5)]
    color: Color,
    #[pb(bool, 6)]
    flag: bool,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Tree {
    #[pb(uint32, 1)]
    value: Option<u32>,
    #[pb(message, 2, boxed)]
    left: Option<Box<Tree>>,
    #[pb(message, 3, boxed)]
    right: Option<Box<Tree>>,
    #[pb(oneof, 4, 5, 6)]
    extra: Option<Extra>,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
#[allow(clippy::large_enum_variant, reason = "this tests the unboxed form")]
enum Extra {
    #[pb(string, 4, or_unknown)]
    Label(String),
    #[pb(message, 5)]
    Scalars(Scalars),
    #[pb(message, 6, boxed)]
    Subtree(Box<Tree>),
}

/// A oneof of one variant: the derived code must not need a second pattern.
#[derive(Clone, PartialEq, Debug, Oneof)]
enum Single {
    #[pb(uint32, 1)]
    Only(u32),
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Generic<M: Message> {
    #[pb(message, 2)]
    inner: Option<M>,
    #[pb(oneof, 1)]
    single: Option<Single>,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Empty;

/// Decodes `bytes` to `message`, and encodes it to the same bytes.
#[track_caller]
pub(crate) fn check<M: Message>(bytes: &[u8], message: M) {
    assert_eq!(M::decode(bytes).as_ref(), Ok(&message));
    assert_eq!(message.encode_to_vec(), bytes);
    assert_eq!(message.encoded_len(), bytes.len());
}

#[track_caller]
pub(crate) fn decodes<M: Message>(bytes: &[u8], message: M) {
    assert_eq!(M::decode(bytes), Ok(message));
}

#[track_caller]
pub(crate) fn fails<M: Message>(bytes: &[u8], kind: DecodeErrorKind, offset: usize) {
    assert_eq!(M::decode(bytes).map_err(ReadError::from), Err(kind.at(offset)));
}

#[test]
fn every_scalar() {
    check(
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x02\x18\x03\x20\x04\x28\x09\x30\x0b\
          \x3d\x07\0\0\0\x41\x08\0\0\0\0\0\0\0\x4d\xf7\xff\xff\xff\x51\xf6\xff\xff\xff\xff\xff\xff\xff\
          \x5d\0\0\xc0\x3f\x61\0\0\0\0\0\0\x04\x40\x68\x01\x72\x02hi\x7a\x02\xff\0\x80\x01\x07",
        Scalars {
            int32: Some(-1),
            int64: Some(2),
            uint32: Some(3),
            uint64: Some(4),
            sint32: Some(-5),
            sint64: Some(-6),
            fixed32: Some(7),
            fixed64: Some(8),
            sfixed32: Some(-9),
            sfixed64: Some(-10),
            float: Some(1.5),
            double: Some(2.5),
            bool: Some(true),
            string: Some("hi".into()),
            bytes: Some(vec![0xff, 0]),
            color: Some(Color::BLUE),
            unknown_fields: UnknownFields::new(),
        },
    );
    // A zero in a field with presence is written, a missing field is not.
    check(
        b"\x18\0\x72\0",
        Scalars { uint32: Some(0), string: Some("".into()), ..Scalars::default() },
    );
    check(b"", Scalars::default());
}

#[test]
fn lists() {
    let lists = Lists {
        packed: vec![1, 300],
        repeated: vec![5, 6],
        fixed: vec![1],
        names: vec!["a".into(), "".into()],
        blobs: vec![vec![1]],
        colors: vec![Color::BLUE, Color(9)],
        signed: vec![-1, 1],
        flags: vec![true, false],
        doubles: vec![0.0],
        children: vec![Scalars::default(), Scalars { uint32: Some(1), ..Scalars::default() }],
        unknown_fields: UnknownFields::new(),
    };
    check(
        b"\x0a\x03\x01\xac\x02\x10\x05\x10\x06\x1a\x04\x01\0\0\0\x22\x01a\x22\0\x2a\x01\x01\x32\x02\x07\x09\
          \x3a\x02\x01\x02\x42\x02\x01\0\x4a\x08\0\0\0\0\0\0\0\0\x52\0\x52\x02\x18\x01",
        lists,
    );
}

#[test]
fn packed_and_unpacked_are_the_same() {
    // Field 1 is packed in the schema and field 2 is not. The input has both encodings, in the
    // opposite order.
    decodes(
        b"\x08\x01\x0a\x02\x02\x03\x08\x04\x12\x02\x07\x08\x10\x09\x1d\x01\0\0\0\x1a\0",
        Lists {
            packed: vec![1, 2, 3, 4],
            repeated: vec![7, 8, 9],
            fixed: vec![1],
            ..Lists::default()
        },
    );
}

#[test]
fn implicit_presence() {
    check(b"", Proto3::default());
    decodes(b"\x08\0\x12\0\x1a\0\x30\0\x28\0", Proto3::default());
    let negative_zero = Proto3 { ratio: -0.0, ..Proto3::default() };
    assert_eq!(negative_zero.encode_to_vec(), b"\x21\0\0\0\0\0\0\0\x80");
    check(
        b"\x08\x01\x12\x01a\x1a\x01\0\x28\x07\x30\x01",
        Proto3 {
            number: 1,
            name: "a".into(),
            blob: vec![0],
            ratio: 0.0,
            color: Color::BLUE,
            flag: true,
        },
    );
}

#[test]
fn merging() {
    // The last scalar counts, messages are merged, and the last member of a oneof counts; equal
    // members that are messages are merged.
    decodes(
        b"\x08\x01\x12\x02\x08\x05\x12\x04\x12\x02\x08\x06\x08\x02",
        Tree {
            value: Some(2),
            left: Some(Box::new(Tree {
                value: Some(5),
                left: Some(Box::new(Tree { value: Some(6), ..Tree::default() })),
                ..Tree::default()
            })),
            ..Tree::default()
        },
    );
    decodes(
        b"\x22\x01x\x2a\x02\x08\x01\x2a\x02\x10\x02",
        Tree {
            extra: Some(Extra::Scalars(Scalars {
                int32: Some(1),
                int64: Some(2),
                ..Scalars::default()
            })),
            ..Tree::default()
        },
    );
    decodes(
        b"\x2a\x02\x08\x01\x22\x01x\x22\x01y",
        Tree { extra: Some(Extra::Label("y".into())), ..Tree::default() },
    );
    let mut tree = Tree { value: Some(1), ..Tree::default() };
    tree.merge(b"\x32\x02\x08\x03").unwrap();
    assert_eq!(tree.encode_to_vec(), b"\x08\x01\x32\x02\x08\x03");
}

#[test]
fn generic_structs_and_single_variants() {
    check(
        b"\x08\x02\x12\x02\x08\x01",
        Generic {
            inner: Some(Tree { value: Some(1), ..Tree::default() }),
            single: Some(Single::Only(2)),
        },
    );
    check(b"", Empty);
    decodes(b"\x08\x01", Empty);
}

#[test]
fn unknown_fields_survive() {
    // Unknown fields 100 to 103 of every wire type, between known fields. Encoding writes the known
    // fields first.
    let unknown = b"\xa0\x06\x81\0\xa9\x06\x01\x02\x03\x04\x05\x06\x07\x08\xb2\x06\x03abc\xbd\x06\x01\x02\x03\x04";
    let mut bytes = unknown.to_vec();
    bytes.extend_from_slice(b"\x08\x05");
    let tree = Tree::decode(&bytes).unwrap();
    assert_eq!(tree.value, Some(5));
    assert_eq!(tree.unknown_fields.as_bytes(), unknown, "the padded varint does not change");
    assert_eq!(tree.unknown_fields.iter().count(), 4);
    assert_eq!(tree.encode_to_vec(), [b"\x08\x05", &unknown[..]].concat());
    assert_eq!(
        format!("{:?}", tree.unknown_fields),
        "[#100: 4 B, #101: 10 B, #102: 6 B, #103: 6 B]"
    );
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
enum Switch {
    #[default]
    Off = 0,
    On = 1,
}

/// An open enumeration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(name = "it.Level", values(LOW = 0, HIGH = 5))]
struct Level(i32);

/// As those of generated enums.
#[test]
fn derived_enums_have_conversions() {
    assert_eq!((Switch::try_from(1), i32::from(Switch::On)), (Ok(Switch::On), 1));
    assert_eq!(Switch::try_from(2).unwrap_err().to_string(), "Switch has no value 2");
    assert_eq!(Switch::On.to_string(), "ON");
    assert_eq!(("ON".parse(), "0".parse()), (Ok(Switch::On), Ok(Switch::Off)));
    let error = "2".parse::<Switch>().unwrap_err();
    assert_eq!(error.to_string(), "the text is neither a name nor a number of Switch");
    assert_eq!((Level::try_from(5), i32::from(Level(7))), (Ok(Level::HIGH), 7));
    assert_eq!(Level::try_from(7).unwrap_err().to_string(), "it.Level has no value 7");
    assert_eq!((Level::HIGH.to_string(), Level(7).to_string()), ("HIGH".into(), "7".into()));
    assert_eq!(("LOW".parse(), "7".parse()), (Ok(Level::LOW), Ok(Level(7))));
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Skipping {
    #[pb(string, 1)]
    text: String,
    #[pb(string, 2, or_unknown)]
    lax: String,
    #[pb(enumeration, 3)]
    switch: Switch,
    #[pb(enumeration, 4, packed)]
    switches: Vec<Switch>,
}

#[test]
fn what_is_lost_is_named() {
    // Only with `skip_unknown`: another number, another wire type, a number that a closed
    // enumeration does not have, and text that is not UTF-8 where `or_unknown` takes it.
    let bytes = b"\xa0\x06\x01\x08\x01\x18\x09\x22\x02\x09\x01\x12\x01\xff";
    let read = Skipping::decode(bytes).unwrap();
    assert_eq!(read, Skipping { switches: vec![Switch::On], ..Skipping::default() });
    assert_eq!(read.encode_to_vec(), b"\x22\x01\x01");
    // Without the word, text that is not UTF-8 is an error: in a field, a list, a oneof.
    fails::<Skipping>(b"\x18\x01\x0a\x01\xff", DecodeErrorKind::Utf8, 2);
    fails::<Scalars>(b"\x72\x02a\xff", DecodeErrorKind::Utf8, 0);
    fails::<Lists>(b"\x22\x02a\xff", DecodeErrorKind::Utf8, 0);
}

#[test]
fn wrong_wire_types_and_bad_text_are_unknown_fields() {
    for bytes in [
        &b"\x0a\x01\x05"[..], // value as a packed field
        b"\x10\x05",          // left as a number
        b"\x22\x02\xff\xfe",  // label that is not UTF-8
        b"\x20\x05",          // label as a number
    ] {
        let tree = Tree::decode(bytes).unwrap();
        assert_eq!(tree.unknown_fields.as_bytes(), bytes);
        check(bytes, Tree { unknown_fields: tree.unknown_fields.clone(), ..Tree::default() });
    }
    // A member with an invalid value does not replace the previous member.
    let tree = Tree::decode(b"\x22\x01x\x28\x05").unwrap();
    assert_eq!(tree.extra, Some(Extra::Label("x".into())));
}

#[test]
fn errors_say_where() {
    fails::<Tree>(b"\x08", DecodeErrorKind::Truncated, 0);
    fails::<Tree>(b"\x08\x01\x12\x05\x08", DecodeErrorKind::Truncated, 2);
    // In `inside`, field `left` and then field `right`: the error is in the group at byte 8.
    fails::<Tree>(b"\x08\x01\x12\x06\x1a\x04\x08\x01\x0b\x00", DecodeErrorKind::FieldNumber, 8);
    fails::<Lists>(b"\x10\x01\x1a\x03\0\0\0", DecodeErrorKind::PackedLength, 2);
    fails::<Lists>(b"\x10\x01\x0a\x02\x01\x80", DecodeErrorKind::Truncated, 2);
    fails::<Tree>(b"\0\0", DecodeErrorKind::FieldNumber, 0);
}

#[test]
fn depth_is_bounded() {
    let nest = |levels: usize| {
        let mut bytes = Vec::new();
        for _ in 0..levels {
            let mut outer = vec![0x12];
            outer.extend_from_slice(&varint(bytes.len()));
            outer.extend_from_slice(&bytes);
            bytes = outer;
        }
        bytes
    };
    assert!(Tree::decode(&nest(100)).is_ok());
    assert_eq!(Tree::decode(&nest(101)).map_err(|e| e.kind), Err(DecodeErrorKind::TooDeep));
    assert_eq!(Tree::decode(&nest(50_000)).map_err(|e| e.kind), Err(DecodeErrorKind::TooDeep));
    // A program that accepts more cannot encode them.
    let within = |levels| DecodeOptions::new().depth_max(levels).decode::<Tree>(&nest(150));
    assert_eq!(within(149).map_err(|e| e.kind), Err(DecodeErrorKind::TooDeep));
    let error = WriteError::TooDeep { depth: 100 };
    assert_eq!(within(150).unwrap().try_encode_to_vec(), Err(error));
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

#[test]
fn memory_is_bounded() {
    #[derive(Clone, PartialEq, Debug, Message)]
    struct Big {
        #[pb(message, 1, repeated)]
        all: Vec<Big>,
        #[pb(unknown)]
        unknown_fields: UnknownFields,
        #[pb(oneof, 2)]
        pad: Option<Pad>,
    }
    #[derive(Clone, PartialEq, Debug, Default)]
    struct Pad([[u64; 32]; 16]);
    // Implemented by hand, with a large struct.
    impl protozero::rt::owned::Oneof for Pad {
        const NUMBERS: &'static [u32] = &[2];
        fn number(&self) -> u32 {
            2
        }
        fn encode_member<O: protozero::rt::owned::Output>(&self, _: &mut O) {}
    }
    impl protozero::rt::owned::MergeOneof<'_> for Pad {
        fn merge_member(
            _: &mut Option<Self>,
            _: &protozero::Field<'_>,
            _: protozero::DecodeContext<'_>,
        ) -> Result<bool, protozero::ReadError> {
            Ok(false)
        }
    }
    impl Default for Big {
        fn default() -> Self {
            Self { all: Vec::new(), unknown_fields: UnknownFields::new(), pad: None }
        }
    }
    let bytes = b"\x0a\0".repeat(100_000);
    assert_eq!(Big::decode(&bytes).map_err(|e| e.kind), Err(DecodeErrorKind::TooMuchMemory));
    // Large messages with few fields are accepted.
    assert_eq!(Big::decode(&b"\x0a\0".repeat(5000)).unwrap().all.len(), 5000);
    let mut trusted = Big::default();
    trusted.merge_within(&bytes, DecodeContext::new()).unwrap();
    assert_eq!(trusted.all.len(), 100_000);
    // With the limit of the caller.
    let within = |memory| DecodeOptions::new().memory_max(memory).decode::<Big>(&bytes[..2000]);
    assert_eq!(within(1 << 20).map_err(|e| e.kind), Err(DecodeErrorKind::TooMuchMemory));
    assert_eq!(within(usize::MAX).unwrap().all.len(), 1000);
    let deep = DecodeOptions::new().depth_max(1);
    assert!(deep.decode::<Big>(b"\x0a\0").is_ok());
    assert_eq!(
        deep.decode::<Big>(b"\x0a\x02\x0a\0").map_err(|e| e.kind),
        Err(DecodeErrorKind::TooDeep)
    );
}

#[test]
fn enumerations_are_open() {
    assert_eq!(Color::from_name("AZURE"), Some(Color::BLUE));
    assert_eq!(Color::from_name("GREEN"), None);
    assert_eq!((Color::RED.name(), Color(9).name()), (Some("RED"), None));
    assert_eq!(format!("{:?} {:?}", Color::BLUE, Color(9)), "BLUE 9");
    check(b"\x80\x01\x09", Scalars { color: Some(Color(9)), ..Scalars::default() });
}
