use crate::Source;

fn error(files: &[(&str, &str)]) -> String {
    let sources: Vec<_> = files
        .iter()
        .map(|(path, text)| Source { path: (*path).into(), text: (*text).into() })
        .collect();
    super::parse(&sources).unwrap_err().to_string()
}

#[test]
fn errors_say_where() {
    insta::assert_snapshot!(error(&[("a.proto", "syntax = \"proto2\";\nmessage A {\n  int32 }")]), @"");
    insta::assert_snapshot!(error(&[("a.proto", "syntax = \"proto2\";\nmessage A {\n  optional B b = 1;\n}")]), @"");
    insta::assert_snapshot!(
        error(&[("a.proto", "syntax = \"proto2\";\nmessage A {\n  repeated group G = 1 { optional int32 x = 1; }\n}")]), @"");
    insta::assert_snapshot!(error(&[("a.proto", "syntax = \"proto2\";\nimport \"b.proto\";")]), @"");
    insta::assert_snapshot!(
        error(&[("a.proto", "import \"b.proto\";"), ("b.proto", "\nimport \"a.proto\";")]), @"");
    insta::assert_snapshot!(
        error(&[("a.proto", "syntax = \"proto3\";\nmessage A {}\nservice S {\n  rpc M(stream A) returns (A);\n}")]), @"");
    insta::assert_snapshot!(
        error(&[("a.proto", "syntax = \"proto2\";\nimport \"google/protobuf/any.proto\";\nmessage A { optional google.protobuf.Any a = 1; }")]), @"");
}
