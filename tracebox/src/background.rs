//! Goes to the background.
//!
//! A process with threads cannot fork safely. So the program starts itself again, with the same arguments and a
//! variable in the environment. The second process does the work; the first one waits for its status and exits:
//!
//! ```text
//!  perfetto -d ──starts──▶ perfetto -d (PERFETTO_IN_BACKGROUND) ── opens, connects, enables
//!      │  ◀────────────────── status byte on its stdout ────────── leaves the terminal
//!   prints pid, exits                                              records
//! ```

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use crate::console;
use crate::failure::{Context, Failure};

/// Set in the second process.
const VARIABLE: &str = "PERFETTO_IN_BACKGROUND";

/// Whether this is the second process.
#[must_use]
pub fn is_child() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// What the first process knows of the second one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// It has started.
    Yes,
    /// It has started, and not all that it was to record.
    InPart,
    /// It has failed, and has printed why. This is its exit code.
    No(u8),
    /// It has not sent its status in time, and continues.
    Unknown,
}

/// Starts this program again, in the background, and waits `timeout` at most for its status. Returns the
/// process id and the status. `name` is the program's, or `tracebox` and the program's.
///
/// # Errors
/// When it cannot be started.
pub fn start(words: &[OsString], name: &str, timeout: Duration) -> Result<(u32, Started), Failure> {
    let program = std::env::current_exe().context("cannot find this program again")?;
    let mut child = Command::new(program)
        .arg0(name.rsplit(' ').next().unwrap_or(name))
        .args(words)
        .env(VARIABLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start in the background")?;
    let pid = child.id();
    let Some(mut status) = child.stdout.take() else { return Ok((pid, Started::Unknown)) };
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let mut byte = [0];
        let is_told = matches!(status.read(&mut byte), Ok(1));
        // It fails after the timeout.
        let _ = sender.send(is_told.then_some(byte[0]));
    };
    std::thread::Builder::new().spawn(read).context("cannot start a thread")?;
    let started = match receiver.recv_timeout(timeout) {
        Ok(Some(b'0')) => Started::Yes,
        Ok(Some(_)) => Started::InPart,
        Ok(None) => {
            let code = child.wait().ok().and_then(|status| status.code()).unwrap_or(1);
            Started::No(u8::try_from(code).ok().filter(|&code| code != 0).unwrap_or(1))
        }
        Err(_) => Started::Unknown,
    };
    Ok((pid, started))
}

/// In the second process: leaves the terminal and the working directory. It keeps stderr.
///
/// # Errors
/// When the system refuses.
pub fn leave() -> Result<(), Failure> {
    // It fails only for the leader of a process group, which has no terminal to leave.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/").context("cannot change to /")?;
    let null = File::open("/dev/null").context("cannot open /dev/null")?;
    rustix::stdio::dup2_stdin(null).context("cannot leave stdin")
}

/// In the second process: tells the first one that it has started, `all` that it was to record or a part of it, and
/// closes stdout and stderr.
pub fn tell(all: bool) {
    tell_and_write_to(all, null());
}

/// What [`tell_and_write_to`] needs, for a program that may not open it later.
#[must_use]
pub fn null() -> Option<File> {
    OpenOptions::new().write(true).open("/dev/null").ok()
}

/// As [`tell`]; stdout and stderr are `null` from now on.
pub fn tell_and_write_to(all: bool, null: Option<File>) {
    let _ = std::io::stdout().write_all(if all { b"0" } else { b"1" });
    let _ = std::io::stdout().flush();
    if let Some(null) = null {
        // If it fails the streams stay open, and a script that waits for their end goes on waiting.
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Descriptor `fd`, which the parent process has left open for this program to write to.
///
/// # Errors
/// When there is none.
pub fn descriptor(fd: impl AsRef<OsStr>) -> Result<File, Failure> {
    let fd = fd.as_ref();
    let number = fd.to_str().and_then(|fd| fd.parse::<i32>().ok()).filter(|&fd| fd >= 0);
    let Some(number) = number else {
        return Err(Failure::new(format_args!("{} is not a descriptor", console::name(fd))));
    };
    // A copy by way of the pidfd: turning a bare number into an owned descriptor would be unsafe.
    let copy = pidfd_open(getpid(), PidfdFlags::empty())
        .and_then(|own| pidfd_getfd(own, number, PidfdGetfdFlags::empty()));
    match copy {
        Ok(copy) => Ok(File::from(copy)),
        // Some sandboxes forbid that. Opening its name in `/proc` gives the same pipe.
        Err(Errno::PERM | Errno::NOSYS) => {
            let path = format!("/proc/self/fd/{number}");
            OpenOptions::new().write(true).open(path).context(format_args!("descriptor {number}"))
        }
        Err(error) => {
            Err(Failure::new(format_args!("cannot write to descriptor {number}: {error}")))
        }
    }
}

/// Writes `status` to descriptor `fd` of this process.
///
/// # Errors
/// When there is no such descriptor, or it cannot be written.
pub fn notify(fd: impl AsRef<OsStr>, status: &[u8]) -> Result<(), Failure> {
    tell_to(&mut descriptor(fd)?, status)
}

/// Writes `status` to a [`descriptor`].
///
/// # Errors
/// When it cannot be written.
pub fn tell_to(descriptor: &mut File, status: &[u8]) -> Result<(), Failure> {
    descriptor.write_all(status).context("cannot write to the descriptor")
}
