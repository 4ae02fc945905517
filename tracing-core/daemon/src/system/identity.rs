//! Acting with the rights of a consumer: a thread takes them, and never gives them back.
//!
//! The kernel has credentials for each thread. (The C library changes those of all threads at once; these calls do
//! not.) So the thread that opens the file of a consumer, and writes it, has no more rights than that consumer, while
//! the rest of the daemon stays what it is.
//!
//! Only the effective user changes, which counts for files. A process of the consumer may send signals to threads with
//! its real or saved user, and one signal ends the whole daemon.

use abi::error::OsError;
use os::failed;
use rustix::process::{Gid, Uid};
use rustix::thread::{capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// The user and the groups of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Effective user.
    pub uid: u32,
    /// Effective group.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

impl Identity {
    /// Gives them to the calling thread, for as long as it lives.
    ///
    /// # Errors
    /// When this process may not, because it is not root's, or when the thread keeps capabilities nevertheless. Then
    /// some of the rights may have changed: end the thread.
    pub fn assume(&self) -> Result<(), OsError> {
        let groups: Vec<Gid> = self.groups.iter().map(|&gid| Gid::from_raw(gid)).collect();
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&groups).map_err(failed("setgroups"))?;
        set_thread_res_gid(None, gid, None).map_err(failed("setresgid"))?;
        set_thread_res_uid(None, uid, None).map_err(failed("setresuid"))?;
        let kept = capabilities(None).map_err(failed("capget"))?.effective;
        if self.uid != 0 && !kept.is_empty() {
            return Err(OsError::new("setresuid", libc::EPERM));
        }
        Ok(())
    }
}
