//! What only our service has: a ledger of losses, with what a program leaves behind and drops; and snapshots at the end.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use protos::{DataSourceDescriptor, TracePacket, TracePacketData, TrackEventType};
use rustix::process::{Pid, Signal, kill_process};
use tracing_core::client::data_source::{Ack, DataSource, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions, Scraping};
use tracing_core::client::write::BufferExhaustedPolicy;

use crate::strict::{CONFIG, DropAndEnd, producer};
use crate::triggers::config;
use crate::world::World;

/// What [`program_process`] does once it recorded three events.
const PROGRAM_ENV: &str = "LEDGER_TEST_PROGRAM";

/// Writes three events. Then it begins one that it never ends, unless it `ends`.
struct Events {
    ends: bool,
}

impl DataSource for Events {
    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        for at in 0..3 {
            writer.new_packet().track_event().r#type(TrackEventType::TYPE_INSTANT);
            if at == 0 {
                // Now the service knows the writer.
                let (sender, reached) = std::sync::mpsc::channel();
                writer.flush_with(Some(Box::new(move || sender.send(()).unwrap())));
                reached.recv().unwrap();
            }
        }
        let mut packet = (!self.ends).then(|| writer.new_packet());
        if let Some(packet) = &mut packet {
            packet.timestamp(1);
        }
        // The test harness captures `println!`.
        writeln!(std::io::stdout().lock(), "\nwritten").unwrap();
        let mut end = String::new();
        std::io::stdin().read_line(&mut end).unwrap();
        // Nothing is dropped, and so nothing is committed: the end of a program that does not care.
        std::process::exit(0);
    }

    fn stop(&mut self, _instance: &Instance, _done: Ack) {}
}

/// Not a test: the next one starts it as a program of its own.
#[test]
fn program_process() {
    let Ok(ends) = std::env::var(PROGRAM_ENV) else { return };
    let mut options = ProducerOptions::new("program");
    options.scraping = Scraping::On;
    let producer = Producer::connect(options).unwrap();
    let descriptor = DataSourceDescriptor {
        name: Some("track_event".into()),
        ..DataSourceDescriptor::default()
    };
    producer.register(descriptor, Events { ends: ends == "yes" }).unwrap();
    // The data source ends the process.
    loop {
        std::thread::park();
    }
}

/// A program that is killed while it writes an event is named. One that ends without a word, with nothing half
/// written, lost nothing, although it never handed over what it had written.
#[test]
fn a_program_that_is_killed_and_one_that_ends() {
    for (ends, is_killed) in [("no", true), ("no", false), ("yes", true), ("yes", false)] {
        let world = World::new();
        let _traced = world.traced();
        world.write("c", "buffers { size_kb: 64 } data_sources { config { name: 'track_event' } }");
        let this = std::env::current_exe().unwrap();
        let command = world.command_at_sockets("perfetto");
        let mut program = std::process::Command::new(this);
        let sockets = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        program.envs(sockets).env(PROGRAM_ENV, ends).args(["--exact", "ledger::program_process"]);
        let mut program = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let pid = program.id();
        world.wait_for(|state| !state.data_sources.is_empty());
        let mut perfetto = world.start("perfetto -c c --txt -o trace --strict");
        let lines = BufReader::new(program.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "written"));
        match is_killed {
            true => program.kill().unwrap(),
            false => drop(program.stdin.take()),
        }
        program.wait().unwrap();
        perfetto
            .wait_for(&world, |state| state.producers.iter().all(|p| p.pid != Some(pid as i32)));
        perfetto.signal(Signal::INT);
        let ran = perfetto.end();
        let is_event = |p: &TracePacket| matches!(p.data, Some(TracePacketData::TrackEvent(_)));
        let events = world.packets("trace").iter().filter(|packet| is_event(packet)).count();
        assert_eq!(events, 3, "{ran:?}");
        if ends == "yes" {
            assert!(ran.good().stderr.contains("Lost: 0\n"));
        } else {
            let lost =
                format!("1 packet that program (pid {pid}) had not handed over when it was gone");
            assert!(ran.stderr.contains(&lost), "{ran:?}");
            ran.failed(3, "data was lost, and --strict was asked for");
        }
    }
}

/// A program tells how many packets it dropped.
#[test]
fn what_a_writer_drops_has_a_number() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, DropAndEnd);
    world.write("c", &CONFIG.replace("size_kb: 64", "size_kb: 65536"));
    let ran = world.run("perfetto -c c --txt -o trace --strict");
    assert!(ran.stderr.contains("; 10 packets that flood (pid "), "{ran:?}");
    assert!(ran.stderr.contains(") dropped because its shared memory was full; "), "{ran:?}");
    ran.failed(3, "data was lost, and --strict was asked for");
}

/// There is nothing more to record, so its snapshot is taken at once.
#[test]
fn a_trigger_whose_delay_runs_at_the_end() {
    let world = World::new();
    let _traced = world.traced();
    let sources = "data_sources { config { name: 'none' } }";
    let config = config("CLONE_SNAPSHOT").replace(sources, "");
    world.write("c", &config.replace("stop_delay_ms: 1", "stop_delay_ms: 3600000"));
    let mut perfetto = world.start("perfetto -c c --txt -o trace --strict");
    perfetto.read_until("waiting for triggers");
    perfetto.wait_for_sessions(&world, 1);
    world.run("trigger_perfetto t").good();
    perfetto.signal(Signal::INT);
    let ran = perfetto.end().good();
    assert!(ran.stderr.contains("1 snapshot was written"), "{ran:?}");
    assert!(!world.packets("trace.0").is_empty());
}

/// Records nothing.
struct Refuse;

impl DataSource for Refuse {
    fn start(&mut self, instance: &Instance) {
        instance.refuse();
    }

    fn stop(&mut self, _instance: &Instance, _done: Ack) {}
}

/// Who waits for the start of the data sources learns that one records nothing, while the others go on.
#[test]
fn a_refusal_is_told_at_the_start() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, Refuse);
    world.write("c", &CONFIG.replace("duration_ms: 300", ""));
    let ran = world.run("perfetto -D -c c --txt -o trace");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let told = "Lost from the start: flood of flood (pid ";
    assert!(ran.stderr.contains(told), "{ran:?}");
    let pid = Pid::from_raw(ran.text().trim().parse().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    // In the foreground, too, it is told at once.
    let mut perfetto = world.start("perfetto --notify-fd 1 -c c --txt -o other");
    perfetto.read_until(told);
    perfetto.signal(Signal::INT);
    let ran = perfetto.end().good();
    assert_eq!(ran.text(), "\x02");
    assert!(ran.stderr.contains("Lost: flood of flood (pid "), "{ran:?}");
}
