//! Each row of the tables is code: a comment `row: ` with its first cell, in rows.rs, the build script, or a test of
//! gRPC, and below it what its last cell has in backticks.

use std::collections::BTreeMap;

const DOCUMENT: &str = include_str!("../../../../../docs/coming-from.md");
const CODE: [&str; 3] = [
    include_str!("rows.rs"),
    include_str!("../build.rs"),
    include_str!("../../../../../protozero-tonic/examples/wire/tests/it/rows.rs"),
];

/// Not code of the crate: packages, programs, parts of names, what a build without features has.
const NO_CODE: &[&str] = &[
    "NAME_raw",
    "NAME_gather",
    "derive",
    "bytes",
    "default-features = false",
    "flat",
    "mod.rs",
    "ignore_unknown_fields",
    "pbzero-tonic",
    "pbzero-types",
    "protoc",
    "protos",
    "small",
    "syn",
    "i32",
];

/// Text without spaces, in which code is searched.
fn dense(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The cells of each row, without headings.
fn rows() -> Vec<Vec<String>> {
    let lines: Vec<&str> = DOCUMENT.lines().collect();
    let is_row = |line: &str| line.starts_with("| ");
    let next = |at: usize| lines.get(at + 1).is_some_and(|line| line.starts_with("|---"));
    let found = lines.iter().enumerate().filter(|(at, line)| is_row(line) && !next(*at));
    let cells = |line: &str| -> Vec<String> {
        let line = line.replace("\\|", "\u{0}");
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().replace('\u{0}', "|")).collect()
    };
    found.map(|(_, line)| cells(line)).collect()
}

/// The code of each row, by its first cell.
fn snippets() -> BTreeMap<String, String> {
    let mut all = BTreeMap::<String, String>::new();
    for file in CODE {
        let mut row = String::new();
        for line in file.lines() {
            match line.trim_start().strip_prefix("// row: ") {
                Some(name) => row = name.to_owned(),
                None => all.entry(row.clone()).or_default().push_str(&dense(line)),
            }
        }
    }
    all
}

#[test]
fn each_row_is_code() {
    let (rows, snippets) = (rows(), snippets());
    assert!(rows.len() > 60, "only {} rows were found", rows.len());
    let mut missing = Vec::new();
    for cells in &rows {
        let name = cells.iter().find(|cell| !cell.is_empty()).unwrap();
        let Some(code) = snippets.get(name) else {
            missing.push(format!("no code for the row: {name}"));
            continue;
        };
        let last = cells.last().unwrap();
        // What is between backticks; `..` stands for anything.
        let quoted = last.split('`').skip(1).step_by(2).filter(|part| !NO_CODE.contains(part));
        for part in quoted.flat_map(|part| part.split("..")) {
            if !code.contains(&dense(part)) {
                missing.push(format!("the code of {name} has no {part}"));
            }
        }
    }
    let first = |row: &Vec<String>| row.iter().find(|cell| !cell.is_empty()).unwrap().clone();
    let known: Vec<String> = rows.iter().map(first).collect();
    let names = snippets.keys().filter(|name| !name.is_empty() && *name != "end");
    missing
        .extend(names.filter(|n| !known.contains(n)).map(|n| format!("no row has the name {n}")));
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}
