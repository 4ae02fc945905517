//! The rows, in the order of the document. `check` compares both.

use std::collections::{BTreeMap, HashMap};

use protozero::dynamic::{self, DynamicMessage};
use protozero::{
    AppendSink, Enumeration, Extendable, FixedSink, FrameReader, HeapSink, Message, Named, Reader,
    UnknownFields, WindowSink, WriteError, Writer, json, text,
};

use crate::schema::otel::v1::{
    Span, Span_Event, Span_SpanKind, Span_ValueOneof, SpanEvent, SpanReader, SpanReaderField,
    SpanReaderTable, SpanWriter,
};
use crate::schema::pkg::{self, Kind, Order, OrderReader, OrderReaderField, OrderWriter};
use crate::schema::well;
use crate::{elsewhere, like_prost};

/// What the left column declares.
mod old {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct All {
        #[prost(int32, tag = "1")]
        pub number: i32,
        #[prost(string, optional, tag = "2")]
        pub note: Option<String>,
        #[prost(string, repeated, tag = "3")]
        pub notes: Vec<String>,
        #[prost(uint32, repeated, tag = "4")]
        pub parts: Vec<u32>,
        #[prost(message, optional, boxed, tag = "5")]
        pub inner: Option<Box<All>>,
        #[prost(oneof = "Choice", tags = "6, 7")]
        pub choice: Option<Choice>,
        #[prost(enumeration = "Mode", tag = "8")]
        pub mode: i32,
        #[prost(map = "string, int32", tag = "9")]
        pub counts: std::collections::HashMap<String, i32>,
        #[prost(bytes = "bytes", tag = "11")]
        pub blob: prost::bytes::Bytes,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Choice {
        #[prost(uint64, tag = "6")]
        Card(u64),
        #[prost(bool, tag = "7")]
        Cash(bool),
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Mode {
        Off = 0,
        On = 1,
    }
}

// row: `#[derive(prost::Message)]`
// beside Clone, PartialEq
// #[derive(protozero::Message)], and others.
#[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
struct All {
    // row: `#[prost(int32, tag = "1")]`
    #[pb(int32, 1)]
    number: i32,
    // row: `#[prost(string, optional, tag = "2")]` on `Option<String>`
    // or with or_unknown
    #[pb(string, 2)]
    note: Option<String>,
    // row: `#[prost(string, repeated, tag = "3")]`
    #[pb(string, 3, repeated)]
    notes: Vec<String>,
    // row: `#[prost(uint32, repeated, tag = "4")]`, which packs
    #[pb(uint32, 4, packed)]
    parts: Vec<u32>,
    // row: `#[prost(message, optional, boxed, tag = "5")]`
    // `Option<Box<T>>`, where T is All
    #[pb(message, 5, boxed)]
    inner: Option<Box<All>>,
    // row: `#[prost(oneof = "Choice", tags = "6, 7")]`
    #[pb(oneof, 6, 7)]
    choice: Option<Choice>,
    // row: `#[prost(enumeration = "Mode", tag = "8")]` on `i32`
    #[pb(enumeration, 8)]
    mode: Mode,
    // row: `#[prost(map = "string, int32", tag = "9")]`
    #[pb(map(string, int32), 9)]
    counts: HashMap<String, i32>,
    #[pb(map(string, int32), 12)]
    sorted: BTreeMap<String, i32>,
    // row: `#[prost(group, optional, tag = "10")]`
    #[pb(group, 10)]
    group: Option<FromElsewhere>,
    // row: `prost::bytes::Bytes` fields
    #[pb(bytes, 11)]
    blob: protozero::bytes::Bytes, // bytes::Bytes
    // row: unknown fields are dropped
    // or #[pb(skip_unknown)] above the struct
    #[pb(unknown)]
    rest: UnknownFields,
    // row: end
}

// row: `#[prost(oneof = "Choice", tags = "6, 7")]`
// #[derive(protozero::Oneof)], and others.
#[derive(protozero::Oneof, Clone, Debug, PartialEq)]
enum Choice {
    #[pb(uint64, 6)]
    Card(u64),
    #[pb(bool, 7)]
    Cash(bool),
}

// row: `#[prost(enumeration = "Mode", tag = "8")]` on `i32`
// #[derive(protozero::Enumeration)], and others.
#[derive(protozero::Enumeration, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Off = 0,
    On = 1,
}

// row: `#[prost(enumeration = "Mode", tag = "8")]` on `i32`
mod open {
    #[derive(protozero::Enumeration, Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[pb(values(OFF = 0, ON = 1))]
    pub struct Mode(i32);
}

// row: `prost_path("::sdk::prost")`, `#[prost(prost_path = "..")]`
#[derive(sdk::protozero::Message, Clone, Debug, Default, PartialEq)]
// #[pb(crate = sdk::protozero)], and another word.
#[pb(crate = sdk::protozero, skip_unknown)]
struct FromElsewhere {
    #[pb(int32, 1)]
    number: i32,
}

// row: structs always own their `String`s
#[derive(protozero::MessageView, Clone, Debug, Default, PartialEq)]
// #[derive(MessageView)]
#[pb(skip_unknown)]
struct Borrowed<'a> {
    #[pb(string, 2)]
    note: Option<&'a str>,
    #[pb(bytes, 11)]
    blob: &'a [u8], // `&[u8]`, `&str`
}
// row: end

