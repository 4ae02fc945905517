use super::scan;

/// `path line:column text` per note.
fn check(text: &str, expected: &[&str]) {
    let got: Vec<String> = scan(text)
        .iter()
        .map(|(path, n)| format!("{path} {}:{} {}", n.line, n.column, n.lines.join("|")))
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
fn survives_anything() {
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
    ] {
        scan(text);
    }
}
