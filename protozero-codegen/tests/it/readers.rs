//! Generated readers of groups, maps, oneofs and extensions: by name, as a table, and field by field. The results must
//! equal the owned message that was encoded.

use std::collections::BTreeMap;

use protozero::extension::Extendable;
use protozero::{Message, ReadError};
use protozero_codegen::{ApiKinds, Config, Source, generate};

use crate::golden::cases::Level;
use crate::golden::cases::ext::{
    Base, Base_Part, Base_Part_Screw, Base_PickOneof, BaseReader, BaseReaderField, LONE_ONES,
    PACKED_ONES, PRIORITY, Scope, Shade, TAGS,
};
use crate::golden::cases::three::{Three, ThreeReader};

fn base() -> Base {
    let screw = |size| Base_Part_Screw { size: Some(size), ..Base_Part_Screw::default() };
    let child = |id| Base { id: Some(id), ..Base::default() };
    let mut base = Base {
        id: Some(-5),
        name: Some("n".into()),
        part: Some(Base_Part {
            weight: Some(7),
            screw: vec![screw(3), screw(4)],
            ..Base_Part::default()
        }),
        shades: vec![Shade::Dark, Shade::Light],
        by_name: [("a".to_owned(), Level(1)), (String::new(), Level(0))].into(),
        children: [(0, child(1)), (300, child(2))].into(),
        pick: Some(Base_PickOneof::Other(Box::new(child(9)))),
        ..Base::default()
    };
    base.set_extension(&PRIORITY, &70_000);
    base.set_extension(&PACKED_ONES, &[1, -1, 300]);
    base.set_extension(&LONE_ONES, &[2, -2]);
    base.set_extension(&TAGS, &["x".to_owned(), "y".to_owned()]);
    base.set_extension(&Scope::INNER, &Scope { value: Some(8), ..Scope::default() });
    base
}

#[test]
fn groups_and_maps() -> Result<(), ReadError> {
    let base = base();
    let bytes = base.encode_to_vec();
    let reader = BaseReader::new(&bytes);
    let table = reader.table()?;
    for part in [reader.part()?, table.part] {
        let part = part.expect("a group").table()?;
        let sizes: Result<Vec<_>, _> = part.screw.iter().map(|screw| screw?.size()).collect();
        assert_eq!((part.weight, sizes?), (Some(7), vec![Some(3), Some(4)]));
    }
    for by_name in [reader.by_name(), table.by_name] {
        let mut map = BTreeMap::new();
        for entry in by_name {
            let entry = entry?.table()?;
            // A key or value that an entry lacks has its default.
            map.insert(entry.key.unwrap_or_default().to_owned(), entry.value.unwrap_or_default());
        }
        assert_eq!(map, base.by_name);
    }
    let mut children = BTreeMap::new();
    for entry in reader.children() {
        let (key, value) = (entry?.key()?, entry?.value()?.expect("it was written"));
        children.insert(key.unwrap_or_default(), Base::decode(value.bytes())?);
    }
    assert_eq!(children, base.children);
    Ok(())
}

#[test]
fn oneofs_have_the_last_member() -> Result<(), ReadError> {
    let bytes = base().encode_to_vec();
    let reader = BaseReader::new(&bytes);
    let other = reader.other()?.expect("the member that is set");
    assert_eq!((other.id()?, reader.of()?), (Some(9), None));
    // A group of the same oneof, after it.
    let bytes = [&bytes[..], b"\x4b\x08\x01\x4c"].concat();
    let reader = BaseReader::new(&bytes);
    assert_eq!(reader.choice()?.expect("a group").yes()?, Some(true));
    assert!(matches!(reader.table()?.pick, Some(BaseReaderField::Choice(_))));
    assert!(
        reader.other()?.is_none() && matches!(reader.pick()?, Some(BaseReaderField::Choice(_)))
    );
    Ok(())
}

