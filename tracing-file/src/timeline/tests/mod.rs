use std::io::Cursor;

use proptest::prelude::*;

use super::labels::Labels;
use super::nesting::Nesting;
use super::row::{Hashes, Key, Row, RowKind};
use super::survey::Survey;
use super::*;
use crate::limits::BLOCKS_MAX;
use crate::read::TraceReader;
use crate::testing::{field, trace_bytes};
use crate::write::{CounterSpec, Flow, Priority, TraceFile, TrackSpec, Unit};

mod hostile;

/// The lines of a trace, and what is said of it.
fn lines(bytes: &[u8], options: &Options) -> (String, Summary) {
    let mut out = Vec::new();
    let summary = write(&mut Cursor::new(bytes), &mut out, options).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.lines().count() as u64, summary.lines);
    (out, summary)
}

fn text(bytes: &[u8]) -> String {
    lines(bytes, &Options::default()).0
}

fn json(bytes: &[u8]) -> String {
    lines(bytes, &Options { format: Format::Json, ..Options::default() }).0
}

/// A trace with something of everything, whose parts are not in the order of time.
fn everything() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let process = trace.process(10, "/usr/bin/words");
    let worker = trace.thread(10, 12, "worker");
    let main = trace.thread(10, 11, "main");
    let uploads = trace.track(TrackSpec::new("Uploads").under(&process));
    let job = trace.track(TrackSpec::new("job").under(&uploads));
    let queue = trace
        .counter_track(CounterSpec::new(TrackSpec::new("queue").under(&process)).unit(Unit::Count));
    let power = trace.state_track("power");
    let sent = trace.begin(&worker, 5_000, "send").category("net").flow(Flow::from_id(7)).open();
    trace.instant(&worker, 5_500, "retry").category("net").category("io").arg("why", "time\nout");
    trace.end(sent, 1_239_567).arg("bytes", 17).arg("ok", true);
    let file = trace.begin(&main, 1_000, "file").arg("path", "a.txt").open();
    trace.slice(&main, 2_000, 1_000, "read").flow(Flow::from_id(7));
    trace.log(&main, 2_100, Priority::Warn, "disk full").source_location("io.rs", "write", 9);
    trace.slice(&main, 3_000, 0, "count").end_flow(Flow::from_id(7)).dict("all", |dict| {
        dict.list("of", |list| {
            list.push(1).push("x").push(0.5);
        });
    });
    trace.end(file, 7_000_000_000);
    trace.slice(&job, 2_050, 40, "part").source_location("job.rs", "run", 3);
    trace.counter(&queue, 2_060, 3);
    trace.counter(&queue, 2_061, f64::NAN);
    trace.state(&power, 1_500, "busy");
    trace.finish().unwrap();
    bytes
}

