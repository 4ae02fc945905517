//! The methods of prost, by the text of the code. The package `coming` of the tests calls them.

use std::path::Path;

use super::OF_MESSAGES;
use crate::{ApiKinds, Config, Source, generate};

const SCHEMA: &str = r#"syntax = "proto2";
package p;
enum Kind { NONE = 0; LIMIT = 1; }
message All {
  optional Kind kind = 1;
  required Kind type = 2;
  repeated Kind kinds = 3;
  optional Kind chosen = 4 [default = LIMIT];
  optional string note = 5;
  optional bytes raw = 6;
  optional int32 count = 7 [default = 7];
  optional string text = 8 [default = "t"];
  map<string, Kind> by_name = 9;
  map<uint64, Kind> by_id = 10;
  repeated string notes = 11;
  optional All inner = 12;
  oneof one { Kind in_one = 13; string other = 14; }
}
message Taken {
  optional Kind kind = 1;
  optional string set_kind = 2;
  optional int32 text_or_default = 3;
  optional string text = 4 [default = "t"];
  optional string clone = 5;
  optional bool clear = 6;
  optional uint32 encoded_len = 7;
  optional Kind encode = 8;
  optional string message_type = 9;
  optional Kind extension = 10;
}
"#;

fn text(prost_names: bool) -> String {
    let sources = vec![Source { path: "p.proto".into(), text: SCHEMA.into() }];
    let api_kinds = ApiKinds { view: true, ..ApiKinds::OWNED };
    let config = Config { sources, api_kinds, prost_names, ..Config::default() };
    generate(&config).unwrap().swap_remove(0).text
}

/// The signatures of all methods in `text`.
fn methods(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.split_once("pub fn "));
    lines.map(|(_, line)| line.split(" {").next().unwrap_or_default()).collect()
}

#[test]
fn only_with_the_names_of_prost() {
    let getters = methods(&text(false)).iter().filter(|m| !m.contains("_or_default")).count();
    assert_eq!(getters, 0);
}

#[test]
fn fields_of_each_kind() {
    let text = text(true);
    let (all, rest) = text.split_once("pub struct Taken").unwrap();
    let (owned, _) = all.split_once("pub struct AllBorrowed").unwrap();
    let expected = [
        "chosen_or_default(&self) -> Kind",
        "count_or_default(&self) -> i32",
        "text_or_default(&self) -> &str",
        "kind(&self) -> Kind",
        "r#type(&self) -> Kind",
        "kinds(&self) -> impl Iterator<Item = Kind> + '_",
        "chosen(&self) -> Kind",
        "note(&self) -> &str",
        "raw(&self) -> &[u8]",
        "count(&self) -> i32",
        "text(&self) -> &str",
        "get_by_name(&self, key: &str) -> Option<Kind>",
        "get_by_id(&self, key: u64) -> Option<Kind>",
        "set_kind(&mut self, value: Kind)",
        "set_type(&mut self, value: Kind)",
        "push_kinds(&mut self, value: Kind)",
        "set_chosen(&mut self, value: Kind)",
        "insert_by_name(&mut self, key: String, value: Kind) -> Option<Kind>",
        "insert_by_id(&mut self, key: u64, value: Kind) -> Option<Kind>",
    ];
    assert_eq!(methods(owned), expected);
    for body in [
        "self.kind.and_then(rt::known).unwrap_or_default()",
        "self.chosen.and_then(rt::known).unwrap_or(Kind::Limit)",
        "self.count.unwrap_or(7)",
    ] {
        assert!(owned.contains(body), "{body}: {owned}");
    }
    // A name is there once, and none is that of a trait's method.
    let (taken, _) = rest.split_once("pub struct TakenBorrowed").unwrap();
    let expected = [
        "text_or_default(&self) -> &str",
        "kind(&self) -> Kind",
        "set_kind(&self) -> &str",
        "text(&self) -> &str",
        "set_encode(&mut self, value: Kind)",
    ];
    assert_eq!(methods(taken), expected);
}

/// The functions of all traits of messages, from their source.
#[test]
fn no_trait_has_a_function_that_the_list_lacks() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protozero/src");
    let mut count = 0;
    for (file, item) in [
        ("message.rs", "pub trait Message:"),
        ("message.rs", "pub trait MessageView<"),
        // What both have.
        ("message.rs", "macro_rules! encoding "),
        ("owned/mod.rs", "pub trait Encode:"),
        ("owned/mod.rs", "pub trait Merge<"),
        ("named.rs", "pub trait Named "),
        ("reflect/mod.rs", "pub trait Reflect "),
        ("extension.rs", "pub trait Extendable:"),
    ] {
        let text = std::fs::read_to_string(sources.join(file)).unwrap();
        let (_, body) = text.split_once(&format!("\n{item}")).expect(item);
        let (body, _) = body.split_once("\n}").unwrap();
        for line in body.lines() {
            let Some(rest) = line.trim_start().strip_prefix("fn ") else { continue };
            let name = rest.split(['(', '<']).next().unwrap();
            assert!(OF_MESSAGES.contains(&name), "{item} has {name}");
            count += 1;
        }
    }
    assert!(count > 35, "{count}");
}
