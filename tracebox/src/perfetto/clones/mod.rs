//! Copies of running sessions: of one that the command line names, and of those with a bugreport_score.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use protos::{CloneSessionRequest, CloneSessionRequestSelector, TracingServiceStateTracingSession};
use rustix::process::geteuid;

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
    let folder = std::env::temp_dir();
    let is_taken = |name: &str| is_of_another_user(&folder.join(name));
    let save_one = |session: u64, name: &str| {
        let path = folder.join(name);
        // Other users can write to this directory: a link with that name is not followed.
        let output = Output::replace(path.as_os_str(), plan.no_clobber, false)?;
        let selector = Some(CloneSessionRequestSelector::SessionId(session));
        write(CloneSessionRequest { selector, ..purpose(true) }, output, &interrupts, plan.strict)
    };
    if !plan.all {
        let name = unique(BUGREPORT_NAME, |name| !is_taken(name));
        return save_one(BEST_FOR_BUGREPORT, &name).map(|()| 0);
    }
    let state = connect()?.query_service_state(true).map_err(request_failure)?;
    let sessions = ranked(state.tracing_sessions, is_taken);
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

/// Whether `path` is a file of another user that this user may not replace: in `/tmp`, users remove only what is
/// theirs.
fn is_of_another_user(path: &Path) -> bool {
    let user = geteuid();
    let folder = path.parent().map(Path::metadata);
    let (Ok(file), Some(Ok(folder))) = (path.symlink_metadata(), folder) else { return false };
    let is_sticky = folder.mode() & 0o1000 != 0;
    is_sticky && !user.is_root() && ![file.uid(), folder.uid()].contains(&user.as_raw())
}

/// The started sessions with a score, the highest first. No file has a name that is taken.
fn ranked(
    sessions: Vec<TracingServiceStateTracingSession>,
    is_taken: impl Fn(&str) -> bool,
) -> Vec<SessionToSave> {
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
    let mut names = BTreeSet::<String>::new();
    let sessions = wanted.into_iter().map(|(id, score, name)| SessionToSave {
        id,
        score,
        file_name: unique(&file_name(name), |name| !is_taken(name) && names.insert(name.into())),
    });
    sessions.collect()
}

/// The file name that a config gives its trace, if it is a plain one: any user can start a session.
fn file_name(name: Option<String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.filter(|name| name.chars().all(plain) && !name.trim_matches('.').is_empty())
        .unwrap_or_else(|| BUGREPORT_NAME.into())
}

/// The first of `a.pftrace`, `a_1.pftrace` and so on that is free.
fn unique(name: &str, mut is_free: impl FnMut(&str) -> bool) -> String {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
        _ => (name, String::new()),
    };
    let mut unique = name.to_owned();
    for number in 1.. {
        if is_free(&unique) {
            break;
        }
        unique = format!("{stem}_{number}{extension}");
    }
    unique
}

#[cfg(test)]
mod tests;
