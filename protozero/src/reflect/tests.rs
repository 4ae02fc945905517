//! Messages behind `&dyn Reflect`.

use std::boxed::Box;
use std::string::{String, ToString};
use std::vec::Vec;

use super::{Reflect, ReflectError};
use crate::descriptor::{self as d, Kind};
use crate::dynamic::DynamicMessage;
use crate::{Message as _, Named as _, UnknownFields, rt};

#[derive(Clone, PartialEq, Default)]
struct Point {
    x: Option<i32>,
    name: Option<String>,
    unknown_fields: UnknownFields,
}

rt::owned! { Point;
    optional name = 2 as Text;
    optional x = 1 as Sint32;
}
d::describe! { Point, d::message("shape.Point", &[
    d::optional("x", 1, Kind::Sint32),
    d::optional("name", 2, Kind::String),
]) }

#[derive(Clone, PartialEq, Default)]
struct Other {
    unknown_fields: UnknownFields,
}

rt::owned! { Other; }
d::describe! { Other, d::message("shape.Other", &[]) }

fn point() -> Point {
    Point { x: Some(-1), name: Some("p".into()), ..Default::default() }
}

#[test]
fn every_message_behind_one_type() {
    let mut dynamic = DynamicMessage::new(Point::descriptor());
    dynamic.set("x", 3).unwrap();
    let all: [Box<dyn Reflect>; 3] =
        [Box::new(point()), Box::new(Other::default()), Box::new(dynamic)];
    let found: Vec<_> = all
        .iter()
        .map(|message| {
            let dynamic = message.to_dynamic().unwrap();
            (message.message_type().name().to_string(), dynamic.get("x").and_then(|x| x.as_i64()))
        })
        .collect();
    let expected = [("Point", Some(-1)), ("Other", None), ("Point", Some(3))];
    assert_eq!(found, expected.map(|(name, x)| (name.to_string(), x)));
}

#[test]
fn fields_are_assigned_from_a_message_of_the_same_name() {
    let mut message = point();
    let mut dynamic = message.to_dynamic().unwrap();
    dynamic.set("x", 7).unwrap();
    dynamic.clear("name");
    message.assign(&dynamic).unwrap();
    assert_eq!(message, Point { x: Some(7), ..Default::default() });
    dynamic.assign(&point()).unwrap();
    assert_eq!(dynamic.encode(), point().encode_to_vec());

    let error = message.assign(&Other::default()).unwrap_err();
    assert_eq!(error.to_string(), "a shape.Other cannot become a shape.Point");
    assert!(matches!(error, ReflectError::OtherType { .. }));
    assert!(message.assign_bytes(b"\x08").is_err());
    assert_eq!(message, Point { x: Some(7), ..Default::default() });
}

#[cfg(feature = "json")]
#[test]
fn json_needs_only_the_type() {
    use crate::json;

    let text = r#"{"x":-1,"name":"p"}"#;
    assert_eq!(json::to_string(&point()).unwrap(), text);
    assert_eq!(json::to_vec(&point() as &dyn Reflect).unwrap(), text.as_bytes());
    let mut written = Vec::new();
    json::to_writer(&mut written, &point()).unwrap();
    assert_eq!(written, text.as_bytes());
    let pretty = json::PrintOptions { pretty: true, ..Default::default() };
    let lines = json::to_string_with(&point(), &pretty).unwrap();
    assert_eq!(lines.lines().count(), 4);
    assert_eq!(json::from_str::<Point>(&lines).unwrap(), point());
    assert_eq!(json::from_slice::<Point>(text.as_bytes()).unwrap(), point());

    let unknown = json::from_str::<Point>(r#"{"y":1}"#).unwrap_err();
    assert!(unknown.to_string().contains("`Point` has no field `y`"), "{unknown}");
    let ignore = json::ParseOptions { ignore_unknown: true, ..Default::default() };
    assert_eq!(json::from_str_with::<Point>(r#"{"y":1}"#, &ignore).unwrap(), Point::default());
}
