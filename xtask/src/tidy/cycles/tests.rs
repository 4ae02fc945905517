use super::{Findings, Text, check_roots};

/// The findings for a crate of these files, whose root is `lib.rs`.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let text = |(path, code): &(&str, &str)| Text {
        path: (*path).to_owned(),
        text: (*code).to_owned(),
        code: String::new(),
    };
    let mut findings = Findings::default();
    let texts: Vec<Text> = files.iter().map(text).collect();
    check_roots(&["c/lib.rs"], &texts, &mut findings).unwrap();
    findings.0
}

/// The files of the only cycle.
#[track_caller]
fn is_cycle(files: &[(&str, &str)], cycle: &str) {
    let found = found(files);
    assert_eq!(found.len(), 1, "{found:?}");
    let start = format!("cycle between files: {cycle}. ");
    assert!(found[0].contains(&start), "{found:?}");
}

#[track_caller]
fn is_free(files: &[(&str, &str)]) {
    assert_eq!(found(files), Vec::<String>::new());
}

const TWO: &str = "mod a; mod b;";

#[test]
fn two_files_that_import_from_each_other() {
    let a = ("c/a.rs", "use crate::b::B; pub struct A;");
    is_cycle(
        &[("c/lib.rs", TWO), a, ("c/b.rs", "use super::a::A; pub struct B;")],
        "c/a.rs, c/b.rs",
    );
    is_free(&[("c/lib.rs", TWO), a, ("c/b.rs", "pub struct B;")]);
}

#[test]
fn paths_of_types_expressions_and_macros_count() {
    let a = ("c/a.rs", "pub fn a() { crate::b::b() }");
    for b in [
        "pub fn b() { crate::a::a() }",
        "pub fn b() { super::a::a() }",
        "use super::a; pub fn b() { a::a() }",
        "use super::a::*; pub fn b() { a() }",
        "pub fn b() { use super::a::a as c; c() }",
        "pub fn b() { assert!(1 == super::a::a()) }",
        "macro_rules! m { () => { $crate::a::a() } } pub fn b() {}",
        "pub mod inner { pub fn b() { super::super::a::a() } } pub fn b() {}",
    ] {
        is_cycle(&[("c/lib.rs", TWO), a, ("c/b.rs", b)], "c/a.rs, c/b.rs");
    }
}

#[test]
fn a_macro_belongs_to_its_file() {
    let a = ("c/a.rs", "macro_rules! m { () => { crate::b::b() } }");
    let lib = ("c/lib.rs", "#[macro_use] mod a; mod b;");
    is_cycle(&[lib, a, ("c/b.rs", "pub fn b() { m!() }")], "c/a.rs, c/b.rs");
    is_cycle(&[lib, a, ("c/b.rs", "pub fn b() { vec![m!()]; }")], "c/a.rs, c/b.rs");
    is_free(&[lib, a, ("c/b.rs", "pub fn b() { m() }")]);
}

#[test]
fn three_files() {
    let lib = ("c/lib.rs", "mod a; mod b; mod d;");
    let files = |d| {
        [
            lib,
            ("c/a.rs", "pub struct A(crate::b::B);"),
            ("c/b.rs", "pub struct B(Box<crate::d::D>);"),
            ("c/d.rs", d),
        ]
    };
    is_cycle(&files("pub struct D(Vec<crate::a::A>);"), "c/a.rs, c/b.rs, c/d.rs");
    is_free(&files("pub struct D;"));
}

#[test]
fn a_parent_that_declares_and_exports_has_no_edge_to_its_child() {
    let a = ("c/a/child.rs", "use super::Shared; pub struct Child(Shared);");
    let lib = ("c/lib.rs", "mod a;");
    is_free(&[lib, ("c/a/mod.rs", "mod child; pub use child::Child; pub struct Shared;"), a]);
    is_cycle(
        &[lib, ("c/a/mod.rs", "mod child; pub use child::Child; pub struct Shared(Child);"), a],
        "c/a/child.rs, c/a/mod.rs",
    );
    is_cycle(
        &[lib, ("c/a/mod.rs", "mod child; use child::Child; pub struct Shared(Child);"), a],
        "c/a/child.rs, c/a/mod.rs",
    );
}

