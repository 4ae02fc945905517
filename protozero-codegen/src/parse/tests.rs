use super::{Parsed, build, check, imports, link};
use crate::Source;
use crate::syntax::PLAIN;

fn sources(files: &[(&str, &str)]) -> Vec<Source> {
    let source =
        |(path, text): &(&str, &str)| Source { path: (*path).into(), text: (*text).into() };
    files.iter().map(source).collect()
}

/// Paths that `protoc` (`importer.cc`) does not take either.
pub(crate) const NOT_PLAIN: [&str; 14] = [
    "./a.proto",
    "../a.proto",
    "x/../a.proto",
    "x/./a.proto",
    "x//a.proto",
    "/a.proto",
    "//a.proto",
    "x\\a.proto",
    "a.proto/",
    "",
    "..",
    "c:/a.proto",
    "C:a.proto",
    "a\0.proto",
];

/// The error of one file.
fn error(text: &str) -> String {
    error_of(&[("a.proto", text)])
}

fn error_of(files: &[(&str, &str)]) -> String {
    match super::parse(&sources(files), false) {
        Ok(_) => format!("no error in {files:?}"),
        Err(e) => e.to_string(),
    }
}

fn proto2(text: &str) -> String {
    error(&format!("syntax = \"proto2\";\n{text}"))
}

fn proto3(text: &str) -> String {
    error(&format!("syntax = \"proto3\";\n{text}"))
}

fn edition(text: &str) -> String {
    error(&format!("edition = \"2023\";\n{text}"))
}

