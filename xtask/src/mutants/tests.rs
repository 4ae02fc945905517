use super::*;

#[test]
fn lines_of_a_diff() {
    let diff = "--- a.rs\n+++ a.rs\n@@ -1,2 +3,2 @@ fn f() {\n+x\n+y\n@@ -9 +11 @@\n+z\n@@ -20,3 +19,0 @@\n\
                --- b.rs\n+++ b.rs\n@@ -0,0 +1 @@\n+w\n";
    let lines = [("a.rs", 3), ("a.rs", 4), ("a.rs", 11), ("b.rs", 1)];
    assert_eq!(lines_of(diff), lines.map(|(file, line)| (file.to_owned(), line)).into());
}

#[test]
fn arguments() {
    let parse = |text: &str| {
        Selection::parse(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let all = parse("--list --in-diff HEAD~1 --only x --only y --shard 1/4 --afresh").unwrap();
    assert!(all.list && all.afresh && all.shard == Some((1, 4)) && all.only == ["x", "y"]);
    for wrong in ["x", "--only", "--shard 1", "--shard 4/4", "--shard a/b"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

/// What is in the file must be mutants: their names change with the code.
#[test]
fn reasons_are_of_mutants() {
    let ctx = Ctx::new().unwrap();
    let reasons = Reasons::parse(&read(&ctx.root().join(REASONS)).unwrap()).unwrap();
    let mutants = copy::mutants(&ctx).unwrap();
    let unknown = reasons.unknown(|name| mutants.iter().any(|mutant| mutant.name == name));
    assert_eq!(unknown.collect::<Vec<_>>(), [""; 0]);
    assert!(mutants.len() > 500, "{}", mutants.len());
}

/// Each limit of a `limits.rs` is known, and used by code that can be mutated.
#[test]
fn limits_of_readers_and_data_sources() {
    let ctx = Ctx::new().unwrap();
    let mutants = copy::mutants(&ctx).unwrap();
    for (of, file) in [
        ("protozero DEPTH_MAX", "protozero/src/decode/limits.rs"),
        ("tracing-file UNPACKED_BYTES_MAX", "tracing-file/src/limits.rs"),
        ("tracing-probes WARNINGS_MAX", "tracing-probes/src/limits.rs"),
        ("SESSIONS_MAX", "tracing-core/service/src/limits.rs"),
    ] {
        let name = format!("limit {of} is zero");
        let mutant = mutants.iter().find(|mutant| mutant.name == name).expect(&name);
        assert!(mutant.places.iter().any(|place| place.0 == file), "{name}");
        assert!(mutant.places.len() > 1, "{name} is used nowhere");
    }
    let is_check = |mutant: &&Mutant| mutant.name.starts_with("check ");
    let checked = mutants.iter().filter(is_check).flat_map(|mutant| &mutant.places);
    assert!(checked.map(|place| &place.0).all(|file| file.starts_with("tracing-core/")));
    assert_eq!(copy::group("tracing-file/src/limits.rs"), "tracing-file");
    assert_eq!(copy::group("tracing-core/abi/src/limits.rs"), "");
}

/// Where the branch began; on the main branch the commit before; none in a repository with one commit.
#[test]
fn what_a_change_is_compared_with() {
    let find = |known: &[(&str, &str)]| {
        base(|arguments| {
            let asked = arguments.join(" ");
            known.iter().find(|(of, _)| asked.ends_with(of)).map(|(_, id)| (*id).to_owned())
        })
    };
    let (head, before) = (("rev-parse HEAD", "c"), ("HEAD~1", "b"));
    let began = |id| ("merge-base HEAD origin/main", id);
    assert_eq!(find(&[head, before, began("a")]).as_deref(), Some("a"));
    assert_eq!(find(&[head, before, ("merge-base HEAD main", "a")]).as_deref(), Some("a"));
    assert_eq!(find(&[head, before, began("c")]).as_deref(), Some("b"), "nothing is behind it");
    assert_eq!(find(&[head]), None);
    assert_eq!(find(&[]), None, "no repository");
}