#[test]
fn extensions_are_among_the_unknown_fields() -> Result<(), ReadError> {
    let base = base();
    let bytes = base.encode_to_vec();
    let reader = BaseReader::new(&bytes);
    let unknown: Vec<_> = reader.unknown_fields().iter().collect::<Result<_, _>>()?;
    assert_eq!(PRIORITY.read(unknown.iter().copied())?, Some(70_000));
    assert_eq!(PACKED_ONES.read(unknown.iter().copied())?, [1, -1, 300]);
    assert_eq!(LONE_ONES.read(unknown.iter().copied())?, [2, -2]);
    assert_eq!(TAGS.read(unknown.iter().copied())?, ["x", "y"]);
    let inner = Scope::INNER.read(reader.table()?.unknown_fields.iter().flatten())?;
    assert_eq!(inner.and_then(|scope| scope.value), Some(8));
    // Copied verbatim, so it is the same message.
    let raw: Vec<u8> = unknown.iter().flat_map(|field| field.raw).copied().collect();
    assert_eq!(raw, base.unknown_fields.as_bytes());
    Ok(())
}

#[test]
fn what_is_absent_without_presence_is_none() -> Result<(), ReadError> {
    let three = Three { numbers: vec![0, 1, 2], ..Three::default() };
    let bytes = three.encode_to_vec();
    let table = ThreeReader::new(&bytes).table()?;
    assert_eq!((table.number, table.text, table.yes), (None, None, None));
    assert_eq!(table.numbers.iter().collect::<Result<Vec<_>, _>>()?, three.numbers);
    assert!(table.inner.is_none() && table.pick.is_none() && table.threes.iter().next().is_none());
    Ok(())
}

#[test]
fn unchecked_text_is_a_setting() {
    let source = "syntax = \"proto3\"; message Note { string text = 1; repeated string tags = 2; }";
    let run = |lazy_utf8| {
        let sources = vec![Source { path: "note.proto".into(), text: source.into() }];
        let api_kinds = ApiKinds { reader: true, ..ApiKinds::default() };
        let config = Config { sources, api_kinds, lazy_utf8, ..Config::default() };
        generate(&config).unwrap().remove(0).text
    };
    assert!(run(false).contains("Text(&'a str) text = 10 as String;"));
    assert!(run(true).contains("Text(rt::Text<'a>) text = 10 as String;"));
    assert!(run(true).contains("Tags(rt::Text<'a>) tags = 18 as String;"));
}

#[test]
fn messages_can_be_shared() {
    let run = |name: &str| {
        let text =
            "syntax = \"proto3\"; message Note { Note next = 1; repeated Note all = 2; int32 n = 3;
            oneof of { Note one = 4; } }";
        let sources = vec![Source { path: "note.proto".into(), text: text.into() }];
        let api_kinds = ApiKinds { owned: true, ..ApiKinds::default() };
        generate(&Config { sources, api_kinds, shared: vec![name.into()], ..Config::default() })
    };
    let text = run("Note.next").unwrap().remove(0).text;
    for part in ["pub next: Option<Arc<Note>>", "next = 1 as Nested(Arc<Note>)", "Box<Note>"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for wrong in ["Note.all", "Note.n", "Note.one", "Note", "Other.next"] {
        let error = run(wrong).unwrap_err().to_string();
        assert!(error.contains("to share: a field with one message"), "{error}");
    }
}

#[test]
fn a_message_that_drops_fields_says_so() {
    let run = |names: &[&str]| {
        let text = "syntax = \"proto3\"; /* A note. */ message Note { int32 n = 1; }";
        let sources = vec![Source { path: "note.proto".into(), text: text.into() }];
        let api_kinds = ApiKinds { owned: true, ..ApiKinds::default() };
        let drop_unknown_fields = names.iter().map(|name| (*name).into()).collect();
        let config = Config { sources, api_kinds, drop_unknown_fields, ..Config::default() };
        generate(&config).unwrap().remove(0).text
    };
    assert!(run(&["."]).contains("/// Decoding drops unknown fields"));
    assert!(!run(&[]).contains("drops"));
}

