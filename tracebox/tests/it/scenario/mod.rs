//! A script of requests to a service, and the traces that the service emits.
//!
//! Every step waits for its answer, so that two services get the same requests in the same order, and only the
//! services can differ. `cargo xtask interop` runs the script with our service and with the C++ one, and
//! compares the traces packet by packet (`interop/scenario.py`). As a test it only has to pass.

mod script;
mod script_producer;

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

const FOREVER: Duration = Duration::MAX;

#[test]
fn scenario() {
    let world = World::new();
    let traced = world.traced();
    let scenario = Scenario::new(&world);
    script::play(&scenario);
    // Ids that differ from run to run.
    let traced = traced.child.id();
    let run = format!("{} {traced}\n", std::process::id());
    std::fs::write(scenario.out.join("processes"), run).unwrap();
}

/// A service, and the directory for its traces.
struct Scenario<'w> {
    world: &'w World,
    out: PathBuf,
}

/// A consumer of the script.
struct ScriptClient<'w> {
    scenario: &'w Scenario<'w>,
    consumer: Consumer,
}

impl<'w> Scenario<'w> {
    /// Traces go to the directory SCENARIO_OUT, if it is set.
    fn new(world: &'w World) -> Self {
        let out = std::env::var_os("SCENARIO_OUT").map_or_else(|| world.path("out"), PathBuf::from);
        std::fs::create_dir_all(&out).unwrap();
        Self { world, out }
    }

    fn client(&'w self) -> ScriptClient<'w> {
        let address = Address::parse(self.world.path("consumer")).unwrap();
        ScriptClient { scenario: self, consumer: Consumer::connect(&address).unwrap() }
    }

    /// A file that the service writes.
    fn file(&self, name: &str) -> File {
        let path = self.trace(name);
        File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap()
    }

    fn trace(&self, name: &str) -> PathBuf {
        self.out.join(format!("{name}.pftrace"))
    }

    /// Keeps a message that is no trace.
    fn keep(&self, name: &str, message: &impl Message) {
        std::fs::write(self.out.join(name), message.encode_to_vec()).unwrap();
    }
}

fn config(source: &str) -> TraceConfig {
    let options = text::Options { file: "config", ..text::Options::default() };
    let config = text::parse_message(&schema::message("TraceConfig"), source.as_bytes(), &options)
        .unwrap_or_else(|errors| panic!("{source}\n{errors}"));
    TraceConfig::decode(&config.encode()).unwrap()
}

impl ScriptClient<'_> {
    /// Starts a session with `config`, and waits until all its data sources have started.
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
        self.consumer.wait(Some(FOREVER)).unwrap()
    }

    fn ended(&mut self) {
        while self.wait() != Waited::Ended {}
    }

    fn flush(&mut self) {
        self.consumer.flush(FOREVER).unwrap();
    }

    fn stop(&mut self) {
        self.consumer.disable_tracing().unwrap();
        self.ended();
    }

    /// Reads what the session has recorded so far.
    fn read(&mut self, name: &str) {
        let mut file = self.scenario.file(name);
        self.consumer.read_into(&mut file, FOREVER).unwrap();
    }

    /// Frees the session and disconnects its consumer, and waits until the service has noticed.
    fn leave(mut self) {
        self.consumer.free_buffers().unwrap();
    }

    /// Clones the session with this unique name, and reads the clone.
    fn clone_of(&mut self, session: &str, name: &str) {
        let selector = CloneSessionRequestSelector::UniqueSessionName(session.into());
        self.clone_with(
            CloneSessionRequest { selector: Some(selector), ..Default::default() },
            name,
        );
    }

    fn clone_with(&mut self, request: CloneSessionRequest, name: &str) {
        let file = self.scenario.file(name);
        let response = self.consumer.clone_session(request, Some(file.into())).unwrap();
        if response.was_write_into_file != Some(true) {
            self.read(name);
        }
        let bytes = std::fs::read(self.scenario.trace(name)).unwrap();
        assert!(!packets(&bytes).is_empty(), "{name}");
    }

    fn state(&mut self) -> TracingServiceState {
        self.consumer.query_service_state(false).unwrap()
    }

    /// Asks until the service has noticed that a producer left: there is no event for it.
    fn wait_until_gone(&mut self, producer: &str) {
        let is =
            |known: &protos::TracingServiceStateProducer| known.name.as_deref() == Some(producer);
        while self.state().producers.iter().any(is) {}
    }
}
