//! Copies of running sessions: of one that the command line names, and of those with a bugreport_score.

use std::collections::BTreeSet;

use protos::{CloneSessionRequest, CloneSessionRequestSelector, TracingServiceStateTracingSession};

use crate::console;
use crate::failure::{EXIT_INTERRUPTED, EXIT_LOST, Ending, Failure};
use crate::interrupt::InterruptQueue;
use crate::output::Output;
use crate::plan::{CloneOf, CloneRequest, SaveRequest};
use crate::recorder::consumer_error::request_failure;
use crate::recorder::host::connect;
use crate::recorder::readback::{ReadOptions, clone_session};
use crate::recorder::run::report;

/// The id that means the session with the highest score (`tracing_service.h`).
const BEST_FOR_BUGREPORT: u64 = u64::MAX;

/// The file name of a trace for a bug report whose config has none (`bugreport_path.cc`).
const BUGREPORT_NAME: &str = "systrace.pftrace";

/// `--clone` and `--clone-by-name`.
pub(super) fn one(plan: CloneRequest) -> Ending {
    let interrupts = InterruptQueue::catch_signals()?;
    let output = Output::replace(&plan.out, plan.no_clobber, true)?;
    let wanted = match &plan.of {
        CloneOf::Name(name) => format!("session {name:?}"),
        CloneOf::Id(BEST_FOR_BUGREPORT) => {
            "the session with the highest bugreport_score".to_owned()
        }
        CloneOf::Id(id) => format!("session {id}"),
    };
    let selector = Some(match plan.of {
        CloneOf::Name(name) => CloneSessionRequestSelector::UniqueSessionName(name),
        CloneOf::Id(id) => CloneSessionRequestSelector::SessionId(id),
    });
    let request = CloneSessionRequest { selector, ..purpose(plan.for_bugreport) };
    write(request, output, &interrupts, plan.strict).map_err(|failure| {
        // The message of the service does not name the session.
        let absent = failure.text.contains("not found") || failure.text.contains("eligible");
        let text = format!("{wanted}: {} (perfetto --query lists them)", failure.text);
        if absent { Failure::new(text).with_code(failure.code) } else { failure }
    })?;
    Ok(0)
}

/// A request for a copy. Copies for bug reports are not filtered: their readers may see all data.
fn purpose(for_bugreport: bool) -> CloneSessionRequest {
    CloneSessionRequest {
        for_bugreport: for_bugreport.then_some(true),
        skip_trace_filter: for_bugreport.then_some(true),
        ..CloneSessionRequest::default()
    }
}

/// Clones a session, writes the copy to `output`, and prints the report.
fn write(
    request: CloneSessionRequest,
    mut output: Output,
    interrupts: &InterruptQueue,
    strict: bool,
) -> Result<(), Failure> {
    let mut check_interrupts = || {
        let interrupt = interrupts.take();
        interrupt
            .map(|_| Failure::new("interrupted, the copy is not whole").with_code(EXIT_INTERRUPTED))
    };
    let cloned = connect().and_then(|mut consumer| {
        interrupts.set_waker(consumer.waker());
        console::log("Cloning the session");
        let options = ReadOptions { check_interrupts: &mut check_interrupts, shows_progress: true };
        clone_session(&mut consumer, request, &mut output, options)
    });
    match cloned {
        Ok(outcome) => report(&outcome, strict),
        Err(failure) => Err(output.abandoned(failure)),
    }
}

/// `--save-for-bugreport` and `--save-all-for-bugreport`.
pub(super) fn save(plan: SaveRequest) -> Ending {
    let interrupts = InterruptQueue::catch_signals()?;
    let save_one = |session: u64, name: &str| {
        let path = std::env::temp_dir().join(name);
        // Other users can write to this directory: a link with that name is not followed.
        let output = Output::replace(path.as_os_str(), plan.no_clobber, false)?;
        let selector = Some(CloneSessionRequestSelector::SessionId(session));
        write(CloneSessionRequest { selector, ..purpose(true) }, output, &interrupts, plan.strict)
    };
    if !plan.all {
        return save_one(BEST_FOR_BUGREPORT, BUGREPORT_NAME).map(|()| 0);
    }
    let state = connect()?.query_service_state(true).map_err(request_failure)?;
    let sessions = ranked(state.tracing_sessions);
    if sessions.is_empty() {
        console::log("No session with a bugreport_score runs: nothing to save");
    }
    let mut worst: Option<Failure> = None;
    for SessionToSave { id, score, file_name } in sessions {
        console::log(&format!("Session {id} with score {score}, into {file_name}"));
        match save_one(id, &file_name) {
            Ok(()) => {}
            Err(failure) if failure.code == EXIT_INTERRUPTED => return Err(failure),
            // The other copies can still be saved. A missing copy is worse than lost data.
            Err(failure) => {
                console::log(&format!("Session {id}: {failure}"));
                if worst.as_ref().is_none_or(|worst| worst.code == EXIT_LOST) {
                    worst = Some(failure);
                }
            }
        }
    }
    worst.map_or(Ok(0), Err)
}

/// A session that is saved for a bug report.
#[derive(PartialEq, Eq, Debug)]
struct SessionToSave {
    id: u64,
    score: i32,
    /// No other session has it.
    file_name: String,
}

/// The started sessions with a score, the highest first.
fn ranked(sessions: Vec<TracingServiceStateTracingSession>) -> Vec<SessionToSave> {
    let mut wanted: Vec<_> = sessions
        .into_iter()
        .filter(|session| {
            session.is_started == Some(true) || session.state.as_deref() == Some("STARTED")
        })
        .filter_map(|session| {
            let score = session.bugreport_score.filter(|&score| score > 0)?;
            Some((session.id?, score, session.bugreport_filename))
        })
        .collect();
    wanted.sort_by_key(|&(id, score, _)| (std::cmp::Reverse(score), id));
    let mut names = BTreeSet::new();
    let sessions = wanted.into_iter().map(|(id, score, name)| SessionToSave {
        id,
        score,
        file_name: unique(&file_name(name), &mut names),
    });
    sessions.collect()
}

/// The file name that a config gives its trace, if it is a plain one: any user can start a session.
fn file_name(name: Option<String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.filter(|name| name.chars().all(plain) && !name.trim_matches('.').is_empty())
        .unwrap_or_else(|| BUGREPORT_NAME.into())
}

/// `a.pftrace`, and `a_1.pftrace` if that is taken.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
        _ => (name, String::new()),
    };
    let mut unique = name.to_owned();
    for number in 1.. {
        if taken.insert(unique.clone()) {
            break;
        }
        unique = format!("{stem}_{number}{extension}");
    }
    unique
}

#[cfg(test)]
mod tests;
