use protozero::{Enumeration, Extendable, FixedSink, Message, Named, Writer};

use crate::all::kitchen::edition::{self, Chosen, ChosenWriter, Lights};
use crate::all::kitchen::names::OptionWriter;
use crate::all::kitchen::three::Plain_Shade;
use crate::all::kitchen::two::{Everything, Everything_ChoiceOneof, Taste};
use crate::plain::kitchen::three::{Plain, PlainReader, PlainWriter};

#[test]
fn a_message_goes_around() {
    let mut buffer = [0; 64];
    let mut stream = FixedSink::stream(&mut buffer);
    PlainWriter::from_scope(stream.root()).number(5).text("hi").inner().number(6);
    let bytes = stream.finish().unwrap();
    let plain = Plain::decode(bytes).unwrap();
    assert_eq!((plain.number, plain.text.as_str()), (5, "hi"));
    assert_eq!(PlainReader::new(bytes).number(), Ok(Some(5)));
    assert_eq!(plain.encode_to_vec(), bytes);
}

#[test]
fn well_known_types_are_shared_unless_they_are_generated() {
    use protozero_types::Timestamp;

    let time = Timestamp { seconds: 7, ..Timestamp::default() };
    let time_of = |bytes: &[u8]| {
        let shared = Everything::decode(bytes).unwrap().when;
        let compact = crate::compact::kitchen::two::Everything::decode(bytes).unwrap().clone().when;
        let alone = crate::alone::kitchen::two::Everything::decode(bytes).unwrap().when;
        let alone: Option<crate::alone::google::protobuf::Timestamp> = alone;
        (shared, compact, alone.map(|time| time.seconds))
    };
    let message = Everything { when: Some(time.clone()), ..Everything::default() };
    assert_eq!(time_of(&message.encode_to_vec()), (Some(time.clone()), Some(time), Some(7)));
}

#[test]
fn messages_know_their_names() {
    // Without descriptors, and with them.
    assert_eq!(Plain::FULL_NAME, "kitchen.three.Plain");
    assert!(Plain::SCHEMA.is_none());
    let described = crate::descriptor::kitchen::three::Plain::SCHEMA.unwrap();
    assert_eq!(described.name, Plain::FULL_NAME);
}

#[test]
fn editions_mean_what_they_say() {
    let mut buffer = [0; 64];
    let mut stream = FixedSink::stream(&mut buffer);
    let mut writer = ChosenWriter::from_scope(stream.root());
    writer.delimited().implicit(1);
    writer.framed().implicit(2);
    writer.packed([1, 2]);
    drop(writer);
    let bytes = stream.finish().unwrap();
    assert_eq!(bytes, [0x4b, 8, 1, 0x4c, 0x42, 2, 8, 2, 0x32, 2, 1, 2]);
    let chosen = Chosen::decode(bytes).unwrap();
    assert_eq!(chosen.delimited.as_ref().map(|d| d.implicit), Some(1));
    // Number 9 is no light: it stays, but not as one.
    let closed = Chosen::decode(&[0x60, 9]).unwrap();
    assert_eq!((closed.closed, closed.encode_to_vec().as_slice()), (None, &[0x60, 9][..]));
    assert!(Lights::CLOSED && !edition::Open::CLOSED);
    assert_eq!(Lights::from_name("RED"), Some(Lights::Red));
    // Text that is not UTF-8 is refused only where the schema says so.
    assert!(Chosen::decode(&[0x22, 1, 0xff]).is_err());
    assert!(Chosen::decode(&[0x2a, 1, 0xff]).is_ok());
    let added = Chosen::decode(&[0xa0, 6, 3]).unwrap();
    assert_eq!(added.extension(&edition::ADDED), Ok(Some(3)));
}

#[test]
fn edition_2024_has_local_types_and_imports_of_options() {
    use crate::all::kitchen::edition2024::{InnerRack, Oven, Oven_Door, Oven_Mode};
    let oven = Oven {
        degrees: Some(200),
        light: Some(Lights::Red),
        rack: Some(InnerRack { local: vec![1, 2], ..Default::default() }),
        mode: Oven_Mode::Grill,
        door: Some(Oven_Door { open: Some(true), ..Default::default() }),
        ..Default::default()
    };
    let bytes = oven.encode_to_vec();
    let expected = b"\x08\xc8\x01\x10\x06\x1b\x12\x02\x01\x02\x1c\x20\x01\x2a\x02\x08\x01";
    assert_eq!(bytes, expected);
    assert_eq!(Oven::decode(&bytes), Ok(oven));
}

#[test]
fn defaults_and_groups_of_proto2() {
    let mut all = Everything::default();
    assert_eq!(all.a_string_or_default(), "it's\t\"here\"");
    assert_eq!(all.a_bytes_or_default(), b"\xff\0x");
    assert_eq!(all.a_taste_or_default(), Taste::Acid);
    all.choice = Some(Everything_ChoiceOneof::Chosen(Default::default()));
    all.by_number.insert(-1, Plain_Shade(9));
    assert_eq!(Everything::decode(&all.encode_to_vec()), Ok(all));
}

