use tracing_file::write::TraceFile;

use super::*;

/// A packet with an event that has no sequence, after an empty one.
const TRACE: &[u8] = b"\x0a\x00\x0a\x06\x40\x05\x5a\x02\x48\x01";

fn text(trace: &[u8], json: bool) -> (Report, String) {
    run(trace, json, false)
}

fn run(trace: &[u8], json: bool, all: bool) -> (Report, String) {
    let mut out = Vec::new();
    let args = LintArgs { file: OsString::new(), json, all, fail_on: Severity::Note };
    let (report, written) = lint_to(&mut out, trace, &args);
    written.unwrap();
    (report, String::from_utf8(out).unwrap())
}

#[test]
fn findings_are_lines() {
    assert_eq!(text(b"\x0a\x00", false).1, "1 packet, 0 events: no findings\n");
    let lines = text(TRACE, false).1;
    assert_eq!(
        lines,
        "packet 1 at 4: error: track_event_missing_sequence_id: an event without a sequence id is dropped; set \
         trusted_packet_sequence_id\n2 packets, 0 events: 1 finding, worst: error\n"
    );
}

#[test]
fn tracks_have_their_path() {
    let mut trace = Vec::new();
    let mut file = TraceFile::create(&mut trace).unwrap();
    file.process(1, "/bin/app");
    let worker = file.thread(1, 7, "worker\u{202e}");
    let open = file.begin(&worker, 1_000, "job").open();
    file.leave_open(open);
    file.finish().unwrap();
    let lines = text(&trace, false).1;
    let is_shown = lines.contains(": slice_without_end (track ")
        && lines.contains(": app 1 / worker\\u202e 7): ");
    assert!(is_shown, "{lines}");
    let json = text(&trace, true).1;
    assert!(json.contains("\"track\": \"app 1 / "), "{json}");
}

#[test]
fn many_findings_of_one_name_are_counted() {
    let trace = TRACE.repeat(12);
    let lines = text(&trace, false).1;
    assert_eq!(lines.lines().count(), 12);
    assert!(
        lines.contains("\n2 more: error: track_event_missing_sequence_id (--all)\n"),
        "{lines}"
    );
    assert!(lines.ends_with(": 12 findings, worst: error\n"), "{lines}");
    assert_eq!(run(&trace, false, true).1.lines().count(), 13);
}

#[test]
fn an_empty_file_is_no_good_trace() {
    let lines = text(b"", false).1;
    assert!(lines.starts_with("0 packets, 0 events: the trace is empty;"), "{lines}");
    assert!(!is_good(&text(b"", false).0, Severity::Fatal));
    assert!(is_good(&text(b"\x0a\x00", false).0, Severity::Note));
}

#[test]
fn the_command_says_which_findings_fail() {
    let fail_on = |words: &[&str]| {
        let words = ["lint", "file"].iter().chain(words).map(OsString::from);
        LintArgs::try_parse_from(words).map(|args| args.fail_on)
    };
    assert_eq!(fail_on(&[]).unwrap(), Severity::Warning);
    assert_eq!(fail_on(&["--fail-on", "fatal"]).unwrap(), Severity::Fatal);
    let error = fail_on(&["--fail-on", "hint"]).unwrap_err().to_string();
    assert!(error.contains("note, warning, error, fatal"), "{error}");
    // The finding of this trace is an error.
    let report = text(TRACE, false).0;
    let fails = Severity::ALL.map(|fail_on| !is_good(&report, fail_on));
    assert_eq!(fails, [true, true, true, false]);
}

#[test]
fn findings_are_json() {
    let json = text(TRACE, true).1;
    for shown in ["\"findings\": 1", "\"worst\": \"error\"", "\"packet\": 1", "\"byte\": 4"] {
        assert!(json.contains(shown), "{shown}: {json}");
    }
    assert!(!json.contains("\"subject\""), "{json}");
}

/// Uuids are random. Programs that only have doubles would round them.
#[test]
fn uuids_are_texts_in_json() {
    // {timestamp: 1, trusted_packet_sequence_id: 1, track_event: {type: TYPE_COUNTER, track_uuid, counter_value: 1}}
    let mut trace = b"\x0a\x16\x40\x01\x50\x01\x5a\x10\x48\x04\x58\xfe".to_vec();
    trace.extend(b"\xff\xff\xff\xff\xff\xff\xff\xff\x01\xf0\x01\x01");
    let json = text(&trace, true).1;
    let uuid = u64::MAX - 1;
    let shown = format!("\"subject\": \"track\",\n      \"value\": \"{uuid}\"");
    assert!(json.contains(&shown), "{json}");
    let json = text(b"\x0a\x02\x50\x01\x0a\x04\x50\x01\x68\x02", true).1;
    assert!(json.contains("\"subject\": \"sequence\",\n      \"value\": 1,"), "{json}");
}

#[test]
fn paths_of_tracks_have_a_bound_in_json() {
    // {track_descriptor: {uuid: 7, name: "nnn..."}}
    let mut trace = b"\x0a\x89\x20\xe2\x03\x85\x20\x08\x07\x12\x80\x20".to_vec();
    trace.extend([b'n'; 4096]);
    // {timestamp: 1, trusted_packet_sequence_id: 1, track_event: {type: TYPE_COUNTER, track_uuid: 7, counter_value: 1}}
    let event = b"\x0a\x0d\x40\x01\x50\x01\x5a\x07\x48\x04\x58\x07\xf0\x01\x01";
    trace.extend(event.repeat(1500));
    let (report, json) = text(&trace, true);
    assert_eq!(report.findings(), 1500);
    let listed = json.matches("\"packet\": ").count();
    assert!((1000..1100).contains(&listed), "{listed}");
}

#[test]
fn a_broken_file_keeps_its_findings() {
    let (report, lines) = text(&[TRACE, b"\x0a\x05"].concat(), false);
    assert!(report.error.is_some());
    assert!(lines.starts_with("packet 1 at 4: error: "), "{lines}");
}
