//! Golden tests: compares the output for each case with the committed one, and with a second run.
//!
//! This is not part of `it`, because `it` compiles that output: a separate target can always rewrite it.
//! `UPDATE_GOLDEN=1 cargo test -p pbzero-codegen --test pairs` rewrites the files; review the diff.

#[path = "it/sources.rs"]
mod sources;

use std::fs;

use protozero_codegen::{ApiKinds, Config, OutputFile, Source, generate};
use sources::{here, sources};

fn run(sources: Vec<Source>) -> Vec<OutputFile> {
    generate(&Config {
        sources,
        api_kinds: ApiKinds::ALL,
        command: "cargo test -p pbzero-codegen".into(),
        source_prefix: "tests/cases/".into(),
        root: "crate::golden".into(),
        open_enums: true,
        ..Config::default()
    })
    .unwrap()
}

#[test]
fn output_is_the_committed_one() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    for file in run(sources()) {
        let path = here("it/golden").join(&file.path);
        if update {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &file.text).unwrap();
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        assert!(golden == file.text, "{} differs; UPDATE_GOLDEN=1 rewrites it", file.path);
    }
}

#[test]
fn output_follows_the_input_and_nothing_else() {
    assert_eq!(run(sources()), run(sources()));
    // The order of files only changes the order of lines in the module tree.
    let mut turned = sources();
    turned.reverse();
    let find = |files: &[OutputFile], path: &str| {
        files.iter().find(|f| f.path == path).unwrap().text.clone()
    };
    assert_eq!(find(&run(sources()), "proto3.rs"), find(&run(turned), "proto3.rs"));
}

#[test]
fn api_kinds_can_be_left_out() {
    let api_kinds = ApiKinds { owned: false, service: false, descriptor: false, ..ApiKinds::ALL };
    let files = generate(&Config {
        sources: sources(),
        api_kinds,
        command: "x".into(),
        source_prefix: String::new(),
        root: "crate".into(),
        open_enums: true,
        ..Config::default()
    })
    .unwrap();
    let all: String = files.iter().map(|f| f.text.as_str()).collect();
    assert!(all.contains("TreeWriter") && all.contains("TreeReader"));
    assert!(!all.contains("protozero::Message") && !all.contains("trait Host"));
}