#[test]
fn names_are_made_possible() {
    let mut buffer = [0; 64];
    let mut stream = FixedSink::stream(&mut buffer);
    OptionWriter::from_scope(stream.root()).r#type(1).self_(2).r#async(3);
    assert_eq!(stream.finish().unwrap(), [8, 1, 16, 2, 40, 3]);
}

/// The paths are prost's, and every field is named in the literal.
#[test]
fn code_that_used_prost_finds_its_names() {
    use crate::like_prost::kitchen::three::{Plain, plain};
    let old = Plain {
        number: 5,
        maybe: None,
        text: "hi".into(),
        blob: vec![1],
        shade: plain::Shade::Dark,
        inner: None,
        reals: vec![0.5],
        flags: vec![true],
        shades: vec![plain::Shade::None],
        inners: [(1, Plain::default())].into(),
        any: None,
        json: None,
        boxed: None,
        pick: Some(plain::Pick::Tone(plain::Shade::Dark)),
    };
    assert_eq!(Plain::decode(&old.encode_to_vec()), Ok(old));
}

#[test]
fn unknown_fields_are_dropped_where_it_was_asked_for() {
    use crate::{all, like_prost};
    use protozero::MessageView;
    // A field with a number that the schema does not have.
    let bytes = b"\x08\x05\xa0\x1f\x01";
    let kept = all::kitchen::three::Plain::decode(bytes).unwrap();
    assert_eq!(kept.encode_to_vec(), bytes);
    let dropped = like_prost::kitchen::three::Plain::decode(bytes).unwrap();
    assert_eq!(dropped.encode_to_vec(), b"\x08\x05");
    // 9 is no value of the closed enum.
    let bytes = b"\x0a\x02\x05\x09\x10\x09\x10\x06";
    let kept = all::kitchen::edition::Lamps::decode(bytes).unwrap();
    assert_eq!(kept.unknown_fields.iter().count(), 2);
    let dropped = like_prost::kitchen::edition::Lamps::decode(bytes).unwrap();
    assert_eq!(dropped.encode_to_vec(), b"\x0a\x01\x05\x10\x06");
    // The entry of such a number goes as a whole. A text that is not UTF-8 would be lost, so it is refused.
    let bytes = b"\x12\x05\x0a\x01k\x10\x63\x12\x05\x0a\x01l\x10\x01";
    let kept = all::kitchen::two::Notes::decode(bytes).unwrap();
    assert_eq!(kept.unknown_fields.iter().count(), 1);
    let dropped = like_prost::kitchen::two::Notes::decode(bytes).unwrap();
    assert_eq!(dropped.by_name, [("l".to_owned(), like_prost::kitchen::two::Dough::Rye)].into());
    for bytes in [&b"\x0a\x01\xff"[..], b"\x12\x05\x0a\x01\xff\x10\x01", b"\x1a\x01\xff"] {
        let kept = all::kitchen::two::Notes::decode(bytes).unwrap();
        assert_eq!(kept.encode_to_vec(), bytes);
        assert!(like_prost::kitchen::two::Notes::decode(bytes).is_err());
        assert!(crate::view::kitchen::two::NotesBorrowed::decode(bytes).is_err());
    }
    // A message with extensions keeps them.
    let bytes = b"\xa0\x06\x07";
    let kept = like_prost::kitchen::edition::Chosen::decode(bytes).unwrap();
    assert_eq!(kept.encode_to_vec(), bytes);
}

/// A compact message with fields of messages that are not: one drops unknown fields, the other keeps them.
#[test]
fn compact_messages_have_fields_of_others() {
    use crate::compact_mixed::kitchen::three::Plain;
    use crate::compact_mixed::kitchen::two::{Everything, Everything_Corner};
    let inner = Plain { text: "inner".into(), ..Plain::default() };
    let plain = Plain { number: 5, inners: [(7, inner)].into(), ..Plain::default() };
    let corner = Everything_Corner { depth: Some(1), ..Everything_Corner::default() };
    let corner = Everything_Corner { more: vec![corner.clone()], ..corner };
    let all = Everything { plain: Some(plain), corner: Some(corner), ..Everything::default() };
    assert_eq!(Everything::decode(&all.encode_to_vec()).as_ref(), Ok(&all));
    assert_eq!(all.clone(), all);
    // Number 500 in the compact message, and in the one that is not.
    let read = Everything::decode(b"\xa0\x1f\x01\xb2\x02\x05\x08\x05\xa0\x1f\x01").unwrap();
    assert_eq!(read.encode_to_vec(), b"\xb2\x02\x02\x08\x05\xa0\x1f\x01");
}

#[test]
fn services_know_who_streams() {
    let flags = crate::all::kitchen::two::Kitchen::METHODS.map_flags();
    assert_eq!(flags, [("Cook", false, false), ("Sample", true, true)]);
}

