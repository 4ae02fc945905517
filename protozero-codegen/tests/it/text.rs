//! Text over generated descriptors: parsing gives the fields of the owned message, and printing gives the same text.

use protozero::dynamic::{DynamicMessage, MessageDescriptor};
use protozero::json;
use protozero::text::{Options, PrintOptions, parse, print_bytes};
use protozero::{Message, Named as _, Reflect};

use crate::golden::cases::Extended;
use crate::golden::cases::ext::{Base, Scope};
use crate::golden::cases::three::Three;

/// Parses `text`, passes it through the owned message `M`, and checks that it prints as the same text.
macro_rules! check {
    ($message:ident, $text:literal) => {
        let options = Options::default();
        let wire = parse($message::DESCRIPTOR, $text.as_bytes(), &options)
            .unwrap_or_else(|errors| panic!("{errors}"));
        let owned = $message::decode(&wire).unwrap();
        let print = PrintOptions { single_line: true, unknown_fields: true, ..Default::default() };
        let printed = print_bytes($message::DESCRIPTOR, &owned.encode_to_vec(), &print).unwrap();
        assert_eq!(printed, $text);
    };
}

#[test]
fn groups_maps_and_oneofs() {
    check!(Base, r#"id: 5 name: "n" Part { weight: 1 Screw { size: 2 } Screw { } } shades: DARK"#);
    check!(
        Base,
        r#"name: "" by_name { key: "a" value: HIGH } children { key: -1 value { name: "b" } }"#
    );
    check!(Base, r#"name: "" Choice { yes: true }"#);
    check!(Base, r#"name: "" of: LIGHT"#);
}

#[test]
fn extensions_of_all_files() {
    check!(
        Base,
        r#"name: "" [cases.ext.Scope.inner] { value: 1 } [cases.ext.Scope.bolt] { length: 2 }"#
    );
    check!(
        Base,
        r#"name: "" [cases.ext.priority]: 1 [cases.ext.packed_ones]: -1 [cases.ext.packed_ones]: 2"#
    );
    check!(Base, r#"name: "" [cases.ext.tags]: "x" [cases.ext.tint]: DARK [cases.ext.tree] { }"#);
    check!(Scope, "value: -3");
    let clash = parse(Base::DESCRIPTOR, b"name: '' of: DARK Choice { }", &Options::default());
    let clash = clash.unwrap_err().to_string();
    assert!(clash.contains("both are members of the oneof `pick`"), "{clash}");
}

#[test]
fn names_that_are_no_more() {
    let wire = parse(Extended::DESCRIPTOR, b"gone { x: [1, 2] }", &Options::default()).unwrap();
    assert!(wire.is_empty());
}

#[test]
fn presence() {
    let wire = parse(Three::DESCRIPTOR, b"", &Options::default()).unwrap();
    assert!(wire.is_empty());
}

#[test]
fn json_of_generated_messages() {
    let of = MessageDescriptor::from(Three::DESCRIPTOR);
    let text =
        r#"{"number":1,"maybe":0,"modes":["SOME"],"counts":{"a":1},"raw":"AA==","@other":"x"}"#;
    let wire = json::parse(&of, text.as_bytes(), &json::ParseOptions::default()).unwrap();
    let owned = Three::decode(&wire).unwrap();
    assert_eq!((owned.maybe, owned.renamed_one.as_str()), (Some(0), "x"));
    let wire = owned.encode_to_vec();
    assert_eq!(json::print_bytes(&of, &wire, &json::PrintOptions::default()).unwrap(), text);
}

#[test]
fn a_message_knows_itself() {
    assert_eq!(Three::FULL_NAME, "cases.three.Three");
    assert_eq!(Three::type_url(), "type.googleapis.com/cases.three.Three");
    assert_eq!(Three::SCHEMA.unwrap().name, Three::FULL_NAME);

    let text =
        r#"{"number":1,"maybe":0,"modes":["SOME"],"counts":{"a":1},"raw":"AA==","@other":"x"}"#;
    let mut message: Three = json::from_str(text).unwrap();
    assert_eq!(json::to_string(&message).unwrap(), text);
    let reflected: &mut dyn Reflect = &mut message;
    let mut dynamic: DynamicMessage = reflected.to_dynamic().unwrap();
    dynamic.push("modes", "SOME").unwrap();
    reflected.assign(&dynamic).unwrap();
    assert_eq!(message.modes.len(), 2);
}
