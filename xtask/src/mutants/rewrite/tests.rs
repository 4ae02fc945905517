use super::*;

const LIMITS: &str = "/// Text.\npub const FEW: usize = 4;\npub const NAME: &str = \"\";\n";

/// The rewritten text, without the path of the module, and the names of the mutants of conditions.
fn rewrite(text: &str) -> (String, Vec<String>) {
    let mut rewriter = Rewriter { checks: true, ..Rewriter::default() };
    rewriter.add_limits("a/limits.rs", LIMITS).unwrap();
    let text = rewriter.file("a/b.rs", text, "X").unwrap();
    syn::parse_file(&text).unwrap();
    let names = rewriter.mutants.into_iter().map(|mutant| mutant.name).skip(2).collect();
    (text.replace("X::mutated::", ""), names)
}

fn same(text: &str) {
    assert_eq!(rewrite(text), (text.to_owned(), Vec::new()));
}

#[test]
fn limits_are_mutated_where_they_are_used() {
    let (text, _) = rewrite("fn f(n: usize) -> bool { n > limits::FEW && FEW < n }");
    assert_eq!(text, "fn f(n: usize) -> bool { n > limit(0, limits::FEW) && limit(0, FEW) < n }");
    let (text, _) = rewrite("fn f(&mut self) { self.few = 1; g(self.limits.few, few, x.few) }");
    assert_eq!(text, "fn f(&mut self) { self.few = 1; g(limit(0, self.limits.few), few, x.few) }");
    same("fn f() -> &'static str { NAME }");
    same("use limits::FEW; const MORE: usize = FEW + 1; static S: usize = FEW;");
    same("const fn f() -> usize { FEW } fn g(a: [u8; FEW]) -> [u8; 4] { [0; FEW] }");
    same("fn f(n: usize) { match n { 0..=FEW => {} _ => {} } }");
    same("#[cfg(test)] mod tests { fn f() -> usize { FEW } } #[test] fn g() { FEW; }");
}

#[test]
fn limits_are_found_by_file_or_name() {
    let mut rewriter = Rewriter::default();
    rewriter.add_limits("a/limits.rs", LIMITS).unwrap();
    rewriter.add_limits("a/b.rs", "const A_MAX: u16 = 1; const B: u16 = 1;").unwrap();
    rewriter.add_limits("b/limits.rs", "\npub const FEW: u64 = 1;").unwrap();
    let names: Vec<&str> = rewriter.mutants.iter().map(|mutant| mutant.name.as_str()).collect();
    let of = |name| [format!("limit {name} is 1000 times larger"), format!("limit {name} is zero")];
    assert_eq!(names, [of("FEW"), of("A_MAX")].concat());
    let places = [("a/limits.rs".to_owned(), 2), ("b/limits.rs".to_owned(), 2)];
    assert_eq!(rewriter.mutants[0].places, places);
}

/// Crates that have nothing to do with each other have limits of one name.
#[test]
fn limits_of_other_crates_are_others() {
    let mut rewriter = Rewriter::default();
    let limit = "pub const FEW: usize = 4;";
    rewriter.add_limits("a/limits.rs", limit).unwrap();
    rewriter.group = "b";
    rewriter.add_limits("b/limits.rs", limit).unwrap();
    let use_of = |rewriter: &mut Rewriter, file| {
        rewriter.file(file, "fn f() -> usize { FEW }", "X").unwrap()
    };
    assert_eq!(use_of(&mut rewriter, "b/c.rs"), "fn f() -> usize { X::mutated::limit(2, FEW) }");
    rewriter.group = "";
    assert_eq!(use_of(&mut rewriter, "a/c.rs"), "fn f() -> usize { X::mutated::limit(0, FEW) }");
    rewriter.group = "d";
    assert_eq!(use_of(&mut rewriter, "d/c.rs"), "fn f() -> usize { FEW }");
    let names: Vec<&str> = rewriter.mutants.iter().map(|mutant| mutant.name.as_str()).collect();
    assert_eq!((names[1], names[3]), ("limit FEW is zero", "limit b FEW is zero"));
}

#[test]
fn conditions_that_refuse_are_mutated() {
    for (before, after) in [
        (
            "if a > b { return Err(1); } Ok(())",
            "if check(2, false, a > b) { return Err(1); } Ok(())",
        ),
        ("if a { Err(1) } else { Ok(()) }", "if check(2, false, a) { Err(1) } else { Ok(()) }"),
        ("if a { Ok(()) } else { Err(1) }", "if check(2, true, a) { Ok(()) } else { Err(1) }"),
        ("for x in y { if a { continue; } }", "for x in y { if check(2, false, a) { continue; } }"),
        (
            "match x { 1 if a => Err(1), _ => y }",
            "match x { 1 if check(2, false, a) => Err(1), _ => y }",
        ),
        ("match x { 1 if a => y, _ => z }", "match x { 1 if check(2, true, a) => y, _ => z }"),
        ("(a > b).then_some(1)", "check(2, true, (a > b)).then_some(1)"),
        ("(a > b).then(|| 1)", "check(2, true, (a > b)).then(|| 1)"),
        ("if FEW < b { return; }", "if check(2, false, limit(0, FEW) < b) { return; }"),
    ] {
        let function = |body| format!("fn f() {{ {body} }}");
        assert_eq!(rewrite(&function(before)).0, function(after));
    }
    let (text, _) = rewrite("fn f() { if let Some(x) = y && a && b { return; } }");
    assert_eq!(
        text,
        "fn f() { if let Some(x) = y && check(2, false, a) && check(3, false, b) { return; } }"
    );
    same("fn f() { if a { b(); } else { c(); } turn.then(step); while a { b(); } }");
    same("const fn f() -> bool { if a { return false; } true }");
}

#[test]
fn names_have_no_lines_and_differ() {
    let (_, names) = rewrite("fn f() {\n if a  >\n b { return; }\n if a > b { return; } }");
    let name = "check a/b.rs f: `a > b` is false";
    assert_eq!(names, [name.to_owned(), format!("{name} #2")]);
}
