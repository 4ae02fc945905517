//! `tracebox trace print` over real traces.

use protos::{Trace, TracePacket};
use protozero::Message;
use protozero::text;
use tracebox::schema;

use crate::world::World;

const SHORT: &str = "buffers { size_kb: 64 } duration_ms: 100
    data_sources { config { name: 'linux.system_info' } }";

#[test]
fn a_recorded_trace() {
    let world = World::new();
    world.write("c", SHORT);
    world.run("tracebox -c c --txt -o trace").good();
    let packets = world.packets("trace");
    let ran = world.run("tracebox trace print trace").good();
    let heads = ran.text().lines().filter(|line| line.starts_with("# packet "));
    assert_eq!(heads.count(), packets.len());
    assert!(ran.text().contains("    name: \"linux.system_info\"\n"), "{ran:?}");
    // The text is the trace, unless it has fields that the schema does not know.
    if packets.iter().all(|packet: &TracePacket| packet.unknown_fields.is_empty()) {
        let options = text::Options { lossy: true, ..text::Options::default() };
        let read = text::parse_message(&schema::message("Trace"), &ran.stdout, &options).unwrap();
        assert_eq!(Trace::decode(&read.encode()).unwrap().packet.len(), packets.len());
    }
    let one = world.run("tracebox trace print -1 -p 1..2 trace").good();
    assert_eq!(one.text().lines().count(), 1, "{one:?}");
    let count = packets.len();
    assert!(ran.text().ends_with(&format!("\n# {count} packets\n")), "{ran:?}");
    let about = format!("trace: no packet 9999: the trace has {count}, counted from 0");
    world.run("tracebox trace print -p 9999 trace").failed(1, &about);
}

#[test]
fn a_compressed_trace() {
    let world = World::new();
    world.write("c", &format!("{SHORT} compression {{ zstd {{}} }}"));
    world.run("tracebox -c c --txt -o trace").good();
    let ran = world.run("tracebox trace print trace").good();
    assert!(ran.text().contains("    name: \"linux.system_info\"\n"), "{ran:?}");
    assert!(ran.text().starts_with("# compressed packets: "), "{ran:?}");
}

#[test]
fn a_trace_that_breaks_off() {
    let world = World::new();
    std::fs::write(world.path("trace"), b"\x0a\x02\x40\x07\x0a\x09\x40").unwrap();
    let ran = world.run("tracebox trace print trace");
    assert!(ran.text().starts_with("# packet 0: 2 bytes at 2\npacket {\n  timestamp: 7\n}\n"));
    ran.failed(1, "trace: the trace is cut off: the input ends inside a field at byte 4");
    world.run("tracebox trace print nothing").failed(1, "cannot read nothing");
    world.run("tracebox trace print --packet x trace").failed(1, "`x` is not a number");
    world.run("tracebox trace print trace -d trace").failed(1, "trace is not a schema: ");
}

#[test]
fn another_schema() {
    let world = World::new();
    // package perfetto.protos; message TracePacket { optional fixed32 strange = 9; }
    let field = b"\x0a\x07strange\x18\x09\x20\x01\x28\x07";
    let message = [b"\x0a\x0bTracePacket\x12", &[field.len() as u8][..], field].concat();
    let file =
        [b"\x0a\x01x\x12\x0fperfetto.protos\x22", &[message.len() as u8][..], &message].concat();
    std::fs::write(world.path("set"), [b"\x0a", &[file.len() as u8][..], &file].concat()).unwrap();
    std::fs::write(world.path("trace"), b"\x0a\x07\x4d\x2a\0\0\0\x50\x01").unwrap();
    let ran = world.run("tracebox trace print --single-line --descriptors set trace").good();
    assert_eq!(ran.text(), "packet { strange: 42 10: 1 }  # packet 0: 7 bytes at 2\n# 1 packet\n");
}
