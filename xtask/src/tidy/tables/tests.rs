use super::{Findings, Text, check};

/// The head of a file and its code, to the findings.
fn found(head: &str, code: &str) -> Vec<String> {
    let text = format!("{head}\n{code}");
    let code = crate::source::code_only(&text);
    let mut findings = Findings::default();
    check(&[Text { path: "a/mod.rs".to_owned(), text, code }], &mut findings);
    findings.0
}

const HEAD: &str = "\
//! A.
//!
//! | file | concern |
//! |---|---|
//! | `b`, [`mod@c`] | two |
//! | `d/`, `e/f` | more |";

#[test]
fn each_module_is_in_the_table() {
    assert!(found(HEAD, "mod b;\npub mod c;\npub(crate) mod d;\nmod e;\n").is_empty());
    let missing = found(HEAD, "mod b;\npub(super) mod bc;\n#[cfg(unix)]\nmod g;\n");
    let what = |name, line| {
        format!(
            "a/mod.rs:{line}: `{name}` is not in the table of the head: add a row that says what it is"
        )
    };
    assert_eq!(missing, [what("bc", 8), what("g", 10)]);
}

#[test]
fn a_table_may_be_in_plain_comments() {
    let plain = HEAD.replace("//! |", "// |");
    assert!(found(&plain, "mod b;\nmod c;\n").is_empty());
    assert_eq!(found(&plain, "mod b;\nmod g;\n").len(), 1);
}

#[test]
fn tests_and_tables_about_other_things_do_not_count() {
    let tests = "#[cfg(test)]\nmod tests;\n#[cfg(all(\n    test,\n    unix\n))]\nmod props;\n";
    assert!(found(HEAD, tests).is_empty());
    assert!(found("//! | flag | value |\n//! |---|---|\n//! | `a` | 1 |", "mod b;").is_empty());
    assert!(found("//! A.", "mod b;").is_empty());
    // A table ends with its rows.
    assert_eq!(found(&format!("{HEAD}\n//!\n//! | flag |\n//! | `g` |"), "mod g;").len(), 1);
}
