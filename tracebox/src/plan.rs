//! Which words go together: from a command line that was read to one thing to do.

use std::ffi::{OsStr, OsString};

use protos::{TraceAttributesAttribute, TraceAttributesAttributeValue, TraceConfigStatsdMetadata};

use crate::cli::{Perfetto, What};
use crate::config::light::{self, Light};
use crate::failure::Failure;

/// One thing to do.
#[derive(Clone, PartialEq, Debug)]
pub enum Plan {
    /// Print the version.
    Version,
    /// Say that there are no guardrails.
    ResetGuardrails,
    /// Print what the service knows.
    Query(Form),
    /// Look for a session that was left behind.
    IsDetached(String),
    /// Take one over.
    Attach {
        /// Its name.
        key: String,
        /// End it now.
        stop: bool,
        /// Lost data is a failure.
        strict: bool,
    },
    /// Write a copy of a running session.
    Clone(Clone),
    /// Write copies for a bug report, where those are looked for.
    Save(Save),
    /// Record.
    Record(Box<Record>),
}

/// How to print what a service knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// For people.
    Table {
        /// Whole lines.
        long: bool,
    },
    /// For scripts.
    Json,
    /// The message itself.
    Raw,
}

/// Copies of running sessions for a bug report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Save {
    /// Of every session with a score, not only of the best.
    pub all: bool,
    /// Not over existing files.
    pub no_clobber: bool,
    /// Lost data is a failure.
    pub strict: bool,
}

/// A running session, and where its copy goes.
#[derive(Clone, PartialEq, Debug)]
pub struct Clone {
    /// By its id.
    pub id: Option<u64>,
    /// By its unique name.
    pub name: Option<String>,
    /// For a bug report.
    pub for_bugreport: bool,
    /// The copy.
    pub out: OsString,
    /// Not over an existing file.
    pub no_clobber: bool,
    /// Lost data is a failure.
    pub strict: bool,
}

/// What to record, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Where the config is.
    pub source: Source,
    /// Where the trace goes, unless the config says it.
    pub out: Option<OsString>,
    /// Not over an existing file.
    pub no_clobber: bool,
    /// Staying or leaving.
    pub background: Background,
    /// Where to tell that data sources have started.
    pub notify_fd: Option<u32>,
    /// Lost data is a failure.
    pub strict: bool,
    /// Name to leave the session under.
    pub detach: Option<String>,
    /// To add to the config.
    pub attributes: Vec<TraceAttributesAttribute>,
    /// To put into the config.
    pub statsd: TraceConfigStatsdMetadata,
}

/// Where a config comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A file, or stdin for `-`.
    File {
        /// Its path.
        path: OsString,
        /// What is in it.
        format: Format,
    },
    /// The one that is built in.
    Test,
    /// Words.
    Light(Light),
    /// Nothing was said.
    Default(Light),
}

/// How a config is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A serialized `TraceConfig`.
    Binary,
    /// TextFormat.
    Text {
        /// Leave out what is unknown.
        lossy: bool,
    },
}

/// Whether the program stays in the foreground.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Background {
    /// It stays.
    No,
    /// It leaves when tracing was asked for.
    Start,
    /// It leaves when data sources have started.
    Wait,
}

/// Who does it: the light-mode default differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// perfetto: without a config and words there is nothing to do.
    Perfetto,
    /// tracebox: it has data sources of its own and a config for them.
    Tracebox,
}

fn refuse<T>(text: &str) -> Result<T, Failure> {
    Err(Failure::new(text))
}

