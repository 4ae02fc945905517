//! Chooses the program: by the name it was called, or by its first argument.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use crate::console;
use crate::failure::{Ending, Failure};
use crate::recorder::command as record;
use crate::version::VERSION;
use crate::{doctor, inspect, manual, perfetto, probes, trace, traced, trigger, units};

/// A program: takes its name, for messages, and its arguments.
pub type Program = fn(&str, &[OsString]) -> Ending;

/// A program, as the command line finds it.
struct Applet {
    name: &'static str,
    main: Program,
    what: &'static str,
    /// A link to `tracebox` with this name is this program.
    by_link: bool,
}

/// A program that upstream has, too.
const fn program(name: &'static str, main: Program, what: &'static str) -> Applet {
    Applet { name, main, what, by_link: true }
}

/// A command of `tracebox`. Links with its name would be too common: it is found as the first argument only.
const fn command(name: &'static str, main: Program, what: &'static str) -> Applet {
    Applet { name, main, what, by_link: false }
}

const APPLETS: &[Applet] = &[
    program("traced", traced::main, "the tracing service"),
    program(
        "traced_probes",
        probes::main,
        "offers the data sources of this machine to a running traced",
    ),
    program("perfetto", perfetto::main, "records with a running traced"),
    program("trigger_perfetto", trigger::main, "fires triggers that sessions wait for"),
    command("record", record::main, "records while a command runs"),
    command(
        "trace",
        trace::main,
        "prints a trace as text: `trace events FILE`, `trace print FILE`",
    ),
    command("lint", inspect::lint_main, "finds mistakes in a trace: `lint FILE`"),
    command("stats", inspect::stats_main, "says what a trace consists of: `stats FILE`"),
    command(
        "doctor",
        doctor::main,
        "says what can be recorded here, and which command mends the rest",
    ),
    command(
        "completions",
        manual::completions,
        "prints completions for a shell: `completions bash`",
    ),
    command("install-units", units::main, "installs systemd units of traced and traced_probes"),
    command("man", manual::man, "prints a manual page: `man perfetto | man -l -`"),
];

/// Programs of Perfetto that this version does not have, and what to do without.
const ABSENT: &[(&str, &str)] = &[
    ("traced_relay", "record on each machine by itself"),
    (
        "traced_perf",
        "that of the C++ tools can connect to this traced, for the data source linux.perf",
    ),
    ("heap_profile", "heapprofd of the C++ tools can connect to this traced"),
    ("websocket_bridge", "record here, and open the file in https://ui.perfetto.dev"),
    ("open_trace_in_ui", "open the file in https://ui.perfetto.dev"),
    (
        "traceconv",
        "`tracebox trace print FILE` prints what `traceconv text` does, and the C++ traceconv reads these files",
    ),
    ("trace_processor", TRACE_PROCESSOR),
    ("trace_processor_shell", TRACE_PROCESSOR),
];

const TRACE_PROCESSOR: &str = "that of the C++ tools reads these files; `tracebox stats FILE` and `tracebox trace \
                               events --json FILE` need no SQL";

/// Runs the program that `args` ask for; the first of them is the name it was called by.
#[must_use]
pub fn run(args: Vec<OsString>) -> ExitCode {
    ignore_file_size_signal();
    let (name, result) = dispatch(&args);
    exit_code(&name, result)
}

/// Runs `program`, whatever its file is called. For binaries of one program: the others are not linked into them.
#[must_use]
pub fn run_program(name: &str, program: Program, args: &[OsString]) -> ExitCode {
    ignore_file_size_signal();
    exit_code(name, program(name, args.get(1..).unwrap_or_default()))
}

/// Makes a limit of file sizes an error of `write`, instead of a signal that ends the process within a packet.
fn ignore_file_size_signal() {
    // If it fails, the signal ends the process as before.
    let _ = tracing_core::daemon::system::signal::ignore_file_size_signal();
}

fn exit_code(name: &str, result: Ending) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            console::log(&format!("{name}: {failure}"));
            ExitCode::from(failure.code)
        }
    }
}

fn find(name: &OsStr) -> Option<&'static Applet> {
    APPLETS.iter().find(|applet| name == applet.name)
}

fn dispatch(args: &[OsString]) -> (String, Ending) {
    let own = args.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let words = args.get(1..).unwrap_or_default();
    if let Some(applet) = find(own).filter(|applet| applet.by_link) {
        return (applet.name.to_owned(), (applet.main)(applet.name, words));
    }
    let own = console::name(own);
    let Some(first) = words.first() else {
        return (own, help(1));
    };
    if let Some(applet) = find(first) {
        let name = format!("{own} {}", applet.name);
        let ending = (applet.main)(&name, &words[1..]);
        return (name, ending);
    }
    if let Some((name, advice)) = ABSENT.iter().find(|(name, _)| first == name) {
        let failure = Failure::new(format_args!("{name} is not part of this version: {advice}"));
        return (own, Err(failure));
    }
    let ending = match first.to_str() {
        Some("-h" | "--help" | "help") => help(0),
        Some("--version") => console::answer(VERSION).map(|()| 0),
        Some("--reset-ftrace") => reset_ftrace(words),
        _ => perfetto::with_own_service(&own, words),
    };
    (own, ending)
}

/// The option of `traced_probes`, under the name that users of the C++ tracebox look for.
fn reset_ftrace(words: &[OsString]) -> Ending {
    match words {
        [_] => probes::main("tracebox", &["--cleanup-after-crash".into()]),
        _ => Err(Failure::new(
            "--reset-ftrace stands alone: it ends all recording by ftrace, and records nothing",
        )),
    }
}

fn help(code: u8) -> Ending {
    let mut text = format!(
        "{VERSION}: records what programs and the kernel do, for https://ui.perfetto.dev\n\n\
         tracebox -o FILE [-t 5s] [-b 32mb]             record this machine\n\
         tracebox -o FILE [-t 10s] sched freq ...       record events of the kernel: categories or events\n\
         tracebox -o FILE -c CONFIG --txt               record with a config\n\
         tracebox record -o FILE [...] -- COMMAND ...   record while COMMAND runs\n\
         tracebox --reset-ftrace                        end what ftrace records, also of killed programs\n\
         tracebox PROGRAM ...                           run one of the programs:\n\n"
    );
    for Applet { name, what, .. } in APPLETS {
        text.push_str(&format!("  {name:<16} {what}\n"));
    }
    text.push_str("\nThe first four start a service of their own. `tracebox perfetto --help` has all options.\n");
    text.push_str("Every program has --help.\n");
    console::answer(text.trim_end()).map(|()| code)
}
