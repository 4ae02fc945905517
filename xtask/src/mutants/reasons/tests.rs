use super::*;

#[test]
fn each_mutant_has_a_reason() {
    let reasons = Reasons::parse("# Why.\n\nlimit A is zero\n    Because\n    of it.\n").unwrap();
    assert_eq!(reasons.of("limit A is zero"), Some("Because of it."));
    assert_eq!(reasons.of("limit B is zero"), None);
    assert_eq!(reasons.unknown(|_| false).collect::<Vec<_>>(), ["limit A is zero"]);
    assert_eq!(reasons.unknown(|_| true).count(), 0);
    for (text, error) in [
        ("a\n", "no reason: a"),
        ("a\nb\n    c\n", "no reason: a"),
        ("    c\n", "a reason without a mutant:     c"),
        ("a\n    b\na\n    b\n", "twice: a"),
    ] {
        assert_eq!(Reasons::parse(text).err().as_deref(), Some(error));
    }
}
