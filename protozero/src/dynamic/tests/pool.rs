//! The pools of valid sets, and the errors of invalid ones.

use std::format;
use std::string::String;

use super::{EVERYTHING, new, pool, refused};
use crate::dynamic::{Kind, Pool, Value};

/// A file with a message `M` of these fields, and others.
fn message(inside: &str) -> String {
    format!("file {{ name: 'f' message_type {{ name: 'M' {inside} }} }}")
}

#[test]
fn names_and_kinds() {
    let pool = pool(EVERYTHING);
    let all = pool.message("e.All").unwrap();
    assert_eq!((all.full_name(), all.name()), ("e.All", "All"));
    assert_eq!(all.fields().count(), 29);
    let field = all.field("by_id").unwrap();
    assert_eq!((field.number(), field.json_name(), field.is_map()), (42, "byId", true));
    assert!(field.is_repeated() && !field.has_presence());
    let Kind::Message(entry) = field.kind() else { panic!("{field:?}") };
    assert!(entry.is_map_entry());
    assert_eq!(entry.field_by_number(2).unwrap().kind(), Kind::Message(all.clone()));
    let part = all.field("part").unwrap();
    assert!(part.is_delimited() && part.has_presence());
    let oneof = all.field("one_child").unwrap().containing_oneof().unwrap();
    assert_eq!(oneof.fields().map(|f| f.number()).collect::<std::vec::Vec<_>>(), [19, 20]);
    assert_eq!(all.oneofs().next(), Some(oneof));
    let ext = pool.extension("e.ext").unwrap();
    assert_eq!((ext.name(), ext.full_name(), ext.is_extension()), ("ext", "e.ext", true));
    assert_eq!(ext.containing_message(), all);
    assert_eq!(all.field_by_number(100), Some(ext));
    assert_eq!(all.extensions().count(), 2);
    let color = pool.enumeration("e.Color").unwrap();
    assert!(color.is_closed());
    assert_eq!(
        (color.number("BLUE"), color.name_of(-1), color.name_of(1)),
        (Some(7), Some("DARK"), None)
    );
    assert!(pool.message("e.Color").is_none() && pool.message("e").is_none());
}

#[test]
fn defaults() {
    let pool = pool(EVERYTHING);
    let all = pool.message("e.All").unwrap();
    let check = |name: &str, value: Option<Value>| {
        assert_eq!(all.field(name).unwrap().default_value(), value, "{name}");
    };
    check("i32", Some(Value::I32(-7)));
    check("float", Some(Value::F32(f32::NEG_INFINITY)));
    check("blob", Some(Value::Bytes(b"\x01x".to_vec())));
    check("color", Some(Value::Enum(7)));
    check("u64", Some(Value::U64(0)));
    check("child", None);
    check("texts", Some(Value::List([].into())));
}

#[test]
fn syntaxes_and_editions() {
    // Presence, packed, closed enum, checked string, group.
    let facts = |head: &str| {
        let text = format!(
            "file {{ name: 'f' {head} message_type {{ name: 'M'
               field {{ name: 'a' number: 1 type: TYPE_INT32 }}
               field {{ name: 'b' number: 2 type: TYPE_INT32 label: LABEL_REPEATED }}
               field {{ name: 'c' number: 3 type: TYPE_STRING }}
               field {{ name: 'd' number: 4 type: TYPE_MESSAGE type_name: 'M' }} }}
             enum_type {{ name: 'E' value {{ name: 'X' }} }} }}"
        );
        let pool = pool(&text);
        let m = pool.message("M").unwrap();
        let field = |name: &str| m.field(name).unwrap();
        assert!(field("d").has_presence());
        [
            field("a").has_presence(),
            field("a").is_required(),
            field("b").is_packed(),
            pool.enumeration("E").unwrap().is_closed(),
            field("c").data().utf8,
            field("d").is_delimited(),
        ]
    };
    let (no, yes) = (false, true);
    let proto2 = [yes, no, no, yes, no, no];
    assert_eq!(facts(""), proto2);
    assert_eq!(facts("syntax: 'proto2'"), proto2);
    assert_eq!(facts("syntax: 'proto3'"), [no, no, yes, no, yes, no]);
    assert_eq!(facts("syntax: 'editions' edition: 1000"), [yes, no, yes, no, yes, no]);
    let features = |features: &str| {
        facts(&format!("syntax: 'editions' edition: 1000 options {{ features {{ {features} }} }}"))
    };
    assert_eq!(
        features(
            "field_presence: 2 enum_type: 2 repeated_field_encoding: 2 utf8_validation: 3 message_encoding: 2"
        ),
        [no, no, no, yes, no, yes]
    );
    assert_eq!(features("field_presence: 3"), [yes, yes, yes, no, yes, no]);
    assert_eq!(refused("file { name: 'f' syntax: 'proto4' }"), "f: unknown syntax `proto4`");
    assert_eq!(
        refused("file { name: 'f' syntax: 'editions' edition: 7 }"),
        "f: unknown syntax `editions 7`"
    );
}

