//! Commands for working on this repository: `cargo xtask COMMAND`.
//!
//! `ci` runs most of them, cheapest first. A command takes its arguments as text and returns an [`Outcome`]. It starts
//! programs through [`ctx::Ctx`], so that `ci` can write their output to a log file.
#![forbid(unsafe_code)]

mod asan;
mod bench;
mod ci;
mod codegen;
mod conformance;
mod corpus;
mod ctx;
mod debian;
mod deny;
mod differential;
mod fuzz;
mod interop;
mod kernels;
mod load;
mod loom;
mod machine;
mod manual;
mod miri;
mod model;
mod msrv;
mod mutants;
mod no_panic;
mod no_std;
mod npm;
mod off;
mod package;
mod parity;
mod pool;
mod report;
mod semver;
mod sim;
mod size;
mod source;
mod strace;
mod tidy;
mod times;
mod toolchain;
mod tsan;
mod units;

use ctx::{Ctx, Outcome};
use std::process::ExitCode;

/// A command: its name, its arguments for the help text, what it does, and the function.
struct Command {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&Ctx, &[String]) -> Outcome,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "ci",
        arguments: "[--keep-going | --from STEP | --only STEP | --list]",
        about: "everything a change has to pass, cheapest first",
        run: ci::run,
    },
    Command {
        name: "codegen",
        arguments: "[--check | --time]",
        about: "protos/perfetto/**/*.proto to protos/src/gen",
        run: |_, arguments| codegen::run(arguments),
    },
    Command {
        name: "deny",
        arguments: "",
        about: "licences, sources, duplicates and known advisories of the crates of others; installs cargo-deny",
        run: deny::run,
    },
    Command {
        name: "tidy",
        arguments: "",
        about: "what no compiler checks: layers, sizes, unsafe code, licences, file names, words",
        run: tidy::run,
    },
    Command {
        name: "loom",
        arguments: "",
        about: "every interleaving of the shared-memory protocol",
        run: loom::run,
    },
    Command {
        name: "model",
        arguments: "[--nocapture | TEST...]",
        about: "models of sessions, losses and snapshots in every order of events, and without each of their rules",
        run: model::run,
    },
    Command {
        name: "asan",
        arguments: "",
        about: "unit tests of protozero and tracing-core under the address sanitizer",
        run: asan::run,
    },
    Command {
        name: "miri",
        arguments: "[--short] [TEST...]",
        about: "writer, shared memory and a service in one process, interpreted; installs a nightly compiler",
        run: miri::run,
    },
    Command {
        name: "tsan",
        arguments: "[TEST...]",
        about: "tests with several threads under the thread sanitizer; installs a nightly compiler",
        run: tsan::run,
    },
    Command {
        name: "msrv",
        arguments: "",
        about: "build the crates that promise an older compiler with that one, and the client for 32 bits",
        run: msrv::run,
    },
    Command {
        name: "package",
        arguments: "[--release]",
        about: "packages as crates.io will get them: complete, and built in the order of publication",
        run: package::run,
    },
    Command {
        name: "semver",
        arguments: "",
        about: "interfaces against those of the last tag; installs cargo-semver-checks",
        run: semver::run,
    },
    Command {
        name: "no-std",
        arguments: "",
        about: "link protozero into a program without std and without an allocator",
        run: no_std::run,
    },
    Command {
        name: "no-panic",
        arguments: "[--short]",
        about: "prove by linking that reader and writers cannot panic, and that the arithmetic of abi cannot overflow",
        run: no_panic::run,
    },
    Command {
        name: "mutants",
        arguments: "[--list] [--in-diff REV] [--only TEXT]... [--shard K/N] [--afresh]",
        about: "tests of tracing-core with a limit or a check of input removed, one at a time",
        run: mutants::run,
    },
    Command {
        name: "size",
        arguments: "[--record]",
        about: "bytes of machine code that writing adds; --record writes docs/benchmarks.md",
        run: size::run,
    },
    Command {
        name: "off",
        arguments: "",
        about: "call sites of tracing-sdk leave no code behind when its feature `off` is on",
        run: off::run,
    },
    Command {
        name: "fuzz",
        arguments: "[TARGET] [--seconds N]",
        about: "build all fuzz targets once, run one or each of them (default 10 s each)",
        run: fuzz::run,
    },
    Command {
        name: "parity",
        arguments: "[SUITE]",
        about: "which tests of the C++ sources have a counterpart here, by name",
        run: parity::run,
    },
    Command {
        name: "sim",
        arguments: "[--seeds N] [--fresh M] [--fail-each K] | --seed S",
        about: "simulated runs of the service with honest and hostile clients; --seed repeats one",
        run: sim::run,
    },
    Command {
        name: "siege",
        arguments: "[--minutes N | --short --seconds N]",
        about: "a real traced with narrow limits, hostile users, and honest users who check every byte",
        run: load::siege,
    },
    Command {
        name: "strace",
        arguments: "[--list]",
        about: "the loop of traced makes no call that may wait; --list prints what it may call, and why",
        run: strace::run,
    },
    Command {
        name: "load",
        arguments: "[--seconds N] [--short]",
        about: "a daemon with 1,000 producers, then with 256 hostile ones; N seconds each (default 60)",
        run: load::run,
    },
    Command {
        name: "interop",
        arguments: "[CELL...] [--list] [--keep] [--bless]",
        about: "fetch the C++ programs and trace with every combination of them and ours",
        run: interop::run,
    },
    Command {
        name: "kernels",
        arguments: "[SUITE...]",
        about: "events of the kernel on the kernels of Debian's releases, each in a virtual machine",
        run: kernels::run,
    },
    Command {
        name: "conformance",
        arguments: "[API_KIND...]",
        about: "fetch Google's conformance runner and pass it with each API kind of our code",
        run: conformance::run,
    },
    Command {
        name: "differential",
        arguments: "[--cases N]",
        about: "random messages through ours, prost, prost-reflect and rust-protobuf",
        run: differential::run,
    },
    Command {
        name: "man",
        arguments: "[DIRECTORY]",
        about: "manual pages of all programs (default target/man)",
        run: manual::man,
    },
    Command {
        name: "completions",
        arguments: "[DIRECTORY]",
        about: "completions for bash, elvish, fish, powershell and zsh (default target/completions)",
        run: manual::completions,
    },
    Command {
        name: "units",
        arguments: "",
        about: "install the systemd units into target/units and let systemd-analyze check them",
        run: units::run,
    },
    Command {
        name: "times",
        arguments: "[--record]",
        about: "how long generating the schema and clean builds take; --record writes docs/benchmarks.md",
        run: times::run,
    },
    Command {
        name: "bench",
        arguments: "[--json | --peers | --buffer | --service | --ftrace | --sdk] [--record]",
        about: "hot paths, or protobuf, trace buffer or service beside rivals; --record writes docs/benchmarks.md",
        run: bench::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map(String::as_str).unwrap_or("help");
    if matches!(name, "help" | "--help" | "-h") {
        help();
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|c| c.name == name) else {
        eprintln!("xtask: no command `{name}`; `cargo xtask help` lists them");
        return ExitCode::from(2);
    };
    let ctx = match Ctx::new() {
        Ok(ctx) => ctx,
        Err(error) => {
            eprintln!("xtask: {error}");
            return ExitCode::FAILURE;
        }
    };
    match (command.run)(&ctx, &arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn help() {
    println!("cargo xtask COMMAND\n");
    for command in COMMANDS {
        println!("  {} {}\n      {}", command.name, command.arguments, command.about);
    }
}
