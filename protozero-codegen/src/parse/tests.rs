use crate::Source;

fn error(files: &[(&str, &str)]) -> String {
    let sources: Vec<_> = files
        .iter()
        .map(|(path, text)| Source { path: (*path).into(), text: (*text).into() })
        .collect();
    super::parse(&sources, true).unwrap_err().to_string()
}

#[test]
fn errors_say_where() {
    let errors = [
        error(&[("a.proto", "syntax = \"proto2\";\nmessage A {\n  int32 }")]),
        error(&[("a.proto", "syntax = \"proto2\";\nmessage A {\n  optional B b = 1;\n}")]),
        error(&[(
            "a.proto",
            "syntax = \"proto2\";\nmessage A {\n  optional int32 b = 1;\n  optional int32 b = 2;\n}",
        )]),
        error(&[("a.proto", "syntax = \"proto2\";\nimport \"b.proto\";")]),
        error(&[("a.proto", "import \"b.proto\";"), ("b.proto", "\nimport \"a.proto\";")]),
        error(&[(
            "a.proto",
            "syntax = \"proto2\";\nimport \"google/protobuf/any.proto\";\nmessage A { optional google.protobuf.Any a = 1; }",
        )]),
        error(&[("../a.proto", "")]),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r"
    a.proto:3:3: label required
    a.proto:3:12: object is not found by path `B` in scope `.A`
    a.proto:4:18: Non-unique field name: `b`
    a.proto:2:1: imported file b.proto is not among the sources
    b.proto:2:1: import of a.proto makes a circle
    a.proto:3:42: type .google.protobuf.Any is not among the sources
    ../a.proto:0:0: a source's path must be relative and plain
    ");
}
