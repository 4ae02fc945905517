use super::*;

fn findings(path: &str, code: &str) -> usize {
    let (path, text, code) = (path.to_owned(), code.to_owned(), code.to_owned());
    let mut findings = Findings::default();
    check(&[Text { path, text, code }], &mut findings);
    findings.0.len()
}

#[test]
fn a_test_that_does_not_run_tells_it() {
    let silent = "if !geteuid().is_root() { return; }";
    let told = "if skip::without_root(name) { return; } let own = geteuid().is_root();";
    let by_itself = r#"eprintln!("\nSKIPPED x: no root")"#;
    for path in ["os/src/tests.rs", "daemon/tests/it/rights.rs", "daemon/src/serve/tests/peers.rs"]
    {
        assert_eq!(findings(path, silent), 1, "{path}");
        assert_eq!(findings(path, "if os::process::effective_uid() != 0 { return; }"), 1);
        assert_eq!(findings(path, told), 0);
        assert_eq!(findings(path, by_itself), 1);
    }
    for path in ["daemon/src/serve/mod.rs", IN_FULL] {
        assert_eq!(findings(path, silent), 0, "{path}");
    }
}
