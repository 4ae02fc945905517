//! Views are the messages of the structs that own, and borrow from the input.

use protozero::{Message, MessageView, UnknownFields};
use protozero_types::Timestamp;

use crate::view_owned::kitchen::edition::{Chosen, ChosenBorrowed, Lamps, LampsBorrowed};
use crate::view_owned::kitchen::three::{Plain, Plain_PickOneof, Plain_Shade};
use crate::view_owned::kitchen::two::{
    Everything, Everything_ChoiceBorrowedOneof, Everything_ChoiceOneof, Everything_Corner,
    Everything_Corners, EverythingBorrowed, Taste,
};

fn leaf() -> Everything {
    Everything { a_string: Some("leaf".into()), an_int32: Some(-1), ..Everything::default() }
}

/// A value in each kind of field.
fn everything() -> Everything {
    let mut unknown_fields = UnknownFields::new();
    unknown_fields.push_bytes(500, b"later");
    let corner = Everything_Corner { depth: Some(1), ..Everything_Corner::default() };
    let plain = Plain {
        text: "plain".into(),
        blob: b"blob".to_vec(),
        inners: [(7, Plain { number: 5, ..Plain::default() })].into(),
        pick: Some(Plain_PickOneof::Tone(Plain_Shade::Dark)),
        ..Plain::default()
    };
    Everything {
        a_string: Some("text".into()),
        a_bytes: Some(b"bytes".to_vec()),
        a_taste: Some(Taste::Sweet),
        again: Some(Box::new(leaf())),
        corner: Some(Everything_Corner { more: vec![corner.clone()], ..corner }),
        corners: vec![Everything_Corners { taste: Some(Taste::Odd), ..Default::default() }],
        loose: vec![1, -2],
        dense: vec![3, -4],
        tastes: vec![Taste::Sweet],
        dense_tastes: vec![Taste::Sweet, Taste::Odd],
        texts: vec!["a".into(), "b".into()],
        blobs: vec![b"c".to_vec()],
        all: vec![leaf()],
        by_name: [("name".to_owned(), leaf())].into(),
        by_number: [(-1, Plain_Shade::Dark)].into(),
        by_flag: [(true, b"flag".to_vec())].into(),
        choice: Some(Everything_ChoiceOneof::Text("choice".into())),
        when: Some(Timestamp { seconds: 7, ..Timestamp::default() }),
        plain: Some(plain),
        unknown_fields,
        ..Everything::default()
    }
}

#[test]
fn a_view_borrows() {
    let bytes = everything().encode_to_vec();
    let view = EverythingBorrowed::decode(&bytes).unwrap();
    assert_eq!(view.encode_to_vec(), bytes);
    let plain = view.plain.as_ref().unwrap();
    let Some(Everything_ChoiceBorrowedOneof::Text(choice)) = view.choice else {
        panic!("no text: {:?}", view.choice)
    };
    let (name, named) = view.by_name.iter().next().unwrap();
    let texts = [view.a_string.unwrap(), view.texts[1], plain.text, choice, name];
    assert_eq!(texts, ["text", "b", "plain", "choice", "name"]);
    assert_eq!((view.by_flag[&true], plain.blob), (&b"flag"[..], &b"blob"[..]));
    let all = texts.map(str::as_bytes).into_iter().chain(view.blobs.iter().copied());
    let all = all.chain([view.by_flag[&true], plain.blob, named.a_string.unwrap().as_bytes()]);
    let memory = bytes.as_ptr_range();
    assert!(all.into_iter().all(|part| memory.contains(&part.as_ptr())));
    // What has no text is as in the struct.
    assert_eq!(
        (view.again.unwrap().an_int32, view.when.map(|time| time.seconds)),
        (Some(-1), Some(7))
    );
    assert_eq!(view.unknown_fields, everything().unknown_fields);
}

/// Well-known types that are generated with the schema borrow, too.
#[test]
fn the_payload_of_an_any_is_borrowed() {
    use crate::view_known::kitchen::three::PlainBorrowed;
    let any = protozero_types::Any { value: b"payload".to_vec(), ..Default::default() };
    let bytes = Plain { any: Some(any), ..Plain::default() }.encode_to_vec();
    let payload: &[u8] = PlainBorrowed::decode(&bytes).unwrap().any.unwrap().value;
    assert_eq!(payload, b"payload");
    assert!(bytes.as_ptr_range().contains(&payload.as_ptr()));
}

/// With the fields of the schema in the order of their numbers, and unknown ones where there are some.
#[test]
fn a_view_prints_as_a_struct() {
    let (owned, whole) = (everything(), everything().encode_to_vec());
    let view = EverythingBorrowed::decode(&whole).unwrap();
    let text = |view: &EverythingBorrowed<'_>| format!("{view:?}").replace("Borrowed", "");
    assert_eq!(text(&view), format!("{owned:?}"));
    assert_eq!(text(&EverythingBorrowed::default()), format!("{:?}", Everything::default()));
    assert_eq!(
        format!("{:?}", LampsBorrowed::default()).replace("Borrowed", ""),
        format!("{:?}", Lamps::default())
    );
}

/// The same bytes are the same message, or the same error in the same field.
#[test]
fn a_view_decodes_what_a_struct_decodes() {
    let whole = everything().encode_to_vec();
    for at in 0..whole.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff, whole[at] ^ 1, whole[at] ^ 8] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            let owned = <Everything as Message>::decode(&bytes).map(|all| all.encode_to_vec());
            let view = EverythingBorrowed::decode(&bytes).map(|all| all.encode_to_vec());
            assert_eq!(view, owned, "{byte:#x} at {at}");
        }
    }
}

/// Elements that a closed enum does not have are kept, and text is checked where the schema says so.
#[test]
fn views_follow_the_schema() {
    let bytes = b"\x0a\x02\x05\x09\x10\x09\x10\x06";
    let lamps = LampsBorrowed::decode(bytes).unwrap();
    assert_eq!(lamps.encode_to_vec(), Lamps::decode(bytes).unwrap().encode_to_vec());
    assert_eq!(lamps.unknown_fields.iter().count(), 2);
    let dropped = crate::view::kitchen::edition::LampsBorrowed::decode(bytes).unwrap();
    assert_eq!(dropped.encode_to_vec(), b"\x0a\x01\x05\x10\x06");
    for text in [b"\x22\x01\xff", b"\x2a\x01\xff"] {
        let view = ChosenBorrowed::decode(text).map(|chosen| chosen.encode_to_vec());
        assert_eq!(view, Chosen::decode(text).map(|chosen| chosen.encode_to_vec()));
    }
    let view = EverythingBorrowed::default();
    assert_eq!(
        (view.a_string_or_default(), view.a_taste_or_default()),
        ("it's\t\"here\"", Taste::Acid)
    );
    assert_eq!(view.a_bytes_or_default(), b"\xff\0x");
}
