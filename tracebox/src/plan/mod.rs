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

/// Which session is cloned.
#[derive(Clone, PartialEq, Debug)]
pub enum CloneOf {
    /// The session with this id.
    Id(u64),
    /// The session with this unique name.
    Name(String),
}

/// Asks for a clone of a running session.
#[derive(Clone, PartialEq, Debug)]
pub struct CloneRequest {
    /// The session.
    pub of: CloneOf,
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

/// The option `name`, if the command line has it.
fn used(is_used: bool, name: &'static str) -> Option<&'static str> {
    is_used.then_some(name)
}

/// Refuses the first of `others`, which do not go with `option`.
fn check_excluded<const N: usize>(
    option: &str,
    others: [Option<&'static str>; N],
) -> Result<(), Failure> {
    match others.into_iter().flatten().next() {
        Some(other) => refuse(&format!("{option} does not go with {other}")),
        None => Ok(()),
    }
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
    check_combinations(&args, &groups)?;
    if args.query || args.query_raw {
        return query(&args, &groups);
    }
    if groups.attaching.is_some() {
        return attach(args, &groups);
    }
    if groups.cloning.is_some() {
        return clone(args, &groups);
    }
    if groups.saving.is_some() {
        return save(&args, &groups);
    }
    if args.reset_guardrails && !groups.config && args.what.out.is_none() {
        return Ok(Plan::ResetGuardrails);
    }
    record(args, program, &groups)
}

/// Which groups of options are used, and the name of one of each. Most of the groups exclude each other.
struct ArgGroups {
    /// A config, or light mode.
    config: bool,
    /// `--background`, `--background-wait`.
    background: Option<&'static str>,
    /// `--attach`, `--is_detached`.
    attaching: Option<&'static str>,
    /// `--clone`, `--clone-by-name`.
    cloning: Option<&'static str>,
    /// `--save-for-bugreport`, `--save-all-for-bugreport`.
    saving: Option<&'static str>,
    /// `--detach`.
    detach: Option<&'static str>,
    /// `--notify-fd`.
    notify: Option<&'static str>,
}

impl ArgGroups {
    fn of(args: &Perfetto) -> Self {
        Self {
            config: !args.what.config.is_empty() || args.what.is_light(),
            background: used(args.background, "--background")
                .or_else(|| used(args.background_wait, "--background-wait")),
            attaching: used(args.attach.is_some(), "--attach")
                .or_else(|| used(args.is_detached.is_some(), "--is_detached")),
            cloning: used(args.clone.is_some(), "--clone")
                .or_else(|| used(args.clone_by_name.is_some(), "--clone-by-name")),
            saving: used(args.save_for_bugreport, "--save-for-bugreport")
                .or_else(|| used(args.save_all_for_bugreport, "--save-all-for-bugreport")),
            detach: used(args.detach.is_some(), "--detach"),
            notify: used(args.notify_fd.is_some(), "--notify-fd"),
        }
    }
}

/// Refuses options that need another option, or exclude one, and those of Android.
fn check_combinations(args: &Perfetto, groups: &ArgGroups) -> Result<(), Failure> {
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
    if args.clone_for_bugreport && groups.cloning.is_none() {
        return refuse("--clone-for-bugreport goes with --clone or --clone-by-name");
    }
    if args.clone.is_some() && args.clone_by_name.is_some() {
        return refuse("--clone and --clone-by-name exclude each other");
    }
    if args.attach.is_some() && args.is_detached.is_some() {
        return refuse("--attach and --is_detached exclude each other");
    }
    if groups.notify.is_some() && groups.detach.is_some() {
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
    let ArgGroups { config, background, attaching, cloning, saving, detach, notify } = *groups;
    let option = if args.query { "--query" } else { "--query-raw" };
    check_excluded(option, [attaching, cloning, saving, detach, background, notify])?;
    if config {
        return refuse(&format!("{option} records nothing: it takes no config"));
    }
    if args.what.out.is_some() {
        return refuse(&format!("{option} records nothing: it takes no -o"));
    }
    Ok(Plan::Query(match (args.query_raw, args.json) {
        (true, _) => QueryFormat::Raw,
        (false, true) => QueryFormat::Json,
        (false, false) => QueryFormat::Table { long: args.long },
    }))
}

fn attach(args: Perfetto, groups: &ArgGroups) -> Result<Plan, Failure> {
    let ArgGroups { background, attaching, cloning, saving, detach, notify, .. } = *groups;
    let option = attaching.unwrap_or_default();
    if groups.config {
        return refuse(&format!("{option} is about a session that runs: it takes no config"));
    }
    if args.what.out.is_some() {
        return refuse(&format!(
            "{option} is about a session that writes its own file: it takes no -o"
        ));
    }
    check_excluded(option, [cloning, saving, detach, background, notify])?;
    Ok(match (args.attach, args.is_detached) {
        (Some(key), _) => Plan::Attach { key, stop: args.stop, strict: args.what.strict },
        (None, key) => Plan::IsDetached(key.unwrap_or_default()),
    })
}

fn clone(args: Perfetto, groups: &ArgGroups) -> Result<Plan, Failure> {
    let ArgGroups { background, cloning, saving, detach, notify, .. } = *groups;
    let option = cloning.unwrap_or_default();
    if groups.config {
        return refuse(&format!("{option} copies a session that runs: it takes no config"));
    }
    check_excluded(option, [saving, detach, background, notify])?;
    let Some(out) = args.what.out else {
        return refuse("say with -o where to write the copy");
    };
    Ok(Plan::Clone(CloneRequest {
        of: match (args.clone, args.clone_by_name) {
            (Some(id), _) => CloneOf::Id(id),
            (None, name) => CloneOf::Name(name.unwrap_or_default()),
        },
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
    let ArgGroups { background, detach, notify, .. } = *groups;
    check_excluded("a bug report", [detach, background, notify])?;
    Ok(Plan::Save(SaveRequest {
        all: args.save_all_for_bugreport,
        no_clobber: args.what.no_clobber,
        strict: args.what.strict,
    }))
}

fn record(args: Perfetto, program: Program, groups: &ArgGroups) -> Result<Plan, Failure> {
    if let Some(background) = groups.background {
        check_excluded(background, [groups.detach])?;
        if groups.notify.is_some() {
            return refuse("--notify-fd stays in the foreground: it does not go with --background");
        }
        if args.what.out.as_deref() == Some(OsStr::new("-")) {
            return refuse("a program in the background has no stdout: -o needs a file");
        }
        if args.what.strict {
            return refuse("--strict does not go with --background: its exit code would be lost");
        }
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

#[cfg(test)]
mod tests;
