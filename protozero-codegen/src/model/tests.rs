use super::{Schema, cycles};
use crate::Source;
use crate::parse::parse;

fn schema(text: &str) -> Schema {
    let source = Source { path: "t.proto".into(), text: format!("syntax = \"proto2\"; {text}") };
    parse(&[source], true).unwrap()
}

fn boxed(text: &str) -> Vec<String> {
    boxed_fields(&schema(text))
}

fn boxed_fields(schema: &Schema) -> Vec<String> {
    schema
        .messages
        .iter()
        .flat_map(|m| {
            m.fields.iter().filter(|f| f.boxed).map(|f| format!("{}.{}", m.path.full(), f.name))
        })
        .collect()
}

#[test]
fn boxes_cycles_and_nothing_else() {
    assert_eq!(boxed("message A { optional A a = 1; repeated A b = 2; }"), ["A.a"]);
    assert_eq!(
        boxed(
            "message A { oneof o { B b = 1; C c = 2; } } message B { optional A a = 1; } \
             message C { repeated A a = 1; optional D d = 2; } message D {}"
        ),
        ["A.b", "B.a"]
    );
}

#[test]
fn what_is_boxed_anyway_is_on_no_cycle() {
    let text = "message A { optional B b = 1; optional C c = 2; } message B { optional A a = 1; } \
                message C { map<int32, A> all = 1; repeated A list = 2; optional C own = 3; }";
    let check = |is_asked: fn(&str) -> bool, expected: &[&str]| {
        let mut schema = schema(text);
        cycles::mark(&mut schema, |message, field| {
            is_asked(&format!("{}.{}", message.path.full(), field.name))
        });
        assert_eq!(boxed_fields(&schema), expected);
    };
    check(|_| false, &["A.b", "B.a", "C.own"]);
    // Whichever of both is the new one, the other keeps its type.
    check(|name| name == "B.a", &["B.a", "C.own"]);
    check(|name| name == "A.b", &["A.b", "C.own"]);
    check(|_| true, &["A.b", "A.c", "B.a", "C.own"]);
}

#[test]
fn long_circles_take_no_longer() {
    let count = 2_000;
    let message = |i: usize| {
        let (one, two) = ((i + 1) % count, (i * 7) % count);
        format!("message M{i} {{ optional M{one} a = 1; optional M{two} b = 2; }}")
    };
    let all = boxed(&(0..count).map(message).collect::<String>());
    assert_eq!(all.len(), 2 * count);
}
