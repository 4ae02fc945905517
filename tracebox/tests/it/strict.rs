//! `--strict`: a loss is an exit code.

use std::io::Read as _;

use flate2::read::ZlibDecoder;
use protos::{DataSourceDescriptor, TracePacket, TracePacketData};
use rustix::process::Signal;
use tracing_core::client::data_source::{Ack, DataSource, FlushRequest, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::client::write::BufferExhaustedPolicy;
use tracing_core::os::socket::Address;

use crate::triggers;
use crate::world::{Ran, World, packets};

/// Writes so many packets of 1 KiB.
struct Flood(usize);

impl DataSource for Flood {
    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        for _ in 0..self.0 {
            writer.new_packet().for_testing().str(&"x".repeat(1024));
        }
        writer.flush();
    }

    fn stop(&mut self, _instance: &Instance, _done: Ack) {}
}

/// Writes two packets; the second has a flag that packets before it are missing.
struct Gap;

impl DataSource for Gap {
    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        writer.new_packet().for_testing().str("before");
        // TracePacket.previous_packet_dropped (42): 1
        writer.write_raw(b"\xd0\x02\x01");
        writer.flush();
    }

    fn stop(&mut self, _instance: &Instance, _done: Ack) {}
}

/// Writes until there is no shared memory; then its writer ends. Each packet fills a chunk, so that none is given up in
/// its middle, which the service would count by itself.
pub(super) struct DropAndEnd;

impl DataSource for DropAndEnd {
    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::Drop);
        // A chunk without its header, the word of its page and the length of a packet. A packet of one unknown field:
        // its tag and a length of two bytes before it.
        let mut packet = vec![0; 4096 - 8 - 8 - 4];
        let len = packet.len() - 4;
        packet[..4].copy_from_slice(&[0xfa, 0x3f, len as u8 | 0x80, (len >> 7) as u8]);
        // `first_packet_on_sequence` takes room.
        writer.new_packet().for_testing().str("first");
        writer.flush();
        while !writer.is_dropping() {
            writer.write_raw(&packet);
        }
        // So few bytes do not make it look for memory again.
        (0..9).for_each(|_| writer.write_raw(&packet[..10]));
    }

    fn stop(&mut self, _instance: &Instance, _done: Ack) {}
}

/// Never acknowledges a flush.
struct Mute(Vec<Ack>);

impl DataSource for Mute {
    fn start(&mut self, _instance: &Instance) {}

    fn flush(&mut self, _instance: &Instance, _flush: &FlushRequest, done: Ack) {
        self.0.push(done);
    }

    fn stop(&mut self, _instance: &Instance, _done: Ack) {}
}

pub(super) fn producer(world: &World, source: impl DataSource + 'static) -> Producer {
    producer_of(world, "flood", source)
}

fn producer_of(world: &World, name: &str, source: impl DataSource + 'static) -> Producer {
    let mut options = ProducerOptions::new("flood");
    options.address = Some(Address::parse(world.path("producer")).unwrap());
    let producer = Producer::connect(options).unwrap();
    let descriptor =
        DataSourceDescriptor { name: Some(name.into()), ..DataSourceDescriptor::default() };
    producer.register(descriptor, source).unwrap();
    assert!(producer.sync(std::time::Duration::MAX));
    producer
}

pub(super) const CONFIG: &str =
    "buffers { size_kb: 64 } duration_ms: 300 data_sources { config { name: 'flood' } }";

/// A consumer that takes over a session does not know its config, but sees its data sources stop.
#[test]
fn a_producer_that_goes_away_while_attached() {
    let world = World::new();
    let _traced = world.traced();
    let producer = producer_of(&world, "linux.flood", Flood(1));
    let config = CONFIG.replace("duration_ms: 300", "").replace("flood", "linux.flood");
    world.write("c", &format!("{config} write_into_file: true"));
    world.run("perfetto -c c --txt -o trace --detach=k").good();
    let mut perfetto = world.start("perfetto --attach=k --strict");
    perfetto.read_until("waiting for its end");
    drop(producer);
    perfetto.read_until("linux.flood stopped at ");
    perfetto.signal(Signal::INT);
    perfetto.end().failed(3, "data was lost, and --strict was asked for");
}

/// The same of a session that only snapshots are taken of.
#[test]
fn a_producer_that_goes_away_between_snapshots() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &triggers::config("CLONE_SNAPSHOT").replace("'none'", "'linux.flood'"));
    for strict in ["", " --strict"] {
        let producer = producer_of(&world, "linux.flood", Flood(1));
        let mut perfetto = world.start(&format!("perfetto -c c --txt -o trace{strict}"));
        perfetto.read_until("waiting for triggers");
        perfetto.wait_for(&world, |state| {
            state.tracing_sessions.iter().any(|session| session.is_started == Some(true))
        });
        drop(producer);
        perfetto.read_until("linux.flood stopped at ");
        perfetto.signal(Signal::INT);
        let ran = perfetto.end();
        let told = "no snapshot was written\nLost: linux.flood stopped at ";
        assert!(ran.stderr.contains(told), "{ran:?}");
        match strict {
            "" => ran.good(),
            _ => ran.failed(3, "data was lost, and --strict was asked for"),
        };
    }
}

