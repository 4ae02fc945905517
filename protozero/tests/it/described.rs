//! Derived messages with a name: their JSON and text, by the descriptor that the macro makes of the attributes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use protozero::descriptor::{Label, MessageDescriptor, Presence};
use protozero::dynamic::Value;
use protozero::json::{self, ParseOptions, PrintOptions};
use protozero::text;
use protozero::{Enumeration, Message, MessageView, Named, Oneof, Reflect, UnknownFields};

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(name = "shop.v1.Order")]
struct Order {
    #[pb(uint64, 1)]
    order_id: u64,
    #[pb(string, 2)]
    r#type: Option<String>,
    #[pb(message, 3, repeated)]
    lines: Vec<Line>,
    #[pb(enumeration, 4)]
    status: Status,
    #[pb(enumeration, 5)]
    mode: Option<Mode>,
    #[pb(map(string, message), 6)]
    by_name: BTreeMap<String, Line>,
    #[pb(map(int32, enumeration), 7)]
    by_id: HashMap<i32, Status>,
    #[pb(oneof, 8, 9, 10, 11, 20)]
    paid: Option<Paid>,
    #[pb(message, 12, boxed)]
    parent: Option<Box<Order>>,
    #[pb(message, 13)]
    shared: Option<Arc<Line>>,
    #[pb(group, 14)]
    group: Option<Line>,
    #[pb(sint32, 15, packed)]
    packed: Vec<i32>,
    #[pb(sint32, 16, repeated)]
    expanded: Vec<i32>,
    #[pb(bytes, 17, name = "rawBytes", json = "@raw")]
    raw: Vec<u8>,
    #[pb(bool, 18, required)]
    is_new: bool,
    #[pb(string, 19, or_unknown)]
    loose: Cow<'static, str>,
    #[pb(unknown)]
    rest: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown, name = "shop.v1.Line")]
struct Line {
    #[pb(string, 1)]
    name: Box<str>,
    #[pb(double, 2)]
    price: f64,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
enum Paid {
    #[pb(uint64, 8)]
    CardNumber(u64),
    #[pb(message, 9)]
    Refund(Line),
    #[pb(message, 10, boxed)]
    OtherOrder(Box<Order>),
    #[pb(enumeration, 20, name = "byMode", json = "mode2")]
    Mode(Mode),
}

/// An open enumeration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(name = "shop.v1.Status", values(STATUS_NONE = 0, STATUS_SHIPPED = 1))]
struct Status(i32);

/// A closed one, without a name of the schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
enum Mode {
    #[default]
    Off = 0,
    On = 1,
}

/// An enumeration with the same name.
mod other {
    use protozero::Enumeration;

    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
    pub(super) enum Mode {
        #[default]
        Slow = 0,
        Fast = 1,
    }
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown, name = "Modes")]
struct Modes {
    #[pb(enumeration, 1)]
    one: Mode,
    #[pb(enumeration, 2)]
    two: other::Mode,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown, name = "pkg.Nothing")]
struct Nothing;

#[derive(Clone, PartialEq, Debug, Default, MessageView)]
#[pb(skip_unknown, name = "shop.v1.Borrowed")]
struct Borrowed<'a> {
    #[pb(string, 1)]
    name: &'a str,
    #[pb(message, 2, repeated)]
    inner: Vec<Borrowed<'a>>,
    #[pb(oneof, 3)]
    choice: Option<Choice<'a>>,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
enum Choice<'a> {
    #[pb(bytes, 3)]
    Bytes(&'a [u8]),
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown, name = "shop.v1.Defaults")]
struct Defaults {
    #[pb(int32, 1, default = -7)]
    number: Option<i32>,
    #[pb(fixed64, 2, default = 0xffff_ffff_ffff_ffff)]
    big: Option<u64>,
    #[pb(double, 3, default = -0.5)]
    ratio: Option<f64>,
    #[pb(bool, 4, default = true)]
    yes: Option<bool>,
    #[pb(string, 5, default = "a \"b\"")]
    text: Option<String>,
    #[pb(bytes, 6, default = b"\xff\0x\"")]
    raw: Option<Vec<u8>>,
    #[pb(int32, 7, default = 3 + 4)]
    sum: Option<i32>,
    #[pb(int32, 8)]
    none: Option<i32>,
}

