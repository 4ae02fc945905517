//! A script that any service can be put through, and what it then emits.
//!
//! Every step waits for its answer, so that two services get the same requests in the same order: what
//! differs in the traces are the services. `cargo xtask interop` plays it to ours and to the C++ one
//! and compares packet by packet (`interop/scenario.py`); alone, the test says that ours gets through.

mod scribe;
mod script;

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use protos::{
    CloneSessionRequest, CloneSessionRequestSelector, ObservableEventsType, TraceConfig,
    TracingServiceState,
};
use protozero::{Message, text};
use tracebox::schema;
use tracing_core::client::consumer::{Consumer, Waited};
use tracing_core::os::socket::Address;

use crate::world::{World, packets};

/// Nobody is that slow.
const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn scenario() {
    let world = World::new();
    let traced = world.traced();
    let stage = Stage::new(&world);
    script::play(&stage);
    // The ids that depend on the run.
    let traced = traced.child.id();
    let run = format!("{} {traced}\n", std::process::id());
    std::fs::write(stage.out.join("processes"), run).unwrap();
}

/// A service, and where its traces go.
struct Stage<'w> {
    world: &'w World,
    out: PathBuf,
}

/// A consumer on the stage.
struct Seat<'w> {
    stage: &'w Stage<'w>,
    consumer: Consumer,
}

impl<'w> Stage<'w> {
    /// Traces go where SCENARIO_OUT says, or are forgotten.
    fn new(world: &'w World) -> Self {
        let out = std::env::var_os("SCENARIO_OUT").map_or_else(|| world.path("out"), PathBuf::from);
        std::fs::create_dir_all(&out).unwrap();
        Self { world, out }
    }

    fn seat(&'w self) -> Seat<'w> {
        let address = Address::parse(self.world.path("consumer")).unwrap();
        Seat { stage: self, consumer: Consumer::connect(&address).unwrap() }
    }

    /// A file that a service may write into.
    fn file(&self, name: &str) -> File {
        let path = self.trace(name);
        File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap()
    }

    fn trace(&self, name: &str) -> PathBuf {
        self.out.join(format!("{name}.pftrace"))
    }

    /// A message that is no trace.
    fn keep(&self, name: &str, message: &impl Message) {
        std::fs::write(self.out.join(name), message.encode_to_vec()).unwrap();
    }
}

fn config(source: &str) -> TraceConfig {
    let options = text::Options { file: "config", lossy: false };
    let config = text::parse_message(&schema::message("TraceConfig"), source.as_bytes(), &options)
        .unwrap_or_else(|errors| panic!("{source}\n{errors}"));
    TraceConfig::decode(&config.encode()).unwrap()
}

impl Seat<'_> {
    /// A session of `config` whose data sources have all started.
    fn begin(&mut self, config: &str, file: Option<File>) {
        self.ask(config, file);
        self.all_started();
    }

    fn ask(&mut self, source: &str, file: Option<File>) {
        let kinds = [
            ObservableEventsType::TYPE_ALL_DATA_SOURCES_STARTED,
            ObservableEventsType::TYPE_CLONE_TRIGGER_HIT,
        ];
        self.consumer.observe_events(&kinds).unwrap();
        self.consumer.enable_tracing(&config(source), file.map(Into::into)).unwrap();
    }

    fn all_started(&mut self) {
        while !matches!(self.wait(), Waited::Event(event) if event.all_data_sources_started == Some(true))
        {
        }
    }

    fn wait(&mut self) -> Waited {
        self.consumer.wait(Some(PATIENCE)).unwrap()
    }

    fn ended(&mut self) {
        while self.wait() != Waited::Ended {}
    }

    fn flush(&mut self) {
        self.consumer.flush(PATIENCE).unwrap();
    }

    fn stop(&mut self) {
        self.consumer.disable_tracing().unwrap();
        self.ended();
    }

    /// What the session has so far.
    fn read(&mut self, name: &str) {
        let mut file = self.stage.file(name);
        self.consumer.read_into(&mut file, PATIENCE).unwrap();
    }

    /// The session goes, and its consumer: the service knows by the end of it.
    fn leave(mut self) {
        self.consumer.free_buffers().unwrap();
    }

    /// The session with this unique name, copied and read.
    fn clone_of(&mut self, session: &str, name: &str) {
        let selector = CloneSessionRequestSelector::UniqueSessionName(session.into());
        self.clone_with(
            CloneSessionRequest { selector: Some(selector), ..Default::default() },
            name,
        );
    }

    fn clone_with(&mut self, request: CloneSessionRequest, name: &str) {
        let file = self.stage.file(name);
        let response = self.consumer.clone_session(request, Some(file.into())).unwrap();
        if response.was_write_into_file != Some(true) {
            self.read(name);
        }
        let bytes = std::fs::read(self.stage.trace(name)).unwrap();
        assert!(!packets(&bytes).is_empty(), "{name}");
    }

    fn state(&mut self) -> TracingServiceState {
        self.consumer.query_service_state(false).unwrap()
    }

    /// Asks until the service has noticed that a producer left; nobody tells.
    fn gone(&mut self, producer: &str) {
        let is =
            |known: &protos::TracingServiceStateProducer| known.name.as_deref() == Some(producer);
        while self.state().producers.iter().any(is) {}
    }
}