trait Flags {
    fn map_flags(&self) -> Vec<(&'static str, bool, bool)>;
}

impl Flags for [protozero::rt::MethodInfo] {
    fn map_flags(&self) -> Vec<(&'static str, bool, bool)> {
        self.iter().map(|m| (m.name, m.client_streaming, m.streaming)).collect()
    }
}

#[test]
fn names_that_generated_code_needs_are_nobodys() {
    use crate::all::awkward::{AT, Awkward, Box___, Constants, FnOnce, IntoIterator, OF};
    use protozero_types::Timestamp;
    let names = Awkward::default();
    assert_eq!(names.unknown_fields_or_default(), 5);
    assert_eq!((names.a_or_default(), names.a_or_default_or_default()), (1, 2));
    assert_eq!(names.constant_or_default(), Constants::Name);
    let floats = FnOnce::default();
    assert_eq!(floats.huge_or_default(), f32::INFINITY);
    assert_eq!(floats.low_or_default(), f32::NEG_INFINITY);
    assert!(floats.nan_or_default().is_nan());
    assert_eq!(floats.third_or_default().to_bits(), 0.1f32.to_bits());
    let mut names = Awkward::default();
    names.set_extension(&AT, &Timestamp { seconds: 7, ..Timestamp::default() });
    let read = Awkward::decode(&names.encode_to_vec()).unwrap();
    assert_eq!(read.extension(&AT).unwrap().map(|at| at.seconds), Some(7));
    assert_eq!(read.extension(&OF), Ok(None));
    let _ = (Box___::ALL, IntoIterator::default());
}

/// Of fields that have other names in Rust, and of members whose variants do not say their names.
#[test]
fn errors_have_the_names_of_the_schema() {
    use crate::owned::kitchen::names::Option_;
    use crate::view::kitchen::names::OptionBorrowed;
    use protozero::MessageView;
    // A number, a string in a oneof with the variant `Ok`, and one that another spelling has.
    for (bytes, name) in
        [(&b"\x10\x80"[..], "self"), (b"\xd2\x02\x05", "Ok"), (b"\xda\x02\x05", "ok_")]
    {
        let path = format!("kitchen.names.Option.{name}");
        assert_eq!(<Option_ as Message>::decode(bytes).unwrap_err().path(), path);
        assert_eq!(OptionBorrowed::decode(bytes).unwrap_err().path(), path);
    }
}

/// What lies in an area that is off is kept, and can be written encoded.
#[test]
fn areas_can_be_left_out() {
    use crate::all::areas::{Mixed, Near, Near_MixedOneof, NearWriter};
    let mut buffer = [0; 64];
    let mut stream = FixedSink::stream(&mut buffer);
    let mut writer = NearWriter::from_scope(stream.root());
    writer.own(1).single_raw(&[8, 1]).by_number_raw(&[8, 1, 18, 0]).number(3);
    drop(writer);
    let bytes = stream.finish().unwrap();
    let near = Near::decode(bytes).unwrap();
    assert_eq!((near.own, near.mixed.clone()), (Some(1), Some(Near_MixedOneof::Number(3))));
    assert_eq!(near.unknown_fields.as_bytes().is_empty(), cfg!(feature = "lib"));
    assert_eq!(near.encoded_len(), bytes.len());
    assert_eq!(Near::decode(&near.encode_to_vec()), Ok(near));
    assert_eq!(Mixed::METHODS.len(), 4);
    assert_eq!(Mixed::Request::decode(1, &[]).is_ok(), cfg!(feature = "lib"));
    assert_eq!(Mixed::Request::decode(3, &[]).unwrap().method_id(), 3);
    assert_eq!(Mixed::Request::decode(4, &[]).is_ok(), cfg!(all(feature = "lib", feature = "far")));
}

/// `Build::serde()` is all that it takes, and `generate_well_known` for a schema that imports well-known types.
#[test]
fn messages_are_what_serde_reads_and_writes() {
    use crate::serde::kitchen::three::Plain_Shade;
    use crate::serde::kitchen::two::{Everything, Everything_ChoiceOneof};
    let text = r#"{"an_int32":-1,"texts":["a"],"by_number":{"-7":1},"choice":{"Number":5}}"#;
    let read: Everything = serde_json::from_str(text).unwrap();
    let made = Everything {
        an_int32: Some(-1),
        texts: vec!["a".into()],
        by_number: [(-7, Plain_Shade::Dark)].into(),
        choice: Some(Everything_ChoiceOneof::Number(5)),
        ..Everything::default()
    };
    assert_eq!(read, made);
    let again = serde_json::to_string(&made).unwrap();
    assert_eq!(serde_json::from_str::<Everything>(&again).unwrap(), made);
    // What the schema does not have stays on the wire alone.
    assert!(!again.contains("unknown_fields"), "{again}");
}
