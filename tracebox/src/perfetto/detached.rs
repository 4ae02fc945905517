//! Detached sessions: they continue without a consumer until one attaches.

use tracing_core::client::consumer::ConsumerError;

use crate::console;
use crate::failure::{Ending, Failure};
use crate::ftrace_notes::FtraceNotes;
use crate::interrupt::InterruptQueue;
use crate::loss_scanner::NotSearched;
use crate::recorder::consumer_error::{request_failure, session_failure};
use crate::recorder::foreground::Foreground;
use crate::recorder::host::connect;
use crate::recorder::run::report;
use crate::recorder::session::TracingSession;
use crate::report::{BUFFER_SETTING_CONFIG, Outcome};

/// Exit code: there is no session with the key.
const ABSENT: u8 = 2;

/// `--is_detached`.
pub(super) fn is_detached(key: &str) -> Ending {
    let mut consumer = connect()?;
    match consumer.attach(key) {
        Ok(()) => {
            consumer.detach(key).map_err(session_failure)?;
            Ok(0)
        }
        Err(ConsumerError::Rejected(_)) => Ok(ABSENT),
        Err(error) => Err(request_failure(error)),
    }
}

/// `--attach`.
pub(super) fn attach(key: &str, stop: bool, strict: bool) -> Ending {
    let interrupts = InterruptQueue::catch_signals()?;
    let mut consumer = connect()?;
    interrupts.set_waker(consumer.waker());
    match consumer.attach(key) {
        Ok(()) => {}
        Err(ConsumerError::Rejected(_)) => {
            let text = format!("there is no session to attach to under {key:?}");
            return Err(Failure::new(text).with_code(ABSENT));
        }
        Err(error) => return Err(request_failure(error)),
    }
    let mut session = TracingSession::attached(&mut consumer);
    if stop {
        console::log("Attached to the session, stopping it");
        session.stop()?;
    } else {
        session.watch_all_sources()?;
        console::log("Attached to the session, waiting for its end (Ctrl-C stops it)");
    }
    session.wait(&interrupts, &mut Foreground::attached())?;
    let flush_failed = session.flush_failed();
    let sources = session.into_source_report();
    let outcome = Outcome {
        name: "the output file".into(),
        is_file: false,
        by_service: true,
        written: None,
        gaps: Err(NotSearched::impossible("--attach does not have the file")),
        stats: consumer.get_trace_stats().ok(),
        flush_failed,
        waited_for_triggers: false,
        sources,
        no_events: None,
        ftrace: FtraceNotes::default(),
        buffer_setting: BUFFER_SETTING_CONFIG,
        snapshots: None,
    };
    report(&outcome, strict)?;
    Ok(0)
}
