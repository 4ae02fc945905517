//! Checks which options go together, and makes a [`Plan`] of a command line.

use std::ffi::{OsStr, OsString};

use crate::cli::Perfetto;
use crate::failure::Failure;
use crate::recorder::request::{Background, Program, RecordRequest};

/// One thing to do.
#[derive(Clone, PartialEq, Debug)]
pub enum Plan {
    /// Print the version.
    Version,
    /// Print that there are no guardrails.
    ResetGuardrails,
    /// Print what the service knows.
    Query(QueryFormat),
    /// Look for a detached session.
    IsDetached(String),
    /// Attach to a detached session.
    Attach {
        /// Its key.
        key: String,
        /// Stop it now.
        stop: bool,
        /// Lost data is a failure.
        strict: bool,
    },
    /// Write a clone of a running session.
    Clone(CloneRequest),
    /// Write clones for a bug report.
    Save(SaveRequest),
    /// Record.
    Record(Box<RecordRequest>),
}

/// How to print what a service knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryFormat {
    /// A table, for users.
    Table {
        /// Lines are not cut.
        long: bool,
    },
    /// JSON, for scripts.
    Json,
    /// The serialized message.
    Raw,
}

/// Asks for clones of running sessions for a bug report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SaveRequest {
    /// Of every session with a score, not only of the one with the highest.
    pub all: bool,
    /// An existing file is an error.
    pub no_clobber: bool,
    /// Lost data is a failure.
    pub strict: bool,
}

/// Asks for a clone of a running session.
#[derive(Clone, PartialEq, Debug)]
pub struct CloneRequest {
    /// The id of the session.
    pub id: Option<u64>,
    /// The unique name of the session.
    pub name: Option<String>,
    /// For a bug report.
    pub for_bugreport: bool,
    /// Where the clone is written.
    pub out: OsString,
    /// An existing file is an error.
    pub no_clobber: bool,
    /// Lost data is a failure.
    pub strict: bool,
}

fn refuse<T>(text: &str) -> Result<T, Failure> {
    Err(Failure::new(text))
}

/// Decides what `args` ask for.
///
/// # Errors
/// One line about the first two options that exclude each other.
pub fn plan(args: Perfetto, program: Program) -> Result<Plan, Failure> {
    if args.version {
        return Ok(Plan::Version);
    }
    let groups = ArgGroups::of(&args);
    check_required_partners(&args, &groups)?;
    if args.query || args.query_raw {
        return query(&args, &groups);
    }
    if groups.attaching {
        return attach(args, &groups);
    }
    if groups.cloning {
        return clone(args, &groups);
    }
    if groups.saving {
        return save(&args, &groups);
    }
    if args.reset_guardrails && !groups.config && args.what.out.is_none() {
        return Ok(Plan::ResetGuardrails);
    }
    if groups.background && args.notify_fd.is_some() {
        return refuse("--notify-fd stays in the foreground: it does not go with --background");
    }
    if groups.background && args.what.out.as_deref() == Some(OsStr::new("-")) {
        return refuse("a program in the background has no stdout: -o needs a file");
    }
    if groups.background && args.what.strict {
        return refuse("--strict does not go with --background: its exit code would be lost");
    }
    let mut record = RecordRequest::from_args(&args.what, program)?;
    record.background = match (args.background, args.background_wait) {
        (_, true) => Background::Wait,
        (true, false) => Background::Start,
        (false, false) => Background::No,
    };
    record.notify_fd = args.notify_fd;
    record.detach = args.detach;
    Ok(Plan::Record(Box::new(record)))
}

/// Which groups of options are used. Most of the groups exclude each other.
struct ArgGroups {
    /// `--background`, `--background-wait`.
    background: bool,
    /// A config, or light mode.
    config: bool,
    /// `--attach`, `--is_detached`.
    attaching: bool,
    /// `--clone`, `--clone-by-name`.
    cloning: bool,
    /// `--save-for-bugreport`, `--save-all-for-bugreport`.
    saving: bool,
}

impl ArgGroups {
    fn of(args: &Perfetto) -> Self {
        Self {
            background: args.background || args.background_wait,
            config: !args.what.config.is_empty() || args.what.is_light(),
            attaching: args.attach.is_some() || args.is_detached.is_some(),
            cloning: args.clone.is_some() || args.clone_by_name.is_some(),
            saving: args.save_for_bugreport || args.save_all_for_bugreport,
        }
    }
}

