//! Which program was meant.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::console;
use crate::failure::{Ending, Failure};
use crate::recorder::command as record;
use crate::version::VERSION;
use crate::{manual, perfetto, probes, trace, traced, trigger, units};

/// A program: the name to use in messages, and the words behind it.
pub type Program = fn(&str, &[OsString]) -> Ending;

const APPLETS: &[(&str, Program, &str)] = &[
    ("traced", traced::main, "the service: producers and consumers meet there"),
    ("traced_probes", probes::main, "the data sources of this machine, for a running traced"),
    ("perfetto", perfetto::main, "records through a running traced"),
    ("trigger_perfetto", trigger::main, "fires triggers that sessions wait for"),
    ("record", record::main, "records while a command runs"),
    ("trace", trace::main, "looks into a trace: `trace print FILE`"),
    ("completions", manual::completions, "prints completions for a shell: `completions bash`"),
    ("install-units", units::main, "installs systemd units of traced and traced_probes"),
    ("man", manual::man, "prints a manual page: `man perfetto | man -l -`"),
];

/// Names of other programs of the family, which this version does not have.
const ABSENT: &[&str] = &["traced_relay", "traced_perf", "websocket_bridge"];

/// Runs the program that `args` (its own name first) asks for. Never panics on bad words.
#[must_use]
pub fn run(args: Vec<OsString>) -> ExitCode {
    survive();
    let (name, result) = dispatch(&args);
    end(&name, result)
}

/// The same for a binary that is one program only, whatever its file is called. Nothing of the others gets into
/// it: the service stays as small as it is.
#[must_use]
pub fn run_alone(name: &str, program: Program, args: &[OsString]) -> ExitCode {
    survive();
    end(name, program(name, args.get(1..).unwrap_or_default()))
}

/// A limit of file sizes is an error as others are, and does not kill us in the middle of a packet. Nothing else
/// depends on it.
fn survive() {
    let _ = tracing_core::daemon::system::signal::survive_file_limits();
}

fn end(name: &str, result: Ending) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // Nobody to tell if that fails.
            let _ = writeln!(std::io::stderr(), "{name}: {failure}");
            ExitCode::from(failure.code)
        }
    }
}

fn find(name: &OsStr) -> Option<(&'static str, Program)> {
    APPLETS.iter().find(|applet| name == applet.0).map(|applet| (applet.0, applet.1))
}

fn dispatch(args: &[OsString]) -> (String, Ending) {
    let own = args.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let words = args.get(1..).unwrap_or_default();
    // These alone are too common to be anybody's link to us.
    let common = ["record", "trace", "completions", "install-units", "man"];
    if let Some((name, program)) = find(own).filter(|applet| !common.contains(&applet.0)) {
        return (name.to_owned(), program(name, words));
    }
    let own = own.to_string_lossy().into_owned();
    let Some(first) = words.first() else {
        return (own, help(1));
    };
    if let Some((name, program)) = find(first) {
        let name = format!("{own} {name}");
        let ending = program(&name, &words[1..]);
        return (name, ending);
    }
    if let Some(name) = ABSENT.iter().find(|name| first == *name) {
        let failure = Failure::new(format_args!("{name} is not part of this version"));
        return (own, Err(failure));
    }
    let ending = match first.to_str() {
        Some("-h" | "--help" | "help") => help(0),
        Some("--version") => console::answer(VERSION).map(|()| 0),
        _ => perfetto::alone(&own, words),
    };
    (own, ending)
}

fn help(code: u8) -> Ending {
    let mut text = format!(
        "{VERSION}: records what programs and the kernel do, for https://ui.perfetto.dev\n\n\
         tracebox -o FILE [-t 5s] [-b 32mb]             record this machine, nothing to start first\n\
         tracebox -o FILE -c CONFIG --txt               the same, with a config of yours\n\
         tracebox record -o FILE [...] -- COMMAND ...   record while COMMAND runs\n\
         tracebox PROGRAM ...                           one of the programs:\n\n"
    );
    for (name, _, what) in APPLETS {
        text.push_str(&format!("  {name:<16} {what}\n"));
    }
    text.push_str("\nEvery program explains itself with --help; `tracebox perfetto --help` has all options.\n");
    console::answer(text.trim_end()).map(|()| code)
}
