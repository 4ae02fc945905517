//! Names of the members of oneofs.

use crate::{ApiKinds, Config, Source, generate};

const SCHEMA: &str = r#"syntax = "proto3";
package pkg;
message Blob { bytes own = 1; oneof of { bytes data = 2; string text = 3; bytes other = 4; } }
"#;

fn text(config: Config) -> String {
    let sources = vec![Source { path: "p.proto".into(), text: SCHEMA.into() }];
    let config = Config { sources, api_kinds: ApiKinds::OWNED, ..config };
    generate(&config).unwrap().swap_remove(0).text
}

#[test]
fn a_member_has_two_names() {
    for prost_names in [false, true] {
        for name in ["pkg.Blob.data", "pkg.Blob.of.data", ".pkg.Blob.of.data"] {
            let config = Config { prost_names, ..Config::default() };
            let all = text(Config { bytes: vec![name.into()], ..config.clone() });
            assert!(all.contains("    Data(protozero::bytes::Bytes),"), "{name}: {all}");
            assert!(all.contains("Data = 2 as Bytes(protozero::bytes::Bytes);"), "{name}: {all}");
            assert!(all.contains("    Other(Vec<u8>),"), "{name}: {all}");
            let field_attributes = vec![(name.into(), "#[cfg(all())]".into())];
            let all = text(Config { field_attributes, ..config });
            assert_eq!(all.matches("#[cfg(all())]").count(), 1, "{name}: {all}");
            assert!(all.contains("    #[cfg(all())]\n    Data(Vec<u8>),"), "{name}: {all}");
        }
        let strings = vec!["pkg.Blob.of.text".into()];
        let all = text(Config { strings, prost_names, ..Config::default() });
        assert!(all.contains("    Text(protozero::SharedStr),"), "{all}");
        assert!(all.contains("Text = 3 as Utf8In(protozero::SharedStr);"), "{all}");
    }
}

/// The name of a oneof is that of all its members for their types. An attribute of it stands at the field that holds
/// it; with the names of prost, as there, also at the members.
#[test]
fn a_oneof_has_a_name() {
    for (prost_names, name, count) in
        [(false, "pkg.Blob.of", 1), (true, "pkg.Blob.of", 1), (true, ".pkg.Blob.of", 4)]
    {
        let field_attributes = vec![(name.to_owned(), "#[cfg(all())]".into())];
        let all = text(Config { field_attributes, prost_names, ..Config::default() });
        assert_eq!(all.matches("#[cfg(all())]").count(), count, "{name}: {all}");
        assert!(all.contains("    #[cfg(all())]\n    pub of: Option<Blob_OfOneof>,"), "{all}");
    }
    for (prost_names, name) in [(false, "pkg.Blob.of"), (true, ".pkg.Blob.of")] {
        let all = text(Config { bytes: vec![name.into()], prost_names, ..Config::default() });
        assert!(all.contains("    Other(protozero::bytes::Bytes),"), "{name}: {all}");
        assert!(all.contains("    pub own: Vec<u8>,"), "{name}: {all}");
    }
}
