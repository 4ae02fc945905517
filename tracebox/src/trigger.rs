//! `trigger_perfetto`, and configs with `activate_triggers`: fire triggers of a service.

use std::ffi::OsString;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use tracing_core::client::producer::{Producer, ProducerError, ProducerOptions};

use crate::cli;
use crate::console;
use crate::failure::Ending;
use crate::failure::Failure;
use crate::recorder::consumer_error::trigger_failure;
use crate::version::VERSION;

/// The producer that fires the triggers; configs can name it (`trigger_perfetto.cc`).
const PRODUCER_NAME: &str = "perfetto_cmd_producer";

/// How long a service may take to answer.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// How long one wait for a service takes; another one follows.
const SERVICE_WAIT: Duration = Duration::from_secs(3600);

/// Fires triggers that tracing sessions wait for.
#[derive(Parser, Debug)]
#[command(name = "trigger_perfetto", disable_help_subcommand = true)]
#[command(
    after_help = "Sessions whose config has a trigger of that name start, stop or write a snapshot.\n\
    The service is looked for at PERFETTO_PRODUCER_SOCK_NAME if that is set, else in /run/perfetto,\n\
    or in /tmp if that directory cannot be entered.\n\n\
    Exit code: 0 if the service received all triggers, whether or not a session waits for them; 1 if not."
)]
pub struct Trigger {
    /// Names of the triggers
    #[arg(value_name = "TRIGGER")]
    triggers: Vec<String>,
    /// If no service runs, wait for one: for scripts that run while the machine starts
    #[arg(long)]
    wait: bool,
    /// Print the version
    #[arg(long)]
    version: bool,
}

/// The command line, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Trigger::command()
}

/// Fires the triggers that `words` name.
///
/// # Errors
/// When no trigger is named, or there is no service.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<Trigger>(name, words)? else { return Ok(0) };
    if args.version {
        console::answer(VERSION)?;
        return Ok(0);
    }
    if args.triggers.is_empty() {
        return Err(Failure::new("name at least one trigger (see --help)"));
    }
    activate(args.triggers, args.wait).map(|()| 0)
}

/// Fires triggers, and waits until the service has handled them; with `wait_for_service` also until there is one.
///
/// # Errors
/// When there is no service, or it does not answer.
pub fn activate(names: Vec<String>, wait_for_service: bool) -> Result<(), Failure> {
    if names.iter().any(String::is_empty) {
        return Err(Failure::new("a trigger needs a name: \"\" is empty"));
    }
    let mut options = ProducerOptions::new(PRODUCER_NAME);
    options.reconnect = false;
    let producer = match Producer::connect(options.clone()) {
        Err(error @ ProducerError::Connect { .. }) if wait_for_service => {
            console::log(&format!("{error}: waiting for it"));
            options.reconnect = true;
            let producer = Producer::connect(options).map_err(Failure::new)?;
            // The producer tries to connect at growing intervals, and never gives up.
            while !producer.sync(SERVICE_WAIT) {}
            producer
        }
        connected => connected.map_err(trigger_failure)?,
    };
    producer.activate_triggers(names);
    if producer.sync(ANSWER_WAIT) {
        return Ok(());
    }
    Err(Failure::new(match producer.wait_ended(Duration::ZERO) {
        false => "the service did not answer in 10 s: it may not have handled the triggers",
        true => "the service closed the connection before it handled the triggers",
    }))
}
