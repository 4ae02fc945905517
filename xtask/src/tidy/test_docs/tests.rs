use super::continued;

/// The lines of `text` with a comment that continues another one.
fn found(text: &str) -> Vec<usize> {
    continued(text).into_iter().map(|(line, _)| line).collect()
}

#[test]
fn a_comment_of_a_test_continues_no_other_one() {
    assert_eq!(found("/// So is the end.\n#[test]\nfn f() {}\n"), [1]);
    assert_eq!(
        found("fn g() {}\n\n/// The same for\n/// files.\n#[cfg(unix)]\n#[test]\nfn f() {}"),
        [3]
    );
    assert_eq!(found("    /// The same.\n    #[test]\n    fn f() {}\n"), [1]);
    assert_eq!(found("#[test]\nfn f() {}\n/// Also here.\n#[test]\nfn g() {}\n"), [3]);
}

#[test]
fn other_comments_may_begin_with_any_word() {
    assert!(found("/// So is the end.\nfn f() {}\n").is_empty());
    assert!(found("/// The same bytes are the same message.\n#[test]\nfn f() {}\n").is_empty());
    assert!(found("/// Some end, also here.\n#[test]\nfn f() {}\n").is_empty());
    assert!(found("/// So is the end.\nfn g() {}\n#[test]\nfn f() {}\n").is_empty());
    assert!(found("#[test]\n").is_empty());
}
