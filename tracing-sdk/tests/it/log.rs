//! Records of the crate `log`.

use std::fmt;
use std::sync::{Arc, Mutex};

use log::{Log, Metadata, Record};
use tracing_sdk::session::record;

use crate::alone::alone;
use crate::trace::events;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Log for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Info
    }

    fn log(&self, record: &Record<'_>) {
        // Not under the lock: values may log.
        let line = record.args().to_string();
        self.0.lock().expect("a lock").push(line);
    }

    fn flush(&self) {}
}

/// Logs inside a value.
struct Logs;

impl fmt::Display for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        log::warn!("inside");
        f.write_str("shown")
    }
}

#[test]
fn records_go_to_sessions_and_to_the_other_logger() {
    let _alone = alone();
    let lines = Lines::default();
    let logger = tracing_sdk::log::logger().tee(lines.clone());
    logger.install(log::LevelFilter::Trace).expect("the only logger");
    let work = || {
        for n in 0..2 {
            log::info!("literal");
            log::debug!(target: "log target", "number {n}");
            log::info!(target: "another", "not wanted");
        }
        log::error!("{}", "x".repeat(1 << 20));
        log::error!("value {Logs}", Logs = Logs);
    };
    assert!(!log::log_enabled!(log::Level::Debug));
    work();
    let trace = record(&["it::log", "log_target"], || {
        assert!(log::log_enabled!(log::Level::Debug));
        work();
    });
    let long = "x".repeat(1 << 20);
    assert_eq!(
        events(&trace.expect("a recording")),
        [
            "instant it::log literal",
            "instant log_target number 0",
            "instant it::log literal",
            "instant log_target number 1",
            &format!("instant it::log {long}"),
            "instant it::log inside",
            "instant it::log value shown",
            // The other logger formats the value, too.
            "instant it::log inside",
        ]
    );
    let passed = lines.0.lock().expect("a lock").clone();
    let times = |text: &str| passed.iter().filter(|line| *line == text).count();
    assert_eq!((times("literal"), times("not wanted"), times("number 0")), (4, 4, 0));
}

#[test]
fn records_go_on_after_a_clear_and_after_the_end_of_another_session() {
    let _alone = alone();
    let logger = tracing_sdk::log::logger();
    let log = || {
        let mut record = Record::builder();
        record.level(log::Level::Info).target("it::log").args(format_args!("still here"));
        assert!(logger.enabled(record.build().metadata()));
        logger.log(&record.build());
    };
    let trace = record(&["it::log"], || {
        record(&["it::log"], || {}).expect("another recording");
        log();
        tracing_sdk::__private::clear_incremental_state();
        log();
    });
    let still_here = |event: &&String| event.contains("still here");
    assert_eq!(events(&trace.expect("a recording")).iter().filter(still_here).count(), 2);
}
