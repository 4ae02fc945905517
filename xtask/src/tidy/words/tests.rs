use super::{Findings, Text, check};
use std::collections::BTreeSet;

/// A file and its text to the lines that have findings.
fn found(path: &str, text: &str) -> BTreeSet<usize> {
    let is_rust = path.ends_with(".rs");
    let code = if is_rust { crate::source::code_only(text) } else { String::new() };
    let text = Text { path: path.to_owned(), text: text.to_owned(), code };
    let mut findings = Findings::default();
    check(&[text], &mut findings);
    let line = |finding: &String| finding.split(':').nth(1).and_then(|n| n.parse().ok());
    findings.0.iter().filter_map(line).collect()
}

#[test]
fn names_are_banned_where_they_are_declared() {
    assert_eq!(found("a.rs", "fn f() {}\npub struct Twin<T>(T);\n"), BTreeSet::from([2]));
    assert_eq!(found("a.rs", "pub(crate) fn doom(&self) {}"), BTreeSet::from([1]));
    assert_eq!(found("a.rs", "fn f() {\n    let mut feed = move |x| x;\n}\n"), BTreeSet::from([2]));
    assert_eq!(
        found(
            "a.rs",
            "enum E {\n    A(B<C, D>),\n    #[e(Own)]\n    Over {\n        room: u8 },\n}"
        ),
        BTreeSet::from([4, 5])
    );
    assert_eq!(
        found("a.rs", "struct S<T> where T: U {\n    a: fn() -> u8,\n    pub(super) spent: u8,\n}"),
        BTreeSet::from([3])
    );
    assert_eq!(found("a.rs", "fn rest() {}\nstruct S {\n    rest: u8,\n}"), BTreeSet::from([1]));
    assert!(found("a.rs", "struct S(Over);\nfn f() { E::Over { room: 1 } }").is_empty());
    assert_eq!(found("a.rs", "use BARREN_MAX;"), BTreeSet::from([1]));
    assert!(found("a.rs", "// struct Twin\nlet twins = Twin::new();\nstruct Twins;\n").is_empty());
    assert!(found("a.md", "struct Twin").is_empty());
}

#[test]
fn names_of_variables_and_files_are_banned() {
    assert_eq!(found("a.rs", "fn f() {\n    let mut twin = 1;\n}"), BTreeSet::from([2]));
    assert_eq!(found("a.rs", "fn f() {\n    for room in rooms {}\n}"), BTreeSet::from([2]));
    let taken = "fn f<T: U>(\n    a: fn(u8) -> u8,\n    mut given: T,\n) {}";
    assert_eq!(found("a.rs", taken), BTreeSet::from([3]));
    assert!(found("a.rs", "fn f(a: room::B) { let _ = x.room; y(room) }").is_empty());
    assert_eq!(found("a/reading.rs", "\n"), BTreeSet::from([1]));
    assert_eq!(found("a/room/mod.rs", "\n"), BTreeSet::from([1]));
    assert!(found("a/room.md", "\n").is_empty());
}

#[test]
fn comments_begin_with_a_sentence() {
    assert_eq!(found("a.rs", "/// Bytes ...\n/// ... of users.\n"), BTreeSet::from([2]));
    assert_eq!(found("a.proto", "  // ... of users.\n"), BTreeSet::from([1]));
    assert!(found("a.rs", "/// Numbers: 1, 2, ...\n").is_empty());
}

#[test]
fn phrases_are_banned_in_prose_also_across_lines() {
    assert_eq!(found("a.rs", "/// Memory for who\n/// reads it.\n"), BTreeSet::from([1]));
    assert_eq!(found("a.md", "Good.\nWhat of it is left.\n"), BTreeSet::from([2]));
    assert_eq!(found("a.rs", "// What\n// of it\n"), BTreeSet::from([1]));
    assert!(
        found("a.rs", "// Somebody who knows it.\n// The consumer, whose buffer it is.\n")
            .is_empty()
    );
    for path in [".ci/run", "a.conf", "a.proto", "a.py", "a.service", "a.sh", "a.socket", "a.toml"]
    {
        assert_eq!(found(path, "# Good: what\n# of it\n"), BTreeSet::from([1]), "{path}");
    }
    assert!(found("a.txt", "what of it").is_empty());
}
