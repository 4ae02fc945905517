use super::{cited, has_item, items};

fn found(line: &str) -> Vec<&str> {
    cited(line).collect()
}

#[test]
fn documents_of_which_a_section_is_cited() {
    // Put together here, so that this file cites none.
    let cite = |name: &str| format!("//! The opening ({name}{} 5.2).", ", section");
    assert_eq!(found(&cite("track-event.md")), ["track-event.md"]);
    assert_eq!(found(&cite("docs/sdk.md")), ["docs/sdk.md"]);
    assert!(found("//! The opening (`docs/sdk.md`), and a section.").is_empty());
    assert!(found("//! See section 5.2.").is_empty());
}

#[test]
fn what_a_line_names_in_a_file() {
    // Put together here, so that this file names none.
    let (path, name) = ("a/b.rs", "walk");
    for between in [", ", " ("] {
        let line = format!("/// `{path}`{between}`{name}`: it goes on.");
        assert_eq!(items(&line), [(path, name)]);
    }
    assert_eq!(items(&format!("`{path}`, `{path}`, `{name}`, `x`")), [(path, name)]);
    for line in
        ["`a/b.rs`: it goes on.", "`a/b.rs` has `walk`", "`walk`, `step`", "`a/b.rs`, `walk"]
    {
        assert_eq!(items(line), []);
    }
}

#[test]
fn what_a_file_has() {
    let code = "struct Walk { is_long: bool }\nfn walk(way: Way) { Step::End; way.run(way.open); way.run() }";
    for name in ["Walk", "is_long", "walk", "Way", "End", "open"] {
        assert!(has_item(code, name), "{name}");
    }
    for name in ["wal", "alk", "En", "run", "long"] {
        assert!(!has_item(code, name), "{name}");
    }
}