/// Refuses options that need another option, or exclude one.
fn check_required_partners(args: &Perfetto, groups: &ArgGroups) -> Result<(), Failure> {
    if args.upload || args.dropbox.is_some() {
        return refuse("--upload and --dropbox exist on Android only");
    }
    if args.long && !args.query {
        return refuse("--long goes with --query");
    }
    if args.json && !args.query {
        return refuse("--json goes with --query");
    }
    if args.stop && args.attach.is_none() {
        return refuse("--stop goes with --attach");
    }
    if args.clone_for_bugreport && !groups.cloning {
        return refuse("--clone-for-bugreport goes with --clone or --clone-by-name");
    }
    if args.clone.is_some() && args.clone_by_name.is_some() {
        return refuse("--clone and --clone-by-name exclude each other");
    }
    if groups.attaching && args.detach.is_some() {
        return refuse("--attach and --detach exclude each other");
    }
    if args.attach.is_some() && args.is_detached.is_some() {
        return refuse("--attach and --is_detached exclude each other");
    }
    if args.detach.is_some() && groups.background {
        return refuse("--detach and --background exclude each other");
    }
    if args.detach.is_some() && args.notify_fd.is_some() {
        return refuse("--detach does not wait for data sources: it does not go with --notify-fd");
    }
    if args.detach.is_some() && args.what.strict {
        return refuse("--detach does not see the end: give --strict to the --attach that does");
    }
    Ok(())
}

fn query(args: &Perfetto, groups: &ArgGroups) -> Result<Plan, Failure> {
    if args.query && args.query_raw {
        return refuse("--query and --query-raw exclude each other");
    }
    if args.long && args.json {
        return refuse("--long is for the table: --json is never cut");
    }
    let other = groups.attaching || groups.background || groups.cloning || groups.saving;
    if other || args.detach.is_some() || args.notify_fd.is_some() {
        return refuse(
            "--query does not go with --attach, --detach, --clone, a bug report or --background",
        );
    }
    if groups.config {
        return refuse("--query records nothing: it takes no config");
    }
    if args.what.out.is_some() {
        return refuse("--query records nothing: it takes no -o");
    }
    Ok(Plan::Query(match (args.query_raw, args.json) {
        (true, _) => QueryFormat::Raw,
        (false, true) => QueryFormat::Json,
        (false, false) => QueryFormat::Table { long: args.long },
    }))
}

fn attach(args: Perfetto, groups: &ArgGroups) -> Result<Plan, Failure> {
    if groups.config {
        return refuse("--attach takes a session that runs: it takes no config");
    }
    if args.what.out.is_some() {
        return refuse("--attach takes a session that writes its own file: it takes no -o");
    }
    if groups.cloning || groups.saving || groups.background || args.notify_fd.is_some() {
        return refuse("--attach does not go with --clone, a bug report or --background");
    }
    Ok(match (args.attach, args.is_detached) {
        (Some(key), _) => Plan::Attach { key, stop: args.stop, strict: args.what.strict },
        (None, key) => Plan::IsDetached(key.unwrap_or_default()),
    })
}

fn clone(args: Perfetto, groups: &ArgGroups) -> Result<Plan, Failure> {
    if groups.config {
        return refuse("--clone copies a session that runs: it takes no config");
    }
    if args.detach.is_some() || groups.background || groups.saving || args.notify_fd.is_some() {
        return refuse("--clone does not go with --detach, a bug report or --background");
    }
    let Some(out) = args.what.out else {
        return refuse("say with -o where to write the copy");
    };
    Ok(Plan::Clone(CloneRequest {
        id: args.clone,
        name: args.clone_by_name,
        for_bugreport: args.clone_for_bugreport,
        out,
        no_clobber: args.what.no_clobber,
        strict: args.what.strict,
    }))
}

fn save(args: &Perfetto, groups: &ArgGroups) -> Result<Plan, Failure> {
    if args.save_for_bugreport && args.save_all_for_bugreport {
        return refuse("--save-for-bugreport and --save-all-for-bugreport exclude each other");
    }
    if groups.config {
        return refuse("a bug report copies sessions that run: it takes no config");
    }
    if args.what.out.is_some() {
        return refuse("a bug report has names of its own, in TMPDIR: it takes no -o");
    }
    if args.detach.is_some() || groups.background || args.notify_fd.is_some() {
        return refuse("a bug report does not go with --detach or --background");
    }
    Ok(Plan::Save(SaveRequest {
        all: args.save_all_for_bugreport,
        no_clobber: args.what.no_clobber,
        strict: args.what.strict,
    }))
}

#[cfg(test)]
mod tests;
