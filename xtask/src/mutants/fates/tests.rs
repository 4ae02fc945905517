use super::*;

/// The fate of a mutant of `a.rs` in a later run; `change` does something to the sources between.
fn after(fate: &Fate, change: impl FnOnce(&Path), afresh: bool) -> Option<Fate> {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let root = std::env::temp_dir().join(format!("fates-{}-{number}", std::process::id()));
    for folder in SOURCES {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    let source = |name: &str| root.join("tracing-core").join(name);
    std::fs::write(source("a.rs"), "a").unwrap();
    std::fs::write(source("tests.rs"), "t").unwrap();
    let places = vec![("tracing-core/a.rs".to_owned(), 1)];
    let mutant = Mutant { name: "check\ta".replace('\t', " "), places };
    let path = root.join("fates.txt");
    let open = |afresh| Fates::open(&path, &root, afresh).unwrap();
    assert_eq!((open(false).of(&mutant), open(false).rank(&mutant)), (None, 0));
    open(false).note(&mutant, fate).unwrap();
    change(&root.join("tracing-core"));
    let is_found = matches!(fate, Fate::Killed(_));
    assert_eq!(open(false).rank(&mutant), if is_found { 2 } else { 1 });
    let found = open(afresh).of(&mutant);
    std::fs::remove_dir_all(&root).unwrap();
    found
}

#[test]
fn a_run_is_continued() {
    let write =
        |file: &'static str| move |folder: &Path| std::fs::write(folder.join(file), "new").unwrap();
    for fate in [
        Fate::Killed("service/it".to_owned()),
        Fate::Hung("service/it".to_owned()),
        Fate::Survived,
        Fate::NotReached,
    ] {
        let known = Some(fate.clone());
        assert_eq!(after(&fate, |_| {}, false), known);
        assert_eq!(after(&fate, |_| {}, true), None);
        assert_eq!(after(&fate, write("a.rs"), false), None);
        // A test that changed may find what no test found.
        let is_killed = matches!(fate, Fate::Killed(_));
        assert_eq!(after(&fate, write("tests.rs"), false), known.filter(|_| is_killed));
    }
}
