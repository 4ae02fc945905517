//! The words of perfetto's command line, as they are. Which go together is for [`plan`](crate::plan).

use std::ffi::OsString;

use clap::{Args, Parser};

use crate::failure::Failure;

/// Below the options of perfetto; [`manual`](crate::manual) says more.
const PERFETTO_HELP: &str = "\
Light mode: words are ftrace events (sched/sched_switch) or categories (sched, freq, disk).
Durations end in ms, s, m or h, sizes in kb, mb or gb.
With CLONE_SNAPSHOT triggers in the config each trigger writes FILE.0, FILE.1 and so on.
A config with activate_triggers records nothing: it fires those triggers.
The service is looked for at PERFETTO_CONSUMER_SOCK_NAME, in /run/perfetto, in /tmp.

Exit code: 0 it worked, 1 it did not, 2 no such session (--attach, --is_detached) or not all
data sources started (-D), 3 data was lost (--strict), 130 interrupted before the trace was whole.";

/// Records a trace through the tracing service.
#[derive(Parser, Clone, Default, PartialEq, Eq, Debug)]
#[command(name = "perfetto", disable_help_subcommand = true)]
#[command(after_help = PERFETTO_HELP)]
pub struct Perfetto {
    /// What to record.
    #[command(flatten)]
    pub what: What,

    /// Go to the background once tracing runs; prints the process id
    #[arg(short = 'd', long)]
    pub background: bool,
    /// The same, once all data sources have started: 0 they have, 1 error, 2 they did not in 30 s
    #[arg(short = 'D', long)]
    pub background_wait: bool,
    /// Write the status of --background-wait to this open descriptor as one byte, without leaving
    #[arg(long, value_name = "FD")]
    pub notify_fd: Option<u32>,

    /// Leave the session running in the service under this name
    #[arg(long, value_name = "KEY")]
    pub detach: Option<String>,
    /// Take over the session left under this name and wait for its end
    #[arg(long, value_name = "KEY")]
    pub attach: Option<String>,
    /// Is there a session under this name? Exit code 0: yes, 2: no
    #[arg(long = "is_detached", value_name = "KEY")]
    pub is_detached: Option<String>,
    /// With --attach: stop it now
    #[arg(long)]
    pub stop: bool,

    /// Write a copy of the running session with this id; -1: the one with the highest bugreport_score
    #[arg(long, value_name = "ID", allow_negative_numbers = true, value_parser = session_id)]
    pub clone: Option<u64>,
    /// Write a copy of the running session with this unique name
    #[arg(long, value_name = "NAME")]
    pub clone_by_name: Option<String>,
    /// The copy is for a bug report: not filtered
    #[arg(long)]
    pub clone_for_bugreport: bool,
    /// Copy the running session with the highest bugreport_score to $TMPDIR/systrace.pftrace
    #[arg(long)]
    pub save_for_bugreport: bool,
    /// The same for every running session with a bugreport_score, under its bugreport_filename
    #[arg(long)]
    pub save_all_for_bugreport: bool,

    /// Print what the service knows: sessions, producers, data sources
    #[arg(long)]
    pub query: bool,
    /// With --query: do not cut lines
    #[arg(long)]
    pub long: bool,
    /// With --query: as JSON, for scripts
    #[arg(long)]
    pub json: bool,
    /// Print it as a serialized TracingServiceState
    #[arg(long)]
    pub query_raw: bool,
    /// Print the version
    #[arg(long)]
    pub version: bool,

    /// tracebox only: use the running daemons instead of an own service
    #[arg(long)]
    pub system_sockets: bool,

    /// Accepted and without effect
    #[arg(long)]
    pub no_guardrails: bool,
    /// Accepted and without effect
    #[arg(long)]
    pub reset_guardrails: bool,
    /// Android only
    #[arg(long)]
    pub upload: bool,
    /// Android only
    #[arg(long, value_name = "TAG")]
    pub dropbox: Option<String>,
}

