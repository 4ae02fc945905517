use super::{Findings, Text, check};

/// A file and its text to the lines of findings.
fn found(path: &str, text: &str) -> Vec<usize> {
    let code = crate::source::code_only(text);
    let text = Text { path: path.to_owned(), text: text.to_owned(), code };
    let mut findings = Findings::default();
    check(&[text], &mut findings);
    let line = |finding: &String| finding.split(':').nth(1).and_then(|n| n.parse().ok());
    findings.0.iter().filter_map(line).collect()
}

#[test]
fn names_are_banned_where_they_are_declared() {
    assert_eq!(found("a.rs", "fn f() {}\npub struct Twin<T>(T);\n"), [2]);
    assert_eq!(found("a.rs", "pub(crate) fn doom(&self) {}"), [1]);
    assert_eq!(found("a.rs", "use BARREN_MAX;"), [1]);
    assert!(found("a.rs", "// struct Twin\nlet twin = Twin::new();\nstruct Twins;\n").is_empty());
    assert!(found("a.md", "struct Twin").is_empty());
}

#[test]
fn phrases_are_banned_in_prose_also_across_lines() {
    assert_eq!(found("a.rs", "/// Memory for who\n/// reads it.\n"), [1]);
    assert_eq!(found("a.md", "Good.\nWhat of it is left.\n"), [2]);
    assert_eq!(found("a.rs", "// What\n// of it\n"), [1]);
    assert!(
        found("a.rs", "// Somebody who knows it.\n// The consumer, whose buffer it is.\n")
            .is_empty()
    );
    assert!(found("a.toml", "what of it").is_empty());
}