#[test]
fn proto3_optional_has_presence_and_no_oneof() {
    let pool = pool(
        "file { syntax: 'proto3' message_type { name: 'M' oneof_decl { name: 'real' } oneof_decl { name: '_a' }
           field { name: 'a' number: 1 type: TYPE_INT32 oneof_index: 1 proto3_optional: true }
           field { name: 'b' number: 2 type: TYPE_INT32 oneof_index: 0 } } }",
    );
    let m = pool.message("M").unwrap();
    assert!(m.field("a").unwrap().has_presence());
    assert!(m.field("a").unwrap().containing_oneof().is_none());
    assert_eq!(m.oneofs().map(|o| String::from(o.name())).collect::<std::vec::Vec<_>>(), ["real"]);
}

#[test]
fn names_are_looked_up_from_inner_to_outer_scopes() {
    let pool = pool(
        "file { package: 'a.b' message_type { name: 'M'
           nested_type { name: 'N' field { name: 'x' number: 1 type_name: 'N' } }
           field { name: 'inner' number: 1 type_name: 'N' }
           field { name: 'outer' number: 2 type_name: '.a.b.N' }
           field { name: 'far' number: 3 type_name: 'a.b.M.N' }
           field { name: 'up' number: 4 type_name: 'b.N' } } message_type { name: 'N' } }",
    );
    let m = pool.message("a.b.M").unwrap();
    for (name, full) in
        [("inner", "a.b.M.N"), ("outer", "a.b.N"), ("far", "a.b.M.N"), ("up", "a.b.N")]
    {
        let Kind::Message(found) = m.field(name).unwrap().kind() else { panic!("{name}") };
        assert_eq!(found.full_name(), full);
    }
}

#[test]
fn concatenated_sets_may_repeat_files() {
    let file = message("field { name: 'a' number: 1 type: TYPE_INT32 }");
    let twice = pool(&format!("{file} {file}"));
    assert_eq!(twice.messages().count(), 1);
    assert_eq!(
        refused(&format!("{file} {}", message(""))),
        "f: two different files have this name"
    );
}

