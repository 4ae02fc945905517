use crate::{ApiKinds, Config, Source, generate};

/// `mod.rs` for a schema in `package p`, without line breaks.
fn check(text: &str, change: impl FnOnce(&mut Config)) -> String {
    made("mod.rs", text, change).unwrap()
}

fn made(file: &str, text: &str, change: impl FnOnce(&mut Config)) -> Result<String, String> {
    let text = format!("syntax = \"proto3\"; package p; {text}");
    let mut config = Config {
        sources: vec![Source { path: "a.proto".into(), text }],
        api_kinds: ApiKinds { owned: true, ..ApiKinds::default() },
        prost_names: true,
        ..Config::default()
    };
    change(&mut config);
    let files = generate(&config).map_err(|error| error.to_string())?;
    let text = files.into_iter().find(|made| made.path == file).unwrap().text;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
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

const ORDER: &str =
    "message Order { oneof paid { string card = 1; } uint32 sum = 2; message Item {} }";

#[test]
fn attributes_are_where_prost_would_put_them() {
    let attributes = |names: &[&str]| {
        made("a.rs", ORDER, |config| {
            let at = |name: &&str| ((*name).to_owned(), format!("#[at = {name:?}]"));
            config.message_attributes = names.iter().map(at).collect();
        })
    };
    let code = attributes(&[".p.Order", "Order"]).unwrap();
    // A name with a dot in front matches what is inside, another one does not.
    assert!(code.contains("#[at = \".p.Order\"] #[at = \"Order\"] pub struct Order {"), "{code}");
    assert!(code.contains("#[at = \".p.Order\"] pub struct Order_Item"), "{code}");
    assert!(code.contains("#[at = \".p.Order\"] pub enum Order_PaidOneof"), "{code}");
    assert!(attributes(&["rder"]).unwrap_err().starts_with("rder:0:0: nothing in the schema"));
    let members = |name: &str| {
        let field = vec![(name.to_owned(), "#[at]".to_owned())];
        made("a.rs", ORDER, |config| config.field_attributes = field)
    };
    assert!(members("Order.paid.card").unwrap().contains("{ #[at] Card(String), }"));
    assert!(members("Order.paid").unwrap().contains("#[at] pub paid:"));
    assert!(!members("Order.paid").unwrap().contains("#[at] Card"));
}

#[test]
fn a_oneof_is_behind_the_other_fields() {
    let at = |code: &str, part: &str| code.find(part).unwrap();
    let code = made("a.rs", ORDER, |_| {}).unwrap();
    assert!(at(&code, "pub sum:") < at(&code, "pub paid:"));
    let code = made("a.rs", ORDER, |config| config.prost_names = false).unwrap();
    assert!(at(&code, "pub paid:") < at(&code, "pub sum:"));
}

/// A name that is not full has the full one in its error.
#[test]
fn a_name_that_is_not_full_is_told() {
    let error = made("a.rs", ORDER, |config| {
        config.prost_names = false;
        config.field_attributes = vec![("Order.sum".into(), "#[at]".into())];
    });
    let error = error.unwrap_err();
    assert!(error.ends_with("; names are full: p.Order.sum"), "{error}");
}

/// A plain type has no place for unknown fields, and the field says so.
#[test]
fn a_field_that_loses_data_says_so() {
    let text = "import \"google/protobuf/empty.proto\"; import \"google/protobuf/wrappers.proto\";
        message Plain {
          // The note.
          google.protobuf.StringValue note = 1;
          google.protobuf.Empty nothing = 2;
          int32 count = 3;
          oneof one { google.protobuf.Int32Value number = 4; }
          // The names.
          map<string, google.protobuf.StringValue> names = 5;
        }";
    let plain = made("a.rs", text, |config| config.plain_types = true).unwrap();
    let drops = "/// Decoding drops unknown fields inside.";
    for part in [
        format!("/// The note. /// {drops} pub note: Option<String>"),
        format!("{drops} pub nothing: Option<()>"),
        format!("{drops} Number(i32)"),
        format!("/// The names. /// {drops} pub names: rt::heap::BTreeMap<String, String>"),
    ] {
        assert!(plain.contains(&part), "no {part} in {plain}");
    }
    assert_eq!(plain.matches(drops).count(), 4, "{plain}");
    assert!(!made("a.rs", text, |_| {}).unwrap().contains(drops));
}
