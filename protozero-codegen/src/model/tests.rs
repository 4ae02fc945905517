use crate::Source;
use crate::parse::parse;

fn boxed(text: &str) -> Vec<String> {
    let source = Source { path: "t.proto".into(), text: format!("syntax = \"proto2\"; {text}") };
    let schema = parse(&[source], true).unwrap();
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
fn long_circles_take_no_longer() {
    let count = 2_000;
    let message = |i: usize| {
        let (one, two) = ((i + 1) % count, (i * 7) % count);
        format!("message M{i} {{ optional M{one} a = 1; optional M{two} b = 2; }}")
    };
    let all = boxed(&(0..count).map(message).collect::<String>());
    assert_eq!(all.len(), 2 * count);
}
