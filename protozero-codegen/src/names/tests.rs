use crate::{ApiKinds, Config, Source, generate};

fn text(config: Config) -> Result<String, String> {
    let files = generate(&Config { api_kinds: ApiKinds::ALL, ..config });
    let text = |files: Vec<crate::OutputFile>| files.into_iter().map(|f| f.text).collect();
    files.map(text).map_err(|e| e.to_string())
}

fn sources(texts: &[&str]) -> Vec<Source> {
    let source = |(at, text): (usize, &&str)| Source {
        path: format!("{at}.proto"),
        text: format!("syntax = \"proto3\"; {text}"),
    };
    texts.iter().enumerate().map(source).collect()
}

#[test]
fn values_have_no_prefix() {
    let text = |values: &str| {
        let schema = format!("enum OrderStatus {{ {values} }}");
        let text = text(Config { sources: sources(&[&schema]), ..Config::default() }).unwrap();
        let names = text.lines().filter_map(|l| l.trim().strip_prefix("pub const "));
        names.filter_map(|l| Some(l.split_once(": Self")?.0.to_owned())).collect::<Vec<_>>()
    };
    let shipped = "ORDER_STATUS_UNKNOWN = 0; ORDER_STATUS_NOT_SHIPPED = 1;";
    assert_eq!(text(shipped), ["Unknown", "NotShipped"]);
    // Another prefix, half of one, no rest, and a rest that is no name.
    let other = "OTHER_A = 0; ORDER_STATUSES = 1; ORDER_STATUS = 2; ORDER_STATUS_2 = 3; kLast = 4;";
    assert_eq!(text(other), ["OtherA", "OrderStatuses", "OrderStatus", "OrderStatus2", "KLast"]);
    assert_eq!(text("ORDER_STATUS_SELF = 0; _ = 1;"), ["Self_", "__"]);
    let alias = "option allow_alias = true; ORDER_STATUS_A = 0; ORDERSTATUS_A = 0; A = 0;";
    let mut names = text(alias);
    names.sort();
    assert_eq!(names, ["A", "A_", "A__"]);
}

/// The cases of prost's own tests, and those in which our names differ from prost's without the option.
#[test]
fn names_of_prost() {
    for (name, snake, camel) in [
        ("FooBar", "foo_bar", "FooBar"),
        ("FooBarBAZ", "foo_bar_baz", "FooBarBaz"),
        ("XMLHttpRequest", "xml_http_request", "XmlHttpRequest"),
        ("r#while", "r_while", "RWhile"),
        ("FUZZ_BUSTER", "fuzz_buster", "FuzzBuster"),
        ("foo_bar_baz", "foo_bar_baz", "FooBarBaz"),
        ("FUZZ_buster", "fuzz_buster", "FuzzBuster"),
        ("_FUZZ", "fuzz", "Fuzz"),
        ("_fuzz", "fuzz", "Fuzz"),
        ("_", "_", "_"),
        ("field_name1", "field_name1", "FieldName1"),
        ("_field_name3", "field_name3", "FieldName3"),
        ("field__name4_", "field_name4", "FieldName4"),
        ("peerURLs", "peer_ur_ls", "PeerUrLs"),
        ("type_", "type", "Type"),
        ("HTTPServer", "http_server", "HttpServer"),
        ("a1B", "a1_b", "A1B"),
        ("A1B", "a1b", "A1b"),
        ("_1st", "_1st", "_1st"),
        ("extern", "extern_", "Extern"),
    ] {
        assert_eq!(super::prost::snake(name), snake, "{name}");
        assert_eq!(super::prost::camel(name), camel, "{name}");
    }
    for (of, name, value) in [
        ("OrderStatus", "ORDER_STATUS_SHIPPED", "Shipped"),
        ("Foo", "FooBar", "Bar"),
        ("Foo", "Foobar", "Foobar"),
        ("Foo", "FOO", "Foo"),
        ("Foo", "Foo1", "Foo1"),
        ("HTTP", "HTTP_OK", "Ok"),
        ("Kind", "HTTPServer", "HttpServer"),
    ] {
        assert_eq!(super::prost::value(of, name), value, "{name}");
    }
    let schema = "message M { int32 type_ = 1; int32 a__b = 2; oneof _pick { string peerURLs = 3; } \
                  enum Foo { FOO_UNKNOWN = 0; FooBar = 1; HTTPServer = 2; } Foo foo = 5; }";
    let config = Config { sources: sources(&[schema]), prost_names: true, ..Config::default() };
    let text = text(config).unwrap();
    for part in [
        "pub r#type: i32,",
        "pub a_b: i32,",
        "pub pick: Option<",
        "    PeerUrLs(String),",
        "pub const Bar: Self",
        "pub const HttpServer: Self",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn flat_names_must_differ() {
    let flat = |texts: &[&str], flat: &str| {
        text(Config { sources: sources(texts), flat: vec![flat.into()], ..Config::default() })
    };
    let nested = "package p; message A { message B {} oneof b_field { int32 x = 1; } }";
    let text = flat(&[nested], "p").unwrap();
    assert!(text.contains("pub struct AB ") && text.contains(" ABField_, "), "{text}");
    assert!(text.contains("mod root_items {") && !text.contains("pub mod p "), "{text}");
    let error = flat(&[nested, "package p; message AB {}"], "p").unwrap_err();
    assert!(error.starts_with("1.proto:0:0: p.A.B and p.AB would both be `AB`"), "{error}");
    // Only where it was asked for.
    assert!(flat(&[nested, "package p; message AB {}"], "q").is_ok());
    assert!(flat(&["package p; message A {}", "package q; message A {}"], "p").is_ok());
    assert!(flat(&["package p; message A {}", "package q; message A {}"], ".").is_err());
}

/// A service with the name of its file was in the way of it.
#[test]
fn a_file_may_have_the_name_of_its_service() {
    let greeter = Source {
        path: "greeter.proto".into(),
        text: "syntax = \"proto3\"; package hello; message Hi {} \
               service Greeter { rpc Greet(Hi) returns (Hi); }"
            .into(),
    };
    let files =
        generate(&Config { sources: vec![greeter], api_kinds: ApiKinds::ALL, ..Config::default() });
    let files = files.unwrap();
    assert!(files[0].text.contains("pub mod Greeter {"), "{}", files[0].text);
    assert!(!files[1].text.contains("pub use"), "{}", files[1].text);
}
