//! The command and its processes in the trace of `tracebox record`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use protos::{
    DebugAnnotationNameField, DebugAnnotationValue, TraceAttributesAttributeValue, TracePacket,
    TracePacketData, TrackEvent, TrackEventNameField, TrackEventType,
};

use crate::world::{World, packets};

fn annotation<'e>(event: &'e TrackEvent, name: &str) -> Option<&'e DebugAnnotationValue> {
    let named = DebugAnnotationNameField::Name(name.into());
    let found = event.debug_annotations.iter().find(|a| a.name_field.as_ref() == Some(&named));
    found?.value.as_ref()
}

/// A slice: its name, process, command line, duration if it has ended, and exit code.
#[derive(Debug)]
struct Slice {
    track: u64,
    name: String,
    pid: Option<i64>,
    parent: Option<i64>,
    cmdline: String,
    begin_ns: u64,
    end_ns: Option<u64>,
    exit_code: Option<i64>,
}

fn slices(packets: &[TracePacket]) -> Vec<Slice> {
    let int = |event: &TrackEvent, name: &str| match annotation(event, name) {
        Some(DebugAnnotationValue::IntValue(value)) => Some(*value),
        _ => None,
    };
    let mut slices: Vec<Slice> = Vec::new();
    for packet in packets {
        let Some(TracePacketData::TrackEvent(event)) = &packet.data else { continue };
        let (track, at_ns) = (event.track_uuid.unwrap(), packet.timestamp.unwrap());
        if event.r#type == Some(TrackEventType::TYPE_SLICE_END) {
            let open = slices.iter_mut().find(|s| s.track == track && s.end_ns.is_none());
            let slice = open.expect("a slice that began");
            slice.end_ns = Some(at_ns);
            slice.exit_code = int(event, "exit_code");
            continue;
        }
        let Some(TrackEventNameField::Name(name)) = &event.name_field else { panic!("{event:?}") };
        let cmdline = match annotation(event, "cmdline") {
            Some(DebugAnnotationValue::StringValue(text)) => text.clone(),
            other => panic!("{other:?}"),
        };
        let (pid, parent) = (int(event, "pid"), int(event, "parent"));
        let (begin_ns, end_ns, exit_code) = (at_ns, None, None);
        let name = name.clone();
        slices.push(Slice { track, name, pid, parent, cmdline, begin_ns, end_ns, exit_code });
    }
    slices
}

fn attribute(packets: &[TracePacket], key: &str) -> Option<TraceAttributesAttributeValue> {
    let attributes = packets.iter().filter_map(|packet| match &packet.data {
        Some(TracePacketData::TraceAttributes(attributes)) => Some(&attributes.attribute),
        _ => None,
    });
    attributes.flatten().find(|a| a.key.as_deref() == Some(key))?.value.clone()
}

#[test]
fn the_command_and_its_code() {
    let world = World::new();
    for words in ["-o trace", "-o trace -c c --txt"] {
        world.write("c", "buffers { size_kb: 256 } data_sources { config { name: 'none' } }");
        let mut command = world.command(&format!("tracebox record {words} -- sh -c"));
        let status = command.arg("exit 5").status().unwrap();
        assert_eq!(status.code(), Some(5));
        let packets = world.packets("trace");
        let text = TraceAttributesAttributeValue::StringValue("sh -c exit 5".into());
        assert_eq!(attribute(&packets, "tracebox.command"), Some(text));
        let code = TraceAttributesAttributeValue::LongValue(5);
        assert_eq!(attribute(&packets, "tracebox.command.exit_code"), Some(code));
        let slices = slices(&packets);
        // The command on a track of its own, and its process.
        for is_process in [false, true] {
            let slice = slices.iter().find(|s| s.pid.is_some() == is_process).unwrap();
            assert_eq!((slice.name.as_str(), slice.exit_code), ("sh", Some(5)), "{slices:?}");
            assert_eq!(slice.cmdline, "sh -c exit 5");
            assert!(slice.end_ns.unwrap() >= slice.begin_ns);
        }
    }
}

#[test]
fn a_command_that_a_signal_ends() {
    let world = World::new();
    let mut command = world.command("tracebox record -o trace -- sh -c");
    let status = command.arg("kill -9 $$").status().unwrap();
    assert_eq!(status.code(), Some(137));
    let code = TraceAttributesAttributeValue::LongValue(9);
    assert_eq!(attribute(&world.packets("trace"), "tracebox.command.signal"), Some(code));
}

