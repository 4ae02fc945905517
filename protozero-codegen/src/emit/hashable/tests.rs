//! Types of prost that an option asks for.

use crate::{ApiKinds, Config, Source, generate};

const SCHEMA: &str = r#"syntax = "proto3";
package p;
import "google/protobuf/empty.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
message Plain { string id = 1; google.protobuf.Timestamp at = 2; Plain again = 3; }
message Float { double x = 1; }
message Around { repeated Float all = 1; Plain plain = 2; }
message Deep { map<string, Around> all = 1; }
message Any { google.protobuf.Value value = 1; }
message Mapped { map<string, Plain> all = 1; }
message Pick { oneof one { string a = 1; Plain b = 2; } oneof two { string c = 3; float d = 4; } }
message Nothing { google.protobuf.Empty e = 1; repeated google.protobuf.Empty es = 2; }
message Wrapped { google.protobuf.StringValue s = 1; repeated google.protobuf.UInt64Value us = 2;
  map<int32, google.protobuf.BytesValue> bs = 3; oneof o { google.protobuf.FloatValue f = 4; } }
"#;

fn text(config: Config) -> String {
    let sources = vec![Source { path: "p.proto".into(), text: SCHEMA.into() }];
    let config = Config { sources, api_kinds: ApiKinds::OWNED, ..config };
    generate(&config).unwrap().swap_remove(0).text
}

/// The types that derive `Eq` and `Hash`.
fn hashable(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut derives = false;
    for line in text.lines() {
        if line.starts_with("#[derive(") {
            derives = line.contains("PartialEq, Eq, Hash, ");
            assert_eq!(derives, line.contains("Hash"), "{line}");
        }
        let name = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
        if let Some(name) = name.filter(|_| derives) {
            names.push(name.trim_end_matches(" {"));
        }
    }
    names
}

#[test]
fn messages_that_can_derive_eq_and_hash() {
    let of = |names: &[&str], hash_map: &[&str]| {
        let list = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
        let (eq_and_hash, hash_map) = (list(names), list(hash_map));
        text(Config { eq_and_hash, hash_map, ..Config::default() })
    };
    assert!(hashable(&of(&[], &[])).is_empty());
    assert_eq!(hashable(&of(&["."], &[])), ["Plain", "Mapped", "Pick_OneOneof", "Nothing"]);
    assert_eq!(hashable(&of(&["p.Pick", "p.Float"], &[])), [""; 0], "Plain is not asked for");
    assert_eq!(hashable(&of(&["p.Pick", "p.Plain"], &[])), ["Plain", "Pick_OneOneof"]);
    let maps = of(&["."], &["p.Mapped.all"]);
    assert_eq!(hashable(&maps), ["Plain", "Pick_OneOneof", "Nothing"]);
    assert!(maps.contains("pub all: ::std::collections::HashMap<String, Plain>,"), "{maps}");
    assert!(maps.contains("pub all: rt::heap::BTreeMap<String, Around>,"), "{maps}");
    // What another crate has is not known, but for the well-known types.
    let externs = vec![("google/protobuf/timestamp".into(), "::other".into())];
    let eq_and_hash = vec![".".into()];
    let other = text(Config { externs, eq_and_hash, ..Config::default() });
    assert_eq!(hashable(&other), ["Nothing"]);
}

/// A name without a dot in front matches nothing inside the message. Its oneofs need both nevertheless, or the message
/// would not compile.
#[test]
fn a_message_that_prost_names_has_them_with_its_oneofs() {
    let eq_and_hash = ["Pick", "p.Plain", "Nothing"].map(String::from).into();
    let named = text(Config { eq_and_hash, prost_names: true, ..Config::default() });
    assert_eq!(hashable(&named), ["Plain", "Pick_OneOneof", "Nothing"]);
    let schema =
        "syntax = \"proto3\"; package shop; message Order { oneof paid { string card = 1; } }";
    let sources = vec![Source { path: "p.proto".into(), text: schema.into() }];
    let eq_and_hash = vec!["shop.Order".into()];
    let config = Config { sources, api_kinds: ApiKinds::OWNED, eq_and_hash, ..Config::default() };
    for prost_names in [false, true] {
        let text = generate(&Config { prost_names, ..config.clone() }).unwrap().swap_remove(0).text;
        assert_eq!(hashable(&text), ["Order", "Order_PaidOneof"], "{prost_names}");
    }
}

#[test]
fn names_must_exist() {
    let sources = vec![Source { path: "p.proto".into(), text: SCHEMA.into() }];
    let wrong = |config: Config| generate(&config).unwrap_err().to_string();
    let none = || vec!["p.None".to_owned()];
    let error =
        wrong(Config { sources: sources.clone(), eq_and_hash: none(), ..Config::default() });
    assert!(error.ends_with("has this name, to derive Eq and Hash for"), "{error}");
    let error = wrong(Config { sources: sources.clone(), boxed: none(), ..Config::default() });
    assert!(error.ends_with("has this name, to hold in a Box"), "{error}");
    let error = wrong(Config { sources, hash_map: none(), ..Config::default() });
    assert!(error.ends_with("has this name, to hold as a HashMap"), "{error}");
}

#[test]
fn messages_can_be_in_a_box() {
    let (boxed, plain_types) = (vec![".".to_owned()], true);
    let all = text(Config { boxed, plain_types, ..Config::default() });
    for part in [
        "pub plain: Option<Box<Plain>>,",
        "optional plain = 2 as Nested(Box<Plain>);",
        "repeated all = 1 as Nested(Float);",
        "map all = 1 as Utf8, Nested(Around);",
        "    B(Box<Plain>),",
        "B = 2 as Nested(Box<Plain>);",
        "pub e: Option<()>,",
        "pub s: Option<String>,",
        "    F(f32),",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let boxed = vec!["p.Pick.b".to_owned()];
    let one = text(Config { boxed, ..Config::default() });
    assert!(
        one.contains("    B(Box<Plain>),") && one.contains("pub plain: Option<Plain>,"),
        "{one}"
    );
    // A member of a oneof, as prost names it.
    let boxed = vec!["p.Pick.one.b".to_owned()];
    let like_prost = text(Config { boxed, prost_names: true, ..Config::default() });
    assert!(like_prost.contains("    B(Box<Plain>),"), "{like_prost}");
}

#[test]
fn well_known_types_can_be_plain_ones() {
    let unit = text(Config { plain_types: true, ..Config::default() });
    assert!(unit.contains("pub e: Option<()>,") && unit.contains("pub es: Vec<()>,"), "{unit}");
    assert!(unit.contains("optional e = 1 as Nested(());"), "{unit}");
    for part in [
        "pub s: Option<String>,",
        "pub us: Vec<u64>,",
        "pub bs: rt::heap::BTreeMap<i32, Vec<u8>>,",
        "    F(f32),",
        "optional s = 1 as Wrapped(rt::owned::Utf8);",
        "repeated us = 2 as Wrapped(rt::owned::Uint64);",
        "map bs = 3 as Int32, Wrapped(rt::owned::Bytes);",
        "F = 4 as Wrapped(rt::owned::Float);",
    ] {
        assert!(unit.contains(part), "{part}: {unit}");
    }
    let plain = text(Config { plain_types: true, compact: true, ..Config::default() });
    assert!(
        plain.contains("pub e: Option<::protozero_types::google::protobuf::Empty>,"),
        "{plain}"
    );
}