#[test]
fn lines_for_people() {
    insta::assert_snapshot!(text(&everything()), @r#"
    0.000000000  words 10 / main 11        begin    file  6.999 s  path="a.txt"
    0.000000500  power                     state    busy
    0.000001000  words 10 / main 11        begin      read  1 us  ->7
    0.000001050  words 10 / Uploads / job  begin    part  40 ns  at job.rs:3 in run
    0.000001060  words 10                  counter  queue = 3 count
    0.000001061  words 10                  counter  queue = NaN count
    0.000001090  words 10 / Uploads / job  end      part  40 ns
    0.000001100  words 10 / main 11        log          log  warn: disk full at io.rs:9 in write
    0.000002000  words 10 / main 11        end        read  1 us
    0.000002000  words 10 / main 11        begin      count  0 ns  all={of=[1, "x", 0.5]} ->|7
    0.000002000  words 10 / main 11        end        count  0 ns
    0.000004000  words 10 / worker 12      begin    send  [net]  1.234 ms  ->7
    0.000004500  words 10 / worker 12      instant    retry  [net,io]  why="time\nout"
    0.001238567  words 10 / worker 12      end      send  1.234 ms  bytes=17 ok=true
    6.999999000  words 10 / main 11        end      file  6.999 s
    "#);
}

#[test]
fn lines_for_programs() {
    insta::assert_snapshot!(json(&everything()), @r#"
    {"time_ns":0,"timestamp_ns":1000,"packet":10,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":11,"thread":"main","track_uuid":"3","kind":"begin","name":"file","depth":0,"duration_ns":6999999000,"args":{"path":"a.txt"}}
    {"time_ns":500,"timestamp_ns":1500,"packet":21,"sequence":1,"track_uuid":"7","track":["power"],"kind":"state","name":"busy"}
    {"time_ns":1000,"timestamp_ns":2000,"packet":11,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":11,"thread":"main","track_uuid":"3","kind":"begin","name":"read","depth":1,"duration_ns":1000,"flows":["7"]}
    {"time_ns":1050,"timestamp_ns":2050,"packet":17,"sequence":1,"pid":10,"process":"/usr/bin/words","track_uuid":"5","track":["Uploads","job"],"kind":"begin","name":"part","depth":0,"duration_ns":40,"file":"job.rs","function":"run","line":3}
    {"time_ns":1060,"timestamp_ns":2060,"packet":19,"sequence":1,"pid":10,"process":"/usr/bin/words","track_uuid":"6","track":["queue"],"kind":"counter","name":"queue","value":3,"unit":"count"}
    {"time_ns":1061,"timestamp_ns":2061,"packet":20,"sequence":1,"pid":10,"process":"/usr/bin/words","track_uuid":"6","track":["queue"],"kind":"counter","name":"queue","value":"NaN","unit":"count"}
    {"time_ns":1090,"timestamp_ns":2090,"packet":18,"sequence":1,"pid":10,"process":"/usr/bin/words","track_uuid":"5","track":["Uploads","job"],"kind":"end","name":"part","depth":0,"duration_ns":40}
    {"time_ns":1100,"timestamp_ns":2100,"packet":13,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":11,"thread":"main","track_uuid":"3","kind":"log","name":"log","depth":2,"priority":"warn","message":"disk full","file":"io.rs","function":"write","line":9}
    {"time_ns":2000,"timestamp_ns":3000,"packet":12,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":11,"thread":"main","track_uuid":"3","kind":"end","name":"read","depth":1,"duration_ns":1000}
    {"time_ns":2000,"timestamp_ns":3000,"packet":14,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":11,"thread":"main","track_uuid":"3","kind":"begin","name":"count","depth":1,"duration_ns":0,"args":{"all":{"of":[1,"x",0.5]}},"end_flows":["7"]}
    {"time_ns":2000,"timestamp_ns":3000,"packet":15,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":11,"thread":"main","track_uuid":"3","kind":"end","name":"count","depth":1,"duration_ns":0}
    {"time_ns":4000,"timestamp_ns":5000,"packet":7,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":12,"thread":"worker","track_uuid":"2","kind":"begin","name":"send","categories":["net"],"depth":0,"duration_ns":1234567,"flows":["7"]}
    {"time_ns":4500,"timestamp_ns":5500,"packet":8,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":12,"thread":"worker","track_uuid":"2","kind":"instant","name":"retry","categories":["net","io"],"depth":1,"args":{"why":"time\nout"}}
    {"time_ns":1238567,"timestamp_ns":1239567,"packet":9,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":12,"thread":"worker","track_uuid":"2","kind":"end","name":"send","categories":["net"],"depth":0,"duration_ns":1234567,"args":{"bytes":17,"ok":true}}
    {"time_ns":6999999000,"timestamp_ns":7000000000,"packet":16,"sequence":1,"pid":10,"process":"/usr/bin/words","tid":11,"thread":"main","track_uuid":"3","kind":"end","name":"file","depth":0,"duration_ns":6999999000}
    "#);
}

#[test]
fn a_track_has_a_path() {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let worker = trace.thread(10, 12, "worker");
    let uploads = trace.track("Up\nloads");
    let job = trace.track(TrackSpec::new("job").under(&uploads));
    let all = trace.counter_track(CounterSpec::new("queue"));
    let own = trace.counter_track(CounterSpec::new(TrackSpec::new("queue").under(&uploads)));
    trace.instant(&worker, 1, "a");
    trace.instant(&job, 2, "b");
    trace.counter(&all, 3, 7);
    trace.counter(&own, 4, 8);
    trace.finish().unwrap();
    let mut reader = TraceReader::new(bytes.as_slice());
    let mut paths = Vec::new();
    while let Some(uuid) = reader.next_event().unwrap().map(|event| event.track_uuid()) {
        paths.push(track_path(reader.tracks(), uuid).unwrap());
    }
    let expected = ["pid 10 / worker 12", r"Up\nloads / job", "queue", r"Up\nloads / queue"];
    assert_eq!(paths, expected);
    // A track without a descriptor, or without a name.
    assert_eq!(track_path(reader.tracks(), 99), None);
    let bytes = trace_bytes(
        "packet { track_descriptor { uuid: 7 } }
        packet { timestamp: 1 trusted_packet_sequence_id: 1 track_event { type: TYPE_INSTANT track_uuid: 8 } }",
    );
    let mut reader = TraceReader::new(bytes.as_slice());
    while reader.next_event().unwrap().is_some() {}
    assert_eq!([7, 8].map(|uuid| track_path(reader.tracks(), uuid)), [None, None]);
}

#[test]
fn tracks_of_one_name_are_numbered() {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let uploads = trace.track("Uploads");
    let downloads = trace.track("Downloads");
    let first = trace.track(TrackSpec::new("job").under(&uploads));
    let second = trace.track(TrackSpec::new("job").under(&uploads));
    let part = trace.track(TrackSpec::new("part").under(&second));
    let single = trace.track(TrackSpec::new("job").under(&downloads));
    let counters = [(); 2].map(|()| trace.counter_track(CounterSpec::new(TrackSpec::new("queue"))));
    trace.instant(&second, 1, "b");
    trace.instant(&first, 2, "a");
    trace.instant(&part, 3, "c");
    trace.instant(&single, 4, "d");
    trace.counter(&counters[1], 5, 7);
    trace.counter(&counters[0], 5, 8);
    trace.finish().unwrap();
    insta::assert_snapshot!(text(&bytes), @r"
    0.000000000  Uploads / job #2         instant  b
    0.000000001  Uploads / job #1         instant  a
    0.000000002  Uploads / job #2 / part  instant  c
    0.000000003  Downloads / job          instant  d
    0.000000004  -                        counter  queue #2 = 7
    0.000000004  -                        counter  queue #1 = 8
    ");
    // Programs have the uuid.
    assert!(json(&bytes).starts_with(r#"{"time_ns":0,"timestamp_ns":1,"packet":"#));
    assert!(json(&bytes).lines().next().unwrap().contains(r#""track":["Uploads","job"]"#));
    for (pattern, names) in [("job #2", ["b", "c"].as_slice()), ("Uploads / job #1", &["a"])] {
        let mut options = Options::default();
        options.filter.tracks = patterns(&[pattern]);
        let (text, _) = lines(&bytes, &options);
        let shown: Vec<_> = text.lines().map(|line| &line[line.len() - 1..]).collect();
        assert_eq!(shown, names, "{pattern}");
    }
}

#[test]
fn absolute_times_and_colours() {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let track = trace.track("T");
    trace.instant(&track, 12_345_678_901_234, "i").category("c");
    trace.finish().unwrap();
    let options = Options { format: Format::ColouredText, is_absolute: true, ..Options::default() };
    let expected = "\x1b[2m12345.678901234\x1b[m  \x1b[36mT\x1b[m  \x1b[33minstant\x1b[m  \
                    \x1b[1mi\x1b[m  [c]\n";
    assert_eq!(lines(&bytes, &options).0, expected);
}

/// Names of the lines that a filter leaves over.
#[track_caller]
fn check_filter(set: impl FnOnce(&mut Filter), expected: &str) {
    let mut options = Options { format: Format::Json, ..Options::default() };
    set(&mut options.filter);
    let (lines, _) = lines(&everything(), &options);
    let value = |line: &str, key: &str| {
        let (_, rest) = line.split_once(&format!("\"{key}\":\"")).unwrap_or(("", "-\""));
        rest.split('"').next().unwrap().to_owned()
    };
    let shown: Vec<_> =
        lines.lines().map(|line| value(line, "kind") + " " + &value(line, "name")).collect();
    assert_eq!(shown.join(", "), expected);
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().copied().map(Pattern::new).collect()
}

#[test]
fn filters() {
    let upload = "begin part, end part";
    check_filter(|it| it.tracks = patterns(&["Uploads"]), upload);
    check_filter(|it| it.tracks = patterns(&["Uploads / j*"]), upload);
    check_filter(|it| it.tracks = patterns(&["5"]), upload);
    check_filter(|it| it.tracks = patterns(&["Up"]), upload);
    check_filter(|it| it.tracks = patterns(&["Up?"]), "");
    let worker = "begin send, instant retry, end send";
    check_filter(|it| it.threads = patterns(&["work"]), worker);
    check_filter(|it| it.threads = patterns(&["12"]), worker);
    check_filter(|it| it.threads = patterns(&["1"]), "");
    check_filter(|it| it.tracks = patterns(&["worker"]), worker);
    check_filter(|it| it.categories = patterns(&["net"]), worker);
    check_filter(|it| it.categories = patterns(&["?o"]), "instant retry");
    check_filter(|it| it.names = patterns(&["file", "x"]), "begin file, end file");
    check_filter(|it| it.names = patterns(&["que*"]), "counter queue, counter queue");
    check_filter(|it| it.processes = patterns(&["nothing"]), "");
    check_filter(
        |it| {
            it.processes = patterns(&["10"]);
            it.names = patterns(&["r"]);
            it.threads = patterns(&["main"]);
        },
        "begin read, end read",
    );
    check_filter(|it| (it.from_ns, it.to_ns) = (4_000, Some(4_500)), "begin send, instant retry");
    check_filter(|it| it.from_ns = 5_000_000, "end file");
}

/// The end of a slice that began before the range has its duration.
#[test]
fn a_range_of_time() {
    let mut options = Options { is_absolute: true, ..Options::default() };
    options.filter.from_ns = 1_239_000;
    options.filter.to_ns = Some(2_000_000);
    let expected =
        "   0.001239567  words 10 / worker 12  end      send  1.234 ms  bytes=17 ok=true\n";
    assert_eq!(lines(&everything(), &options).0, expected);
    let options = Options { lines_max: 1, ..Options::default() };
    assert_eq!(lines(&everything(), &options).0.lines().count(), 1);
}

#[test]
fn patterns_are_parts_or_globs() {
    let long = "a".repeat(5_000);
    for (pattern, name, fits) in [
        ("b", "abc", true),
        ("", "", true),
        ("abcd", "abc", false),
        ("*", "", true),
        ("a*", "abc", true),
        ("*c", "abc", true),
        ("*b", "abc", false),
        ("a?c", "abc", true),
        ("a?c", "aöc", true),
        ("a?", "abc", false),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c-c", false),
        ("**x**", "x", true),
        ("?", "", false),
        (&"a*".repeat(2_000), &long, true),
        (&format!("{}b", "a*".repeat(2_000)), &long, false),
    ] {
        assert_eq!(Pattern::new(pattern).matches(name), fits, "{pattern} {name}");
    }
}

#[test]
fn lost_packets_are_marked() {
    let packets = "
        packet { track_descriptor { uuid: 1 name: 'T' } }
        packet { timestamp: 10 trusted_packet_sequence_id: 2 sequence_flags: 1
                 track_event { type: TYPE_INSTANT track_uuid: 1 name: 'first' } }
        packet { timestamp: 20 trusted_packet_sequence_id: 2 previous_packet_dropped: 1 sequence_flags: 2
                 track_event { type: TYPE_INSTANT track_uuid: 1 name: 'not readable' } }
        packet { timestamp: 25 trusted_packet_sequence_id: 3 sequence_flags: 1
                 track_event { type: TYPE_INSTANT track_uuid: 1 name: 'of another sequence' } }
        packet { timestamp: 30 trusted_packet_sequence_id: 2 sequence_flags: 1
                 track_event { type: TYPE_INSTANT track_uuid: 1 name: 'again' } }
        packet { trusted_packet_sequence_id: 3 previous_packet_dropped: 1 }";
    let (text, summary) = lines(&trace_bytes(packets), &Options::default());
    insta::assert_snapshot!(text, @r"
    0.000000000  T  instant  first
    0.000000015  T  instant  of another sequence
    0.000000020  T  lost     packets of sequence 2 are missing before this
    0.000000020  T  instant  again
    0.000000020  -  lost     packets of sequence 3 are missing before this
    ");
    let problems: Vec<_> = summary.problems.keys().map(|problem| problem.name()).collect();
    assert_eq!(problems, ["packet_skipped_seq_needs_incremental_state_invalid", "packets_lost"]);
    let json = json(&trace_bytes(packets));
    let lost: Vec<_> = json.lines().filter(|line| line.contains("lost")).collect();
    insta::assert_snapshot!(lost.join("\n"), @r#"
    {"time_ns":20,"timestamp_ns":30,"sequence":2,"track_uuid":"1","track":["T"],"kind":"lost"}
    {"time_ns":20,"timestamp_ns":30,"sequence":3,"track_uuid":"0","kind":"lost"}
    "#);
}

#[test]
fn ends_belong_to_the_slice_that_fits() {
    let packets = "
        packet { track_descriptor { uuid: 1 name: 'T' } }
        packet { timestamp: 9 trusted_packet_sequence_id: 2 sequence_flags: 1
                 track_event { type: TYPE_SLICE_END track_uuid: 1 name: 'never begun' } }
        packet { timestamp: 10 trusted_packet_sequence_id: 2
                 track_event { type: TYPE_SLICE_BEGIN track_uuid: 1 name: 'outer' categories: 'c' } }
        packet { timestamp: 11 trusted_packet_sequence_id: 2
                 track_event { type: TYPE_SLICE_BEGIN track_uuid: 1 name: 'inner' } }
        packet { timestamp: 13 trusted_packet_sequence_id: 2
                 track_event { type: TYPE_SLICE_END track_uuid: 1 name: 'outer' } }
        packet { timestamp: 14 trusted_packet_sequence_id: 2
                 track_event { type: TYPE_SLICE_BEGIN track_uuid: 9 name: 'never ended' } }
        packet { timestamp: 15 trusted_packet_sequence_id: 2
                 track_event { type: TYPE_INSTANT name: 'of no track' } }
        packet { timestamp: 16 trusted_packet_sequence_id: 2
                 track_event { legacy_event { phase: 66 } name: 'old' } }";
    insta::assert_snapshot!(text(&trace_bytes(packets)), @r"
    0.000000000  T        end      never begun
    0.000000001  T        begin    outer  [c]  3 ns
    0.000000002  T        begin      inner
    0.000000004  T        end      outer  3 ns
    0.000000005  track 9  begin    never ended
    0.000000006  -        instant  of no track
    0.000000007  -        legacy   B old
    ");
}

#[test]
fn a_line_of_a_log_has_one_place() {
    let packets = "
        packet { timestamp: 1 trusted_packet_sequence_id: 2 sequence_flags: 1
                 interned_data { log_message_body { iid: 1 body: 'full' }
                                 source_locations { iid: 1 file_name: 'a.rs' line_number: 3 } }
                 track_event { type: TYPE_INSTANT source_location { file_name: 'b.rs' }
                               log_message { body_iid: 1 source_location_iid: 1 prio: PRIO_ERROR } } }";
    let json = json(&trace_bytes(packets));
    let expected = "\"priority\":\"error\",\"message\":\"full\",\"file\":\"a.rs\",\"line\":3}\n";
    assert!(json.ends_with(expected), "{json}");
}

#[test]
fn long_and_strange_texts() {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let track = trace.track("\x1b[31m / \u{202e}");
    trace.instant(&track, 1, "\x07\r\n\u{85}").arg("\x1b", "\"\\\x1b");
    trace.instant(&track, 2, &"x".repeat(1 << 20)).arg("y", "é".repeat(1 << 20).as_str());
    trace.instant(&track, 3, "many").list("l", |list| {
        for number in 0..1_000_000_u64 {
            list.push(number);
        }
    });
    trace.finish().unwrap();
    let text = text(&bytes);
    let first = text.lines().next().unwrap();
    let escaped = r#"\u001b[31m / \u202e  instant  \u0007\u000d\n\u0085  \u001b="\"\\\u001b""#;
    assert_eq!(first, format!("   0.000000000  {escaped}"));
    assert!(text.lines().all(|line| line.len() < 100_000));
    assert!(text.ends_with(", …] …\n") || text.ends_with("] …\n"));
    let json = json(&bytes);
    assert!(json.lines().all(|line| line.len() < 100_000));
    assert!(json.ends_with("]},\"is_cut\":true}\n"));
}

/// An annotation in an annotation in ... .
fn nested(levels: usize) -> Vec<u8> {
    let mut annotation = b"\x20\x05".to_vec();
    for _ in 0..levels {
        annotation = field(b"\x62", &annotation);
    }
    let event = [b"\x48\x03".to_vec(), field(b"\x22", &annotation)].concat();
    let packet = [b"\x40\x07\x50\x01".to_vec(), field(b"\x5a", &event)].concat();
    field(b"\x0a", &packet)
}

#[test]
fn deep_arguments_are_cut_off() {
    assert!(text(&nested(3)).ends_with(" =[[[5]]]\n"), "{}", text(&nested(3)));
    assert!(text(&nested(10_000)).ends_with("[…]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]] …\n"));
}

#[test]
fn slices_deeper_than_readers_keep() {
    use std::fmt::Write;
    let mut packets = String::new();
    for at in 0..1_200 {
        let (of, flag) = if at < 600 { ("BEGIN", 1) } else { ("END", 0) };
        let flag = if at == 0 { flag } else { 0 };
        let event = format!("track_event {{ type: TYPE_SLICE_{of} track_uuid: 1 }}");
        let head = "trusted_packet_sequence_id: 2";
        writeln!(packets, "packet {{ timestamp: {at} {head} sequence_flags: {flag} {event} }}")
            .unwrap();
    }
    let json = json(&trace_bytes(&packets));
    assert_eq!(json.lines().count(), 1_200);
    assert!(!json.contains("\"depth\":513"));
    assert_eq!(json.lines().filter(|line| line.contains("duration_ns")).count(), 2 * 512);
}

#[test]
fn open_slices_have_a_limit() {
    let row = |at, kind| Row {
        key: Key { ts_ns: at, packet: at, is_event: true },
        machine: 0,
        sequence: 1,
        track: 1,
        kind,
        is_in_range: true,
        is_named: true,
        name: Some("s".into()),
        categories: "".into(),
        details: "".into(),
        hashes: Hashes::default(),
    };
    let mut nesting = Nesting::new(300);
    let mut rows: Vec<_> = (0..3).map(|at| row(at, RowKind::Begin)).collect();
    rows.extend((3..6).map(|at| row(at, RowKind::End)));
    let notes = nesting.annotate(&mut rows);
    assert_eq!(nesting.refused, 1);
    let durations: Vec<_> = notes.iter().map(|note| note.duration_ns).collect();
    assert_eq!(durations, [Some(4), Some(2), None, Some(2), Some(4), None]);
    // What is closed is paid back.
    assert_eq!(nesting.annotate(&mut rows)[3].duration_ns, Some(2));
    assert_eq!(nesting.refused, 2);
}

#[test]
fn names_that_differ_beyond_what_is_kept_are_told_apart() {
    let long = "x".repeat(100_000);
    let event = |at: u64, of: &str, name: &str| {
        format!(
            "packet {{ timestamp: {at} trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_SLICE_{of} track_uuid: 1 name: '{long}{name}' }} }}"
        )
    };
    let trace = event(1, "BEGIN", "a") + &event(2, "BEGIN", "b") + &event(9, "END", "a");
    let json = json(&trace_bytes(&trace));
    assert!(json.lines().last().unwrap().contains("\"depth\":0,\"duration_ns\":8"), "{json}");
}

/// Instants at these times, in this order of the file.
fn instants(times: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let tracks = [trace.track("A"), trace.track("B")];
    for (at, time) in times.iter().enumerate() {
        trace.instant(&tracks[at % 2], *time, &format!("{at}"));
    }
    trace.finish().unwrap();
    bytes
}

#[test]
fn a_sorted_file_is_read_once_for_its_rows() {
    let times: Vec<u64> = (0..1_000).map(|at| at / 3).collect();
    let options = Options { rows_bytes_max: 20_000, ..Options::default() };
    let (small, summary) = lines(&instants(&times), &options);
    assert_eq!((summary.passes, summary.lines), (1, 1_000));
    assert_eq!(small, text(&instants(&times)));
    let reversed: Vec<u64> = times.iter().rev().copied().collect();
    let (small, summary) = lines(&instants(&reversed), &options);
    assert!((10..50).contains(&summary.passes), "{}", summary.passes);
    assert_eq!(small, text(&instants(&reversed)));
}

/// The begin of a long slice is written and gone from memory when its end comes.
#[test]
fn a_slice_longer_than_what_memory_takes() {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let (long, other) = (trace.track("L"), trace.track("O"));
    let slices = [trace.begin(&long, 0, "outer").category("c").open()];
    let inner = trace.begin(&long, 1, "inner").open();
    for at in 2..200 {
        trace.slice(&other, at, 1, &format!("other {at}"));
    }
    trace.end(inner, 300);
    slices.into_iter().for_each(|slice| drop(trace.end(slice, 400)));
    trace.finish().unwrap();
    let options = Options { rows_bytes_max: 5_000, format: Format::Json, ..Options::default() };
    let (small, whole) = (lines(&bytes, &options).0, json(&bytes));
    let ends = |lines: &str| {
        let ends = lines.lines().filter(|line| line.contains("\"end\""));
        ends.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ends(&small).len(), 200);
    assert_eq!(ends(&small), ends(&whole));
}

#[test]
fn losses_at_the_end_of_several_sequences() {
    let lost = |id| {
        format!(
            "packet {{ trusted_packet_sequence_id: {id} sequence_flags: 1 }}
             packet {{ trusted_packet_sequence_id: {id} previous_packet_dropped: 1 }}"
        )
    };
    let packets: String = (1..8).map(lost).collect();
    let options = Options { rows_bytes_max: 1, ..Options::default() };
    let bytes = [trace_bytes(&packets), instants(&[5, 4, 3])].concat();
    let (text, _) = lines(&bytes, &options);
    assert_eq!(text.lines().filter(|line| line.contains("lost")).count(), 7, "{text}");
}

#[test]
fn long_names_take_little_memory() {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let track = trace.track("T");
    for at in (0..20).rev() {
        trace.instant(&track, at, &"x".repeat(200_000));
    }
    trace.finish().unwrap();
    let options = Options { rows_bytes_max: 400_000, ..Options::default() };
    let passes = lines(&bytes, &options).1.passes;
    assert!(passes <= 6, "{passes}");
}

#[test]
fn labels_have_a_limit() {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    for at in 0..2_500 {
        trace.track(TrackSpec::new(&format!("{at:04096}")));
    }
    trace.finish().unwrap();
    let survey = Survey::new(bytes.as_slice());
    let mut labels = Labels::new(&survey.tracks);
    for track in survey.tracks.iter() {
        assert_eq!(labels.of(&survey.tracks, 0, track.uuid).path.len(), 1);
        assert!(labels.bytes < 17 << 20);
    }
}

#[test]
fn too_many_passes_are_an_error() {
    let times: Vec<u64> = (0..150).rev().collect();
    let bytes = instants(&times);
    let options = Options { rows_bytes_max: 1, ..Options::default() };
    let mut out = Vec::new();
    let error = write(&mut Cursor::new(&bytes), &mut out, &options).unwrap_err();
    assert!(error.to_string().starts_with("not all events are shown"), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string());
    let whole = text(&bytes);
    let out = String::from_utf8(out).unwrap();
    assert!(whole.starts_with(&out));
    assert!(out.lines().count() < 110);
}

#[test]
fn places_know_what_is_earliest_behind_them() {
    let times: Vec<u64> = (0..140_000).map(|at: u64| at ^ 5).collect();
    let survey = Survey::new(instants(&times).as_slice());
    assert_eq!(
        (Some(&survey.start_ns), Some(&survey.end_ns)),
        (times.iter().min(), times.iter().max())
    );
    let mut earliest = u64::MAX;
    for (at, time) in times.iter().enumerate().rev() {
        earliest = earliest.min(*time);
        let known = survey.earliest.behind(at as u64);
        assert!(known <= earliest && known + 8 > earliest, "{at}: {known} {earliest}");
    }
    assert_eq!(survey.earliest.behind(140_000), u64::MAX);
    assert!(survey.earliest.blocks.len() <= BLOCKS_MAX);
}

#[test]
fn what_can_be_read_is_written() {
    let mut bytes = everything();
    let whole = text(&bytes);
    bytes.truncate(bytes.len() - 1);
    let (cut, summary) = lines(&bytes, &Options::default());
    assert_eq!(cut.lines().count() + 1, whole.lines().count());
    let error = summary.error.unwrap().to_string();
    assert!(error.contains("the trace is cut off"), "{error}");
    let (nothing, summary) = lines(b"", &Options::default());
    assert_eq!((nothing.as_str(), summary.events), ("", 0));
}

proptest! {
    /// Whatever memory there is, lines are in the order of time and of the file.
    #[test]
    fn the_order_is_that_of_time(
        times in prop::collection::vec(0_u64..500, 0..300),
        rows_bytes_max in 10_000_usize..40_000,
    ) {
        let bytes = instants(&times);
        let mut events = Vec::new();
        let mut reader = TraceReader::new(bytes.as_slice());
        while let Some(event) = reader.next_event().unwrap() {
            events.push((event.timestamp_ns(), event.name().unwrap().parse::<usize>().unwrap()));
        }
        events.sort_unstable();
        let start = events.first().map_or(0, |event| event.0);
        let expected: String = events
            .iter()
            .map(|(ns, name)| {
                let track = ["A", "B"][name % 2];
                format!("   0.{:09}  {track}  instant  {name}\n", ns - start)
            })
            .collect();
        let options = Options { rows_bytes_max, ..Options::default() };
        prop_assert_eq!(lines(&bytes, &options).0, expected);
    }
}
