//! `tracebox trace events`, and what leads there.

use std::io::Write as _;
use std::process::Stdio;

use tracing_file::write::{CounterSpec, TraceFile, TrackSpec, Unit};

use crate::world::World;

/// Two threads, written one after the other, and a counter.
fn write_trace(world: &World, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let process = trace.process(5, "words");
    let main = trace.thread(5, 5, "main");
    let worker = trace.thread(5, 6, "worker");
    let depth = TrackSpec::new("depth").under(&process);
    let depth = trace.counter_track(CounterSpec::new(depth).unit(Unit::Count));
    let file = trace.begin(&main, 1_000_000_000, "file").category("io").open();
    trace.slice(&main, 1_100_000_000, 200_000_000, "read").arg("path", "a\x1b[31m");
    trace.end(file, 1_500_000_000);
    trace.instant(&worker, 1_200_000_000, "wake");
    trace.counter(&depth, 1_250_000_000, 3);
    trace.finish().unwrap();
    std::fs::write(world.path(name), &bytes).unwrap();
    bytes
}

const LINES: &str = "   0.000000000  words 5 / main 5    begin    file  [io]  500 ms
   0.100000000  words 5 / main 5    begin      read  200 ms  path=\"a\\u001b[31m\"
   0.200000000  words 5 / worker 6  instant  wake
   0.250000000  words 5             counter  depth = 3 count
   0.300000000  words 5 / main 5    end        read  200 ms
   0.500000000  words 5 / main 5    end      file  500 ms
";

#[test]
fn a_line_for_each_event() {
    let world = World::new();
    let bytes = write_trace(&world, "t.pftrace");
    let ran = world.run("tracebox trace events t.pftrace").good();
    assert_eq!((ran.text(), ran.stderr.as_str()), (LINES, ""));
    // A pipe is read as often as a file, and nothing of its copy is left over.
    let ran = world.run_with_stdin("tracebox trace events -", &bytes).good();
    assert_eq!(ran.text(), LINES);
    let names: Vec<_> = std::fs::read_dir(world.path("")).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let ran = world.run("tracebox trace events --json --limit 1 t.pftrace").good();
    assert!(ran.text().starts_with("{\"time_ns\":0,\"timestamp_ns\":1000000000,"), "{ran:?}");
    assert_eq!(ran.text().lines().count(), 1);
}

#[test]
fn filters() {
    let world = World::new();
    write_trace(&world, "t");
    let lines: Vec<_> = LINES.lines().map(str::trim_start).collect();
    let check = |options: &str, expected: &[usize]| {
        let ran = world.run(&format!("tracebox trace events {options} t")).good();
        let names = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: Vec<_> = ran.text().lines().map(names).collect();
        let expected: Vec<_> = expected.iter().map(|at| names(lines[*at])).collect();
        assert_eq!(shown, expected, "{options}");
    };
    check("--thread main", &[0, 1, 4, 5]);
    check("--thread 6 --thread ma*", &[0, 1, 2, 4, 5]);
    check("--process wor?s --name depth", &[3]);
    check("--track depth", &[3]);
    check("--category io", &[0, 5]);
    check("--from 0.2 --to 260ms", &[2, 3]);
    check("--limit 2", &[0, 1]);
    let ran = world.run("tracebox trace events --absolute --to 1000ms t").good();
    assert!(ran.text().starts_with("   1.000000000  words 5 / main 5  begin    file  [io]\n"));
    let ran = world.run("tracebox trace events --name nothing t").good();
    assert_eq!(ran.stderr, "t: 6 events, and the options choose none\n");
    for (options, why) in [
        ("--from x", "`x` is not a time such as"),
        ("--to -1", "unexpected argument"),
        ("--from 99999999999999999999", "is not a time"),
        ("--limit 0", "0 is not in 1.."),
    ] {
        world.run(&format!("tracebox trace events {options} t")).failed(1, why);
    }
}