#[test]
fn derived_messages_are_those_of_prost() {
    // row: `Message::decode(buf)` of any `Buf`
    // of a `&[u8]`
    let all = |bytes: &[u8]| <All as Message>::decode(bytes).unwrap();
    let decode = Message::decode;
    let bytes: &[u8] = b"\x08\x01";
    assert_eq!(decode(bytes), Ok(All { number: 1, ..All::default() })); // Message::decode(bytes)
    fn any(buf: impl protozero::bytes::Buf) -> All {
        Message::decode_buf(buf).unwrap() // any `Buf`
    }
    let input = protozero::bytes::Bytes::from(b"\x5a\x01b".to_vec());
    let all_of_it = any(input.clone());
    assert_eq!(all_of_it.blob.as_ptr(), input[2..].as_ptr()); // `Bytes`
    let _: fn(input: protozero::bytes::Bytes) -> Result<protozero::SharedStr, _> =
        TryFrom::try_from;
    // row: end
    let old = old::All {
        number: 7,
        note: Some("n".into()),
        notes: vec!["a".into(), "b".into()],
        parts: vec![1, 300],
        inner: Some(Box::new(old::All { number: 8, ..Default::default() })),
        choice: Some(old::Choice::Cash(true)),
        mode: old::Mode::On as i32,
        counts: [("k".to_owned(), 3)].into(),
        blob: prost::bytes::Bytes::from_static(b"\xff"),
    };
    let bytes = prost::Message::encode_to_vec(&old);
    let new = all(&bytes);
    assert_eq!((new.choice.clone(), new.mode, new.number), (Some(Choice::Cash(true)), Mode::On, 7));
    // row: fields in the order of their numbers
    // See the documentation of `message`.
    assert_eq!(new.encode_to_vec(), bytes);
    // row: end
    let again: old::All = prost::Message::decode(&new.encode_to_vec()[..]).unwrap();
    assert_eq!(again, old);
    let view = <Borrowed<'_> as protozero::MessageView>::decode(&bytes).unwrap();
    assert_eq!((view.note, view.blob), (Some("n"), &b"\xff"[..]));
    assert_eq!(FromElsewhere::decode(&bytes).unwrap().number, 7);
    assert_eq!((old::Mode::Off as i32, old::Choice::Card(1)), (0, old::Choice::Card(1)));
    assert_eq!((Mode::Off.to_i32(), Choice::Card(1)), (0, Choice::Card(1)));
    // row: `#[prost(enumeration = "Mode", tag = "8")]` on `i32`
    let mode = Mode::On;
    assert_eq!((i32::from(mode), Mode::try_from(1)), (1, Ok(mode)));
    assert_eq!((mode.to_string(), "ON".parse()), ("ON".to_owned(), Ok(mode))); // Display, FromStr
    let closed: Option<Mode> = Mode::try_from_i32(7);
    assert_eq!((closed, open::Mode::from_i32(7).to_i32()), (None, 7));
    assert_eq!((open::Mode::OFF, open::Mode::ON.to_i32()), (open::Mode::default(), 1));
    // row: end
    // row: `merge`, `clear`, `encoded_len`, `encode_to_vec`, `encode_length_delimited`, `decode_length_delimited`
    let mut one = All { number: 1, ..All::default() };
    one.merge(&bytes).unwrap();
    assert_eq!(one.encoded_len(), one.encode_to_vec().len());
    assert_eq!(one.try_encode_to_vec(), Ok(one.encode_to_vec()));
    let mut framed = Vec::new();
    one.encode_length_delimited(&mut framed).unwrap();
    assert_eq!(All::decode_length_delimited(&mut framed.as_slice()), Ok(one.clone()));
    one.clear();
    // row: `encode(&mut impl BufMut)`
    fn append(all: &All, output: &mut impl protozero::Append) {
        all.encode(output).unwrap(); // encode(&mut impl Append)
    }
    append(&one, &mut Vec::<u8>::new());
    append(&one, &mut protozero::bytes::BytesMut::new()); // any `BufMut`: not only `Vec<u8>`
    // row: end
}

