use std::future::Future;
use std::io::Read;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use protos::{
    Trace, TraceConfig, TraceConfigWriteFlushMode as WriteFlushMode, TracePacket, TracePacketData,
};
use protozero::Message as _;
use tracing_sdk::session::{Config, Fill, Session, SessionError, Trigger, record_to_file};
use tracing_sdk::{Init, InitError, categories, instant};

use crate::alone::alone;
use crate::trace::events;

categories! { S = "s"; }

fn started(config: Config) -> Session {
    let session = Session::in_process(&config.track_events(&["s"])).expect("a session");
    session.start().expect("a start");
    session
}

fn read(session: &Session) -> Vec<String> {
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    events(&trace)
}

/// A path that is removed at the end.
pub(crate) struct TempPath(pub(crate) std::path::PathBuf);

impl TempPath {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("tracing-sdk-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for TempPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

struct TempFolder(std::path::PathBuf);

impl TempFolder {
    fn new(name: &str) -> Self {
        let folder = TempPath::new(name).0.clone();
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Without `flush`, threads may still have their last events; a later read has them.
#[test]
fn two_reads_are_one_trace() {
    let _alone = alone();
    for is_flushed in [false, true] {
        let session = started(Config::new());
        for number in 0..1_000 {
            instant!(S, "moment", number = number);
        }
        if is_flushed {
            session.flush().expect("a flush");
        }
        let mut trace = Vec::new();
        session.read_into(&mut trace).expect("a trace");
        let first = events(&trace).len();
        assert!(first == 1_000 || !is_flushed, "{first}");
        session.stop().expect("a stop");
        session.read_into(&mut trace).expect("the rest");
        assert_eq!(events(&trace).len(), 1_000);
    }
}

#[test]
fn a_snapshot_is_a_copy_and_the_session_goes_on() {
    let _alone = alone();
    let session = started(Config::new());
    instant!(S, "before");
    let snapshot = session.snapshot().expect("a snapshot");
    instant!(S, "after");
    session.stop().expect("a stop");
    assert_eq!(read(&snapshot), ["instant s before"]);
    assert_eq!(read(&session), ["instant s before", "instant s after"]);
    assert!(matches!(snapshot.start(), Err(SessionError::Order(_))));
    assert!(matches!(snapshot.snapshot(), Err(SessionError::Order(_))));
}

#[test]
fn a_reader_and_packets_have_the_whole_trace() {
    const COUNT: usize = 40_000;
    let _alone = alone();
    let trace_of = |take: &dyn Fn(&mut Session) -> Vec<u8>| {
        let mut session = started(Config::new().buffer_kb(8192, Fill::Ring));
        for i in 0..COUNT {
            // Far more than the shared memory has room for at once.
            if i % 10_000 == 0 {
                session.flush().expect("a flush");
            }
            instant!(S, "event", number = i);
        }
        session.stop().expect("a stop");
        take(&mut session)
    };
    let by_bytes = trace_of(&|session| {
        let mut trace = Vec::new();
        let mut reader = session.reader();
        // Pieces that end anywhere.
        let mut piece = [0; 1021];
        loop {
            match reader.read(&mut piece).expect("bytes") {
                0 => return trace,
                len => trace.extend_from_slice(&piece[..len]),
            }
        }
    });
    let by_packets = trace_of(&|session| {
        let mut trace = Vec::new();
        for packet in session.packets() {
            let packet = packet.expect("a packet");
            let mut len = packet.len();
            trace.push(0x0a);
            while len >= 0x80 {
                trace.push((len & 0x7f) as u8 | 0x80);
                len >>= 7;
            }
            trace.push(len as u8);
            trace.extend(packet);
        }
        trace
    });
    let expected: Vec<String> = (0..COUNT).map(|i| format!("instant s event number={i}")).collect();
    assert!(by_bytes.len() > 512 * 1024, "several replies, not {} bytes", by_bytes.len());
    assert!(events(&by_bytes) == expected);
    assert!(events(&by_packets) == expected);
}

#[test]
fn a_reader_that_is_dropped_early_does_not_spoil_the_session() {
    let _alone = alone();
    let mut session = started(Config::new());
    instant!(S, "first");
    session.flush().expect("a flush");
    session.reader().read_exact(&mut [0; 1]).expect("a byte");
    session.stats().expect("counters");
    instant!(S, "second");
    session.stop().expect("a stop");
    assert!(session.packets().all(|packet| packet.is_ok()));
}

#[test]
fn the_duration_ends_a_session() {
    let _alone = alone();
    let session = started(Config::new().duration(Duration::from_millis(1)));
    assert!(session.wait(None).expect("the end"));
    assert!(session.wait(None).expect("still the end"));
    session.stop().expect("it has ended");
}

#[test]
fn another_thread_stops_a_session_that_one_waits_for() {
    let _alone = alone();
    let session = started(Config::new());
    assert!(!session.wait(Some(Duration::ZERO)).expect("it goes on"));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| session.wait(None));
        // Other requests are answered meanwhile.
        for _ in 0..20 {
            session.stats().expect("counters");
        }
        session.stop().expect("a stop");
        assert!(waiting.join().expect("no panic").expect("the end"));
    });
}

#[test]
fn a_trigger_stops_a_session() {
    let _alone = alone();
    let session = started(Config::new().trigger(Trigger::Stop, "enough", Duration::ZERO));
    instant!(S, "before");
    tracing_sdk::flush();
    tracing_sdk::trigger(&["enough"]);
    assert!(session.wait(None).expect("the end"));
    assert_eq!(read(&session), ["instant s before"]);
}

#[test]
fn a_trigger_starts_a_session() {
    let _alone = alone();
    let config = Config::new()
        .track_events(&["s"])
        .trigger(Trigger::Start, "now", Duration::from_millis(1))
        .trigger_timeout(Duration::from_secs(600));
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a start");
    assert!(session.start().is_err(), "only once");
    tracing_sdk::trigger(&["now"]);
    assert!(session.wait(None).expect("the end"));
}

/// `start` tells the service's reason, also where a trigger would start the session.
#[test]
fn a_refusal_is_told_by_start() {
    let _alone = alone();
    for trigger in [Trigger::Start, Trigger::Stop] {
        let second = Duration::from_secs(1);
        let config = Config::new().duration(second).trigger(trigger, "now", second);
        let session = Session::in_process(&config).expect("a session");
        let error = session.start().expect_err("a duration and a trigger").to_string();
        assert!(error.contains("duration_ms"), "{error}");
    }
}

/// An empty trace would look like a program without events.
#[test]
fn what_cannot_be_read_is_an_error() {
    let _alone = alone();
    let path = TempPath::new("unreadable");
    let all_fail = |mut session: Session, reason: &str| {
        let by_read = session.reader().read(&mut [0]).expect_err("no trace").to_string();
        let by_packets = session.packets().next().expect("an item").expect_err("no trace");
        let errors = [
            session.read_into(&mut Vec::new()).expect_err("no trace").to_string(),
            block_on(session.read_async()).expect_err("no trace").to_string(),
            by_read,
            by_packets.to_string(),
        ];
        assert!(errors.iter().all(|error| error.contains(reason)), "{errors:?}");
        assert!(session.packets().nth(1).is_none());
    };
    all_fail(Session::in_process(&Config::new()).expect("a session"), "call `start` first");
    let session = started(Config::new().write_into_file(&path.0));
    instant!(S, "in the file");
    session.stop().expect("a stop");
    all_fail(session, "read the file");
    assert_eq!(events(&std::fs::read(&path.0).expect("a file")), ["instant s in the file"]);
}

/// The configs in the documentation of `Config`.
#[test]
fn documented_configs_are_accepted() {
    let _alone = alone();
    let path = TempPath::new("documented");
    let second = Duration::from_secs(1);
    let ring =
        Config::new().buffer_kb(65_536, Fill::Ring).trigger(Trigger::Stop, "jank", Duration::ZERO);
    let ring = ring.data_source_named("linux.system_info").unique_name("the server");
    let ring = started(ring.trigger_timeout(2 * 24 * 3600 * second));
    tracing_sdk::trigger(&["jank"]);
    assert!(ring.wait(None).expect("the end"));
    let file = Config::new().write_into_file(&path.0).write_period(2 * second);
    started(file.flush_period(10 * second).file_bytes_max(1 << 30)).stop().expect("a stop");
    std::fs::remove_file(&path.0).expect("the file");
    let open = std::fs::File::options().read(true).write(true).create_new(true).open(&path.0);
    let discard = Config::new().buffer_kb(65_536, Fill::Discard).write_into(open.expect("a file"));
    drop(started(discard.trigger(Trigger::Start, "jank", 60 * second)));
}

/// The error is in the words of `Config`, and no file is left.
#[test]
fn a_session_with_a_file_does_not_end_by_a_trigger() {
    let _alone = alone();
    let folder = TempFolder::new("stopped");
    let config = Config::new().write_into_file(folder.0.join("trace"));
    let config = config.trigger(Trigger::Stop, "enough", Duration::ZERO);
    let error = Session::in_process(&config).expect_err("a file and a trigger").to_string();
    assert!(error.contains("leave `write_into_file`"), "{error}");
    assert_eq!(std::fs::read_dir(&folder.0).expect("a folder").count(), 0);
}

#[test]
fn counters_state_and_changes() {
    let _alone = alone();
    let config = Config::new().buffer_kb(256, Fill::Discard);
    let session = started(config.clone());
    assert_eq!(session.stats().expect("counters").buffer_stats.len(), 1);
    let state = session.query().expect("a state");
    assert!(state.data_sources.iter().any(|source| {
        let descriptor = source.ds_descriptor.as_ref();
        descriptor.and_then(|d| d.name.as_deref()) == Some("track_event")
    }));
    session.change_config(&config.track_events(&["s"])).expect("the same filters");
}

#[test]
fn a_file_of_the_service() {
    let _alone = alone();
    let (path, copy) = (TempPath::new("file"), TempPath::new("copy"));
    let result = record_to_file(&path.0, &["s"], || {
        instant!(S, "in the file");
        7
    });
    assert_eq!(result.expect("a recording"), 7);
    assert_eq!(events(&std::fs::read(&path.0).expect("a file")), ["instant s in the file"]);

    let session = started(Config::new().write_into_file(&path.0));
    instant!(S, "again");
    assert!(session.snapshot().is_err(), "the packets are in the file");
    session.save_snapshot(&copy.0).expect("a copy");
    session.stop().expect("a stop");
    assert_eq!(events(&std::fs::read(&copy.0).expect("a file")), ["instant s again"]);
    assert_eq!(events(&std::fs::read(&path.0).expect("a file")), ["instant s again"]);
}

/// The config that a service wrote into a file.
fn written_config(path: &std::path::Path) -> TraceConfig {
    let trace = Trace::decode(&std::fs::read(path).expect("a file")).expect("a trace");
    let config = |packet: TracePacket| match packet.data {
        Some(TracePacketData::TraceConfig(config)) => Some(config),
        _ => None,
    };
    TraceConfig::clone(&trace.packet.into_iter().find_map(config).expect("a config"))
}

/// A service chooses the time of flushes for a session with a file, unless the config says when.
#[test]
fn a_file_is_flushed_when_the_program_says() {
    let _alone = alone();
    let path = TempPath::new("flushed");
    record_to_file(&path.0, &["s"], || ()).expect("a recording");
    let config = written_config(&path.0);
    assert_eq!(config.write_flush_mode, Some(WriteFlushMode::WRITE_FLUSH_ENABLED));
    assert_eq!((config.flush_period_ms, config.file_write_period_ms), (Some(250), Some(250)));

    let config = Config::new().write_into_file(&path.0).flush_period(Duration::from_secs(2));
    started(config).stop().expect("a stop");
    let config = written_config(&path.0);
    assert_eq!(config.write_flush_mode, Some(WriteFlushMode::WRITE_FLUSH_DISABLED));
    assert_eq!(config.flush_period_ms, Some(2000));

    started(Config::new().write_into_file(&path.0)).stop().expect("a stop");
    let config = written_config(&path.0);
    assert_eq!((config.write_flush_mode, config.flush_period_ms), (None, Some(5000)));
}

#[test]
fn a_file_of_a_panic_is_whole() {
    let _alone = alone();
    let path = TempPath::new("panic");
    let work = || {
        record_to_file(&path.0, &["s"], || {
            instant!(S, "before the panic");
            std::panic::resume_unwind(Box::new(7));
        })
    };
    assert!(std::panic::catch_unwind(work).is_err());
    assert_eq!(events(&std::fs::read(&path.0).expect("a file")), ["instant s before the panic"]);
}

/// A file keeps what it has until there is something else to write.
#[test]
fn a_refused_session_leaves_its_file_alone() {
    let _alone = alone();
    let folder = TempFolder::new("refused");
    let path = folder.0.join("trace");
    std::fs::write(&path, "precious").expect("a file");
    let files = || std::fs::read_dir(&folder.0).expect("a folder").count();
    let is_there = || std::fs::read(&path).expect("a file") == b"precious";

    let first = started(Config::new().unique_name("twice"));
    for trigger in [false, true] {
        let config = Config::new().unique_name("twice").write_into_file(&path);
        let config = match trigger {
            true => config.trigger(Trigger::Start, "never", Duration::ZERO),
            false => config,
        };
        let second = Session::in_process(&config).expect("a session");
        assert!(is_there());
        assert!(second.start().is_err(), "the name is taken");
        drop(second);
        assert!(is_there());
        assert_eq!(files(), 1);
    }
    tracing_sdk::shutdown();
    assert!(first.save_snapshot(&path).is_err(), "no service");
    assert!(is_there());
    assert_eq!(files(), 1);
}

/// A link stays, and the file behind it is replaced. A pipe is written.
#[test]
fn the_file_of_a_session_may_be_anything() {
    let _alone = alone();
    let folder = TempFolder::new("anything");
    let (file, link) = (folder.0.join("file"), folder.0.join("link"));
    std::fs::write(&file, "old").expect("a file");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let session = started(Config::new().write_into_file(&link));
    instant!(S, "linked");
    session.stop().expect("a stop");
    assert_eq!(events(&std::fs::read(&file).expect("a file")), ["instant s linked"]);
    assert!(link.is_symlink());
    let session = started(Config::new().write_into_file("/dev/null"));
    session.stop().expect("a stop");
    assert!(!std::path::Path::new("/dev/null").is_file());
    let armed = Config::new().write_into_file(&link).trigger(
        Trigger::Start,
        "never",
        Duration::from_secs(1),
    );
    let armed = Session::in_process(&armed.track_events(&["s"])).expect("a session");
    armed.start().expect("a start");
    assert_eq!(std::fs::read(&file).expect("a file"), b"", "the service has the file");
}

#[test]
fn a_program_that_is_killed_leaves_whole_packets() {
    const PATH: &str = "TRACING_SDK_TEST_KILLED";
    if let Some(path) = std::env::var_os(PATH) {
        let period = Duration::from_millis(100);
        let session = started(Config::new().write_into_file(path).write_period(period));
        instant!(S, "before the end");
        session.flush().expect("a flush");
        session.wait(None).expect("nothing ends it");
        return;
    }
    let path = TempPath::new("killed");
    let name = "session::a_program_that_is_killed_leaves_whole_packets";
    let this = std::env::current_exe().expect("a program");
    let child = std::process::Command::new(this).args(["--exact", name]).env(PATH, &path.0).spawn();
    let mut child = child.expect("a process");
    let written = || {
        let trace = std::fs::read(&path.0).unwrap_or_default();
        <protos::Trace as protozero::Message>::decode(&trace).ok().map(|_| events(&trace))
    };
    while written().is_none_or(|events| events.is_empty()) {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    child.kill().expect("a signal");
    child.wait().expect("its end");
    assert_eq!(written(), Some(vec!["instant s before the end".to_owned()]));
}

#[test]
fn a_file_that_cannot_be_made_is_an_error() {
    let path = std::env::temp_dir().join("no such directory").join("trace");
    let error = record_to_file(&path, &["s"], || panic!("must not run")).expect_err("no file");
    assert!(error.to_string().contains("no such directory"), "{error}");
}

#[test]
fn a_config_keeps_the_buffers_of_its_data_sources() {
    let source = |target_buffer| protos::DataSourceConfig {
        name: Some("source".to_owned()),
        target_buffer,
        ..Default::default()
    };
    let config = Config::new().buffer_kb(64, Fill::Ring).buffer_kb(64, Fill::Ring);
    let config = config.data_source(source(Some(0))).data_source(source(None)).to_message();
    let buffer = |at: usize| config.data_sources[at].config.as_ref().and_then(|c| c.target_buffer);
    assert_eq!((buffer(0), buffer(1)), (Some(0), Some(1)));
}

/// Two data sources would record each event twice.
#[test]
fn categories_are_added() {
    let _alone = alone();
    let config = Config::new().track_events(&["other"]).track_events(&["s", "t"]);
    let message = config.to_message();
    assert_eq!(message.data_sources.len(), 1);
    let source = &message.data_sources[0];
    let events = source.config.as_ref().and_then(|config| config.track_event_config.as_ref());
    assert_eq!(events.expect("its config").enabled_categories, ["other", "s", "t"]);
    let session = started(config);
    instant!(S, "once");
    session.stop().expect("a stop");
    assert_eq!(read(&session), ["instant s once"]);
    let config = Config::new().buffer_kb(64, Fill::Ring).track_events(&["s"]);
    let config = config.buffer_kb(64, Fill::Ring).track_events(&["s"]).track_events(&["t"]);
    assert_eq!(config.to_message().data_sources.len(), 2, "one for each buffer");
}

#[test]
fn configs_of_all_forms_are_one() {
    let built = Config::new().track_events(&["s"]).duration(Duration::from_secs(1)).to_message();
    let bytes = protozero::Message::encode_to_vec(&built);
    assert_eq!(Config::from_bytes(&bytes).expect("a config").to_message(), built);
    assert!(Config::from_bytes(b"\x0a\x05x").is_err());
    #[cfg(feature = "text")]
    {
        let text = "
            buffers { size_kb: 32768 fill_policy: RING_BUFFER }
            data_sources { config {
                name: \"track_event\" target_buffer: 0
                track_event_config { enabled_categories: \"s\" disabled_categories: \"*\" }
            } }
            duration_ms: 1000";
        let mut expected = built;
        expected.data_sources[0].config.as_mut().expect("a config").target_buffer = Some(0);
        assert_eq!(Config::from_text(text).expect("a config").to_message(), expected);
        let error = Config::from_text("buffers { size: 1 }").expect_err("no such field");
        assert!(error.to_string().contains("config:1:11"), "{error}");
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn requests_are_futures() {
    let _alone = alone();
    let path = TempPath::new("saved-by-a-future");
    let events_of = block_on(async {
        let config = Config::new().track_events(&["s"]);
        let session = Session::in_process_async(&config).await?;
        session.start_async().await?;
        instant!(S, "one");
        session.flush_async().await?;
        let snapshot = session.snapshot_async().await?;
        instant!(S, "two");
        session.save_snapshot_async(&path.0).await?;
        session.change_config_async(&config).await?;
        assert_eq!(session.stats_async().await?.buffer_stats.len(), 1);
        assert_eq!(session.query_async().await?.producers.len(), 1);
        let end = session.wait_async();
        session.stop_async().await?;
        end.await?;
        Ok::<_, SessionError>([snapshot.read_async().await?, session.read_async().await?])
    });
    let [snapshot, all] = events_of.expect("traces");
    assert_eq!(events(&snapshot), ["instant s one"]);
    assert_eq!(events(&all), ["instant s one", "instant s two"]);
    let saved = std::fs::read(&path.0).expect("a trace");
    assert_eq!(events(&saved), ["instant s one", "instant s two"]);
}

#[test]
fn a_wait_ends_when_the_session_is_dropped() {
    let _alone = alone();
    let session = started(Config::new());
    let end = session.wait_async();
    drop(session);
    assert!(matches!(block_on(end), Err(SessionError::Order(_))));
    // A request that nobody polls is carried out all the same.
    let session = started(Config::new());
    drop(session.stop_async());
    assert!(session.wait(None).expect("the end"));
}

#[test]
fn options_that_come_too_late_are_an_error() {
    let _alone = alone();
    tracing_sdk::shutdown();
    let named = || Init::new().name("first");
    named().in_process().expect("a service");
    named().in_process().expect("the same options");
    Init::new().in_process().expect("no options");
    let wait = Duration::from_millis(1);
    Init::new().wait(wait).in_process().expect("no options, and a wait");
    named().wait(wait).in_process().expect("the same options, and a wait");
    let error = Init::new().name("second").in_process().expect_err("other options");
    assert!(matches!(error, InitError::OtherOptions), "{error}");
    tracing_sdk::shutdown();
    Init::new().name("second").in_process().expect("a service");
    tracing_sdk::shutdown();
}