#[test]
fn what_is_wrong_in_a_file() {
    let world = World::new();
    let bytes = write_trace(&world, "t");
    std::fs::write(world.path("cut"), &bytes[..bytes.len() - 1]).unwrap();
    let ran = world.run("tracebox trace events cut");
    assert_eq!(ran.text().lines().count(), 5, "{ran:?}");
    ran.failed(1, "the trace is cut off; copy the whole file");
    std::fs::write(world.path("no_id"), b"\x0a\x06\x40\x05\x5a\x02\x48\x01").unwrap();
    let ran = world.run("tracebox trace events no_id").failed(1, "no_id: not all of it was ");
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert!(lines[0].starts_with("no_id: 1 time track_event_missing_sequence_id: "), "{lines:?}");
    assert!(lines[1].starts_with("no_id: no track events"), "{lines:?}");
    // {timestamp: 1, trusted_packet_sequence_id: 1, track_event: {type: TYPE_INSTANT, categories: ["a"; 65]}}
    let event = [b"\x48\x03".to_vec(), b"\xb2\x01\x01a".repeat(65)].concat();
    let event = [b"\x40\x01\x50\x01\x5a\x86\x02".to_vec(), event].concat();
    let packet = [b"\x0a\x8d\x02".to_vec(), event].concat();
    std::fs::write(world.path("limit"), packet).unwrap();
    let ran = world.run("tracebox trace events limit").failed(1, "limit: not all of it was ");
    assert!(ran.stderr.starts_with("limit: 1 time limit_reached: "), "{ran:?}");
    assert_eq!(ran.text().lines().count(), 1, "{ran:?}");
    world.write("text", "no trace");
    world.run("tracebox trace events text").failed(1, "text: packet 0 at 0: ");
    world.run("tracebox trace events nothing").failed(1, "cannot read nothing");
    world.run("tracebox trace events .").failed(1, "cannot read .: it is a directory");
}

#[test]
fn a_reader_that_has_read_enough() {
    let world = World::new();
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let track = trace.track("T");
    for at in 0..20_000 {
        trace.instant(&track, at, "much longer than what a pipe holds");
    }
    trace.finish().unwrap();
    std::fs::write(world.path("t"), &bytes).unwrap();
    let mut command = world.command("tracebox trace events t");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_compressed_trace() {
    let world = World::new();
    let bytes = write_trace(&world, "t");
    // TracePacket.compressed_packets = 50.
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&bytes).unwrap();
    let packed = packed.finish().unwrap();
    let field = |tag: &[u8], body: &[u8]| {
        let len = [body.len() as u8 | 0x80, (body.len() >> 7) as u8];
        [tag, &len, body].concat()
    };
    let trace = field(b"\x0a", &field(b"\x92\x03", &packed));
    std::fs::write(world.path("packed"), trace).unwrap();
    assert_eq!(world.run("tracebox trace events packed").good().text(), LINES);
}

/// The error names the command that prints the trace.
#[test]
fn a_trace_in_place_of_a_command() {
    let world = World::new();
    let bytes = write_trace(&world, "t.pftrace");
    std::fs::write(world.path("t"), &bytes).unwrap();
    let events = "is a trace: `tracebox trace events";
    world.run("tracebox t.pftrace").failed(1, &format!("t.pftrace {events} t.pftrace`"));
    world.run("tracebox t").failed(1, &format!("t {events} t`"));
    world.run("tracebox print t").failed(1, &format!("t {events} t`"));
    world.run("tracebox show absent.pftrace").failed(1, events);
    world.run("tracebox t -o x").failed(1, events);
    world.run("perfetto t.pftrace -o x").failed(1, events);
    world
        .run("tracebox events")
        .failed(1, "say which trace to print: `tracebox trace events FILE`");
    let choice = "say what to print: `tracebox trace events t` or `tracebox trace print t`";
    world.run("tracebox trace t").failed(1, choice);
    // Nobody writes to this pipe.
    world.fifo("pipe");
    world.run("tracebox pipe").failed(1, "\"pipe\" is no category of events");
    world.write("c.pbtx", "duration_ms: 1");
    let config = "c.pbtx is a file: to record with a config of text, add `-c c.pbtx --txt`";
    world.run("tracebox c.pbtx -o x").failed(1, config);
    assert!(!world.path("x").exists());
}
