use std::fs;
use std::path::{Path, PathBuf};

use super::{Build, BuildError, import_path, lacks_types};
use crate::{ApiKinds, Config, Source, generate};

/// Folders `a` and `b`, and `b/x/p.proto` that imports `q.proto` of `a`.
fn folders() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("a")).unwrap();
    fs::create_dir_all(root.path().join("b/x")).unwrap();
    let p = "syntax = \"proto3\"; import \"q.proto\"; message P { Q q = 1; }";
    fs::write(root.path().join("b/x/p.proto"), p).unwrap();
    fs::write(root.path().join("a/q.proto"), "syntax = \"proto3\"; message Q {}").unwrap();
    root
}

#[test]
fn a_file_is_found_below_any_include() {
    let root = folders();
    let at = |path: &str| root.path().join(path);
    let (a, b) = (at("a"), at("b"));
    let find = |proto: &Path, includes: &[&Path]| import_path(proto, includes).ok();
    let expected = Some("x/p.proto".to_owned());
    assert_eq!(find(&at("b/x/p.proto"), &[&a, &b]), expected);
    assert_eq!(find(&at("b/x/p.proto"), &[&b, &a]), expected);
    assert_eq!(find(Path::new("x/p.proto"), &[&a, &b]), expected);
    assert_eq!(find(&at("a/../b/x/p.proto"), &[&a, &b]), expected);
    assert_eq!(find(&at("b/x/p.proto"), &[&at("a/../b")]), expected);
    assert_eq!(find(&at("b/x/p.proto"), &[&a]), None);
    assert_eq!(find(Path::new("../b/x/p.proto"), &[&a]), None);
    assert_eq!(find(Path::new("none.proto"), &[&a, &b]), None);
}

#[test]
fn imports_are_read_and_files_written_once() {
    let root = folders();
    let out = root.path().join("out");
    let includes: Vec<PathBuf> = ["a", "b"].iter().map(|f| root.path().join(f)).collect();
    let build = || Build::new().cargo(false).out_dir(&out).compile(&["x/p.proto"], &includes);
    build().unwrap();
    let written = |path: &str| fs::metadata(out.join(path)).unwrap().modified().unwrap();
    let first = ["mod.rs", "q.rs", "x/p.rs"].map(written);
    build().unwrap();
    assert_eq!(["mod.rs", "q.rs", "x/p.rs"].map(written), first);
    fs::write(root.path().join("a/q.proto"), b"// \n\xff").unwrap();
    assert_eq!(build().unwrap_err().to_string(), "q.proto:2:1: this is not UTF-8");
    fs::remove_file(root.path().join("a/q.proto")).unwrap();
    let [a, b] = [0, 1].map(|i| includes[i].display().to_string());
    let missing =
        format!("x/p.proto:1:27: imported file q.proto is not found; searched: `{a}`, `{b}`");
    assert_eq!(build().unwrap_err().to_string(), missing);
}

/// As in a build script: its `main` returns the error of `compile`.
#[test]
fn an_option_that_is_none_is_an_error_of_the_build() {
    let set = |option: &str| -> Result<Build, BuildError> {
        let build = Build::new().option("grpc_feature=net")?;
        build.option(option)
    };
    assert_eq!(set("serde").unwrap().config.grpc_feature.as_deref(), Some("net"));
    let wrong = set("grpc_feature=a b").unwrap_err();
    assert!(matches!(wrong, BuildError::Option(_)), "{wrong}");
    assert_eq!(wrong.to_string(), "\"a b\" is not a name of a cargo feature");
}

