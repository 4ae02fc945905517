use crate::{ApiKinds, Config, Source, generate};

/// `mod.rs` for a schema in `package p`, without line breaks.
fn check(text: &str, change: impl FnOnce(&mut Config)) -> String {
    let text = format!("syntax = \"proto3\"; package p; {text}");
    let mut config = Config {
        sources: vec![Source { path: "a.proto".into(), text }],
        api_kinds: ApiKinds { owned: true, ..ApiKinds::default() },
        prost_names: true,
        ..Config::default()
    };
    change(&mut config);
    let files = generate(&config).unwrap();
    let tree = files.into_iter().find(|file| file.path == "mod.rs").unwrap().text;
    tree.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn types_are_at_the_paths_of_prost() {
    let tree = check(
        "message HTTPRoute { message Match { enum Kind { K = 0; } } oneof by_name { string peerURL = 1; } }
         enum KVOrder { UP = 0; }",
        |_| {},
    );
    for part in [
        "pub use self::HTTPRoute as HttpRoute;",
        "pub use self::KVOrder as KvOrder;",
        "pub mod http_route {",
        "pub use super::HTTPRoute_ByNameOneof as ByName;",
        "pub use super::HTTPRoute_Match as Match;",
        "pub mod r#match {",
        "pub use super::super::HTTPRoute_Match_Kind as Kind;",
    ] {
        assert!(tree.contains(part), "no {part} in {tree}");
    }
    let plain = check("message A { message B {} }", |config| config.prost_names = false);
    assert!(!plain.contains("pub use") && !plain.contains("pub mod a"), "{plain}");
}

#[test]
fn a_taken_name_has_no_alias() {
    // `KvPair` is a message, `D` would be the module `d` of generated code, and `OPTION` would hide `Option`.
    let tree = check(
        "message KVPair {} message KvPair {} message D { message E {} } message OPTION {}",
        |_| {},
    );
    assert!(!tree.contains("pub use") && !tree.contains("pub mod d"), "{tree}");
    // A package inside the package has the module already.
    let tree = check("message Sub { message E {} }", |config| {
        let text = "syntax = \"proto3\"; package p.sub; message F {}".into();
        config.sources.push(Source { path: "b.proto".into(), text });
    });
    assert_eq!(tree.matches("pub mod sub").count(), 1, "{tree}");
    assert!(!tree.contains("Sub_E"), "{tree}");
}