#[test]
fn generated_messages_and_prost() {
    // row: a field of an enum in generated code, on `i32`
    let mut order = Order::default();
    order.kind = Kind::Limit;
    let kind = Kind(2); // no `as i32`
    const fn number(kind: Kind) -> i32 {
        kind.0 // in a `const fn`
    }
    assert_eq!((i32::from(kind), number(kind)), (2, 2));
    // row: an `i32` for each enum, which holds any number
    // The schema does not have 7. Beside `drop_unknown_fields(["."])`.
    let bytes = b"\x08\x07\x12\x05\x0a\x01k\x10\x07";
    assert_eq!(like_prost::old::Old::decode(bytes).unwrap().encode_to_vec(), bytes);
    assert!(like_prost::old::Old::decode(b"\x1a\x01\xff").is_err());
    // row: unknown fields are dropped
    // `drop_unknown_fields(["."])` in the build script
    let bytes = b"\x08\x01\x28\x01";
    assert_eq!(Span::decode(bytes).unwrap().encode_to_vec(), bytes);
    assert_eq!(like_prost::pkg::Blob::decode(bytes).unwrap().encode_to_vec(), b"");
    // row: `type_attribute`, `message_attribute`, `enum_attribute`, `field_attribute`
    fn is_serialize(_: &impl serde::Serialize) {}
    is_serialize(&crate::with_serde::pkg::Order::default());
    is_serialize(&crate::by_option::pkg::Order::default());
    // row: no extensions
    order.set_extension(&pkg::GIFT, &"ribbon".to_owned());
    assert_eq!(order.extension(&pkg::GIFT).unwrap().as_deref(), Some("ribbon"));
    // row: generated structs derive `prost::Message`
    fn is_message<M: protozero::Message>(_: &M) {}
    is_message(&order);
    // row: `prost_path("::sdk::prost")`, `#[prost(prost_path = "..")]`
    assert_eq!(elsewhere::pkg::Order::default().number, 0);
    // row: `boxed("pkg.Order.inner")`
    let inner: Option<Box<elsewhere::pkg::Blob>> = elsewhere::pkg::Order::default().inner;
    assert_eq!((inner, Order::default().inner), (None, None));
    // row: `bytes(["."])`
    let blob = elsewhere::pkg::Blob { data: protozero::bytes::Bytes::new(), ..Default::default() };
    assert_eq!(blob.encode_to_vec(), b""); // pkg.Blob.data
    assert_eq!(elsewhere::pkg::Blob::decode(b""), Ok(blob.clone()));
    assert_eq!(elsewhere::pkg::Blob::decode_buf(&b""[..]), Ok(blob));
    // row: `file_descriptor_set_path`, `prost-reflect`
    let set = include_bytes!(concat!(env!("OUT_DIR"), "/set.bin"));
    assert!(dynamic::Pool::decode(set).unwrap().message("pkg.Order").is_some());
    // row: `pbjson` and `serde_json`
    let message = like_prost::pkg::Blob { data: vec![1] };
    type M = like_prost::pkg::Blob;
    let text = json::to_string(&message).unwrap();
    assert_eq!(json::from_str::<M>(&text).unwrap(), message); // json::from_str::<M>(text)
    let options = json::ParseOptions { ignore_unknown: true, ..Default::default() };
    assert!(options.ignore_unknown, "ParseOptions::ignore_unknown, `json`");
    let text = r#"{"new": 1, "data": "AQ=="}"#;
    assert_eq!(json::from_str_with::<M>(text, &options).unwrap(), message);
    // row: `#[derive(prost_reflect::ReflectMessage)]`
    #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    #[pb(name = "shop.Line", skip_unknown)] // #[pb(name = "shop.Line")], and another word
    struct Line {
        #[pb(sint64, 1)]
        unit_price: i64,
    }
    let line = Line { unit_price: 5 };
    assert_eq!(json::to_string(&line).unwrap(), r#"{"unitPrice":"5"}"#);
    let text = r#"{"unitPrice": 5}"#;
    assert_eq!(json::from_str::<Line>(text).unwrap(), line);
    assert_eq!((Line::descriptor().full_name(), Line::DESCRIPTOR.name), ("shop.Line", "shop.Line"));
    // row: `prost::Name`, `enable_type_names()`
    assert_eq!(<M as protozero::Named>::FULL_NAME, "pkg.Blob");
    // row: `prost_types::Any::from_msg`, `to_msg`
    let created = protozero_types::Timestamp::now();
    let any = protozero_types::Any::pack(&created).unwrap();
    assert_eq!(any.unpack(), Ok(created));
    // row: end
}

#[test]
fn accessors_of_prost() {
    // row: `order.kind()`, `order.set_kind(..)`, `order.note()`
    // Of an enum of proto2 with `open_enums(true)`.
    // The fields, without the option.
    let mut order = Order::default();
    order.kind = Kind::Limit;
    let optional = pkg::Kinds::default();
    let note: Option<String> = optional.note.clone();
    assert_eq!(note.as_deref().unwrap_or_default(), "");
    assert_eq!((optional.kind_or_default(), optional.kind), (Kind::Limit, None)); // kind_or_default()
    // The methods.
    use like_prost::pkg::Kind as Like;
    let mut kinds = like_prost::pkg::Kinds::default();
    assert_eq!((kinds.kind(), kinds.note()), (Like::Limit, ""));
    kinds.set_kind(Like::None);
    kinds.push_all(Like::Limit);
    kinds.insert_by_name("a".into(), Like::Limit);
    assert_eq!(kinds.all().collect::<Vec<_>>(), [Like::Limit]);
    assert_eq!(kinds.get_by_name("a"), Some(Like::Limit));
    // row: end
    assert_eq!((order.kind, kinds.kind()), (Kind::Limit, Like::None));
    assert_eq!(kinds.insert_by_name("a".into(), Like(7)), Some(Like::Limit));
    assert_eq!((kinds.get_by_name("a"), kinds.get_by_name("b")), (None, None));
    kinds.set_kind(Like(7));
    kinds.push_all(Like(7));
    assert_eq!((kinds.kind(), kinds.kind), (Like::Limit, Some(Like(7))));
    assert_eq!((kinds.all().count(), kinds.all.len()), (1, 2));
    kinds.set_type(Like::Limit);
    assert_eq!((kinds.r#type(), kinds.r#type), (Like::Limit, Some(Like::Limit)));
    assert_eq!((kinds.insert_by_id(1, Like::None), kinds.get_by_id(1)), (None, Some(Like::None)));
    assert_eq!((kinds.raw(), kinds.count(), kinds.count_or_default()), (&b""[..], 7, 7));
    kinds.note = Some("n".into());
    kinds.raw = Some(vec![1]);
    kinds.count = Some(0);
    assert_eq!((kinds.note(), kinds.raw(), kinds.count()), ("n", &b"\x01"[..], 0));
    // Of a field without presence.
    let mut order = like_prost::pkg::Order::default();
    order.set_kind(Like::Limit);
    assert_eq!((order.kind(), order.kind), (Like::Limit, Like::Limit));
    order.kind = Like(7);
    assert_eq!(order.kind(), Like::None);
}

#[test]
fn types_of_prost() {
    // row: `HashMap` for a map
    let labels: BTreeMap<String, String> = well::Known::default().labels;
    let mut hashed: HashMap<String, String> = like_prost::well::Known::default().labels;
    assert!(labels.is_empty());
    hashed.extend(["b", "a", "c"].map(|key| (key.to_owned(), "x".to_owned())));
    let labels = hashed.clone().into_iter().collect();
    let sorted = well::Known { labels, ..Default::default() };
    let hashed = like_prost::well::Known { labels: hashed, ..Default::default() };
    assert_eq!(hashed.encode_to_vec(), sorted.encode_to_vec());
    assert_eq!(like_prost::well::Known::decode(&sorted.encode_to_vec()), Ok(hashed));
    // row: `()` for `google.protobuf.Empty`
    use protozero_types::Empty; // protozero_types::Empty
    let mut known = well::Known { nothing: Some(Empty::default()), ..Default::default() };
    known.nothing = Some(().into());
    let unit = like_prost::well::Known { nothing: Some(()), ..Default::default() };
    assert_eq!(unit.encode_to_vec(), known.encode_to_vec());
    assert_eq!(like_prost::well::Known::decode(b"\x0a\x02\x08\x01"), Ok(unit.clone()));
    assert_eq!(json::to_string(&unit).unwrap(), r#"{"nothing":{}}"#);
    assert_eq!(json::from_str::<like_prost::well::Known>(r#"{"nothing":{}}"#), Ok(unit));
    // row: `Option<String>` for `google.protobuf.StringValue`, and the other wrappers
    use protozero_types::StringValue;
    let name: Option<StringValue> = Some("a".into());
    known.name = name;
    let plain: Option<String> = Some("a".to_owned());
    let plain = like_prost::well::Known { name: plain, ..Default::default() }; // plain_types(true)
    known.nothing = None;
    assert_eq!(plain.encode_to_vec(), known.encode_to_vec());
    assert_eq!(like_prost::well::Known::decode(&known.encode_to_vec()), Ok(plain.clone()));
    assert_eq!(json::to_string(&plain).unwrap(), r#"{"name":"a"}"#);
    assert_eq!(json::from_str::<like_prost::well::Known>(r#"{"name":"a"}"#), Ok(plain));
    assert_eq!(known.name.map(String::from), Some("a".to_owned()));
    // row: messages and oneofs derive `Eq` and `Hash`, where they can
    fn is_key<T: Eq + std::hash::Hash>() {}
    is_key::<like_prost::well::Key>();
    is_key::<like_prost::well::key::By>();
    // row: `prost-types`
    use protozero_types::{Duration, Timestamp, value}; // of `pbzero-types`
    let (seconds, nanos) = (1, 500_000_000);
    let created = Timestamp { seconds, nanos };
    let copied = created; // `Copy`
    is_key::<Timestamp>(); // `Eq`, `Hash`
    is_key::<Duration>();
    assert!(Duration::default() < Duration { seconds, nanos }); // `Ord`
    assert_eq!(copied.to_string(), "1970-01-01T00:00:01.500Z"); // `Display`
    assert_eq!("1.5s".parse(), Ok(Duration { seconds, nanos })); // `FromStr`
    let kind = Some(value::Kind::BoolValue(true));
    let value = protozero_types::Value { kind, ..Default::default() };
    assert_eq!(value, true.into());
    // row: end
    assert_eq!(copied, created);
}

#[test]
fn names() {
    // row: `message Span`
    use crate::schema::otel;
    let _: otel::v1::Span = Span::default();
    let mut bytes = Vec::new();
    let mut stream = AppendSink::stream(&mut bytes);
    SpanWriter::from_scope(stream.root()).fooBar(1).data(b"d");
    stream.finish().unwrap();
    for field in SpanReader::new(&bytes) {
        assert!(matches!(field, Ok(SpanReaderField::FooBar(1) | SpanReaderField::Data(b"d"))));
    }
    let table: SpanReaderTable<'_> = SpanReader::new(&bytes).table().unwrap();
    assert_eq!(table.fooBar, Some(1));
    // row: `message Span.Event`
    let _: otel::v1::Span_Event = Span_Event::default();
    let _: like_prost::otel::v1::span::Event = Default::default();
    // row: `enum Span.SpanKind`, value `SPAN_KIND_CLIENT`
    assert_eq!(Span_SpanKind::Client, Span_SpanKind(1));
    assert_eq!(Span_SpanKind::default(), Span_SpanKind::Unspecified);
    assert_eq!(like_prost::otel::v1::span::SpanKind::Client.0, 1);
    // row: `oneof value` of `Span`, member `string_value`
    let value = Span_ValueOneof::StringValue("s".into());
    let _ = like_prost::otel::v1::span::Value::StringValue(String::new());
    // row: fields `fooBar`, `type`, `self`
    let mut span = Span { fooBar: 1, value: Some(value), ..Span::default() };
    span.r#type = "t".into();
    span.self_ = "s".into();
    assert_eq!(like_prost::otel::v1::Span::default().foo_bar, 0);
    // row: `Span.Event` and `SpanEvent`
    let _ = (Span_Event::default(), SpanEvent::default());
    // row: an enum as text and as number
    assert_eq!(Kind::Limit.name(), Some("KIND_LIMIT")); // also Display, FromStr
    assert_eq!(Kind::from_name(&Kind::Limit.to_string()), "KIND_LIMIT".parse().ok());
    assert_eq!((Kind::try_from(1i32), i32::from(Kind::Limit)), (Ok(Kind::Limit), 1)); // try_from(i32)
    // row: package `otel.v1`
    // SpanEvent is what a flat package calls Span_Event.
    let _ = otel::v1::SpanEvent::default();
    // row: writers also have `NAME_raw` for an encoded message, and `NAME_gather` for bytes in several slices
    let mut bytes = Vec::new();
    let mut stream = AppendSink::stream(&mut bytes);
    SpanWriter::from_scope(stream.root()).event_raw(b"\x0a\x01n").data_gather(&[b"d", b"e"]);
    stream.finish().unwrap();
    assert_eq!(Span::decode(&bytes).unwrap().event.unwrap().name, "n");
    // row: end
}

#[test]
fn from_rust_protobuf() {
    type T = Order;
    let b = b"\x08\x07\x10\x09".to_vec();
    // row: `parse_from_bytes(&b)`
    let mut order = T::decode(&b).unwrap();
    // row: `parse_from_tokio_bytes(&b)`
    let shared = protozero::bytes::Bytes::from(b.clone());
    let again = |b: &protozero::bytes::Bytes| T::decode_buf(b.clone());
    assert_eq!(again(&shared), Ok(order.clone()));
    // row: `write_to_bytes()`
    assert_eq!(order.encode_to_vec(), b);
    // row: `merge_from_bytes`
    order.merge(b"\x08\x08").unwrap();
    // row: fields and `set_x`
    order.number = 9; // `pub`
    // row: `MessageField<T>`
    // Option<T>
    let event: Option<Span_Event> = Span::default().event;
    assert_eq!(event, None);
    // row: `EnumOrUnknown<E>`
    type E = Kind;
    assert_eq!(order.kind, E { 0: 9 });
    // row: `special_fields.unknown_fields()`
    assert!(order.unknown_fields.is_empty());
    // row: `CodedOutputStream`
    let mut stream = HeapSink::stream();
    OrderWriter::from_scope(stream.root()).number(7);
    let bytes = stream.finish().unwrap();
    // row: `CodedInputStream`
    assert_eq!(Reader::new(&bytes).next_field().unwrap().unwrap().number, 1);
    assert_eq!(FrameReader::new().read_block(b"\x0a\x00").next_frame().unwrap().unwrap().number, 1);
    // row: `reflect`, `MessageDyn`
    // `dynamic`
    type M = like_prost::pkg::Order;
    let message = dynamic::DynamicMessage::decode(M::descriptor(), &bytes).unwrap();
    assert_eq!(message.get("number").and_then(|value| value.as_i64()), Some(7));
    // row: `text_format`
    let options = text::Options::default(); // the API kind `descriptor`
    let parsed = text::parse(M::DESCRIPTOR, b"number: 7", &options).unwrap();
    let printed =
        text::print_bytes(M::DESCRIPTOR, &parsed, &text::PrintOptions::default()).unwrap();
    let message = DynamicMessage::from_text(M::descriptor(), printed.as_bytes()).unwrap();
    assert_eq!(message.to_text(), printed);
    // row: `protobuf-json-mapping`
    let options = json::ParseOptions::default(); // `json`
    let parsed = json::parse(&M::descriptor(), br#"{"number": 7}"#, &options).unwrap();
    let printed = json::print_bytes(&M::descriptor(), &parsed, &Default::default()).unwrap();
    assert_eq!(printed, r#"{"number":7}"#);
    // row: a missing `required` field is an error
    assert_eq!(T::decode(b"").unwrap(), T::default());
    // row: runtime and C++ or upb kernel
    // Nothing but Rust is in this project.
    // row: end
}

#[test]
fn from_nanopb() {
    // row: `pb_ostream_from_buffer(buf, len)`
    let mut buffer = [0u8; 64];
    let mut stream = FixedSink::stream(&mut buffer);
    // row: `pb_encode(&stream, Msg_fields, &msg)`
    OrderWriter::from_scope(stream.root()).number(7).kind(Kind::Limit);
    // row: callbacks for strings, bytes, repeated fields
    OrderWriter::from_scope(stream.root()).note("one").note("two");
    // row: nested messages are encoded twice, to get their size
    SpanWriter::from_scope(stream.root()).event().name("once");
    // row: `PB_GET_ERROR(&stream)`
    let bytes = stream.finish().unwrap();
    // row: `pb_istream_from_buffer`, `pb_decode` into a struct
    type MsgReader<'a> = OrderReader<'a>;
    for field in MsgReader::new(bytes) {
        if let OrderReaderField::Number(number) = field.unwrap() {
            assert_eq!(number, 7);
        }
    }
    // row: `pb_decode_ex` with `PB_DECODE_DELIMITED`
    // with `alloc`
    let mut frames = FrameReader::new();
    let mut frames = frames.read_block(b"\x0a\x02\x08\x07");
    let frame = frames.next_frame().unwrap().unwrap();
    assert_eq!(Reader::new(frame.body).next_field().unwrap().unwrap().number, 1);
    // row: a `pb_ostream_t` with a callback
    struct Uart(Vec<u8>);
    impl Uart {
        fn write(&mut self, bytes: &[u8]) -> Result<(), std::convert::Infallible> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }
    }
    let mut uart = Uart(Vec::new());
    let mut window = [0u8; 64];
    let mut stream = WindowSink::stream(&mut window, |bytes: &[u8]| uart.write(bytes));
    OrderWriter::from_scope(stream.root()).number(7);
    assert!(stream.finish().is_ok());
    assert_eq!(uart.0, b"\x08\x07");
    // row: `max_size`, `max_count` in `.options`
    let mut small = [0u8; 2];
    let mut stream = FixedSink::stream(&mut small);
    OrderWriter::from_scope(stream.root()).number(7).note("n");
    assert_eq!(stream.finish(), Err(WriteError::Full { capacity: 2 }));
    // row: field descriptors in flash, interpreted
    // Setters are functions: no table is read.
    // row: end
}
