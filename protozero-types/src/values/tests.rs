//! What is built, and how it is seen.

use alloc::vec;

use super::*;

fn every_kind() -> Struct {
    Struct::from([("text", Value::from("x"))])
        .with("number", 1.5)
        .with("yes", true)
        .with("nothing", ())
        .with("missing", None::<i32>)
        .with("list", vec![1, 2])
        .with("inner", BTreeMap::from([("a", "b")]))
}

#[test]
fn each_kind_is_seen_as_itself_alone() {
    let object = every_kind();
    let seen: Vec<_> = ["text", "number", "yes", "nothing", "missing", "list", "inner", "none"]
        .into_iter()
        .map(|name| {
            let value = object.get(name)?;
            Some((
                value.as_str(),
                value.as_f64(),
                value.as_bool(),
                value.is_null(),
                value.as_list().map(<[Value]>::len),
                value.get("a").and_then(Value::as_str),
            ))
        })
        .collect();
    let expected = [
        Some((Some("x"), None, None, false, None, None)),
        Some((None, Some(1.5), None, false, None, None)),
        Some((None, None, Some(true), false, None, None)),
        Some((None, None, None, true, None, None)),
        Some((None, None, None, true, None, None)),
        Some((None, None, None, false, Some(2), None)),
        Some((None, None, None, false, None, Some("b"))),
        None,
    ];
    assert_eq!(seen, expected);
}

#[test]
fn json_is_what_was_built() {
    let text = concat!(
        r#"{"inner":{"a":"b"},"list":[1,2],"missing":null,"#,
        r#""nothing":null,"number":1.5,"text":"x","yes":true}"#
    );
    assert_eq!(protozero::json::to_string(&every_kind()).unwrap(), text);
    assert_eq!(protozero::json::from_str::<Struct>(text).unwrap(), every_kind());
}

/// As `null` it would come back as another value.
#[test]
fn a_value_without_a_kind_is_not_printed() {
    let error = protozero::json::to_string(&Value::default()).unwrap_err().to_string();
    assert!(error.contains("it has no kind"), "{error}");
    assert!(protozero::json::to_string(&every_kind().with("x", Value::default())).is_err());
    assert_eq!(protozero::json::to_string(&Value::null()).unwrap(), "null");
    assert_eq!(protozero::json::from_str::<Value>("null").unwrap(), Value::null());
}

#[test]
fn a_member_is_replaced() {
    let mut object = every_kind();
    assert_eq!(object.insert("yes", false), Some(true.into()));
    assert_eq!(object.insert("new", false), None);
}
