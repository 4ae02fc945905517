//! `trigger_perfetto`, and configs with `activate_triggers`: tell a service that something happened.

use std::ffi::OsString;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use tracing_core::client::producer::{Producer, ProducerOptions};

use crate::cli;
use crate::console;
use crate::failure::Ending;
use crate::failure::Failure;
use crate::version::VERSION;

/// Who fires the triggers; configs can ask for that name (`trigger_perfetto.cc`).
const PRODUCER_NAME: &str = "perfetto_cmd_producer";

/// How long a service may take to say that it heard.
const WAIT: Duration = Duration::from_secs(10);

/// Fires triggers that tracing sessions wait for.
#[derive(Parser, Debug)]
#[command(name = "trigger_perfetto", disable_help_subcommand = true)]
#[command(
    after_help = "Sessions whose config has a trigger of that name start, stop or write a snapshot.\n\
    The service is looked for at PERFETTO_PRODUCER_SOCK_NAME, in /run/perfetto, in /tmp.\n\n\
    Exit code: 0 the service heard of all of them, whether or not anybody waits for them; 1 it did not."
)]
pub struct Trigger {
    /// Names of the triggers
    #[arg(value_name = "TRIGGER")]
    triggers: Vec<String>,
    /// Print the version
    #[arg(long)]
    version: bool,
}

/// Its words, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Trigger::command()
}

/// Fires what `words` name.
///
/// # Errors
/// One line: no words, no service.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<Trigger>(name, words)? else { return Ok(0) };
    if args.version {
        console::answer(VERSION)?;
        return Ok(0);
    }
    if args.triggers.is_empty() {
        return Err(Failure::new("name at least one trigger (see --help)"));
    }
    activate(args.triggers).map(|()| 0)
}

/// Fires triggers, and waits until the service has heard of them.
///
/// # Errors
/// When there is no service, or it does not answer.
pub fn activate(names: Vec<String>) -> Result<(), Failure> {
    if names.iter().any(String::is_empty) {
        return Err(Failure::new("a trigger has a name: \"\" is none"));
    }
    let options = ProducerOptions { reconnect: false, ..ProducerOptions::new(PRODUCER_NAME) };
    let producer = Producer::connect(options).map_err(Failure::new)?;
    producer.activate_triggers(names);
    if producer.sync(WAIT) {
        return Ok(());
    }
    Err(Failure::new(match producer.wait_ended(Duration::ZERO) {
        false => "the service did not answer in 10 s: it may not have heard of the triggers",
        true => "the service closed the connection before it heard of the triggers",
    }))
}
