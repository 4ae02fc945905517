//! Replays `fuzz/regressions/TARGET/*` on the functions behind the targets, without a fuzzer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/lib.rs"]
mod bodies;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>());
    let mut names: Vec<String> = entries
        .unwrap_or_default()
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_was_found_stays_mended() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    for (name, run) in bodies::TARGETS {
        let folder = fuzz.join("regressions").join(name);
        for input in names(&folder) {
            println!("{name}/{input}");
            run(&fs::read(folder.join(&input)).unwrap());
        }
        run(b"");
    }
}

#[test]
fn every_target_is_listed() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let listed: BTreeSet<String> = bodies::TARGETS.iter().map(|t| t.0.to_owned()).collect();
    let files = names(&fuzz.join("fuzz_targets"));
    let files = files.iter().map(|name| name.trim_end_matches(".rs").to_owned());
    assert_eq!(listed, files.collect());
    let folders = names(&fuzz.join("regressions"));
    for folder in folders.iter().filter(|name| !name.ends_with(".md")) {
        assert!(listed.contains(folder), "regressions of no target: {folder}");
    }
}
