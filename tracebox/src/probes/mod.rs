//! The built-in data sources: `traced_probes` offers them to a running service, `tracebox` to its own.

mod connection_log;

use std::ffi::OsString;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use clap::{CommandFactory, Parser};
use tracing_core::abi::ipc::port::ProducerPort;
use tracing_core::client::connection::Connection;
use tracing_core::client::producer::{ConnectionHook, Producer};
use tracing_core::os::process;
use tracing_probes::{FtraceOptions, Root};

use self::connection_log::ConnectionLog;
use crate::background::{self, Started};
use crate::cli;
use crate::console;
use crate::failure::Ending;
use crate::failure::{Context, Failure};
use crate::interrupt::InterruptQueue;
use crate::traced::START_WAIT;
use crate::version::VERSION;

/// How long a service of this process may take to register the data sources.
pub(crate) const REGISTER_WAIT: Duration = Duration::from_secs(10);

/// The built-in data sources, registered with a service of this process until this value is dropped.
pub struct Sources(#[expect(dead_code, reason = "held for its life")] Producer);

impl Sources {
    /// Registers them over `connection`.
    ///
    /// # Errors
    /// When the system has no threads left.
    pub fn attach(connection: Box<dyn Connection<ProducerPort>>) -> Result<Self, Failure> {
        let what = "cannot start the built-in data sources";
        let producer = Producer::attach(connection, tracing_probes::options()).context(what)?;
        // What they lack is printed in the terminal of the user, beside the progress line.
        let root = Root::at("/", |line| console::log(&format!("probes: {line}")));
        let options = FtraceOptions::default();
        tracing_probes::register_all_at(&producer, &root, options).context(what)?;
        // A session that begins before the registration would begin without these data sources.
        if !producer.sync(REGISTER_WAIT) {
            return Err(Failure::new(format_args!("{what}: the service does not answer")));
        }
        Ok(Self(producer))
    }
}

/// The data sources of this machine: events of the kernel, processes, system counters, processors.
#[derive(Parser, Debug)]
#[command(name = "traced_probes")]
#[command(after_help = "It connects to PERFETTO_PRODUCER_SOCK_NAME, else in /run/perfetto, or in \
    /tmp if that directory cannot be entered.\n\
    It waits for the service if there is none, and connects again when the service comes back.\n\
    When all data sources are registered, it writes 1 to the descriptor TRACED_PROBES_NOTIFY_FD, if that is set.")]
struct Probes {
    /// Go to the background when all data sources are registered, or after 10 s without a service, and print the
    /// process id
    #[arg(long)]
    background: bool,
    /// Print the version
    #[arg(long)]
    version: bool,
    /// First stop all recording by ftrace, also that of other programs, and empty its rings
    #[arg(long)]
    reset_ftrace: bool,
    /// Do the same, and end
    #[arg(long)]
    cleanup_after_crash: bool,
    /// Never lower kptr_restrict: kernel symbols have names only while /proc/kallsyms shows them anyway
    #[arg(long)]
    keep_kptr_restrict: bool,
    /// Record addresses of the kernel as numbers: a trace then tells where the kernel is
    #[arg(long)]
    kernel_pointers: bool,
}

/// The command line, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Probes::command()
}

/// Runs the data sources until SIGINT or SIGTERM.
///
/// # Errors
/// When an option or the address of the service is not valid.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<Probes>(name, words)? else { return Ok(0) };
    if args.version {
        console::answer(VERSION)?;
        return Ok(0);
    }
    // The second process of --background does not reset what the first one did.
    if (args.reset_ftrace || args.cleanup_after_crash) && !background::is_child() {
        let failures = tracing_probes::reset_ftrace();
        for failure in &failures {
            console::log(&format!("[{}] {name}: {failure}", console::clock()));
        }
        if args.cleanup_after_crash {
            return Ok(u8::from(!failures.is_empty()));
        }
    }
    if args.background && !background::is_child() {
        return match background::start(words, name, START_WAIT)? {
            (_, Started::No(code)) => Ok(code),
            // Unknown: the service may come later, and the second process waits for it.
            (pid, Started::Yes | Started::InPart | Started::Unknown) => {
                console::answer(pid).map(|()| 0)
            }
        };
    }
    let interrupts = InterruptQueue::catch_signals()?;
    let mut notified = Ok(());
    let (registered, is_registered) = mpsc::channel();
    if args.background {
        leave_later(is_registered)?;
    }
    let ready = || {
        // It fails after the wait.
        let _ = registered.send(());
        if let Some(fd) = std::env::var_os("TRACED_PROBES_NOTIFY_FD") {
            notified = background::notify(fd, b"1").context("TRACED_PROBES_NOTIFY_FD");
        }
        if args.background {
            leave();
        }
    };
    let stop = || {
        let _ = interrupts.wait();
    };
    // Each instance of tracefs needs a descriptor for each processor.
    let _ = process::raise_descriptor_limit();
    let mut ftrace = FtraceOptions::default();
    ftrace.keeps_kptr_restrict = args.keep_kptr_restrict;
    ftrace.shows_pointers = args.kernel_pointers;
    let mut options = tracing_probes::options();
    let connection_log = ConnectionLog::start(log)?;
    options.on_connection = Some(ConnectionHook::new(connection_log.hook()));
    // Parts of its warnings are from configs: the log escapes control characters in them.
    let root = Root::at("/", log);
    let ran = tracing_probes::run(options, &root, ftrace, ready, stop);
    connection_log.finish();
    ran.context("cannot run")?;
    notified?;
    Ok(0)
}

/// Leaves the terminal when the first process no longer waits, and no service has come: this one goes on waiting for
/// it. Does nothing if the data sources are registered in time, or the program ends.
fn leave_later(registered: Receiver<()>) -> Result<(), Failure> {
    let run = move || {
        if registered.recv_timeout(START_WAIT) == Err(RecvTimeoutError::Timeout) {
            leave();
        }
    };
    let thread = std::thread::Builder::new().name("leave".into()).spawn(run);
    thread.context("cannot start a thread").map(drop)
}

fn leave() {
    // It needs no terminal: a failure to leave it does not matter.
    let _ = background::leave();
    background::tell(true);
}

fn log(line: &str) {
    console::log(&format!("[{}] traced_probes: {line}", console::clock()));
}

#[cfg(test)]
mod tests;