#[test]
fn wrong_schemas() {
    let check =
        |inside: &str, why: &str| assert_eq!(refused(&message(inside)), format!("f: {why}"));
    let number = |number: &str, why: &str| {
        check(&format!("field {{ name: 'a' number: {number} type: TYPE_INT32 }}"), why);
    };
    number("0", "M.a: invalid field number 0");
    number("-1", "M.a: invalid field number -1");
    number("19500", "M.a: invalid field number 19500");
    number("536870912", "M.a: invalid field number 536870912");
    let twice = |b: &str| {
        format!("field {{ name: 'a' number: 1 type: TYPE_INT32 }} field {{ {b} type: TYPE_INT32 }}")
    };
    check(&twice("name: 'b' number: 1"), "M.b: another element has the number 1");
    check(&twice("name: 'a' number: 2"), "M.a: another element has this name");
    check("field { name: 'a' number: 1 }", "M.a: wrong type");
    check("field { name: 'a' number: 1 type: 99 }", "M.a: wrong type");
    check("field { name: 'a' number: 1 type_name: 'N' }", "M.a: unknown type `N`");
    check(
        "field { name: 'a' number: 1 type: TYPE_ENUM type_name: 'M' }",
        "M.a: `M` is another kind of element",
    );
    check("field { name: 'a' number: 1 type: TYPE_INT32 label: 9 }", "M.a: wrong label");
    check("field { name: 'a b' number: 1 type: TYPE_INT32 }", "a b: invalid name");
    check("field { number: 1 type: TYPE_INT32 }", "invalid name");
    check(
        "field { name: 'a' number: 1 type: TYPE_INT32 oneof_index: 0 }",
        "M.a: there is no oneof with index 0",
    );
    check(
        "field { name: 'a' number: 1 type: TYPE_INT32 oneof_index: -1 }",
        "M.a: there is no oneof with index -1",
    );
    check(
        "field { name: 'a' number: 1 type: TYPE_INT32 default_value: 'x' }",
        "M.a: default `x` does not fit the type",
    );
    check("enum_type { name: 'E' }", "M.E: an enum needs a value");
    check(
        "enum_type { name: 'E' value { name: 'A' } value { name: 'B' } }",
        "M.E: another element has the number 0",
    );
    check(
        "enum_type { name: 'E' value { name: 'A' } value { name: 'A' } }",
        "M.E.A: another element has this name",
    );
    check(
        "nested_type { name: 'N' } enum_type { name: 'N' value { name: 'A' } }",
        "M.N: another element has this name",
    );
    check("extension_range { start: 5 end: 5 }", "M: number 5 is not reserved for extensions");
    check(
        "extension_range { start: 5 end: 9 } extension_range { start: 8 end: 10 }",
        "M: another element has the number 8",
    );
    let extension = |more: &str| {
        format!(
            "extension_range {{ start: 5 end: 9 }} extension {{ name: 'x' type: TYPE_INT32 {more} }}"
        )
    };
    check(&extension("extendee: 'M' number: 9"), "M.x: number 9 is not reserved for extensions");
    check(&extension("extendee: 'M' number: 4"), "M.x: number 4 is not reserved for extensions");
    check(&extension("extendee: 'N' number: 5"), "M.x: unknown type `N`");
    check(&extension("extendee: 'M.x' number: 5"), "M.x: `M.x` is another kind of element");
    check(&extension("extendee: 'M' number: 5 label: LABEL_REQUIRED"), "M.x: wrong label");
    let entry = |fields: &str| {
        format!(
            "field {{ name: 'a' number: 1 label: LABEL_REPEATED type_name: 'E' }}
            nested_type {{ name: 'E' options {{ map_entry: true }} {fields} }}"
        )
    };
    check(&entry(""), "M.E: invalid message for a map entry");
    check(
        &entry(
            "field { name: 'key' number: 1 type: TYPE_FLOAT } field { name: 'value' number: 2 type: TYPE_INT32 }",
        ),
        "M.E: invalid message for a map entry",
    );
    check(
        "field { name: 'a' number: 1 type_name: 'E' } nested_type { name: 'E' options { map_entry: true } }",
        "M.a: invalid message for a map entry",
    );
    assert_eq!(refused("file { name: 'f' package: 'a..b' }"), "f: invalid name");
    let aliases = "enum_type { name: 'E' value { name: 'A' } value { name: 'B' } options { allow_alias: true } }";
    assert_eq!(pool(&message(aliases)).enumeration("M.E").unwrap().name_of(0), Some("A"));
}

#[test]
fn pools_of_generated_descriptors_work() {
    // `pool` itself parses the schema with a pool of generated descriptors.
    let pool = pool(EVERYTHING);
    let mut message = new(&pool, "e.All");
    message.set("i32", 5).unwrap();
    assert_eq!(message.encode(), b"\x08\x05");
    assert!(
        Pool::from_generated(&[&super::schema::SET])
            .message("google.protobuf.FeatureSet")
            .is_some()
    );
}
