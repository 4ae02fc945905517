//! What `traced` gives up before it serves: an attacker that finds a hole in it gets no more than this.
//!
//! ```text
//!   no new privileges   programs with set-user-id bits give none
//!   landlock            writes: only below some folders; runs no program, opens no device
//!   seccomp             system calls: only those that the service needs; it connects nowhere, sends to no
//!                       address, and gives no file a set-user-id bit
//! ```
//!
//! Descriptors that were open before, or that a consumer passes, are not restricted: who opened them had the right to.
//! Reading is left to the rights of the user: the service reads `/proc` of its peers, and time zones.
//!
//! A kernel without one of these runs the service without it, and the log says so.

mod calls;
mod files;

use std::fmt;

use crate::console;

use files::Enforced;
pub(super) use files::{Folders, writable};

/// What the kernel enforces from now on; its `Display` is a line for the log.
#[derive(Debug)]
pub(super) struct Confinement {
    privileges: Result<(), String>,
    files: Result<Enforced, String>,
    /// Where consumers may have files created.
    traces: String,
    calls: Result<usize, String>,
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.files {
            Ok(enforced) => {
                f.write_str(match enforced {
                    Enforced::All => "Confined: landlock for files",
                    Enforced::Part => {
                        "Confined in part: landlock for files, of which this kernel has less than Linux 6.12"
                    }
                })?;
                write!(f, ", consumers' only below {}", self.traces)?;
            }
            Err(reason) => write!(f, "Not confined by landlock ({reason})")?,
        }
        match &self.calls {
            Ok(count) => write!(f, "; {count} system calls by seccomp"),
            Err(reason) => write!(f, "; not confined by seccomp ({reason})"),
        }?;
        match &self.privileges {
            Ok(()) => Ok(()),
            Err(reason) => write!(f, "; programs may give it privileges ({reason})"),
        }
    }
}

/// From now on no program gives privileges to this thread, and to those that it starts. Neither landlock nor seccomp
/// is needed for that.
pub(super) fn gain_nothing() -> Result<(), String> {
    rustix::thread::set_no_new_privs(true).map_err(|error| error.to_string())
}

/// Confines this thread, and those that it starts; system calls are restricted in all threads of the process. The
/// threads that write the log, watch the loop and close sockets run before, and keep the rights to files that they do
/// not use. `privileges`: what [`gain_nothing`] has answered, before there were threads.
pub(super) fn confine(folders: &Folders, privileges: Result<(), String>) -> Confinement {
    let traces: Vec<String> = folders.traces.iter().map(console::name).collect();
    // Landlock's own calls are not among those that are left.
    let files = files::restrict(folders);
    Confinement { privileges, files, traces: traces.join(" "), calls: calls::restrict() }
}

#[cfg(test)]
mod tests;
