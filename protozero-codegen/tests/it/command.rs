//! The command accepts every option that its help lists.

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn every_option_of_the_help_is_accepted() {
    let command = || Command::new(env!("CARGO_BIN_EXE_protozero-codegen"));
    let help = command().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let words = help.split_whitespace().map(|word| word.trim_end_matches(','));
    let options: BTreeSet<&str> = words.filter(|word| word.starts_with("--")).collect();
    // Those of the plugin; `include`, `out`, `help` and `version`.
    assert_eq!(options.len(), 36, "{options:?}");
    for option in options {
        let output = command().args([option, "x"]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!error.contains("invalid option"), "{error}");
    }
}
