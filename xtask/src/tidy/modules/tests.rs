use super::{Findings, Text, check};

/// Files (path and code) to findings.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let text = |(path, code): &(&str, &str)| Text {
        path: (*path).to_owned(),
        text: (*code).to_owned(),
        code: (*code).to_owned(),
    };
    let mut findings = Findings::default();
    check(&files.iter().map(text).collect::<Vec<_>>(), &mut findings);
    findings.0
}

#[test]
fn a_module_with_children_is_a_folder() {
    let good = [("a/src/foo/mod.rs", ""), ("a/src/foo/bar.rs", ""), ("a/src/food.rs", "")];
    assert!(found(&good).is_empty());
    let bad = [("a/src/foo.rs", ""), ("a/src/foo/bar.rs", "")];
    assert_eq!(found(&bad), ["a/src/foo.rs:1: move it to `a/src/foo/mod.rs`"]);
}

#[test]
fn tests_stand_in_a_file_of_their_own() {
    assert!(found(&[("a.rs", "#[cfg(test)]\nmod tests;\n")]).is_empty());
    assert_eq!(found(&[("a.rs", "#[cfg(test)]\nmod tests {\n}\n")]).len(), 1);
    assert_eq!(found(&[("a_tests.rs", "")]).len(), 1);
}