#[test]
fn an_exported_item_belongs_to_the_file_that_defines_it() {
    // `b` names an item of `a` through the root, which defines nothing.
    let lib = ("c/lib.rs", "mod a; mod b; pub use a::A; pub use b::*;");
    let a = ("c/a.rs", "use crate::B; pub struct A(B);");
    is_cycle(&[lib, a, ("c/b.rs", "use crate::A; pub enum B { A(A) }")], "c/a.rs, c/b.rs");
    is_free(&[lib, a, ("c/b.rs", "pub enum B { A }")]);
    // A `pub use` of a sibling is an edge.
    let b = ("c/b.rs", "pub use crate::a::A; pub struct B;");
    is_cycle(&[lib, a, b], "c/a.rs, c/b.rs");
}

#[test]
fn an_item_may_have_the_name_of_its_module() {
    let lib = ("c/lib.rs", "mod a; mod b; use a::a; pub use b::b; fn f() { a(); }");
    is_free(&[lib, ("c/a.rs", "pub fn a() { crate::b() }"), ("c/b.rs", "pub fn b() {}")]);
    is_cycle(
        &[lib, ("c/a.rs", "pub fn a() { crate::b() }"), ("c/b.rs", "pub fn b() { crate::f() }")],
        "c/a.rs, c/b.rs, c/lib.rs",
    );
}

#[test]
fn tests_and_models_are_left_out() {
    let a = ("c/a.rs", "pub fn a() { crate::b::b() }");
    for b in [
        "#[cfg(test)] mod tests { use crate::a::a; } pub fn b() {}",
        "#[cfg(all(test, unix))] mod tests; pub fn b() {}",
        "#[cfg(any(test, loom))] fn f() { crate::a::a() } pub fn b() {}",
        "struct B; impl B { #[cfg(test)] fn f() { crate::a::a() } } pub fn b() {}",
    ] {
        is_free(&[("c/lib.rs", TWO), a, ("c/b.rs", b)]);
    }
    for b in [
        "#[cfg(not(test))] fn f() { crate::a::a() } pub fn b() {}",
        "#[cfg(any(test, unix))] fn f() { crate::a::a() } pub fn b() {}",
    ] {
        is_cycle(&[("c/lib.rs", TWO), a, ("c/b.rs", b)], "c/a.rs, c/b.rs");
    }
}

#[test]
fn other_crates_fields_and_variables_are_no_items_of_a_file() {
    let a = ("c/a.rs", "pub fn a() { crate::b::b() }");
    let b = "use std::a; pub fn b() { other::a::a(); let x = y.a; z.a(); print!(\"{}\", x.a) }";
    is_free(&[("c/lib.rs", TWO), a, ("c/b.rs", b)]);
}

#[test]
fn listed_cycles_stay_and_stale_entries_are_findings() {
    let document = |rows: &str| {
        format!(
            "# A\n\n## Cycles between files\n\n| files | reason |\n|---|---|\n{rows}\n## B\n| `x` | |\n"
        )
    };
    let files = |document: &str, b| {
        found(&[
            ("ARCHITECTURE.md", document),
            ("c/lib.rs", TWO),
            ("c/a.rs", "use crate::b::B; pub struct A;"),
            ("c/b.rs", b),
        ])
    };
    let good = document("| `c/a.rs`, `c/b.rs` | They are one. |\n");
    let cycle = "use super::a::A; pub struct B;";
    assert_eq!(files(&good, cycle), Vec::<String>::new());
    let stale = ["ARCHITECTURE.md:7: no cycle any more: c/a.rs, c/b.rs"];
    assert_eq!(files(&good, "pub struct B;"), stale);
    let bare = document("| `c/a.rs`, `c/b.rs` | |\n");
    assert_eq!(files(&bare, cycle), ["ARCHITECTURE.md:7: a cycle that stays needs a reason"]);
}