#[test]
fn syntax_errors_say_where() {
    let errors = [
        proto2("message A {\n  int32 }"),
        proto2("message A {\n  optional int32 a 1; }"),
        proto2("message A {"),
        proto2("message 5 {}"),
        proto2("message A { optional string s = 1 [default = \"x\n\"]; }"),
        proto2("message A { optional string s = 1 [default = \"\\q\"]; }"),
        proto2("/* no end"),
        proto2("message A { optional int32 a = 0x; }"),
        proto2("message \u{e4} {}"),
        proto2("syntax = \"proto2\";"),
        error("syntax = \"proto4\";"),
        error("edition = \"2030\";"),
        proto2("import a;"),
        proto2("package a; package b;"),
        proto2("option x = 1;"),
        proto2("option (x) 1;"),
        proto2("message A { option map_entry = true; }"),
        proto2("message A { optional int32 a = 1 [pakced = true]; }"),
        proto2("message A { repeated int32 a = 1 [packed = 1]; }"),
        proto2("service S { rpc M(A); }"),
        proto2("enum E { A = 4294967296; }"),
        proto2(&"message A {".repeat(40)),
        proto2("message A { oneof o {} }"),
        proto2("message A { oneof o { optional int32 a = 1; } }"),
        proto2("message A { map<float, int32> m = 1; }"),
        proto2("message A { repeated map<int32, int32> m = 1; }"),
        proto2("message A { optional group g = 1 {} }"),
        proto3("message A { required int32 a = 1; }"),
        proto3("message A { repeated group G = 1 {} }"),
        edition("message A { optional int32 a = 1; }"),
        edition("message A { required int32 a = 1; }"),
        edition("message A { repeated int32 a = 1 [packed = true]; }"),
        edition("message A { int32 a = 1 [features.colour = RED]; }"),
        edition("message A { int32 a = 1 [features.field_presence = RED]; }"),
        edition("message A { reserved \"a\"; }"),
        proto2("message A { reserved a; }"),
        proto2("message A { reserved 1, \"a\"; }"),
        proto2("message A { optional int32 a = 1 [features.field_presence = EXPLICIT]; }"),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn names_that_lead_nowhere_are_errors() {
    let b = "syntax = \"proto2\"; message B {}";
    let import = "syntax = \"proto2\";\nimport \"b.proto\";\n";
    let errors = [
        proto2("message A {\n  optional B b = 1;\n}"),
        proto2("message A {\n  optional A.B b = 1;\n}"),
        proto2("message A {\n  optional int32 b = 1;\n  optional int32 b = 2;\n}"),
        proto2("message A {}\nmessage A {}"),
        proto2("enum E { X = 0; }\nenum F { X = 0; }"),
        proto2("message A { optional int32 a = 1; message a {} }"),
        proto2("message A { oneof a { int32 a = 1; } }"),
        proto2("message A { map<int32, C> m = 1; }"),
        proto2("extend B { optional int32 a = 1; }"),
        proto2("enum E { X = 0; }\nextend E { optional int32 a = 1; }"),
        proto3("message A {}\nenum E { X = 0; }\nservice S {\n  rpc M(A) returns (E);\n}"),
        proto3("message A {}\nservice S { rpc M(A) returns (A); rpc M(A) returns (A); }"),
        proto2("import \"b.proto\";"),
        proto2("import \"google/protobuf/any.proto\";\nimport \"google/protobuf/any.proto\";"),
        error_of(&[("a.proto", "import \"b.proto\";"), ("b.proto", "\nimport \"a.proto\";")]),
        error_of(&[
            ("a.proto", "import public \"b.proto\";"),
            ("b.proto", "import public \"c.proto\";"),
            ("c.proto", "import public \"a.proto\";"),
        ]),
        error_of(&[("a.proto", "import \"a.proto\";")]),
        error_of(&[
            ("a.proto", "syntax = \"proto2\"; message A { optional B b = 1; }"),
            ("b.proto", b),
        ]),
        // Imports are not handed on unless they are public.
        error_of(&[
            (
                "a.proto",
                "syntax = \"proto2\";\nimport \"c.proto\";\nmessage A { optional B b = 1; }",
            ),
            ("b.proto", b),
            ("c.proto", import),
        ]),
        error_of(&[("b.proto", b), ("a.proto", &format!("{import}message B {{}}"))]),
        error_of(&[("a.proto", "package b;"), ("b.proto", "message b {}")]),
        error_of(&[("../a.proto", "")]),
        error_of(&[("a.proto", ""), ("a.proto", "")]),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn an_import_that_is_no_plain_path_is_told_where_it_stands() {
    for path in NOT_PLAIN {
        let text = format!("syntax = \"proto3\";\nimport public {path:?};");
        let message = format!("a.proto:2:15: {path:?} is not a plain path: {PLAIN}");
        assert_eq!(error(&text), message);
        // Whether or not there is such a file.
        assert_eq!(error_of(&[(path, ""), ("a.proto", &text)]), message);
    }
    assert!(error("import \"a..b/.c./...d.proto\";").ends_with("is not among the sources"));
}

/// What protoc 35.1 writes: its readers take bytes in octal only, and no number of a hundred digits.
#[test]
fn defaults_in_a_set_are_written_as_protoc_does() {
    use protobuf::Message as _;
    let cases = [
        (
            "bytes",
            r#""\000\377b\xc3\xA4\t\r\n\v\"'?\\ ~\x7f""#,
            r#"\000\377b\303\244\t\r\n\013\"\'?\\ ~\177"#,
        ),
        ("bytes", r#""""#, ""),
        ("string", r#""\303\244\n""#, "ä\n"),
        ("double", "-2.5e100", "-2.5e+100"),
        ("double", "1e15", "1e+15"),
        ("double", "123456789012345", "123456789012345"),
        ("double", "1234567890123456", "1234567890123456"),
        ("double", "18446744073709551615", "1.8446744073709552e+19"),
        ("double", "0.1", "0.1"),
        ("double", "0.30000000000000004", "0.30000000000000004"),
        ("double", "0.0001", "0.0001"),
        ("double", "0.00001", "1e-05"),
        ("double", "5e-324", "4.94065645841247e-324"),
        ("double", "100", "100"),
        ("double", "0", "0"),
        ("double", "-0.0", "-0"),
        ("double", "inf", "inf"),
        ("double", "-inf", "-inf"),
        ("double", "-nan", "nan"),
        ("float", "1.5", "1.5"),
        ("float", "3.4e38", "3.4e+38"),
        ("float", "0.1", "0.1"),
        ("float", "16777217", "16777216"),
        ("float", "3.40282347e38", "3.40282347e+38"),
        ("float", "0.333333333333", "0.333333343"),
        ("float", "1e-45", "1.40129846e-45"),
        ("float", "1000000", "1e+06"),
        ("float", "-1e300", "-inf"),
        ("float", "1e-300", "0"),
        ("int64", "-5", "-5"),
        ("bool", "true", "true"),
    ];
    for syntax in ["syntax = \"proto2\"; message M { optional", "edition = \"2023\"; message M {"] {
        for (ty, default, written) in cases {
            let text = format!("{syntax} {ty} x = 1 [default = {default}]; }}");
            let set = super::descriptor_set(&sources(&[("a.proto", &text)])).unwrap();
            let set = protobuf::descriptor::FileDescriptorSet::parse_from_bytes(&set).unwrap();
            assert_eq!(set.file[0].message_type[0].field[0].default_value(), written, "{text}");
        }
    }
}

#[test]
fn what_a_map_says_of_text_is_said_of_key_and_value() {
    let text = "edition = \"2023\"; message M {
        map<string, string> a = 1 [features.utf8_validation = NONE];
        map<string, string> b = 2;
    }";
    let schema = super::parse(&sources(&[("a.proto", text)]), false).unwrap();
    let entries = schema.messages.iter().filter(|m| m.map_entry);
    let utf8: Vec<Vec<bool>> = entries.map(|m| m.fields.iter().map(|f| f.utf8).collect()).collect();
    assert_eq!(utf8, [[false, false], [true, true]]);
}

/// What `protoc` refuses in these files, too.
#[test]
fn edition_2024_says_which_types_are_for_other_files() {
    let fresh = "edition = \"2024\"; package y; import \"f.proto\";
        option features.default_symbol_visibility = LOCAL_ALL;
        message Hidden {} export message Good { export enum E { ZERO = 0; } Hidden b = 1;
        local message In {} export message Out {} enum Unsaid { NONE = 0; } }";
    let top = "edition = \"2024\"; package f;
        message Top { message Nested {} export message Told {} } enum E { A = 0; }";
    let all = "edition = \"2024\"; package g;
        option features = { default_symbol_visibility: EXPORT_ALL }; message Top { message Nested {} }";
    let older = "edition = \"2023\"; package h; message local { message export {} export e = 1; }";
    let of = |statements: &str| {
        let imports =
            "import \"g.proto\"; import \"h.proto\"; import \"y.proto\"; import \"f.proto\";";
        let text = format!("edition = \"2024\"; package y; {imports} {statements}");
        let files = [("a.proto", text.as_str()), ("y.proto", fresh), ("f.proto", top)];
        error_of(&[&files[..], &[("g.proto", all), ("h.proto", older)]].concat())
    };
    let good = "message M { Good a = 1; Good.E b = 2; Good.Out c = 3; f.Top d = 4; f.E e = 5;
        f.Top.Told f = 6; g.Top.Nested g = 7; .h.local.export h = 8; }";
    assert!(of(good).starts_with("no error"), "{}", of(good));
    let errors = [
        of("message M { Hidden a = 1; }"),
        of("message M { Good.In a = 1; }"),
        of("message M { Good.Unsaid a = 1; }"),
        of("message M { f.Top.Nested a = 1; }"),
        of("service S { rpc M(Hidden) returns (Hidden); }"),
        of("extend Hidden { int32 a = 1; }"),
        of("message M { export export = 1; }"),
        of("export service S {}"),
        of("message M { option features.default_symbol_visibility = STRICT; }"),
        of("message M { string s = 1 [ctype = CORD]; }"),
        of("option java_multiple_files = true;"),
        of("import weak \"b.proto\";"),
        of("import option \"b.proto\"; import \"b.proto\";"),
        of("import option \"b.proto\";"),
        edition("export message A {}"),
        edition("import option \"b.proto\";"),
        edition("option features.enforce_naming_style = STYLE_LEGACY;"),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

/// The bytes of `protoc --descriptor_set_out`, except that it writes options of a field before its name in JSON.
#[test]
fn imports_of_options_name_options_alone() {
    let options = "edition = \"2024\"; package y; import \"google/protobuf/descriptor.proto\";
        extend google.protobuf.FieldOptions { string tag = 50000; } message Type {}";
    let of = |fields: &str| {
        let text = format!(
            "edition = \"2024\"; package y; import option \"o.proto\";
             option features.enforce_naming_style = STYLE_LEGACY;
             export message Good {{ {fields} local message In {{}} }}"
        );
        super::descriptor_set(&sources(&[("a.proto", &text), ("o.proto", options)]))
    };
    let set = of("int32 BadField = 1 [(tag) = \"x\"];").unwrap();
    let file: &[u8] = b"\n\x07a.proto\x12\x01y\"3\n\x04Good\x12!\n\x08BadField\x18\x01\x20\
        \x01(\x05R\x08BadFieldB\x05\x82\xb5\x18\x01x\x1a\x06\n\x02InX\x01X\x02B\x03\x92\x03\0b\x08editions\
        p\xe9\x07z\x07o.proto";
    let start = &set[2..file.len() + 2];
    assert_eq!(start, file, "{}", start.escape_ascii());
    let error = of("Type a = 1;").unwrap_err().to_string();
    assert!(error.ends_with("y.Type is in a file that is not imported"), "{error}");
}

/// The whole of it is held against protoc's by the differential tests.
#[test]
fn options_of_a_set_are_known_and_fit() {
    let error = |options: &str| {
        let text = format!(
            "syntax = \"proto2\"; package p; import \"google/protobuf/descriptor.proto\";\n\
             message O {{ optional int32 i = 1; repeated O os = 2; optional E e = 3; enum E {{ A = 1; }} }}\n\
             extend google.protobuf.FieldOptions {{ optional O o = 50000; optional uint32 u = 50001; }}\n\
             message M {{ optional int32 x = 1 [{options}]; }}"
        );
        // Code does not ask for them.
        assert!(super::parse(&sources(&[("a.proto", &text)]), false).is_ok());
        super::descriptor_set(&sources(&[("a.proto", &text)])).err().map(|e| e.to_string())
    };
    let errors = [
        "(p.o).i = 1, (o) = { os { e: A } os: [{}, {}] }, (.p.u) = 4294967295",
        "(nobody) = 1",
        "(p.M) = 1",
        "(u).x = 1",
        "(o).z = 1",
        "(o).os.i = 1",
        "(u) = -1",
        "(u) = 4294967296",
        "(u) = \"1\"",
        "(o) = 1",
        "(o) = { i: A }",
        "(o) = { e: B }",
        "(o) = { [p.u]: 1 }",
        "(o) = { [x.com/p.O] { i: 1 } }",
        "ctype = NONE",
    ];
    let errors = errors.map(|options| error(options).unwrap_or_else(|| "fine".into()));
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn names_end_somewhere() {
    let package = |len: usize| format!("package  {};", "p".repeat(len));
    assert!(super::parse(&sources(&[("a.proto", &package(511))]), false).is_ok());
    let parts = |count: usize| format!("package {};", vec!["a"; count].join("."));
    assert!(super::parse(&sources(&[("a.proto", &parts(64))]), false).is_ok());
    let message = "a.proto:1:10: a package has 511 characters and 64 parts at most";
    assert_eq!(error(&package(512)), message);
    assert_eq!(error(&parts(65)), message.replace("10", "9"));
    let named = |len: usize| {
        format!("package {};\nmessage A {{ message {} {{}} }}", "p".repeat(511), "m".repeat(len))
    };
    assert!(super::descriptor_set(&sources(&[("a.proto", &named(510))])).is_ok());
    let message = "a.proto:2:21: with all it lies in, a name has 1024 characters at most";
    assert_eq!(error(&named(511)), message);
}

#[test]
fn what_numbers_must_not_be_are_errors() {
    let errors = [
        proto2("message A { optional int32 a = 0; }"),
        proto2("message A { optional int32 a = -1; }"),
        proto2("message A { optional int32 a = 536870912; }"),
        proto2("message A { optional int32 a = 99999999999; }"),
        proto2("message A { optional int32 a = 19500; }"),
        proto2("message A { optional int32 a = 1; optional int32 b = 1; }"),
        proto2("message A { optional int32 a = 1; oneof o { int32 b = 1; } }"),
        proto2("message A { reserved 5 to 7; optional int32 a = 6; }"),
        proto2("message A { reserved \"a\"; optional int32 a = 6; }"),
        proto2("message A { reserved \"a\", \"a\"; }"),
        proto2("message A { reserved 1 to 5, 4; }"),
        proto2("message A { reserved 5 to 1; }"),
        proto2("message A { reserved 0; }"),
        proto2("message A { reserved 1 to 2147483647; }"),
        proto2("message A { extensions 5; optional int32 a = 5; }"),
        proto2("message A { extensions 5; reserved 2 to 6; }"),
        proto2("message A { extensions 5 to 536870912; }"),
        proto2("message A { extensions 5; }\nextend A { optional int32 x = 6; }"),
        proto2(
            "message A { extensions 5; }\nextend A { optional int32 x = 5; optional int32 y = 5; }",
        ),
        proto2("message A { extensions 5; }\nextend A { required int32 x = 5; }"),
        proto2("message A { extensions 5 to max; }\nextend A { optional int32 x = 19000; }"),
        proto3("message A { extensions 5; }"),
        proto3(
            "import \"google/protobuf/descriptor.proto\";\nextend google.protobuf.FileDescriptorSet { optional int32 x = 536000000; }",
        ),
        proto2("enum E {}"),
        proto2("enum E { A = 1; B = 1; }"),
        proto2("enum E { option allow_alias = true; A = 1; B = 2; }"),
        proto2("enum E { A = 1; reserved -1 to 3; }"),
        proto2("enum E { A = 1; reserved \"A\"; }"),
        proto2("enum E { A = 1; reserved 2 to 5, 5 to max; }"),
        proto2("enum E { A = 1; reserved \"B\", \"B\"; }"),
        proto3("enum E { A = 1; }"),
        edition("enum E { A = 1; }"),
        proto3("enum E { E_A = 0; A = 1; }"),
        proto3("enum Some_E { some_e_a_b = 0; SOMEE_A_B = 1; }"),
        edition("enum E { A_B = 0; a__b = 1; }"),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

/// As protoc has it, for schemas that are older than JSON.
#[test]
fn a_message_can_allow_fields_with_the_same_name_in_json() {
    const ALLOW: &str = "option deprecated_legacy_json_field_conflicts = true;";
    let is_allowed = |text: String| super::parse(&sources(&[("a.proto", &text)]), false).is_ok();
    let clash = |inside: &str| {
        format!(
            "syntax = \"proto3\";\nmessage A {{ {inside} int32 foo_bar = 1; int32 fooBar = 2; }}"
        )
    };
    assert!(is_allowed(clash(ALLOW)));
    assert!(!is_allowed(clash("option deprecated_legacy_json_field_conflicts = false;")));
    assert!(!is_allowed(clash("option deprecated = true;")));
    // Not for the messages inside, and not for names that the schema gives itself.
    assert!(!is_allowed(clash(&format!(
        "{ALLOW} message B {{ int32 foo_bar = 1; int32 fooBar = 2; }}"
    ))));
    assert!(!is_allowed(format!(
        "syntax = \"proto3\";\nmessage A {{ {ALLOW} int32 a = 1 [json_name = \"c\"]; int32 b = 2 [json_name = \"c\"]; }}"
    )));
}

/// Those of proto2, those with one number, and those that are for JSON of old.
#[test]
fn values_with_one_short_name_may_be_one_value() {
    let legacy = "option deprecated_legacy_json_field_conflicts = true;";
    for text in [
        "syntax = \"proto2\"; enum E { E_A = 0; A = 1; }".to_owned(),
        format!("syntax = \"proto3\"; enum E {{ {legacy} E_A = 0; A = 1; }}"),
        "syntax = \"proto3\"; enum E { option allow_alias = true; E_A = 0; A = 0; }".to_owned(),
        "syntax = \"proto3\"; enum E { E_ = 0; A_B = 1; AB = 2; E2 = 3; }".to_owned(),
        "edition = \"2023\"; enum E { option features.json_format = LEGACY_BEST_EFFORT; E_A = 0; A = 1; }"
            .to_owned(),
    ] {
        let parsed = super::parse(&sources(&[("a.proto", &text)]), false);
        assert!(parsed.is_ok(), "{text}: {}", parsed.err().unwrap());
    }
}

#[test]
fn options_that_do_not_fit_are_errors() {
    let errors = [
        proto2("message A { optional int32 a = 1 [default = \"x\"]; }"),
        proto2("message A { optional int32 a = 1 [default = 3000000000]; }"),
        proto2("message A { optional uint32 a = 1 [default = -1]; }"),
        proto2("message A { optional int64 a = 1 [default = 9223372036854775808]; }"),
        proto2("message A { optional bool a = 1 [default = yes]; }"),
        proto2("message A { optional E a = 1 [default = C]; } enum E { B = 0; }"),
        proto2("message A { repeated int32 a = 1 [default = 1]; }"),
        proto2("message A { optional A a = 1 [default = 1]; }"),
        proto2("message A { optional int32 a = 1 [packed = true]; }"),
        proto2("message A { repeated string a = 1 [packed = true]; }"),
        proto2("enum E { A = 1; }\nmessage M { map<int32, E> m = 1; }"),
        proto2("message A { option message_set_wire_format = true; optional int32 a = 1; }"),
        proto3("message A { int32 a = 1 [default = 1]; }"),
        proto3("message A { int32 foo_bar = 1; int32 fooBar = 2; }"),
        error_of(&[
            ("a.proto", "syntax = \"proto3\";\nimport \"b.proto\";\nmessage A { E e = 1; }"),
            ("b.proto", "syntax = \"proto2\"; enum E { ZERO = 0; }"),
        ]),
        edition(
            "enum E { option features.enum_type = CLOSED; A = 0; }\nmessage M { E e = 1 [features.field_presence = IMPLICIT]; }",
        ),
        edition("message M { int32 e = 1 [features.field_presence = IMPLICIT, default = 1]; }"),
        edition("message M { repeated int32 e = 1 [features.field_presence = IMPLICIT]; }"),
        edition("message M { int32 e = 1 [features.repeated_field_encoding = PACKED]; }"),
        edition("message M { bytes e = 1 [features.utf8_validation = VERIFY]; }"),
        edition("message M { bytes e = 1 [features.message_encoding = DELIMITED]; }"),
        edition("message M { map<int32, M> e = 1 [features.message_encoding = DELIMITED]; }"),
        edition("message M { M e = 1 [features.field_presence = IMPLICIT]; }"),
        edition("message M { repeated bytes e = 1 [features.repeated_field_encoding = PACKED]; }"),
        edition("message M { int32 e = 1 [features.enum_type = CLOSED]; }"),
        edition("message M { option features.message_encoding = DELIMITED; }"),
        edition("option features.field_presence = LEGACY_REQUIRED;"),
        proto2("message A { optional float a = 1 [default = infinity]; }"),
        proto2("message A { optional double a = 1 [default = NaN]; }"),
        proto2("message A { optional map<int32, int32> a = 1; }"),
        proto2("message A { optional string a = 1 [default = \"\\xff\"]; }"),
        proto2("message A { optional int32 a = 1 [json_name = \"[b]\"]; }"),
        proto2(
            "message A { optional int32 a = 1 [json_name = \"c\"]; optional int32 b = 2 [json_name = \"c\"]; }",
        ),
        proto2(
            "message A { option message_set_wire_format = true; extensions 1 to max; }\nextend A { optional int32 a = 1; }",
        ),
        proto2(
            "message A { option message_set_wire_format = true; extensions 1 to max; }\nextend A { repeated A a = 1; }",
        ),
        proto2("message A { extensions 1 to max; }\nextend A { optional A a = 2000000000; }"),
        proto3("message A { option message_set_wire_format = true; }"),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_message_set_has_more_numbers() {
    let text = "syntax = \"proto2\"; message A { extensions 4 to max; \
        option message_set_wire_format = true; extend A { optional A a = 2147483646; } } \
        message B { optional int32 a_b = 1; optional int32 aB = 2; }";
    let schema = super::parse(&sources(&[("a.proto", text)]), false).map_err(|e| e.to_string());
    assert!(schema.is_ok(), "{schema:?}");
}

#[test]
fn a_scope_hides_what_lies_outside() {
    let text = "syntax = \"proto2\"; package p.q; message M { message M { optional M a = 1; optional .p.q.M b = 2; } \
                optional q.M c = 3; optional q.M.M d = 4; optional int32 M_ = 5; }";
    let schema = super::parse(&sources(&[("a.proto", text)]), false).map_err(|e| e.to_string());
    let types: Vec<String> = crate::model::dump::rows(&schema.unwrap())
        .fields
        .into_iter()
        .filter_map(|row| row.field.map(|(_, name, _, kind)| format!("{name}: {kind}")))
        .collect();
    insta::assert_snapshot!(types.join("\n"));
}

/// protobuf-parse and our own reading come to the same model.
#[test]
fn two_parsers_agree() {
    let text = r#"
        syntax = "proto2";
        package p;
        import "google/protobuf/descriptor.proto";
        message A {
          optional int32 a = 1 [default = -7, deprecated = true];
          repeated sint64 b = 2 [packed = true];
          required string c = 3 [default = "a\"\n", json_name = "sea"];
          optional bytes d = 4 [default = "\001x\xff"];
          optional double e = 5 [default = -inf];
          optional float f = 6 [default = 1.5e3];
          optional E g = 7 [default = TWO];
          oneof o { string h = 8; A i = 9; group J = 10 { optional int32 k = 1; } }
          map<string, A> l = 11;
          repeated group M = 12 { repeated p.A.B n = 1; }
          message B { optional .p.A a = 1; enum F { Q = 3; } }
          enum E { option allow_alias = true; TWO = 2; ZWEI = 2; MINUS = -1 [deprecated = true]; }
          extensions 100 to 199, 500;
          extensions 1000 to max;
          reserved 20, 30 to 40;
          reserved "x", "y";
        }
        extend A { optional group X3 = 500 { optional bool y = 1; } optional A.B.F x4 = 1000; }
        extend google.protobuf.FieldOptions { optional string note = 50000; }
        service S {
          rpc One(A) returns (A);
          rpc Many(stream A.B) returns (stream p.A) { option deprecated = true; }
        }
    "#;
    let three = r#"
        syntax = "proto3";
        package p.three;
        import public "two.proto";
        message T { int32 a = 1; optional int32 b = 2; repeated int32 c = 3; repeated bool d = 4 [packed = false];
          p.A e = 5; map<int32, U> f = 6; oneof g { U h = 7; } enum U { NONE = 0; } string i = 8; optional U j = 9; }
    "#;
    let sources = sources(&[("two.proto", text), ("three.proto", three)]);
    let own = |source: &Source| {
        let (file, beyond) = super::own(source, true).unwrap();
        assert!(!beyond, "{}", source.path);
        file
    };
    let by_both =
        format!("{:#?}", super::parse(&sources, false).map_err(|e| e.to_string()).unwrap());
    let mut files: Vec<Parsed> = sources.iter().map(&own).collect();
    let used_well_known = crate::wellknown::missing(&files);
    assert!(super::pure(sources.iter().chain(&used_well_known)).is_some());
    files.extend(used_well_known.iter().map(|s| Parsed { emitted: false, ..own(s) }));
    imports::check(&files).unwrap();
    link::link(&mut files).unwrap();
    check::check(&files).unwrap();
    let theirs = super::pure(sources.iter().chain(&used_well_known)).unwrap();
    for (theirs, ours) in theirs.iter().zip(&files) {
        assert_eq!(super::facts::of(theirs), super::facts::of(&ours.descriptor));
    }
    let by_ours = format!("{:#?}", build::schema(&files, false).unwrap());
    for (ours, both) in by_ours.lines().zip(by_both.lines()) {
        assert_eq!(ours, both);
    }
    assert_eq!(by_ours, by_both);
}

#[test]
fn what_every_protobuf_brings_along() {
    let all = "any api compiler/plugin cpp_features descriptor duration empty field_mask \
        java_features source_context struct timestamp type wrappers";
    let imports: String =
        all.split(' ').map(|file| format!("import \"google/protobuf/{file}.proto\";")).collect();
    let text = format!(
        "edition = \"2023\"; {imports} message A {{
        google.protobuf.Api api = 1; google.protobuf.compiler.Version version = 2;
        string s = 3 [features.(pb.cpp).string_type = VIEW]; }}"
    );
    let mut schema = super::parse(&sources(&[("a.proto", &text)]), false).unwrap();
    crate::model::reach::mark(&mut schema);
    assert_eq!(schema.files.len(), 1 + all.split(' ').count());
    let emitted = |f: &&crate::model::File| f.emitted && f.path.starts_with("google/");
    let emitted: Vec<_> = schema.files.iter().filter(emitted).map(|f| f.path.as_str()).collect();
    let used = ["any", "api", "compiler/plugin", "descriptor", "source_context", "type"];
    assert_eq!(emitted, used.map(|file| format!("google/protobuf/{file}.proto")));
    // By both parsers, and without being imported by the source itself.
    let text = "syntax = \"proto3\"; import \"google/protobuf/api.proto\";";
    let schema = super::parse(&sources(&[("a.proto", text)]), false).unwrap();
    assert_eq!(schema.files.len(), 5);
}

#[test]
fn numbers_are_read_as_they_are_written() {
    let text = "syntax = \"proto2\"; message A { optional int32 o = 010 [default = 017]; \
        optional double d = 0x10 [default = 010]; reserved 011, 0x20 to 0x2F; \
        enum E { Z = 0; A = 010; B = -010; C = 0x7FFFFFFF; } }";
    let schema = super::parse(&sources(&[("a.proto", text)]), false).unwrap();
    let fields: Vec<_> =
        schema.messages[0].fields.iter().map(|f| (f.number, f.default.clone())).collect();
    use crate::model::Default::{Float, Int};
    assert_eq!(fields, [(8, Some(Int(15))), (16, Some(Float(8.0)))]);
    let values: Vec<_> = schema.enums[0].values.iter().map(|v| v.number).collect();
    assert_eq!(values, [0, 8, -8, i32::MAX]);
    assert_eq!(
        proto2("message A { reserved 011; optional int32 a = 9; }"),
        "a.proto:2:46: number 9 is reserved"
    );
}
