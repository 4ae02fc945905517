use crate::{ApiKinds, Config, Source, generate};

/// Where the code of a schema finds `google.protobuf.Timestamp` and `google.type.Money`.
fn text(externs: &[(&str, &str)]) -> String {
    let source = |path: &str, text: &str| Source {
        path: path.into(),
        text: format!("syntax = \"proto3\"; {text}"),
    };
    let all = "package p; import \"google/type/money.proto\"; import \"google/protobuf/timestamp.proto\"; \
        message M { google.type.Money price = 1; google.protobuf.Timestamp at = 2; }";
    let sources = vec![
        source(
            "google/type/money.proto",
            "package google.type; message Money { int64 units = 1; }",
        ),
        source("p.proto", all),
    ];
    let externs = externs.iter().map(|(prefix, at)| ((*prefix).into(), (*at).into())).collect();
    let config = Config { sources, api_kinds: ApiKinds::OWNED, externs, ..Config::default() };
    let files = generate(&config).unwrap();
    files.into_iter().find(|file| file.path == "p.rs").unwrap().text
}

/// A crate with other files of Google has the well-known types only if it is said so.
#[test]
fn the_folder_around_them_does_not_move_them() {
    let (ours, common) = ("::protozero_types::google::protobuf", "::common::schema::google");
    let around = text(&[("google/", "::common::schema")]);
    assert!(around.contains(&format!("price: Option<{common}::r#type::Money>,")), "{around}");
    assert!(around.contains(&format!("at: Option<{ours}::Timestamp>,")), "{around}");
    for prefix in ["google/protobuf/", "google/protobuf", "google/protobuf/timestamp.proto"] {
        let moved = text(&[("google/", "::common::schema"), (prefix, "::common::schema")]);
        assert!(moved.contains(&format!("at: Option<{common}::protobuf::Timestamp>,")), "{moved}");
    }
}