/// Decides what `args` ask for.
///
/// # Errors
/// One line about the first two words that exclude each other.
pub fn plan(args: Perfetto, who: Who) -> Result<Plan, Failure> {
    if args.version {
        return Ok(Plan::Version);
    }
    let words = Words::of(&args);
    refuse_loners(&args, &words)?;
    if args.query || args.query_raw {
        return query(&args, &words);
    }
    if words.attaching {
        return attach(args, &words);
    }
    if words.cloning {
        return clone(args, &words);
    }
    if words.saving {
        return save(&args, &words);
    }
    if args.reset_guardrails && !words.says_what && args.what.out.is_none() {
        return Ok(Plan::ResetGuardrails);
    }
    if words.leaves && args.notify_fd.is_some() {
        return refuse("--notify-fd stays in the foreground: it does not go with --background");
    }
    if words.leaves && args.what.out.as_deref() == Some(OsStr::new("-")) {
        return refuse("a program in the background has no stdout: -o needs a file");
    }
    if words.leaves && args.what.strict {
        return refuse("nobody sees the exit code of --strict in the background");
    }
    let mut record = record(&args.what, who)?;
    record.background = match (args.background, args.background_wait) {
        (_, true) => Background::Wait,
        (true, false) => Background::Start,
        (false, false) => Background::No,
    };
    record.notify_fd = args.notify_fd;
    record.detach = args.detach;
    Ok(Plan::Record(Box::new(record)))
}

/// Groups of words that exclude others.
struct Words {
    /// It goes to the background.
    leaves: bool,
    /// A config, or light mode.
    says_what: bool,
    /// A session that was left behind.
    attaching: bool,
    /// A session that runs.
    cloning: bool,
    /// Sessions for a bug report.
    saving: bool,
}

impl Words {
    fn of(args: &Perfetto) -> Self {
        Self {
            leaves: args.background || args.background_wait,
            says_what: args.what.config.is_some() || args.what.is_light(),
            attaching: args.attach.is_some() || args.is_detached.is_some(),
            cloning: args.clone.is_some() || args.clone_by_name.is_some(),
            saving: args.save_for_bugreport || args.save_all_for_bugreport,
        }
    }
}

/// Words that are of no use without another, or beside one.
fn refuse_loners(args: &Perfetto, words: &Words) -> Result<(), Failure> {
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
    if args.clone_for_bugreport && !words.cloning {
        return refuse("--clone-for-bugreport goes with --clone or --clone-by-name");
    }
    if args.clone.is_some() && args.clone_by_name.is_some() {
        return refuse("--clone and --clone-by-name exclude each other");
    }
    if words.attaching && args.detach.is_some() {
        return refuse("--attach and --detach exclude each other");
    }
    if args.attach.is_some() && args.is_detached.is_some() {
        return refuse("--attach and --is_detached exclude each other");
    }
    if args.detach.is_some() && words.leaves {
        return refuse("--detach and --background exclude each other");
    }
    if args.detach.is_some() && args.notify_fd.is_some() {
        return refuse("--detach does not wait for data sources: it does not go with --notify-fd");
    }
    if args.detach.is_some() && args.what.strict {
        return refuse("--detach does not see the end: give --strict to the --attach that does");
    }
    refuse_formats(&args.what)
}

fn refuse_formats(what: &What) -> Result<(), Failure> {
    if what.txt && what.txt_lossy {
        return refuse("--txt and --txt-lossy exclude each other");
    }
    if (what.txt || what.txt_lossy) && what.config.is_none() {
        return refuse("--txt says how to read a config: name one with -c");
    }
    if what.config.is_some() && what.is_light() {
        return refuse("-c brings its own settings: -t, -b, -s, -a and events do not go with it");
    }
    Ok(())
}

fn query(args: &Perfetto, words: &Words) -> Result<Plan, Failure> {
    if args.query && args.query_raw {
        return refuse("--query and --query-raw exclude each other");
    }
    if args.long && args.json {
        return refuse("--long is for the table: --json is never cut");
    }
    let other = words.attaching || words.leaves || words.cloning || words.saving;
    if other || args.detach.is_some() || args.notify_fd.is_some() {
        return refuse(
            "--query does not go with --attach, --detach, --clone, a bug report or --background",
        );
    }
    if words.says_what {
        return refuse("--query records nothing: it takes no config");
    }
    if args.what.out.is_some() {
        return refuse("--query records nothing: it takes no -o");
    }
    Ok(Plan::Query(match (args.query_raw, args.json) {
        (true, _) => Form::Raw,
        (false, true) => Form::Json,
        (false, false) => Form::Table { long: args.long },
    }))
}