/// A grandchild of the command. It runs until the trace has it: on a busy machine reading `/proc`
/// can take long.
#[test]
fn the_whole_process_tree() {
    const MARK: &str = "word-of-the-grandchild";
    let world = World::new();
    world.write(
        "c",
        "buffers { size_kb: 256 } data_sources { config { name: 'tracebox.command' } }
         write_into_file: true file_write_period_ms: 100
         write_flush_mode: WRITE_FLUSH_ENABLED",
    );
    let fifo = world.fifo("trace");
    let mut command = world.command("tracebox record -o trace -c c --txt -- sh -c");
    // Without a further command the shell would replace itself with the grandchild.
    let script = format!("sh -c 'read line; exit 3' {MARK}; echo ended; read line");
    let child = command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mark = MARK.as_bytes();
    let has_it = |bytes: &[u8]| bytes.windows(mark.len()).filter(|w| *w == mark).count() >= 8;
    let mut trace = File::open(fifo).unwrap();
    let mut bytes = Vec::new();
    // Five packets of the command and its process contain the word, and three of the grandchild.
    while !has_it(&bytes) {
        let len = bytes.len();
        bytes.resize(len + 4096, 0);
        let count = trace.read(&mut bytes[len..]).unwrap();
        assert_ne!(count, 0, "the trace ended before it had the grandchild");
        bytes.truncate(len + count);
    }
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ended\n");
    drop(stdin);
    trace.read_to_end(&mut bytes).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "its `read` found no line");

    let packets = packets(&bytes);
    let slices = slices(&packets);
    let root = slices.iter().find(|slice| slice.pid.is_some()).unwrap();
    let wanted = format!("sh -c read line; exit 3 {MARK}");
    let grandchild = slices.iter().find(|slice| slice.cmdline == wanted).unwrap();
    assert_eq!(grandchild.parent, root.pid, "{slices:?}");
    assert!(grandchild.end_ns.unwrap() <= root.end_ns.unwrap(), "{slices:?}");
    // Without the connector only the parent knows the exit code.
    assert!(matches!(grandchild.exit_code, None | Some(3)), "{slices:?}");
    let in_tree = |packet: &TracePacket| match &packet.data {
        Some(TracePacketData::ProcessTree(tree)) => tree.processes.iter().any(|process| {
            process.pid.map(i64::from) == grandchild.pid
                && process.ppid.map(i64::from) == root.pid
                && process.cmdline == ["sh", "-c", "read line; exit 3", MARK]
        }),
        _ => false,
    };
    assert!(packets.iter().any(in_tree));
}

/// Children that live for 50 ms each. Root learns of the life of each from the kernel. Command lines are read in
/// `/proc`, and so are lives for other users: a busy machine may delay a read by more than 50 ms, so some may be missed.
#[test]
fn short_lived_children() {
    const CHILDREN: usize = 20;
    let world = World::new();
    let mut command = world.command("tracebox record -o trace -- sh -c");
    let script = format!("i=0; while [ $i -lt {CHILDREN} ]; do sleep 0.05; i=$((i + 1)); done");
    assert!(command.arg(script).status().unwrap().success());
    let slices = slices(&world.packets("trace"));
    let root = slices.iter().find(|slice| slice.pid.is_some()).unwrap();
    let is_told_by_kernel = |slice: &&Slice| slice.exit_code == Some(0);
    let ended = |slice: &&Slice| slice.end_ns.is_some_and(|end| end > slice.begin_ns);
    let children: Vec<&Slice> = slices.iter().filter(|slice| slice.parent == root.pid).collect();
    if children.iter().copied().any(|slice| is_told_by_kernel(&slice)) {
        let count = children.iter().copied().filter(is_told_by_kernel).filter(ended).count();
        assert_eq!(count, CHILDREN, "{slices:?}");
    }
    // Between fork and exec a child is a `sh`, whose command line may be read when it is that of `sleep` already.
    let is_sleep = |slice: &&&Slice| slice.name == "sleep" && slice.cmdline == "sleep 0.05";
    let count = children.iter().filter(is_sleep).count();
    assert!((1..=CHILDREN).contains(&count), "{count}: {slices:?}");
}
