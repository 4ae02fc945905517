//! The descriptors of a struct and of its oneofs are joined.

use std::vec::Vec;

use super::{Part, are_named_alike, check_members, count, joined, member};
use crate::descriptor::{FieldDescriptor, Kind};

const fn field(name: &'static str) -> FieldDescriptor {
    FieldDescriptor::optional(name, 1, Kind::Bool)
}

const MEMBERS: [FieldDescriptor; 2] = [field("card"), field("cash_box")];

#[test]
fn members_are_where_their_oneof_is() {
    let parts =
        [Part::Field(field("id")), Part::Oneof(&MEMBERS, "paid"), Part::Field(field("note"))];
    // One of the five numbers has no member.
    let fields = joined::<5>(&parts);
    let found: Vec<_> = fields.iter().map(|field| (field.name, field.oneof)).collect();
    let of = Some("paid");
    assert_eq!(found, [("id", None), ("card", of), ("cash_box", of), ("note", None), ("", None)]);
    assert_eq!(count(&parts), 4);
}

#[test]
#[should_panic(expected = "have the same name in the schema or in JSON")]
fn a_member_with_the_name_of_a_field() {
    let _ = joined::<3>(&[Part::Oneof(&MEMBERS, "paid"), Part::Field(field("cashBox"))]);
}

#[test]
#[should_panic(expected = "does not know its name")]
fn a_member_without_a_name() {
    check_members(&[field("card"), member("refund", 2, None)]);
}

#[test]
#[should_panic(expected = "a schema has ASCII names")]
fn a_member_with_a_name_that_no_schema_has() {
    check_members(&[field("card"), field("größe")]);
}

/// Names of 1 to 300 letters, which have the same start.
static MANY: [FieldDescriptor; 300] = {
    const LETTERS: [u8; 300] = [b'a'; 300];
    let mut fields = [field(""); 300];
    let mut at = 0;
    while at < fields.len() {
        let Ok(name) = core::str::from_utf8(LETTERS.split_at(at + 1).0) else { panic!("ASCII") };
        fields[at].name = name;
        at += 1;
    }
    fields
};

/// By default a constant that takes the compiler too many steps is an error.
#[test]
fn the_compiler_can_check_many_names() {
    static JOINED: [FieldDescriptor; 300] = joined(&[Part::Oneof(&MANY, "many")]);
    assert_eq!(JOINED[299].name.len(), 300);
}

#[test]
fn names_are_those_of_json_too() {
    let check = |a: FieldDescriptor, b: FieldDescriptor, expected: bool| {
        assert_eq!(are_named_alike(&a, &b), expected, "{a:?} {b:?}");
        assert_eq!(are_named_alike(&b, &a), expected, "{b:?} {a:?}");
    };
    check(field("a"), field("a"), true);
    check(field("a"), field("ab"), false);
    check(field("foo_bar"), field("fooBar"), true);
    check(field("foo_bar"), field("foobar"), false);
    check(field("foo_bar_"), field("foo__bar"), true);
    check(field("_foo"), field("Foo"), true);
    check(field("foo_bar").json("x"), field("fooBar"), false);
    check(field("foo_bar").json("x"), field("y").json("x"), true);
    // A name that the schema gives is not changed.
    check(field("foo_bar"), field("y").json("foo_bar"), false);
    check(field("foo_bar").json("x"), field("foo_bar").json("y"), true);
}
