//! A complete package, and the same with each thing taken away.

use super::complete::published;
use serde_json::{Value, json};

const FILES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

fn complete() -> Value {
    json!({
        "name": "pbzero-more", "publish": null, "description": "more", "license": "MIT",
        "readme": "README.md", "repository": "https://host.test/x", "rust_version": "1.88",
        "keywords": ["protobuf"], "categories": ["encoding"],
        "metadata": {"docs": {"rs": {"all-features": true}}},
    })
}

fn findings(package: &Value, files: &[&str], for_release: bool) -> Vec<String> {
    let metadata = json!({ "packages": [package] }).to_string();
    let packages = published(&metadata).unwrap();
    packages.iter().flat_map(|package| package.findings(files, for_release)).collect()
}

fn with(key: &str, value: Value) -> Value {
    let mut package = complete();
    package[key] = value;
    package
}

#[test]
fn a_complete_package_has_no_finding() {
    assert_eq!(findings(&complete(), &FILES, true), <Vec<String>>::new());
}

#[test]
fn what_is_not_published_may_lack_everything() {
    let internal = json!({ "name": "xtask", "publish": [] });
    assert_eq!(findings(&internal, &[], true), <Vec<String>>::new());
}

#[test]
fn everything_that_is_missing_is_found() {
    let texts = ["description", "license", "readme", "repository", "rust_version", "metadata"];
    for key in texts.into_iter().chain(["keywords", "categories"]) {
        let found = findings(&with(key, Value::Null), &FILES, false);
        assert_eq!(found.len(), 1, "{key}: {found:?}");
        let named = if key == "metadata" { "docs.rs".to_owned() } else { key.replace('_', "-") };
        assert!(found[0].contains(&named), "{found:?}");
    }
    for file in FILES {
        let others: Vec<&str> = FILES.into_iter().filter(|name| *name != file).collect();
        let found = findings(&complete(), &others, false);
        assert_eq!(found, [format!("package pbzero-more: {file} is not in the package")]);
    }
}

#[test]
fn what_crates_io_refuses_is_found() {
    let six = json!(["a", "b", "c", "d", "e", "f"]);
    for wrong in [
        with("keywords", six),
        with("categories", json!(["encodings"])),
        with("name", json!("pbzeroes")),
        with("name", json!("tracing-core")),
    ] {
        assert_eq!(findings(&wrong, &FILES, false).len(), 1, "{wrong}");
    }
}

/// A README and a root without one of what they say.
#[test]
fn readers_of_a_library_learn_its_features() {
    let mut package = with("features", json!({ "default": ["std"], "std": [], "json": [] }));
    let docs = json!({"docs": {"rs": {"rustdoc-args": ["--cfg", "docsrs"]}}});
    package["metadata"] = docs;
    let found = |package: &Value, readme: &str, root: &str| {
        let metadata = json!({ "packages": [package] }).to_string();
        published(&metadata).unwrap()[0].findings_in(readme, root)
    };
    let readme = "`std` and `json` with Rust 1.88. Licensed under MIT.";
    let root = "#![cfg_attr(docsrs, feature(doc_cfg))]";
    assert_eq!(found(&package, readme, root), <Vec<String>>::new());
    for part in ["`std`", "`json`", "Rust 1.88", "Licensed under"] {
        let found = found(&package, &readme.replace(part, ""), root);
        assert_eq!(found.len(), 1, "{part}: {found:?}");
        assert!(found[0].contains(part), "{found:?}");
    }
    assert!(found(&package, readme, "")[0].contains("docs.rs"));
    package["metadata"] = Value::Null;
    assert!(found(&package, readme, root)[0].contains("docs.rs"));
    package["features"] = json!({});
    assert_eq!(found(&package, readme, ""), <Vec<String>>::new());
    package["name"] = json!("tracebox-more");
    assert_eq!(found(&package, "", ""), <Vec<String>>::new());
}

#[test]
fn the_libraries_here_say_it() {
    let metadata = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .unwrap();
    assert!(metadata.status.success());
    let packages = published(&String::from_utf8(metadata.stdout).unwrap()).unwrap();
    assert!(packages.iter().filter(|package| package.name.starts_with("pbzero")).count() >= 5);
    for package in packages {
        let [readme, root] = package.texts().unwrap();
        assert_eq!(package.findings_in(&readme, &root), <Vec<String>>::new());
    }
}

#[test]
fn a_release_needs_a_repository_that_there_is() {
    let package = with("repository", json!("https://repository.example/x"));
    assert_eq!(findings(&package, &FILES, false), <Vec<String>>::new());
    assert_eq!(findings(&package, &FILES, true).len(), 1);
}
