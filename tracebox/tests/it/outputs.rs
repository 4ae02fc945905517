//! Traces into pipes, and into files of the service.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use protos::TracePacketData;
use rustix::process::Signal;

use crate::world::{Daemon, Ran, World, has, packets};

const ENDLESS: &str = "buffers { size_kb: 64 } data_sources { config { name: 'none' } }";
const INTO_FILE: &str = "write_into_file: true file_write_period_ms: 100";

fn is_config(data: &TracePacketData) -> bool {
    matches!(data, TracePacketData::TraceConfig(_))
}

/// `perfetto` that records into the pipe `fifo`, read back or written by the service.
fn into_pipe(world: &World, config: &str) -> Daemon {
    world.write("c", config);
    let mut perfetto = world.start("perfetto -c c --txt -o fifo");
    perfetto.read_until("Connected");
    perfetto.wait_for_sessions(world, 1);
    perfetto
}

/// The path is relative to the directory of the program, not to that of the service.
#[test]
fn a_relative_output_path() {
    let world = World::new();
    let _traced = world.traced();
    std::fs::create_dir(world.path("sub")).unwrap();
    let run = |line: &str| {
        let mut command = world.command(line);
        Ran::from(command.current_dir(world.path("sub")).output().unwrap())
    };
    world.write("c", &format!("{ENDLESS} duration_ms: 100 {INTO_FILE} output_path: 'a'"));
    let ran = run("perfetto -c ../c --txt").good();
    assert!(has(&world.packets("sub/a"), is_config));
    let path = world.path("sub").canonicalize().unwrap().join("a");
    assert!(ran.stderr.contains(&format!("into {}", path.display())), "{ran:?}");
    run("perfetto -c ../c --txt").failed(1, "exists already");
    assert!(!world.path("a").exists());

    world.write("c", &format!("{ENDLESS} {INTO_FILE} output_path: '../b'"));
    run("perfetto --detach=k -c ../c --txt").good();
    // The service creates the file beside other work. Who stops a session before that does not wait for its file.
    world.wait_for(|state| state.tracing_sessions.iter().any(|s| s.is_started == Some(true)));
    world.run("perfetto --attach=k --stop").good();
    assert!(has(&world.packets("b"), is_config));
}

/// A process that reads the pipe `fifo`, so that it has left for certain when it has ended. A descriptor of this
/// process is not enough: when another test starts a program, the new process has a copy of it until its `exec`.
struct Reader(Child);

impl Reader {
    /// There is no writer yet, so it opens the pipe for writing, too, which does not wait.
    fn open(world: &World) -> Self {
        let mut shell = shell(world, "exec 3<>fifo; echo; read line");
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        Self(shell)
    }

    fn leave(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn shell(world: &World, script: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).current_dir(world.path(""));
    shell
}

/// Data that is written after the reader has closed the pipe is lost, and waiting for space would take for ever.
#[test]
fn a_pipe_whose_reader_left() {
    for output in ["", INTO_FILE] {
        // A reader that opens the pipe late, and one that opens it before.
        for late in [true, false] {
            let world = World::new();
            let _traced = world.traced();
            world.fifo("fifo");
            let early = (!late).then(|| Reader::open(&world));
            let perfetto = into_pipe(&world, &format!("{ENDLESS} {output}"));
            match early {
                Some(reader) => reader.leave(),
                None => assert!(shell(&world, ": <fifo").status().unwrap().success()),
            }
            perfetto.signal(Signal::INT);
            perfetto.end().failed(1, "Broken pipe");
        }
    }
}

/// A recording does not wait for a reader of the pipe; its trace does.
#[test]
fn a_pipe_whose_reader_comes_late() {
    let world = World::new();
    let _traced = world.traced();
    let fifo = world.fifo("fifo");
    for output in ["", INTO_FILE] {
        // Its session may be over before anybody asks for it.
        world.write("c", &format!("{ENDLESS} duration_ms: 100 {output}"));
        let mut perfetto = world.start("perfetto -c c --txt -o fifo");
        perfetto.read_until("No reader has opened fifo yet");
        let trace = std::fs::read(&fifo).unwrap();
        assert!(has(&packets(&trace), is_config));
        perfetto.end().good();
    }
    world.write("c", &ENDLESS.replace("name: 'none'", "target_buffer: 9"));
    world.run("perfetto -c c --txt -o fifo").failed(1, "service error: ");
}

/// A program that has detached cannot wait for a reader: the service does.
#[test]
fn a_pipe_of_a_session_that_is_left() {
    let world = World::new();
    let _traced = world.traced();
    let fifo = world.fifo("fifo");
    world.write("c", &format!("{ENDLESS} {INTO_FILE}"));
    world.run("perfetto --detach=k -c c --txt -o fifo").good();
    let reader = std::thread::spawn(move || std::fs::read(fifo).unwrap());
    world.run("perfetto --attach=k --stop").good();
    assert!(has(&packets(&reader.join().unwrap()), is_config));
}