/// Such a message has no place for the text, nor for the number that a map's entry has.
#[test]
fn a_message_that_drops_fields_refuses_text_that_is_not_utf8() {
    let run = |names: &[&str], open_enums| {
        let text = "syntax = \"proto2\"; enum E { A = 0; } \
            message Note { optional string s = 1; map<string, E> m = 2; oneof o { string t = 3; } } \
            message Open { optional string s = 1; extensions 100; }";
        let sources = vec![Source { path: "note.proto".into(), text: text.into() }];
        let api_kinds = ApiKinds { view: true, ..ApiKinds::OWNED };
        let drop_unknown_fields = names.iter().map(|name| (*name).into()).collect();
        let config =
            Config { sources, api_kinds, drop_unknown_fields, open_enums, ..Config::default() };
        generate(&config).unwrap().remove(0).text
    };
    let (kept, dropped) = (run(&[], false), run(&["."], false));
    for (unchecked, checked) in [
        ("optional s = 1 as Text;", "optional s = 1 as Utf8;"),
        ("map m = 2 as Text, Enum(E);", "map m = 2 as Utf8, Enum(E);"),
        ("T = 3 as Text;", "T = 3 as Utf8;"),
        ("optional s = 1 as TextView(&'a str);", "optional s = 1 as Utf8View(&'a str);"),
        ("map m = 2 as TextView(&'a str), Enum(E);", "map m = 2 as Utf8View(&'a str), Enum(E);"),
    ] {
        assert!(kept.contains(unchecked) && !kept.contains(checked), "{unchecked}: {kept}");
        assert!(dropped.contains(checked), "{checked}: {dropped}");
    }
    // A message with extensions keeps the text as an unknown field.
    assert_eq!(dropped.matches("optional s = 1 as Text;").count(), 1, "{dropped}");
    let entries = "numbers that a closed enum does not have, and entries of maps with one.";
    assert!(dropped.contains(entries) && !run(&["."], true).contains(entries), "{dropped}");
}

#[test]
fn a_service_and_a_method_can_be_deprecated() {
    let text = "syntax = \"proto3\"; message A {} \
        service Old { option deprecated = true; rpc One(A) returns (A); } \
        service New { rpc One(A) returns (A); rpc Two(A) returns (A) { option deprecated = true; } }";
    let sources = vec![Source { path: "s.proto".into(), text: text.into() }];
    let config = Config { sources, api_kinds: ApiKinds::ALL, ..Config::default() };
    let text = generate(&config).unwrap().remove(0).text;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // The module of the service, and the method of both traits.
    assert_eq!(text.matches("#[deprecated] pub mod Old {").count(), 1, "{text}");
    assert_eq!(text.matches("#[deprecated]").count(), 3, "{text}");
    assert!(text.contains("#[deprecated] fn two(&mut self, call: Self::Call"), "{text}");
}

/// The items of a message set are no fields with the numbers of the extensions.
#[test]
fn extensions_of_a_message_set_have_no_constants() {
    let text = "syntax = \"proto2\"; \
        message Set { option message_set_wire_format = true; extensions 4 to max; } \
        message Base { extensions 4 to max; } \
        message Item { extend Set { optional Item in_set = 4; } extend Base { optional Item in_base = 4; } } \
        extend Set { optional Item of_set = 5; } extend Base { optional Item of_base = 5; }";
    let sources = vec![Source { path: "set.proto".into(), text: text.into() }];
    let api_kinds = ApiKinds { descriptor: true, ..ApiKinds::OWNED };
    let config = Config { sources, api_kinds, ..Config::default() };
    let text = generate(&config).unwrap().remove(0).text;
    assert!(text.contains("const IN_BASE:") && text.contains("const OF_BASE:"), "{text}");
    assert!(!text.contains("_SET:"), "{text}");
    // Their descriptors are there: dynamic messages know the encoding.
    assert!(text.contains("\"of_set\"") && text.contains(".message_set()"), "{text}");
}

#[test]
fn compact_messages_are_a_setting() {
    let source =
        "syntax = \"proto3\"; message Note { oneof kind { string text = 1; } message In {} }
        message Notes {}";
    let run = |compact, not_compact: &[&str]| {
        let sources = vec![Source { path: "note.proto".into(), text: source.into() }];
        let api_kinds = ApiKinds { owned: true, ..ApiKinds::default() };
        let not_compact = not_compact.iter().map(|name| (*name).into()).collect();
        let config = Config { sources, api_kinds, compact, not_compact, ..Config::default() };
        generate(&config).unwrap().remove(0).text
    };
    let plain = run(false, &[]);
    assert!(plain.contains("rt::owned! { Note;") && plain.contains("rt::oneof!"));
    assert!(!plain.contains("inside_compact"));
    let compact = run(true, &[]);
    assert!(compact.contains("rt::compact! { Note;") && compact.contains("rt::compact_oneof!"));
    // Of one message and those in it, not of another whose name begins like it.
    let mixed = run(true, &["Note"]);
    for part in [
        "rt::owned! { Note;",
        "rt::inside_compact!(Note);",
        "rt::oneof!",
        "rt::owned! { Note_In",
        "rt::compact! { Notes",
    ] {
        assert!(mixed.contains(part), "{part} in {mixed}");
    }
}