fn attach(args: Perfetto, words: &Words) -> Result<Plan, Failure> {
    if words.says_what {
        return refuse("--attach takes a session that runs: it takes no config");
    }
    if args.what.out.is_some() {
        return refuse("--attach takes a session that writes its own file: it takes no -o");
    }
    if words.cloning || words.saving || words.leaves || args.notify_fd.is_some() {
        return refuse("--attach does not go with --clone, a bug report or --background");
    }
    Ok(match (args.attach, args.is_detached) {
        (Some(key), _) => Plan::Attach { key, stop: args.stop, strict: args.what.strict },
        (None, key) => Plan::IsDetached(key.unwrap_or_default()),
    })
}

fn clone(args: Perfetto, words: &Words) -> Result<Plan, Failure> {
    if words.says_what {
        return refuse("--clone copies a session that runs: it takes no config");
    }
    if args.detach.is_some() || words.leaves || words.saving || args.notify_fd.is_some() {
        return refuse("--clone does not go with --detach, a bug report or --background");
    }
    let Some(out) = args.what.out else {
        return refuse("say with -o where to write the copy");
    };
    Ok(Plan::Clone(Clone {
        id: args.clone,
        name: args.clone_by_name,
        for_bugreport: args.clone_for_bugreport,
        out,
        no_clobber: args.what.no_clobber,
        strict: args.what.strict,
    }))
}

fn save(args: &Perfetto, words: &Words) -> Result<Plan, Failure> {
    if args.save_for_bugreport && args.save_all_for_bugreport {
        return refuse("--save-for-bugreport and --save-all-for-bugreport exclude each other");
    }
    if words.says_what {
        return refuse("a bug report copies sessions that run: it takes no config");
    }
    if args.what.out.is_some() {
        return refuse("a bug report has names of its own, in TMPDIR: it takes no -o");
    }
    if args.detach.is_some() || words.leaves || args.notify_fd.is_some() {
        return refuse("a bug report does not go with --detach or --background");
    }
    Ok(Plan::Save(Save {
        all: args.save_all_for_bugreport,
        no_clobber: args.what.no_clobber,
        strict: args.what.strict,
    }))
}

/// The part of it that `tracebox record` shares.
///
/// # Errors
/// As [`plan`].
pub fn record(what: &What, who: Who) -> Result<Record, Failure> {
    refuse_formats(what)?;
    let format = match (what.txt, what.txt_lossy) {
        (false, false) => Format::Binary,
        (_, lossy) => Format::Text { lossy },
    };
    let source = match &what.config {
        Some(name) if name == ":test" => Source::Test,
        Some(name) if name == ":mem" => return refuse("the config :mem is not in this version"),
        Some(path) => Source::File { path: path.clone(), format },
        None => {
            let words = what.words.is_empty() && what.app.is_empty();
            match who {
                Who::Tracebox if words => Source::Default(light::read(what)?),
                Who::Perfetto if !what.is_light() => {
                    return refuse(
                        "say what to record: a config (-c), or -t, -b, or events (see --help)",
                    );
                }
                _ => Source::Light(light::read(what)?),
            }
        }
    };
    Ok(Record {
        source,
        out: what.out.clone(),
        no_clobber: what.no_clobber,
        background: Background::No,
        notify_fd: None,
        strict: what.strict,
        detach: None,
        attributes: what
            .add_attribute
            .iter()
            .map(|text| attribute(text))
            .collect::<Result<_, _>>()?,
        statsd: TraceConfigStatsdMetadata {
            triggering_alert_id: what.alert_id,
            triggering_config_uid: what.config_uid,
            triggering_config_id: what.config_id,
            triggering_subscription_id: what.subscription_id,
            ..TraceConfigStatsdMetadata::default()
        },
    })
}

/// `key=value`, or a key alone. What looks like a number is text all the same, as upstream has it.
fn attribute(text: &str) -> Result<TraceAttributesAttribute, Failure> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if key.is_empty() {
        return Err(Failure::new(format_args!("--add-attribute {text:?} has no key")));
    }
    Ok(TraceAttributesAttribute {
        key: Some(key.to_owned()),
        value: Some(TraceAttributesAttributeValue::StringValue(value.to_owned())),
        ..TraceAttributesAttribute::default()
    })
}

#[cfg(test)]
mod tests;