#[test]
fn nothing_lost() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, Flood(8));
    world.write("c", CONFIG);
    world.run("perfetto -c c --txt -o trace --strict").good();
}

#[test]
fn overwritten_and_discarded() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, Flood(200));
    for (policy, about) in [("RING_BUFFER", "overwritten"), ("DISCARD", "the buffer full")] {
        world.write("c", &CONFIG.replace("64", &format!("64 fill_policy: {policy}")));
        let ran = world.run("perfetto -c c --txt -o trace").good();
        assert!(ran.stderr.contains("Lost: chunks ") && ran.stderr.contains(about), "{ran:?}");
        let ran = world.run("perfetto -c c --txt -o trace --strict");
        assert!(!world.packets("trace").is_empty(), "the trace is there all the same");
        ran.failed(3, "data was lost, and --strict was asked for");
    }
}

/// Nothing that the writer could report its loss with follows it.
#[test]
fn a_writer_that_ends_while_it_drops() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, DropAndEnd);
    world.write("c", &CONFIG.replace("size_kb: 64", "size_kb: 65536"));
    let ran = world.run("perfetto -c c --txt -o trace --strict");
    let told = "Lost: gaps where a producer's shared memory was full: 1; ";
    assert!(ran.stderr.contains(told), "{ran:?}");
    assert!(ran.stderr.contains("; packets that follow a gap"), "{ran:?}");
    ran.failed(3, "data was lost, and --strict was asked for");
}

/// No counter has this loss, so the trace is scanned, whether the service or the consumer writes it.
#[test]
fn said_by_the_trace_alone() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, Gap);
    let file = "write_into_file: true file_write_period_ms: 100";
    for output in ["", file] {
        for codec in ["", "compression_type: COMPRESSION_TYPE_DEFLATE"] {
            world.write("c", &format!("{CONFIG} {output} {codec}"));
            let told = "Lost: packets that follow a gap in their sequence: 1\n";
            let ran = world.run("perfetto -c c --txt -o trace").good();
            assert!(ran.stderr.contains(told), "{ran:?}");
            let ran = world.run("perfetto -c c --txt -o trace --strict");
            assert!(ran.stderr.contains(told), "{ran:?}");
            ran.failed(3, "data was lost, and --strict was asked for");
        }
    }
}

/// What the service writes into a pipe, or into a file of another consumer, is not searched. The report says so.
#[test]
fn what_cannot_be_searched() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, Gap);
    let into_file = format!("{CONFIG} write_into_file: true");
    world.write("c", &into_file);
    let pipe = world.fifo("pipe");
    let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
    let ran = world.run("perfetto -c c --txt -o pipe --strict").good();
    let told = "Lost: 0 (as the service counted; the trace was not searched for gaps, because it went into a pipe)\n";
    assert!(ran.stderr.contains(told), "{ran:?}");
    assert!(!packets(&reader.join().unwrap()).is_empty());
    world.write("c", &into_file.replace("duration_ms: 300", ""));
    world.run("perfetto --detach=k -c c --txt -o trace").good();
    let ran = world.run("perfetto --attach=k --stop --strict").good();
    assert!(ran.stderr.contains("because --attach does not have the file)\n"), "{ran:?}");
}

/// The report counts packets, however they are packed.
#[test]
fn compressed_packets_count() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, Flood(8));
    for output in ["", "write_into_file: true file_write_period_ms: 100"] {
        world.write("c", &format!("{CONFIG} {output} compression_type: COMPRESSION_TYPE_DEFLATE"));
        let ran = world.run("perfetto -c c --txt -o trace").good();
        let inside = |packet: &TracePacket| match &packet.data {
            Some(TracePacketData::CompressedPackets(bytes)) => {
                let mut trace = Vec::new();
                ZlibDecoder::new(&bytes[..]).read_to_end(&mut trace).unwrap();
                packets(&trace).len()
            }
            _ => 1,
        };
        let written = world.packets("trace");
        let count: usize = written.iter().map(inside).sum();
        assert!(count > written.len(), "some are compressed");
        assert!(ran.stderr.contains(&format!("into trace, {count} packets\n")), "{ran:?}");
    }
}

