use super::*;
use crate::source;

/// Files (path and text) to findings.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    found_but(files, &[])
}

fn found_but(files: &[(&str, &str)], exceptions: &[(&str, &str)]) -> Vec<String> {
    let text = |(path, text): &(&str, &str)| Text {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
        code: source::code_only(text),
    };
    let mut findings = Findings::default();
    let texts: Vec<Text> = files.iter().map(text).collect();
    check_but(&texts, exceptions, &mut findings).expect("code");
    findings.0
}

const ROOT: (&str, &str) =
    ("tracing-sdk/src/lib.rs", "mod a;\npub mod b;\npub use self::a::{One, two};\n");
const A: (&str, &str) = (
    "tracing-sdk/src/a.rs",
    "pub struct One;\nimpl One { pub fn three(&self) {} fn four(&self) {} }\n\
     impl Clone for One { fn clone(&self) -> Self { One } }\n\
     pub fn two() {}\npub fn not_exported() {}\npub struct Inner;\nimpl Inner { pub fn five() {} }\n",
);
const B: (&str, &str) = (
    "tracing-sdk/src/b/mod.rs",
    "pub trait Six { fn seven(&self); #[doc(hidden)] fn eight(&self); }\n\
     #[doc(hidden)] pub fn hidden() {}\n#[macro_export] macro_rules! nine { () => {}; }\n",
);

fn missing(example: &str) -> Vec<String> {
    let program = ("tracing-sdk/examples/all.rs", example);
    let name = |finding: &String| finding.split('`').nth(1).map(str::to_owned);
    found(&[ROOT, A, B, program]).iter().filter_map(name).collect()
}

#[test]
fn public_items_need_an_example() {
    let all = ["nine", "One", "two", "Six", "One::three", "Six::seven"];
    let mut found = missing("fn main() {}");
    found.sort();
    let mut all = all.map(str::to_owned);
    all.sort();
    assert_eq!(found, all);
}

#[test]
fn programs_guides_and_documentation_are_examples() {
    let shown = "fn main() { let one = One; two(); one.three(); nine!(); }\n\
                 impl Six for () { fn seven(&self) {} }";
    assert_eq!(missing(shown), [""; 0]);
    let guide = format!("```rust\n# {}\n```\n", shown.replace('\n', "\n# "));
    assert_eq!(found(&[ROOT, A, B, ("docs/sdk.md", &guide)]), [""; 0]);
    let documented =
        format!("/// ```\n/// {}\n/// ```\nfn f() {{}}", shown.replace('\n', "\n/// "));
    assert_eq!(found(&[ROOT, A, B, ("tracing-sdk/src/c.rs", &documented)]), [""; 0]);
    // Not compiled, or not for users of this crate.
    let not = guide.replace("```rust", "```text");
    assert_eq!(found(&[ROOT, A, B, ("docs/sdk.md", &not)]).len(), 6);
    assert_eq!(found(&[ROOT, A, B, ("docs/protozero.md", &guide)]).len(), 6);
}

#[test]
fn a_method_is_shown_with_its_type() {
    let rest = "use a::{One, two, Six}; fn main() { nine!(); two(); seven::seven() }";
    assert_eq!(missing(&format!("{rest} // One::three\n")), ["One::three"]);
    assert_eq!(missing(&format!("{rest} fn f() {{ x.three }}")), [""; 0]);
    let elsewhere = "/// ```\n/// x.three()\n/// ```\nfn f() {}";
    let program = ("tracing-sdk/examples/all.rs", rest);
    let others = ("tracing-sdk/src/c.rs", elsewhere);
    assert_eq!(found(&[ROOT, A, B, program, others]).len(), 1, "of something");
    let own = A.1.replace("pub fn three", "/// ```\n/// x.three()\n/// ```\npub fn three");
    assert_eq!(found(&[ROOT, (A.0, &own), B, program]), [""; 0]);
}

#[test]
fn an_exception_has_no_example_and_exists() {
    let program =
        ("tracing-sdk/examples/all.rs", "fn main() { nine!(); two(); One; Six; seven::seven() }");
    let files = [ROOT, A, B, program];
    let with = |name| found_but(&files, &[(name, "a reason")]);
    assert_eq!(with("One::three"), [""; 0]);
    assert!(with("two").concat().contains("an example has `two`: it needs no exception"));
    assert!(with("ten").concat().contains("there is no item `ten`"));
}
