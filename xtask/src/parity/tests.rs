use super::here::tests_in;
use super::*;

fn check(list: &str, code: &str, document: &str) -> SuiteResult {
    let suite = suite("buffer-v1".to_owned(), list).expect("a list");
    let tests = tests_in("tracing-core/service/src/buffer/tests.rs", code);
    compare(&suite, &tests, &excuses(document).expect("a table"))
}

const LIST: &str = "# about\nin tracing-core/service/src/buffer\n\nReadWrite_Simple\nEnd2EndSMB\n";

#[test]
fn names_are_found_however_their_words_are_cut() {
    let code = "#[test]\n#[should_panic]\nfn read_write_simple() {}\n\
                proptest! { #[test] fn end2end_smb(x in 0..1) { f(x) } }";
    assert_eq!(check(LIST, code, ""), SuiteResult { here: 2, ..SuiteResult::default() });
}

#[test]
fn helpers_and_comments_do_not_count() {
    let code = "fn read_write_simple() {}\n// #[test] fn end2end_smb() {}";
    assert_eq!(check(LIST, code, "").missing, ["ReadWrite_Simple", "End2EndSMB"]);
}

#[test]
fn variants_are_told_by_module_or_first_word() {
    let list = format!("as v1\n{LIST}");
    let code = "mod v1 { #[test] fn read_write_simple() {} }\n\
                mod v2 { #[test] fn end2end_smb() {} }";
    assert_eq!(check(&list, code, "").missing, ["End2EndSMB"]);
    let code = "#[test] fn v1_read_write_simple() {}\n#[test] fn v2_end2end_smb() {}";
    assert_eq!(check(&list, code, "").missing, ["End2EndSMB"]);
    let suite = suite("s".to_owned(), &list).expect("a list");
    let other = tests_in(
        "tracing-core/service/src/buffer/v1/tests.rs",
        "#[test] fn read_write_simple() {}",
    );
    assert!(is_counterpart(&suite, "ReadWrite_Simple", &other[0]));
    let outside = tests_in("tracing-core/src/v1/tests.rs", "#[test] fn read_write_simple() {}");
    assert!(!is_counterpart(&suite, "ReadWrite_Simple", &outside[0]));
}

#[test]
fn excuses_need_a_reason_and_go_stale() {
    let document = format!(
        "# Rows\n\n{EXCUSES}\n\n| suite | test | why |\n|---|---|---|\n\
         | buffer-v1 | `End2EndSMB`, `Nonsense` | no such memory |\n\n## More\n\n| a | `b` | c |\n"
    );
    let standing = check(LIST, "#[test] fn read_write_simple() {}", &document);
    assert_eq!(standing, SuiteResult { here: 1, excused: 1, ..SuiteResult::default() });
    let standing = check(LIST, "#[test] fn end2end_smb() {}", &document);
    assert_eq!(standing.stale, ["End2EndSMB"]);
    let suites = [suite("buffer-v1".to_owned(), LIST).expect("a list")];
    let excuses = excuses(&document).expect("a table");
    assert_eq!(unknown(&suites, &excuses).len(), 1);
    assert!(super::excuses(&format!("{EXCUSES}\n| s | `a` | |\n")).is_err());
}

#[test]
fn a_name_is_listed_once() {
    assert!(suite("s".to_owned(), "A\nA\n").is_err());
    assert!(suite("s".to_owned(), "at somewhere\n").is_err());
}