/// The producers of these data sources have ended, or never connected.
#[test]
fn sources_that_do_not_record() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", CONFIG);
    let ran = world.run("perfetto -c c --txt -o trace").good();
    assert!(ran.stderr.contains("Not recorded, because no producer offers it: flood"), "{ran:?}");
    world.run("perfetto -c c --txt -o trace --strict").failed(3, "no producer offers flood");

    // A source of the machine is asked to record all the time; a program has recorded all that it did.
    for (name, strict) in
        [("linux.flood", ""), ("linux.flood", " --strict"), ("flood", ""), ("flood", " --strict")]
    {
        world.write("c", &CONFIG.replace("duration_ms: 300", "").replace("flood", name));
        let first = producer_of(&world, name, Flood(1));
        let mut perfetto = world.start(&format!("perfetto -c c --txt -o trace{strict}"));
        perfetto.read_until("starting tracing");
        perfetto.wait_for(&world, |state| {
            state.tracing_sessions.iter().any(|session| session.is_started == Some(true))
        });
        drop(first);
        let told = perfetto.read_until(&format!("{name} stopped at "));
        assert!(told.ends_with(" s: its producer went away\n"), "{told:?}");
        // A producer that connects later and stays is no loss.
        let _second = producer_of(&world, name, Flood(1));
        perfetto.signal(Signal::INT);
        let ran = perfetto.end();
        let lost = if name == "flood" { "Lost: 0\n" } else { "Lost: linux.flood stopped at " };
        assert!(ran.stderr.contains(lost), "{ran:?}");
        match (name, strict) {
            ("flood", _) | (_, "") => ran.good(),
            _ => ran.failed(3, "data was lost, and --strict was asked for"),
        };
    }
}

/// What a traced program recorded until its end is all there is, whatever its data sources are called.
#[test]
fn a_program_that_ends_while_it_is_recorded() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", &CONFIG.replace("duration_ms: 300", ""));
    let program = producer(&world, Flood(1));
    let events = DataSourceDescriptor { name: Some("track_event".into()), ..Default::default() };
    program.register(events, Flood(0)).unwrap();
    assert!(program.sync(std::time::Duration::MAX));
    let mut perfetto = world.start("perfetto -c c --txt -o trace --strict");
    perfetto.wait_for(&world, |state| {
        state.tracing_sessions.iter().any(|session| session.is_started == Some(true))
    });
    drop(program);
    perfetto.wait_for(&world, |state| state.producers.is_empty());
    perfetto.signal(Signal::INT);
    assert!(perfetto.end().good().stderr.contains("Lost: 0\n"));
}

/// A trace that is not whole counts more than the command's own code, which is then in a line. A recording that
/// failed has a code of its own.
#[test]
fn strict_while_a_command_runs() {
    let world = World::new();
    world.write("c", CONFIG);
    let record = |words: &str, script: &str| {
        let mut command = world.command(&format!("tracebox record -c c --txt {words} -- sh -c"));
        Ran::from(command.arg(script).output().unwrap())
    };
    for (script, told) in [
        ("exit 0", ""),
        ("exit 1", "The command exited with 1\n"),
        ("exit 3", "The command exited with 3\n"),
        ("kill -9 $$", "The command was ended by signal 9\n"),
    ] {
        let ran = record("-o trace --strict", script);
        assert!(ran.stderr.contains(told), "{ran:?}");
        assert_eq!(ran.stderr.contains("The command "), !told.is_empty(), "{ran:?}");
        ran.failed(3, "no producer offers flood, and --strict was asked for");
        assert!(!world.packets("trace").is_empty(), "the trace is there all the same");
    }
    let ran = record("-o trace", "exit 1");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    record("-o no/such/file --strict", "exit 1").failed(125, "cannot write no/such/file");

    // A trace that is whole.
    world.write(
        "c",
        "buffers { size_kb: 64 } data_sources { config { name: 'linux.system_info' } }",
    );
    assert_eq!(record("-o trace --strict", "exit 1").code, Some(1));
}

/// The flush of `perfetto` itself, before it stops a session, may lose as much as that of the service.
#[test]
fn a_producer_that_did_not_answer() {
    const LOST: &str = "Lost: the last data of a producer that did not answer in time";
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, Mute(Vec::new()));
    let config = CONFIG.replace("duration_ms: 300", "flush_timeout_ms: 100");
    world.write("c", &config);
    for strict in ["", " --strict"] {
        let mut perfetto = world.start(&format!("perfetto -c c --txt -o trace{strict}"));
        perfetto.read_until("starting tracing");
        perfetto.wait_for(&world, |state| {
            state.tracing_sessions.iter().any(|session| session.is_started == Some(true))
        });
        perfetto.signal(Signal::INT);
        let ran = perfetto.end();
        assert!(ran.stderr.contains(LOST), "{ran:?}");
        match strict {
            "" => ran.good(),
            _ => ran.failed(3, "data was lost, and --strict was asked for"),
        };
        assert!(!world.packets("trace").is_empty(), "the trace is there all the same");
    }
    world.write("c", &format!("{config} write_into_file: true"));
    world.run("perfetto --detach=k -c c --txt -o trace").good();
    let ran = world.run("perfetto --attach=k --stop --strict");
    assert!(ran.stderr.contains(LOST), "{ran:?}");
    ran.failed(3, "data was lost, and --strict was asked for");
}