/// The second call would leave the module of the first out of `mod.rs`.
#[test]
fn one_folder_is_for_the_files_of_one_call() {
    let root = folders();
    let includes: Vec<PathBuf> = ["a", "b"].iter().map(|f| root.path().join(f)).collect();
    let to = |out: &str, protos: &[&str]| {
        Build::new().out_dir(root.path().join(out)).compile(protos, &includes)
    };
    let other = "syntax = \"proto3\"; message Other {}";
    fs::write(root.path().join("a/other.proto"), other).unwrap();
    to("out", &["q.proto"]).unwrap();
    let error = to("out", &["other.proto"]).unwrap_err().to_string();
    assert!(error.contains("wrote q.rs here") && error.contains("`out_dir`"), "{error}");
    let module = |out: &str| fs::read_to_string(root.path().join(out).join("mod.rs")).unwrap();
    assert!(module("out").contains("q.rs"), "{}", module("out"));
    // Another folder, the same files again, more files, and a program that is not a build script.
    to("other", &["other.proto"]).unwrap();
    to("out", &["q.proto"]).unwrap();
    to("out", &["x/p.proto"]).unwrap();
    to("out", &["q.proto"]).unwrap_err();
    let out = root.path().join("out");
    Build::new().cargo(false).out_dir(out).compile(&["other.proto"], &includes).unwrap();
}

/// Each API kind is more code to compile, so only owned messages are generated unasked.
#[test]
fn owned_messages_are_the_default() {
    let root = folders();
    let out = root.path().join("out");
    let includes: Vec<PathBuf> = ["a", "b"].iter().map(|f| root.path().join(f)).collect();
    let files = |build: Build| {
        build.cargo(false).out_dir(&out).compile(&["x/p.proto"], &includes).unwrap();
        let text = |path: &str| fs::read_to_string(out.join(path)).unwrap();
        ["q.rs", "x/p.rs"].map(text).concat()
    };
    let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let others = ["rt::writer!", "rt::reader!", "d::describe!"];
    let lean = files(Build::new());
    assert!(has(&lean, &["rt::owned!"]) && !has(&lean, &others), "{lean}");
    let more = files(Build::new().api_kinds(ApiKinds { writer: true, ..ApiKinds::OWNED }));
    assert!(has(&more, &["rt::owned!"]) && has(&more, &others[..1]), "{more}");
    assert!(!has(&more, &others[1..]), "{more}");
}

#[test]
fn the_schema_is_written_as_a_descriptor_set() {
    let root = folders();
    let set = root.path().join("set/all.bin");
    let includes: Vec<PathBuf> = ["a", "b"].iter().map(|f| root.path().join(f)).collect();
    let build = Build::new().cargo(false).out_dir(root.path().join("out"));
    build.file_descriptor_set_path(&set).compile(&["x/p.proto"], &includes).unwrap();
    let set = protozero::dynamic::Pool::decode(&fs::read(set).unwrap()).unwrap();
    assert!(set.message("P").is_some() && set.message("Q").is_some());
}

/// Nothing outside the folders is opened, and the import is what the error is about.
#[test]
fn imports_do_not_leave_the_folders() {
    let root = folders();
    let outside = root.path().join("outside.proto");
    fs::write(&outside, "secret").unwrap();
    fs::write(root.path().join("b/x/y.proto"), "secret").unwrap();
    let outside = outside.display().to_string();
    for path in
        [outside.as_str(), "../outside.proto", "./x/y.proto", "x//y.proto", "x/../x/y.proto"]
    {
        let p = format!("syntax = \"proto3\";\nimport {path:?};");
        fs::write(root.path().join("b/x/p.proto"), p).unwrap();
        let build = Build::new().cargo(false).out_dir(root.path().join("out"));
        let error = build.compile(&["x/p.proto"], &[root.path().join("b")]).unwrap_err();
        let start = format!("x/p.proto:2:8: {path:?} is not a plain path: ");
        assert!(error.to_string().starts_with(&start), "{error}");
    }
}

#[test]
fn a_manifest_without_the_well_known_types_is_noticed() {
    let code = |import: &str, field: &str| {
        let text = format!("syntax = \"proto3\"; {import} message M {{ {field} }}");
        let sources = vec![Source { path: "m.proto".into(), text }];
        generate(&Config { sources, api_kinds: ApiKinds::ALL, ..Config::default() }).unwrap()
    };
    let uses = code("import \"google/protobuf/any.proto\";", "google.protobuf.Any any = 1;");
    assert!(lacks_types(b"[dependencies]\npbzero = \"1\"", &uses));
    assert!(!lacks_types(b"[dependencies]\npbzero-types = \"1\"", &uses));
    assert!(!lacks_types(b"[dependencies.protozero_types]", &uses));
    assert!(!lacks_types(b"", &code("", "")));
}
