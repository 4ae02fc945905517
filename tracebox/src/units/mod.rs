//! `tracebox install-units`: the systemd units of `traced` and `traced_probes`.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use crate::cli;
use crate::console;
use crate::failure::{Context, Ending, Failure};

/// The program in the units as they are in the repository.
const PROGRAM: &str = "/usr/bin/tracebox";

/// Where each file belongs, and its text.
const FILES: &[(&str, &str)] = &[
    ("etc/systemd/system/traced.service", include_str!("../../systemd/traced.service")),
    (
        "etc/systemd/system/traced-producer.socket",
        include_str!("../../systemd/traced-producer.socket"),
    ),
    (
        "etc/systemd/system/traced-consumer.socket",
        include_str!("../../systemd/traced-consumer.socket"),
    ),
    (
        "etc/systemd/system/traced-probes.service",
        include_str!("../../systemd/traced-probes.service"),
    ),
    ("etc/sysusers.d/perfetto.conf", include_str!("../../systemd/perfetto.conf")),
];

/// What lets `traced_probes` record the kernel: a part of its unit.
const KERNEL: (&str, &str) = (
    "etc/systemd/system/traced-probes.service.d/kernel.conf",
    include_str!("../../systemd/kernel.conf"),
);

/// The next commands for root, and the purpose of each.
const NEXT: &str = "\
Next, as root:
  systemd-sysusers                                  # makes the group perfetto
  systemctl daemon-reload
  systemctl enable --now traced-producer.socket traced-consumer.socket traced-probes.service
  systemctl try-restart traced-probes.service       # if it ran before
  usermod --append --groups perfetto USER           # USER may record, after the next login";

/// Directories that the units cannot see into: ProtectHome and PrivateTmp hide them.
const HIDDEN: &[&str] = &["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/// Installs systemd units that run the tracing service and the data sources of this machine.
#[derive(Parser, Debug)]
#[command(name = "install-units", disable_help_subcommand = true)]
#[command(
    after_help = "Every program of the machine can be traced then, and members of the group perfetto can \
    record.\n\
    It only writes the files, and prints the commands that come next."
)]
struct InstallUnits {
    /// Write the files below this directory
    #[arg(long, value_name = "DIRECTORY", default_value = "/")]
    root: PathBuf,
    /// Let traced_probes record events of the kernel (linux.ftrace): it runs as root then
    #[arg(long)]
    kernel: bool,
    /// The tracebox that the units start [default: this one]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// The command line, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    InstallUnits::command()
}

/// Writes the units.
///
/// # Errors
/// When a unit cannot start the program, or a file cannot be written.
pub fn main(name: &str, words: &[OsString]) -> Ending {
    let Some(args) = cli::parse::<InstallUnits>(name, words)? else { return Ok(0) };
    let program = match args.program {
        Some(program) => std::path::absolute(program).context("no working directory")?,
        None => std::env::current_exe().context("cannot find this program")?,
    };
    let program = unit_path(&program)?;
    // Otherwise the units are for another machine.
    if args.root == Path::new("/") {
        check_kernel(take_descriptor())?;
    }
    for file in FILES.iter().chain(args.kernel.then_some(&KERNEL)) {
        write(&args.root, file, program)?;
    }
    if !args.kernel {
        remove_kernel(&args.root)?;
    }
    console::log(NEXT);
    Ok(0)
}

/// Writes a file of the units below `root`.
fn write(root: &Path, (file, text): &(&str, &str), program: &str) -> Result<(), Failure> {
    let path = root.join(file);
    let folder = path.parent().unwrap_or(root);
    std::fs::create_dir_all(folder)
        .context(format_args!("cannot create {}", console::name(folder)))?;
    std::fs::write(&path, text.replace(PROGRAM, program))
        .context(format_args!("cannot write {}", console::name(&path)))?;
    console::log(&format!("Wrote {}", console::name(&path)));
    Ok(())
}

/// Removes what an installation with `--kernel` left.
fn remove_kernel(root: &Path) -> Result<(), Failure> {
    let path = root.join(KERNEL.0);
    match std::fs::remove_file(&path) {
        Ok(()) => {
            console::log(&format!("Removed {} (--kernel writes it)", console::name(&path)));
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).context(format_args!("cannot remove {}", console::name(&path))),
    }
}

/// As `traced` takes the sockets of its units.
fn take_descriptor() -> rustix::io::Result<()> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    pidfd_getfd(&own, 2, PidfdGetfdFlags::empty()).map(drop)
}

fn check_kernel(taken: rustix::io::Result<()>) -> Result<(), Failure> {
    match taken {
        Err(Errno::NOSYS) => Err(Failure::new(
            "with these units traced needs Linux 5.6 or later, to take over the sockets that systemd opens: on this \
             machine start it by hand, with `traced --background`",
        )),
        // Other failures, as those of a sandbox, do not concern the units.
        _ => Ok(()),
    }
}

/// The path as it stands in a unit.
fn unit_path(program: &Path) -> Result<&str, Failure> {
    let refused = |why: &str| {
        let program = console::name(program);
        Err(Failure::new(format_args!(
            "a unit cannot start {program}: {why} (copy tracebox to /usr/local/bin, or name one with --program)"
        )))
    };
    if HIDDEN.iter().any(|hidden| program.starts_with(hidden)) {
        return refused("units do not see this directory");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    match program.to_str().filter(|path| path.chars().all(plain)) {
        Some(path) => Ok(path),
        None => refused("its path has characters that units quote"),
    }
}

#[cfg(test)]
mod tests;
