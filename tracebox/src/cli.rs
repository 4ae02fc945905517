//! The options of perfetto's command line. [`plan`](crate::plan) checks which of them go together.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, Parser};

use crate::failure::Failure;

/// Printed below the options of perfetto; the manual page says more.
const PERFETTO_HELP: &str = "\
Light mode takes options instead of a config (-c):
  -t 10s -b 32mb -s 100mb   durations end in ms, s, m or h, sizes in kb, mb or gb
                            (default: -t 10s; for tracebox without events -t 5s)
  sched/sched_switch        a word with a slash is an ftrace event
  sched freq disk           other words are categories of events; a wrong one lists them all
A config with CLONE_SNAPSHOT triggers writes FILE.0, FILE.1 and so on, one for each trigger.
A config with activate_triggers fires those triggers, and records nothing.
The service is looked for at PERFETTO_CONSUMER_SOCK_NAME if that is set, else in /run/perfetto,
or in /tmp if that directory cannot be entered.

Exit code: 0 success; 1 failure; 2 no such session (--attach, --is_detached), or not all data
sources record (-D); 3 data was lost (--strict); 130 interrupted before the trace was whole.";

/// Records a trace through the tracing service.
#[derive(Parser, Clone, Default, PartialEq, Eq, Debug)]
#[command(name = "perfetto", disable_help_subcommand = true)]
#[command(after_help = PERFETTO_HELP)]
pub struct Perfetto {
    /// What to record.
    #[command(flatten)]
    pub what: TraceArgs,

    /// Go to the background when the service has accepted the session, and print the process id
    #[arg(short = 'd', long)]
    pub background: bool,
    /// Go to the background when all data sources have started. Exit code 2: they have not after 30 s, or one was
    /// refused
    #[arg(short = 'D', long)]
    pub background_wait: bool,
    /// Stay in the foreground, and write the exit code of --background-wait to this descriptor as one byte
    #[arg(long, value_name = "FD")]
    pub notify_fd: Option<u32>,

    /// Start the session, leave it running in the service under this key, and exit
    #[arg(long, value_name = "KEY")]
    pub detach: Option<String>,
    /// Take over the session with this key, and wait for its end
    #[arg(long, value_name = "KEY")]
    pub attach: Option<String>,
    /// Say whether there is a session with this key. Exit code 0: yes, 2: no
    #[arg(long = "is_detached", value_name = "KEY")]
    pub is_detached: Option<String>,
    /// With --attach: stop the session now
    #[arg(long, alias = "st")]
    pub stop: bool,

    /// Write a copy of the running session with this id. -1: the one with the highest bugreport_score
    #[arg(long, value_name = "ID", allow_negative_numbers = true, value_parser = session_id)]
    pub clone: Option<u64>,
    /// Write a copy of the running session with this unique name
    #[arg(long, value_name = "NAME")]
    pub clone_by_name: Option<String>,
    /// With --clone or --clone-by-name: without the trace filter of the session
    #[arg(long)]
    pub clone_for_bugreport: bool,
    /// Write a copy of the running session with the highest bugreport_score to $TMPDIR/systrace.pftrace
    #[arg(long)]
    pub save_for_bugreport: bool,
    /// Write a copy of each running session with a bugreport_score to $TMPDIR, as its bugreport_filename
    #[arg(long)]
    pub save_all_for_bugreport: bool,

    /// Print the sessions, producers and data sources of the service
    #[arg(long)]
    pub query: bool,
    /// With --query: do not cut lines
    #[arg(long)]
    pub long: bool,
    /// With --query: print JSON, for scripts
    #[arg(long)]
    pub json: bool,
    /// Print the state of the service as a serialized TracingServiceState
    #[arg(long)]
    pub query_raw: bool,
    /// Print the version
    #[arg(long)]
    pub version: bool,

    /// tracebox only: let its service listen where traced would, for producers outside of it
    #[arg(long)]
    pub system_sockets: bool,

    /// Accepted, without effect
    #[arg(long)]
    pub no_guardrails: bool,
    /// Accepted, prints that there are none
    #[arg(long)]
    pub reset_guardrails: bool,
    /// Refused: for Android only
    #[arg(long)]
    pub upload: bool,
    /// Refused: for Android only
    #[arg(long, value_name = "TAG")]
    pub dropbox: Option<String>,
}

/// What to record and where the trace goes: the options that perfetto, tracebox and `tracebox record` share.
#[derive(Args, Clone, Default, PartialEq, Eq, Debug)]
pub struct TraceArgs {
    /// File with a binary TraceConfig, or with text (--txt). -: stdin, :test: a built-in one. Several are joined
    #[arg(short = 'c', long, value_name = "FILE")]
    pub config: Vec<OsString>,
    /// The config is text
    // The abbreviations are those of the C++ programs, and would be ambiguous here.
    #[arg(long, alias = "tx")]
    pub txt: bool,
    /// The config is text, and fields that this version does not know are ignored
    #[arg(long)]
    pub txt_lossy: bool,
    /// Where the trace goes. -: stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub out: Option<OsString>,
    /// Fail if the file exists
    #[arg(long)]
    pub no_clobber: bool,
    /// Light mode: how long to record. 0: without a limit
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<String>,
    /// Light mode: size of the buffer in memory [default: 32mb]
    #[arg(short = 'b', long, value_name = "SIZE")]
    pub buffer: Option<String>,
    /// Light mode: write the file while recording, up to this size
    #[arg(short = 's', long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Light mode: trace this Android app
    #[arg(short = 'a', long, value_name = "APP")]
    pub app: Vec<String>,
    /// Lost data is a failure: exit code 3
    #[arg(long)]
    pub strict: bool,
    /// Add an attribute to the trace
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub add_attribute: Vec<String>,
    /// Add a note to the trace, as versions before 58 do
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

    /// Light mode: ftrace events, and categories of them
    #[arg(value_name = "EVENT")]
    pub words: Vec<String>,
}

impl TraceArgs {
    /// Whether an option or a word of light mode is there.
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

/// Reads `words` as the arguments of the program `name`. `None` if they ask for help, which is printed.
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
            // A closed pipe is not an error: its reader has read enough.
            let _ = error.print();
            return Ok(None);
        }
        Err(error) => {
            // The lines below the first are usage and tips, which --help prints, too.
            let text = error.to_string();
            let mut lines = text.lines();
            let mut line = lines.next().unwrap_or_default().to_owned();
            // "the following required arguments were not provided:" continues below.
            if line.ends_with(':') {
                line.push(' ');
                line.push_str(lines.next().unwrap_or_default().trim());
            }
            let line = match error.kind() {
                // The text is the whole help.
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a command is missing",
                _ => line.strip_prefix("error: ").unwrap_or(&line),
            };
            return Err(Failure::new(format_args!("{line} (see --help)")));
        }
    };
    P::from_arg_matches(&matches).map(Some).map_err(Failure::new)
}
