//! Text configs may set every field of the schema, whatever areas of `protos` are compiled. The schema itself
//! says which fields there are, so a new one cannot be forgotten.

use std::collections::BTreeSet;

use protozero::Message as _;
use protozero::dynamic::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};
use tracebox::config::ConfigFormat;
use tracebox::schema;

/// A value for `field` that is not its default: as text, and as a dynamic message holds it.
fn sample(field: &FieldDescriptor) -> (String, Value) {
    let number = field.number();
    let small = i32::try_from(number % 100).unwrap() + 1;
    match field.kind() {
        Kind::Bool => ("true".into(), true.into()),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => (format!("-{small}"), (-small).into()),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => {
            (format!("-{small}000000000"), (i64::from(small) * -1_000_000_000).into())
        }
        Kind::Uint32 | Kind::Fixed32 => (number.to_string(), number.into()),
        Kind::Uint64 | Kind::Fixed64 => {
            (format!("{number}000000000"), (u64::from(number) * 1_000_000_000).into())
        }
        Kind::Float => (format!("{number}.5"), (number as f32 + 0.5).into()),
        Kind::Double => (format!("{number}.25"), (f64::from(number) + 0.25).into()),
        Kind::String => (format!("'text {number}'"), format!("text {number}").into()),
        Kind::Bytes => (
            format!("'\\x00\\xff{number}'"),
            [b"\0\xff", number.to_string().as_bytes()].concat().into(),
        ),
        Kind::Enum(of) => {
            let (name, number) = of.values().last().unwrap();
            (name.to_owned(), Value::Enum(number))
        }
        Kind::Message(of) => ("{ }".into(), DynamicMessage::new(of).into()),
    }
}

/// `field` set to its sample in `message`; returns the same as text.
fn set(message: &mut DynamicMessage, field: &FieldDescriptor) -> String {
    let (text, value) = sample(field);
    if field.is_map() {
        let Kind::Message(entry) = field.kind() else { panic!("{}", field.name()) };
        let [key, value] = ["key", "value"].map(|name| sample(&entry.field(name).unwrap()));
        let of = match key.1 {
            Value::String(key) => MapKey::String(key),
            other => panic!("{}: keys of {other:?} are new to this test", field.name()),
        };
        message.insert(field, of, value.1).unwrap();
        return format!("{} {{ key: {} value: {} }} ", field.name(), key.0, value.0);
    }
    if field.is_repeated() {
        message.push(field, value).unwrap();
    } else {
        message.set(field, value).unwrap();
    }
    format!("{}: {text} ", field.name())
}

/// Reads `text` as tracebox does, and compares its bytes with those of `expected`.
fn check(text: &str, expected: &DynamicMessage) {
    let config =
        tracebox::config::parse("corpus", text.as_bytes(), ConfigFormat::Text { lossy: false })
            .unwrap_or_else(|failure| panic!("{text}\n{failure}"));
    let bytes = config.encode_to_vec();
    // The owned config writes fields without code of its own last: in the order of numbers both are the same.
    let sorted = DynamicMessage::decode(expected.descriptor().clone(), &bytes).unwrap();
    assert_eq!(sorted.encode(), expected.encode(), "{text}");
    assert_eq!(bytes.len(), expected.encode().len(), "{text}");
}

/// Sets each field of `message` and of the messages in it by itself, once per type. `path` encloses a text and
/// a message of this type in a config.
fn check_fields(
    message: &MessageDescriptor,
    path: &dyn Fn(&str, DynamicMessage) -> (String, DynamicMessage),
    seen: &mut BTreeSet<String>,
    count: &mut usize,
) {
    for field in message.fields() {
        let mut inner = DynamicMessage::new(message.clone());
        let text = set(&mut inner, &field);
        let (text, config) = path(&text, inner);
        check(&text, &config);
        *count += 1;
        let Kind::Message(of) = field.kind() else { continue };
        if field.is_map() || !seen.insert(of.full_name().to_owned()) {
            continue;
        }
        let deeper = |text: &str, inner: DynamicMessage| {
            let mut outer = DynamicMessage::new(message.clone());
            if field.is_repeated() {
                outer.push(&field, inner).unwrap();
            } else {
                outer.set(&field, inner).unwrap();
            }
            path(&format!("{} {{ {text}}} ", field.name()), outer)
        };
        check_fields(&of, &deeper, seen, count);
    }
}

#[test]
fn every_field_of_a_config_by_itself() {
    let (mut seen, mut count) = (BTreeSet::new(), 0);
    let unchanged = |text: &str, config| (text.to_owned(), config);
    check_fields(&schema::message("TraceConfig"), &unchanged, &mut seen, &mut count);
    assert!(seen.contains("perfetto.protos.PerfEventConfig"), "{seen:?}");
    assert!(seen.len() > 90 && count > 500, "{} messages, {count} fields", seen.len());
}

/// All fields of `of` at once: of a oneof the first member, of a message that contains itself one level.
fn whole(of: &MessageDescriptor, open: &mut Vec<String>) -> (String, DynamicMessage) {
    let (mut text, mut message) = (String::new(), DynamicMessage::new(of.clone()));
    let mut oneofs = BTreeSet::new();
    open.push(of.full_name().to_owned());
    for field in of.fields() {
        if field.containing_oneof().is_some_and(|oneof| !oneofs.insert(oneof.name().to_owned())) {
            continue;
        }
        match field.kind() {
            Kind::Message(inner) if !field.is_map() => {
                if open.iter().any(|name| name == inner.full_name()) {
                    continue;
                }
                let times = if field.is_repeated() { 2 } else { 1 };
                for _ in 0..times {
                    let (body, value) = whole(&inner, open);
                    text += &format!("{} {{ {body}}} ", field.name());
                    if field.is_repeated() {
                        message.push(&field, value).unwrap();
                    } else {
                        message.set(&field, value).unwrap();
                    }
                }
            }
            _ => text += &set(&mut message, &field),
        }
    }
    open.pop();
    (text, message)
}

#[test]
fn every_config_of_a_data_source_as_a_whole() {
    let of = schema::message("DataSourceConfig");
    let mut count = 0;
    for field in of.fields() {
        let Kind::Message(inner) = field.kind() else { continue };
        let (body, value) = whole(&inner, &mut Vec::new());
        let mut source = DynamicMessage::new(of.clone());
        source.set("name", "a.source").unwrap();
        source.set(&field, value).unwrap();
        let mut sources = DynamicMessage::new(schema::message("TraceConfig.DataSource"));
        sources.set("config", source).unwrap();
        let mut config = DynamicMessage::new(schema::message("TraceConfig"));
        config.push("data_sources", sources).unwrap();
        let name = field.name();
        check(
            &format!("data_sources {{ config {{ name: 'a.source' {name} {{ {body}}} }} }}"),
            &config,
        );
        count += 1;
    }
    assert!(count >= 45, "only {count} configs");
}
