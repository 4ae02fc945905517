use super::read;

/// `path line:column text` per note that has a name.
fn check(text: &str, expected: &[&str]) {
    let got: Vec<String> = read("a.proto", text)
        .map_err(|e| e.to_string())
        .unwrap()
        .notes
        .iter()
        .filter(|(path, _)| !path.contains('#'))
        .map(|(path, n)| format!("{path} {}:{} {}", n.at.line, n.at.column, n.lines.join("|")))
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn attaches_what_stands_directly_above_or_behind() {
    check(
        "// The file.\n\nsyntax = \"proto2\";\n// Gone.\n\n// One.\n// Two.\nmessage A { // not this\n  \
         optional int32 x = 1; // Behind.\n  /* Star\n   * wars */\n  optional B y = 2;\n}\n",
        &[" 0:0 The file.", "A 8:9 One.|Two.", "A.x 9:18 Behind.", "A.y 12:14 Star|wars"],
    );
}

#[test]
fn knows_nesting_oneofs_enums_and_services() {
    check(
        "message A {\n enum E { X = 0; /*x*/ option = 1; }\n oneof o {\n  // in\n  string s = 3 [(z) = { a: 1 }];\n }\n \
         message I { map<string, int32> m = 1; }\n reserved 4;\n}\nservice S {\n // call\n rpc M(A) returns (A) {}\n rpc N(A) returns (stream A);\n}",
        &[
            "A 1:9 ",
            "A.E 2:7 ",
            "A.E.X 2:11 x",
            "A.E.option 2:24 ",
            "A.I 7:10 ",
            "A.I.MEntry 7:26 ",
            "A.I.MEntry.key 7:26 ",
            "A.I.MEntry.value 7:26 ",
            "A.I.m 7:33 ",
            "A.o 3:8 ",
            "A.s 5:10 in",
            "S 10:9 ",
            "S.M 12:6 call",
            "S.N 13:6 ",
        ],
    );
}

#[test]
fn keeps_groups_and_extensions() {
    check(
        "message A {\n // g\n optional group Ab = 1 { optional int32 x = 2; }\n extensions 5; // e\n}\n\
         extend A { // no\n optional int32 y = 5; // yes\n}",
        &["A 1:9 ", "A.Ab 3:17 g", "A.Ab.x 3:41 ", "A.ab 3:17 g", "y 7:17 yes"],
    );
}

#[test]
fn whatever_comes_is_an_error_at_most() {
    for text in [
        "}",
        "{",
        "/*",
        "\"",
        "message",
        "message {",
        "a = ;",
        "= 1;",
        "message A { = 1; }",
        "enum E { = 1; ; }",
        "]]}",
        "option a = {",
        "option a = [",
        "option (a",
        "\u{1F600}",
        "message A { extensions 1 to",
        "message A { reserved 9999999999; }",
        "import",
        "'\\x'",
        "message A { optional int32 a = 1 [default",
        "service S { rpc",
        "syntax = 1;",
        "1e999999",
        "0x",
        "09",
        "\"\\U00110000\"",
        "enum E { A = -2147483649; }",
        "extend A {}",
        "'\\777'",
    ] {
        let _ = read("a.proto", text);
    }
    for nest in ["message A {", "option a = {b:", "option a = [", "option a = {b <"] {
        assert!(read("a.proto", &nest.repeat(100_000)).is_err());
    }
}