/// A oneof with messages that have no name: allowed in a struct without a name.
#[derive(Clone, PartialEq, Debug, Oneof)]
enum Nameless {
    #[pb(message, 1, boxed)]
    One(Box<Unnamed>),
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Unnamed {
    #[pb(oneof, 1)]
    deeper: Option<Nameless>,
}

fn order() -> Order {
    let line = |name: &str, price| Line { name: name.into(), price };
    Order {
        order_id: 7,
        r#type: Some("gift".into()),
        lines: vec![line("apple", 0.5), line("", 0.0)],
        status: Status(9),
        mode: Some(Mode::On),
        by_name: [("a".into(), line("b", 1.0))].into(),
        by_id: [(-1, Status::STATUS_SHIPPED), (2, Status(5))].into(),
        paid: Some(Paid::Refund(line("refund", 2.0))),
        parent: Some(Box::new(Order { is_new: true, ..Order::default() })),
        shared: Some(Arc::new(line("shared", 3.0))),
        group: Some(line("group", 4.0)),
        packed: vec![-1, 300],
        expanded: vec![-2, 400],
        raw: b"\xff\x00".to_vec(),
        is_new: false,
        loose: "loose".into(),
        rest: UnknownFields::new(),
    }
}

const JSON: [&str; 5] = [
    r#"{"orderId":"7","type":"gift","lines":[{"name":"apple","price":0.5},{}],"status":9,"#,
    r#""mode":"ON","byName":{"a":{"name":"b","price":1}},"byId":{"-1":"STATUS_SHIPPED","2":5},"#,
    r#""refund":{"name":"refund","price":2},"parent":{"isNew":true},"#,
    r#""shared":{"name":"shared","price":3},"group":{"name":"group","price":4},"packed":[-1,300],"#,
    r#""expanded":[-2,400],"@raw":"/wA=","isNew":false,"loose":"loose"}"#,
];

#[test]
fn json_in_one_line_each_way() {
    let text = json::to_string(&order()).unwrap();
    assert_eq!(text, JSON.concat());
    assert_eq!(json::from_str::<Order>(&text), Ok(order()));
    // By way of bytes.
    let options = PrintOptions { original_names: true, ..PrintOptions::default() };
    let text = json::to_string_with(&order(), &options).unwrap();
    assert!(text.contains(r#""rawBytes":"/wA=""#) && text.contains(r#""order_id":"7""#), "{text}");
    assert_eq!(json::from_str::<Order>(&text), Ok(order()));
    // A box has the type of what is in it.
    assert_eq!(json::to_string(&Box::new(Nothing)).unwrap(), "{}");
    assert_eq!(json::from_str::<Nothing>("{}"), Ok(Nothing));
}

#[test]
fn each_member_of_a_oneof() {
    let check = |paid: Paid, expected: &str| {
        let order = Order { paid: Some(paid), ..Order::default() };
        let text = json::to_string(&order).unwrap();
        assert_eq!(text, format!(r#"{{{expected},"isNew":false}}"#));
        assert_eq!(json::from_str::<Order>(&text).as_ref(), Ok(&order));
        let bytes = order.encode_to_vec();
        let options = text::PrintOptions::default();
        let printed = text::print_bytes(Order::DESCRIPTOR, &bytes, &options).unwrap();
        let parsed = text::parse(Order::DESCRIPTOR, printed.as_bytes(), &text::Options::default());
        assert_eq!(parsed, Ok(bytes), "{printed}");
    };
    check(Paid::CardNumber(0), r#""cardNumber":"0""#);
    check(Paid::Refund(Line::default()), r#""refund":{}"#);
    check(Paid::OtherOrder(Box::default()), r#""otherOrder":{"isNew":false}"#);
    let modes = Order { paid: Some(Paid::Mode(Mode::On)), ..Order::default() };
    assert_eq!(json::to_string(&modes).unwrap(), r#"{"isNew":false,"mode2":"ON"}"#);
    assert_eq!(
        json::from_str::<Order>(r#"{"byMode":1}"#).unwrap().paid,
        Some(Paid::Mode(Mode::On))
    );
    let both = json::from_str::<Order>(r#"{"cardNumber":1,"mode2":"ON"}"#).unwrap_err();
    assert!(both.to_string().contains("oneof"), "{both}");
}

#[test]
fn the_descriptor_has_what_the_attributes_say() {
    let schema: &MessageDescriptor = Order::DESCRIPTOR;
    assert_eq!((schema.name, Order::FULL_NAME), ("shop.v1.Order", "shop.v1.Order"));
    let field = |name: &str| schema.field(name).unwrap();
    assert_eq!((field("order_id").presence, field("order_id").utf8), (Presence::Implicit, false));
    assert_eq!((field("type").presence, field("type").utf8), (Presence::Explicit, true));
    assert_eq!((field("is_new").presence, field("loose").utf8), (Presence::Required, false));
    assert_eq!((field("packed").label, field("expanded").label), (Label::Packed, Label::Repeated));
    assert!(field("group").delimited && field("by_name").utf8 && !field("by_id").utf8);
    assert_eq!((field("refund").oneof, field("refund").number), (Some("paid"), 9));
    assert_eq!(
        (field("byMode").json_name, field("rawBytes").json_name),
        (Some("mode2"), Some("@raw"))
    );
    let names: Vec<_> = schema.fields.iter().map(|field| field.name).collect();
    assert_eq!(names[7..12], ["card_number", "refund", "other_order", "byMode", "parent"]);
    assert_eq!((names.len(), names.last()), (19, Some(&"loose")));
    // The number 11 has no member.
    assert!(schema.field_by_number(11).is_none());
}

#[test]
fn enumerations_may_have_one_name() {
    let modes = Modes { one: Mode::On, two: other::Mode::Fast };
    assert_eq!(json::to_string(&modes).unwrap(), r#"{"one":"ON","two":"FAST"}"#);
    assert_eq!(json::from_str(r#"{"one":"ON","two":"FAST"}"#), Ok(modes));
    assert!(json::from_str::<Modes>(r#"{"two":"ON"}"#).is_err());
}

#[test]
fn views_have_a_name_too() {
    let bytes = b"\x0a\x01a\x12\x05\x1a\x03\xff\xff\xff";
    let view = <Borrowed<'_> as MessageView>::decode(bytes).unwrap();
    assert_eq!((view.name, view.inner.len(), &view.choice), ("a", 1, &None));
    assert_eq!(view.inner[0].choice, Some(Choice::Bytes(b"\xff\xff\xff")));
    let descriptor = <Borrowed<'_> as Named>::descriptor();
    let printed = json::print_bytes(&descriptor, bytes, &PrintOptions::default()).unwrap();
    assert_eq!(printed, r#"{"name":"a","inner":[{"bytes":"////"}]}"#);
}

/// Those that are literals: a macro does not know the value of another expression.
#[test]
fn a_descriptor_has_the_defaults() {
    let default = |name: &str| Defaults::descriptor().field(name).unwrap().default_value().unwrap();
    assert_eq!(default("number"), Value::I32(-7));
    assert_eq!(default("big"), Value::U64(u64::MAX));
    assert_eq!(default("ratio"), Value::F64(-0.5));
    assert_eq!(default("yes"), Value::Bool(true));
    assert_eq!(default("text"), Value::String("a \"b\"".into()));
    assert_eq!(default("raw"), Value::Bytes(b"\xff\0x\"".to_vec()));
    assert_eq!((default("sum"), default("none")), (Value::I32(0), Value::I32(0)));
    assert_eq!(Defaults::default().sum_or_default(), 7);
}

#[test]
fn errors_and_reflection_have_the_names() {
    let error = Order::decode(b"\x1a\x03\x0a\x01\xff").unwrap_err();
    assert_eq!(error.path(), "shop.v1.Order.lines[0].name");
    let error = Order::decode(b"\x4a\x03\x0a\x01\xff").unwrap_err();
    assert_eq!(error.path(), "shop.v1.Order.refund.name");
    let dynamic = order().to_dynamic().unwrap();
    assert_eq!(dynamic.at("lines[0].name").and_then(|name| name.as_str()), Some("apple"));
    assert_eq!(Order::type_url(), "type.googleapis.com/shop.v1.Order");
}

#[test]
fn a_struct_without_a_name_needs_none_inside() {
    let message = Unnamed { deeper: Some(Nameless::One(Box::default())) };
    assert_eq!(message.encode_to_vec(), b"\x0a\x00");
}

/// The limit holds for a text that becomes a struct at once, and for one that is parsed with more care.
#[test]
fn memory_is_that_of_the_options() {
    let lines = format!("\"lines\":[{}{{}}]", "{},".repeat(999));
    let within = |text: &str, memory_max| {
        let options = ParseOptions { ignore_unknown: true, memory_max, ..ParseOptions::default() };
        json::from_str_with::<Order>(text, &options)
    };
    for text in [format!("{{{lines}}}"), format!("{{\"nobody\":1,{lines}}}")] {
        let enough = 1000 * size_of::<Line>();
        for memory_max in [None, Some(enough)] {
            assert_eq!(within(&text, memory_max).unwrap().lines.len(), 1000);
        }
        let error = within(&text, Some(enough - 1)).unwrap_err().to_string();
        assert!(error.contains("memory"), "{error}");
    }
}
