use protos::FtraceStats;
use protozero::Message;

use super::*;

fn notes(errors: &str, unknown: &[&str], failed: &[&str]) -> FtraceNotes {
    let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let stats = FtraceStats {
        atrace_errors: Some(errors.to_owned()),
        unknown_ftrace_events: strings(unknown),
        failed_ftrace_events: strings(failed),
        ..FtraceStats::default()
    };
    let mut notes = FtraceNotes::default();
    // They come at each flush.
    notes.add(&stats.encode_to_vec());
    notes.add(&stats.encode_to_vec());
    notes
}

#[test]
fn what_is_missing() {
    let refused = notes("linux.ftrace records nothing: no rights", &[], &[]);
    assert_eq!(refused.refused.as_deref(), Some("no rights"));
    assert!(refused.lines().is_empty());
    let remarks = notes("no symbols\ndrain_period_ms 0 is not used: 1 to 60000 are\n", &[], &[]);
    assert_eq!(
        remarks.lines(),
        ["linux.ftrace: drain_period_ms 0 is not used: 1 to 60000 are", "linux.ftrace: no symbols"]
    );
    assert_eq!(
        notes("", &["mmc", "a/b"], &["c/d"]).lines(),
        [
            "Not recorded, because this kernel does not have it: a/b, mmc",
            "Not recorded, because the kernel does not let it be recorded: c/d",
        ]
    );
}

#[test]
fn many_names_and_bytes_that_are_no_message() {
    let names: Vec<String> = (0..200).map(|number| format!("{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let many = notes("", &names, &[]);
    assert_eq!(many.unknown.len(), NAMES_MAX);
    assert!(
        many.lines()[0].ends_with(": 000, 001, 002, 003, 004, 005, 006, 007 and 92 more"),
        "{many:?}"
    );
    let mut notes = FtraceNotes::default();
    notes.add(b"\x2a\xff\xff");
    assert_eq!(notes, FtraceNotes::default());
}
