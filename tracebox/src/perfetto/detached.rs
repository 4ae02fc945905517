//! Sessions that run on without their consumer: left under a key, looked for, taken over again.

use std::time::Duration;

use tracing_core::client::consumer::{Consumer, ConsumerError};

use super::connect;
use super::record::Foreground;
use crate::applet::Ending;
use crate::console;
use crate::failure::Failure;
use crate::nudge::Nudges;
use crate::recording::{self, Recording};
use crate::report::Outcome;

/// Exit code when there is no session under the key.
const ABSENT: u8 = 2;

/// Leaves the session of `consumer`, which was just asked for.
pub(super) fn detach(consumer: &mut Consumer, key: &str) -> Result<(), Failure> {
    let Err(error) = consumer.detach(key) else {
        console::say(&format!("Session detached: --attach={key} takes it over"));
        return Ok(());
    };
    // Without a session there is nothing to detach, and its own end says more.
    match (consumer.wait(Some(Duration::ZERO)), error) {
        (Err(refused), _) => Err(recording::lost(refused)),
        (Ok(_), ConsumerError::Rejected(_)) => Err(Failure::new(format_args!(
            "session detach failed: the service rejected it (is there a session under {key:?} already?)"
        ))),
        (Ok(_), error) => Err(Failure::new(format_args!("session detach failed: {error}"))),
    }
}

/// `--is_detached`.
pub(super) fn is_detached(key: &str) -> Ending {
    let mut consumer = connect()?;
    match consumer.attach(key) {
        Ok(()) => {
            consumer.detach(key).map_err(recording::lost)?;
            Ok(0)
        }
        Err(ConsumerError::Rejected(_)) => Ok(ABSENT),
        Err(error) => Err(recording::silent(error)),
    }
}

/// `--attach`.
pub(super) fn attach(key: &str, stop: bool, strict: bool) -> Ending {
    let nudges = Nudges::catch_signals()?;
    let mut consumer = connect()?;
    nudges.set_waker(consumer.waker());
    match consumer.attach(key) {
        Ok(()) => {}
        Err(ConsumerError::Rejected(_)) => {
            let text = format!("there is no session to attach to under {key:?}");
            return Err(Failure::new(text).with_code(ABSENT));
        }
        Err(error) => return Err(recording::silent(error)),
    }
    console::say(match stop {
        true => "Attached to the session, stopping it",
        false => "Attached to the session, waiting for its end (Ctrl-C stops it)",
    });
    let mut recording = Recording::attached(&mut consumer);
    if stop {
        recording.stop()?;
    }
    recording.wait(&nudges, &mut Foreground::new())?;
    let flush_failed = recording.flush_failed();
    let outcome = Outcome {
        name: "the output file".into(),
        is_file: false,
        by_service: true,
        written: None,
        gaps: None,
        stats: consumer.get_trace_stats().ok(),
        flush_failed,
        waited_for_triggers: false,
        snapshots: None,
    };
    recording::tell(&outcome, strict)?;
    Ok(0)
}