/// What to record and where to put it: what perfetto, tracebox and `tracebox record` share.
#[derive(Args, Clone, Default, PartialEq, Eq, Debug)]
pub struct What {
    /// Config: a binary TraceConfig unless --txt; - for stdin; :test for a built-in one. Several are joined
    #[arg(short = 'c', long, value_name = "FILE")]
    pub config: Vec<OsString>,
    /// The config is text
    #[arg(long)]
    pub txt: bool,
    /// The same, without what this version does not know
    #[arg(long)]
    pub txt_lossy: bool,
    /// Where to write the trace; - for stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<OsString>,
    /// Do not write over an existing file
    #[arg(long)]
    pub no_clobber: bool,
    /// Light mode: how long, 0 for ever
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<String>,
    /// Light mode: size of the buffer
    #[arg(short = 'b', long, value_name = "SIZE")]
    pub buffer: Option<String>,
    /// Light mode: let the service write the file, up to this size
    #[arg(short = 's', long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Light mode: trace this Android app
    #[arg(short = 'a', long, value_name = "APP")]
    pub app: Vec<String>,
    /// Exit with code 3 if anything was lost on the way into the trace
    #[arg(long)]
    pub strict: bool,
    /// Put an attribute into the trace
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub add_attribute: Vec<String>,
    /// Put a note into the config that the trace holds
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub add_note: Vec<String>,

    /// Id of the statsd alert that asked for this trace
    #[arg(long, value_name = "ID", allow_negative_numbers = true, hide = true)]
    pub alert_id: Option<i64>,
    /// Id of the statsd config
    #[arg(long, value_name = "ID", allow_negative_numbers = true, hide = true)]
    pub config_id: Option<i64>,
    /// User of the statsd config
    #[arg(long, value_name = "UID", allow_negative_numbers = true, hide = true)]
    pub config_uid: Option<i32>,
    /// Id of the statsd subscription
    #[arg(long, value_name = "ID", allow_negative_numbers = true, hide = true)]
    pub subscription_id: Option<i64>,

    /// Light mode: ftrace events and categories
    #[arg(value_name = "EVENT")]
    pub words: Vec<String>,
}

impl What {
    /// Is any word or flag of light mode there?
    #[must_use]
    pub fn is_light(&self) -> bool {
        !self.words.is_empty()
            || !self.app.is_empty()
            || self.time.is_some()
            || self.buffer.is_some()
            || self.size.is_some()
    }
}

/// The id of a session. -1 is the largest: the service takes it for the session with the highest score.
fn session_id(text: &str) -> Result<u64, String> {
    if text == "-1" {
        return Ok(u64::MAX);
    }
    text.parse().map_err(|_| "a session has a number as its id, see --query".into())
}

/// Reads `words` as the arguments of `name`. `None`: it was a call for help, which is answered.
///
/// # Errors
/// One line about the first word that is wrong.
pub fn parse<P: Parser>(name: &str, words: &[OsString]) -> Result<Option<P>, Failure> {
    // As getopt_long has it: the last one of an option counts, and long options can be abbreviated.
    let command = P::command().bin_name(name).args_override_self(true).infer_long_args(true);
    let args = std::iter::once(OsString::from(name)).chain(words.iter().cloned());
    let matches = match command.try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => {
            // A closed pipe is no reason to complain.
            let _ = error.print();
            return Ok(None);
        }
        Err(error) => {
            // The lines below the first are usage and tips; the user can ask for them.
            let text = error.to_string();
            let mut lines = text.lines();
            let mut line = lines.next().unwrap_or_default().to_owned();
            // "the following required arguments were not provided:" continues below.
            if line.ends_with(':') {
                line.push(' ');
                line.push_str(lines.next().unwrap_or_default().trim());
            }
            let line = line.strip_prefix("error: ").unwrap_or(&line);
            return Err(Failure::new(format_args!("{line} (see --help)")));
        }
    };
    P::from_arg_matches(&matches).map(Some).map_err(Failure::new)
}
