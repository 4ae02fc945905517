//! Manual pages and completions. They are made from the declarations that also parse the command line, so they
//! name the same options. `cargo xtask man` and `cargo xtask completions` write all of them, for packages.

mod daemons;
mod doctor;
mod page;
mod pages;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory, Parser};
use clap_complete::{Shell, generate};

use crate::cli::{self, Perfetto};
use crate::console;
use crate::failure::{Context, Ending, Failure};
use crate::recorder::command as record;
use crate::{inspect, probes, trace, traced, trigger, units};

/// Prints completions of all programs for a shell.
#[derive(Parser, Debug)]
#[command(name = "completions", disable_help_subcommand = true)]
#[command(
    after_help = "For example: tracebox completions bash > ~/.local/share/bash-completion/completions/tracebox"
)]
struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
    /// The program: tracebox, perfetto, traced and so on [default: all]
    #[arg(value_name = "PROGRAM")]
    program: Option<String>,
    /// Write the completions of every program into this directory
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "program")]
    all: Option<PathBuf>,
}

/// Prints a manual page.
#[derive(Parser, Debug)]
#[command(name = "man", disable_help_subcommand = true)]
#[command(after_help = "For example: tracebox man perfetto | man -l -")]
struct ManualArgs {
    /// The program: tracebox, perfetto, tracebox-record and so on
    #[arg(value_name = "PROGRAM", default_value = "tracebox")]
    program: String,
    /// Write all pages into man1 and man8 of this directory, which are made if they are missing
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "program")]
    all: Option<PathBuf>,
}

/// `tracebox completions`.
///
/// # Errors
/// When the program has no completions of its own, or the output cannot be written.
pub fn completions(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<Completions>(name, words)? else { return Ok(0) };
    let script = |mut command: Command| {
        let mut script = Vec::new();
        let name = command.get_name().to_owned();
        generate(args.shell, &mut command, name, &mut script);
        script
    };
    if let Some(directory) = &args.all {
        for command in programs() {
            let file = file_of(args.shell, command.get_name());
            write(&directory.join(file), &script(command))?;
        }
        return Ok(0);
    }
    let is_meant =
        |command: &Command| args.program.as_deref().is_none_or(|p| p == command.get_name());
    let scripts: Vec<u8> = programs().into_iter().filter(is_meant).flat_map(script).collect();
    match &args.program {
        Some(program) if scripts.is_empty() => {
            let programs = programs();
            let names: Vec<_> = programs.iter().map(Command::get_name).collect();
            Err(absent("there are no completions", program, &names))
        }
        _ => print(&scripts),
    }
}

/// `tracebox man`.
///
/// # Errors
/// When the program has no page, or the output cannot be written.
pub fn man(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<ManualArgs>(name, words)? else { return Ok(0) };
    if let Some(directory) = &args.all {
        for page in pages::all(tracebox()) {
            // Where `man` looks for them, if the directory is in its path.
            let folder = directory.join(format!("man{}", page.section));
            std::fs::create_dir_all(&folder)
                .context(format_args!("cannot create {}", console::name(&folder)))?;
            let file = folder.join(format!("{}.{}", page.name, page.section));
            write(&file, page.render().as_bytes())?;
        }
        return Ok(0);
    }
    // `record` is a program of tracebox only, and its page is found by both names.
    let of_tracebox = format!("tracebox-{}", args.program);
    let is = |name: &str| name == args.program || name == of_tracebox;
    let pages = pages::all(tracebox());
    let names: Vec<_> = pages.iter().map(|page| page.name).collect();
    let page = pages.into_iter().find(|page| is(page.name));
    let page = page.ok_or_else(|| absent("there is no manual page", &args.program, &names))?;
    print(page.render().as_bytes())
}

/// The programs that are files of their own.
fn programs() -> Vec<Command> {
    vec![tracebox(), Perfetto::command(), trigger::command(), traced::command(), probes::command()]
}

/// `tracebox`: the options of perfetto, or a program and its arguments.
fn tracebox() -> Command {
    let applets = [
        Perfetto::command(),
        record::command_line(),
        trace::command(),
        inspect::lint_command(),
        inspect::stats_command(),
        crate::doctor::command(),
        trigger::command(),
        traced::command(),
        probes::command(),
        Completions::command(),
        units::command(),
        ManualArgs::command(),
    ];
    Perfetto::command()
        .name("tracebox")
        .about("Records this machine, with a service of its own")
        .args_conflicts_with_subcommands(true)
        .subcommands(applets)
}

/// The file name that the shell looks for.
fn file_of(shell: Shell, program: &str) -> String {
    match shell {
        Shell::Bash => program.to_owned(),
        Shell::Zsh => format!("_{program}"),
        Shell::Fish => format!("{program}.fish"),
        Shell::Elvish => format!("{program}.elv"),
        Shell::PowerShell => format!("_{program}.ps1"),
        other => format!("{program}.{other}"),
    }
}

fn absent(what: &str, program: &str, names: &[&str]) -> Failure {
    Failure::new(format_args!("{what} of {program:?}, only of {}", names.join(", ")))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).context(format_args!("cannot write {}", console::name(path)))
}

fn print(bytes: &[u8]) -> Ending {
    let mut stdout = std::io::stdout().lock();
    console::check_stdout(stdout.write_all(bytes).and_then(|()| stdout.flush())).map(|()| 0)
}

#[cfg(test)]
mod tests;
