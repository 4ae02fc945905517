use super::is_accepted;

#[test]
fn expressions_are_understood() {
    assert!(is_accepted("MIT OR GPL-3.0"));
    assert!(is_accepted("MIT/Apache-2.0"));
    assert!(is_accepted("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(is_accepted("Apache-2.0 WITH LLVM-exception OR MIT"));
    assert!(!is_accepted("MIT AND GPL-3.0"));
    assert!(!is_accepted("(MIT OR Apache-2.0) AND GPL-3.0"));
    assert!(!is_accepted("none"));
}
