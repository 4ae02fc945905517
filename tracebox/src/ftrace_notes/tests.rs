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
    notes.add(7, &stats.encode_to_vec());
    notes.add(7, &stats.encode_to_vec());
    notes
}

#[test]
fn what_is_missing() {
    let refused = notes("linux.ftrace records nothing: no rights", &[], &[]);
    assert_eq!(refused.refusals(), ["linux.ftrace recorded nothing: no rights"]);
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
            "Not recorded, because the kernel or the config does not allow it: c/d",
        ]
    );
}

/// A config may have several data sources of a name, and each is refused for its own reason.
#[test]
fn each_refusal_is_told() {
    let errors = |errors: &str| {
        let stats =
            FtraceStats { atrace_errors: Some(errors.to_owned()), ..FtraceStats::default() };
        stats.encode_to_vec()
    };
    let mut notes = FtraceNotes::default();
    let refused =
        [(7, "linux.ftrace", "b"), (8, "linux.ftrace", "a"), (9, "linux.frozen_ftrace", "a")];
    for (sequence, name, why) in refused {
        notes.add(sequence, &errors(&format!("{name} records nothing: {why}")));
    }
    let frozen = "a linux.frozen_ftrace data source recorded nothing: a";
    assert_eq!(
        notes.refusals(),
        [frozen, "linux.ftrace recorded nothing: a", "linux.ftrace recorded nothing: b"]
    );
    // Another one records, and a third is refused as the second was.
    let counters = FtraceStats {
        cpu_stats: vec![protos::FtraceCpuStats::default()],
        ..FtraceStats::default()
    };
    notes.add(10, &counters.encode_to_vec());
    notes.add(11, &errors("linux.ftrace records nothing: b"));
    assert_eq!(
        notes.refusals(),
        [
            frozen,
            "a linux.ftrace data source recorded nothing: a",
            "2 linux.ftrace data sources recorded nothing: b",
        ]
    );
    assert_eq!(notes.refused_count("linux.ftrace"), 3);
    // Other names are remarks.
    notes.add(12, &errors("linux.other records nothing: a"));
    assert_eq!(notes.refused_count("linux.other"), 0);
    assert_eq!(notes.lines(), ["linux.ftrace: linux.other records nothing: a"]);
}

#[test]
fn refusals_are_bounded() {
    let mut notes = FtraceNotes::default();
    for sequence in 0..2 * NAMES_MAX as u64 {
        let errors = Some(format!("linux.ftrace records nothing: {sequence}"));
        let stats = FtraceStats { atrace_errors: errors, ..FtraceStats::default() };
        notes.add(sequence, &stats.encode_to_vec());
    }
    assert_eq!(notes.refused_count("linux.ftrace"), NAMES_MAX as u64);
    for sequence in 0..2 * SEQUENCES_MAX as u64 {
        let errors = Some("linux.ftrace records nothing: 0".to_owned());
        let stats = FtraceStats { atrace_errors: errors, ..FtraceStats::default() };
        notes.add(sequence, &stats.encode_to_vec());
    }
    assert_eq!(notes.refused_count("linux.ftrace"), (NAMES_MAX - 1 + SEQUENCES_MAX) as u64);
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
    notes.add(7, b"\x2a\xff\xff");
    assert_eq!(notes, FtraceNotes::default());
}
