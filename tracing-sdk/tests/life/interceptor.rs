//! The interceptor `console` with a service outside, and in a forked process.

use std::process::Stdio;

use protos::{
    ConsoleConfig, ConsoleConfigOutput, DataSourceConfig, InterceptorConfig, TraceConfig,
    TraceConfigBufferConfig, TraceConfigDataSource,
};
use tracing_sdk::interceptor::Console;
use tracing_sdk::session::{Config, Session};
use tracing_sdk::{instant, slice};

use crate::{LIFE, LONG, Place, Service, is_child};

pub(crate) fn a_process_prints_in_place_of_being_recorded() {
    let place = Place::new("prints");
    let _service = Service::start(&place.0);
    let mut command = place.command("prints");
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    let output = output.expect("a process");
    assert!(output.status.success(), "{output:?}");
    // Without times, tracks and durations.
    let lines = |bytes: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let event = |line: &str| line.get(28..).unwrap_or(line).to_owned();
        text.lines()
            .map(|line| event(line.split_once(" +").map_or(line, |(line, _)| line)))
            .collect()
    };
    let on_output = ["slice {", "-  before", "child {", "} child", "-  after", "} slice"]
        .map(|text| format!("life  {text}"));
    assert_eq!(lines(&output.stdout), on_output, "{output:?}");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let (reports, printed): (Vec<&str>, Vec<&str>) =
        errors.lines().partition(|line| line.starts_with("tracing-sdk: "));
    assert_eq!(reports.len(), 1, "{errors}");
    assert!(reports[0].contains("no interceptor \"unknown\""), "{errors}");
    assert_eq!(lines(printed.join("\n").as_bytes()), ["life  on standard error"]);
}

fn started(name: &str, output: ConsoleConfigOutput) -> Session {
    let console = ConsoleConfig { output: Some(output), ..Default::default() };
    let interceptor = InterceptorConfig {
        name: Some(name.to_owned()),
        console_config: Some(console),
        ..Default::default()
    };
    let config = DataSourceConfig {
        name: Some("track_event".to_owned()),
        interceptor_config: Some(interceptor),
        track_event_config: Some(protos::TrackEventConfig {
            enabled_categories: vec!["life".to_owned()],
            disabled_categories: vec!["*".to_owned()],
            ..Default::default()
        }),
        ..Default::default()
    };
    let config = TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() }],
        data_sources: vec![TraceConfigDataSource { config: Some(config), ..Default::default() }],
        ..Default::default()
    };
    assert!(tracing_sdk::sync(LONG), "no service");
    let session = Session::system(&Config::from_message(config)).expect("a session");
    session.start().expect("a start");
    assert!(LIFE.is_enabled());
    session
}

/// How many events the service got of an ended session.
fn recorded(session: &Session) -> usize {
    session.stop().expect("an end");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    crate::trace::events(&trace).len()
}

pub(crate) fn print() {
    tracing_sdk::init().expect("a producer");
    Console::register();
    let session = started("console", ConsoleConfigOutput::OUTPUT_STDERR);
    instant!(LIFE, "on standard error");
    assert_eq!(recorded(&session), 0);
    let session = started("unknown", ConsoleConfigOutput::OUTPUT_STDERR);
    instant!(LIFE, "as usual");
    instant!(LIFE, "as usual");
    assert_eq!(recorded(&session), 2);

    let session = started("console", ConsoleConfigOutput::OUTPUT_UNSPECIFIED);
    let slice = slice!(LIFE, "slice");
    instant!(LIFE, "before");
    if is_child() {
        // The parent records these, if anybody.
        instant!(LIFE, "nobody");
        drop(slice);
        core::mem::forget(session);
        tracing_sdk::init().expect("a producer");
        // The session of the parent goes on here.
        assert!(tracing_sdk::sync(LONG), "no service");
        drop(slice!(LIFE, "child"));
        return;
    }
    instant!(LIFE, "after");
    drop(slice);
    assert_eq!(recorded(&session), 0);
}
