//! This process and its machine: credentials, randomness, limits, kernel.

use std::path::Path;

use crate::{failed, sys};
use abi::error::OsError;

/// The machine and its kernel, as the kernel describes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// `Linux`.
    pub sysname: String,
    /// `#1 SMP PREEMPT_DYNAMIC ...`.
    pub version: String,
    /// `6.12.0-1-amd64`.
    pub release: String,
    /// `x86_64`.
    pub machine: String,
    /// Size of a page of memory, bytes.
    pub page_bytes: u32,
    /// Kernel ticks per second: the unit of times in `/proc/PID/stat`.
    pub ticks_per_second: u64,
    /// Processors of the machine, including those that are off or not available to this process.
    pub cpu_count: u32,
    /// Memory, bytes.
    pub ram_bytes: u64,
}

impl Machine {
    /// Asks the kernel.
    #[must_use]
    pub fn read() -> Self {
        let [sysname, release, version, machine] = sys::uname();
        Self {
            sysname,
            version,
            release,
            machine,
            page_bytes: u32::try_from(sys::page_bytes()).unwrap_or(4096),
            ticks_per_second: sys::ticks_per_second(),
            cpu_count: cpus_configured(Path::new("/sys/devices/system/cpu")),
            ram_bytes: sys::ram_bytes(),
        }
    }
}

/// Counts the folders `cpu0`, `cpu1` ...; without them, the processors that are online.
fn cpus_configured(folder: &Path) -> u32 {
    let is_cpu = |name: &std::ffi::OsStr| {
        let number = name.as_encoded_bytes().strip_prefix(b"cpu").unwrap_or_default();
        !number.is_empty() && number.iter().all(u8::is_ascii_digit)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    match entries.filter(|entry| is_cpu(&entry.file_name())).count() {
        0 => sys::cpus_online(),
        count => u32::try_from(count).unwrap_or(u32::MAX),
    }
}

/// A random number from the kernel: the seed of everything that must differ between two runs.
///
/// # Errors
/// Only on kernels without `getrandom`, older than 3.17.
pub fn random_seed() -> Result<u64, OsError> {
    let mut bytes = [0_u8; 8];
    let mut filled = 0;
    // A signal never interrupts a request of up to 256 bytes, but the loop costs nothing.
    while filled < bytes.len() {
        filled += sys::random(&mut bytes[filled..]).map_err(failed("getrandom"))?;
    }
    Ok(u64::from_le_bytes(bytes))
}

/// Raises the limit of descriptors of this process as far as the system allows, and returns the limit. Each connection
/// needs one descriptor, and the memory of each producer another.
///
/// Only for daemons: code that calls `select` fails for descriptors above 1024.
#[cfg(feature = "host")]
#[must_use]
pub fn raise_descriptor_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // If the limit cannot be raised, it stays as it was.
    let _ = setrlimit(Resource::Nofile, raised);
    descriptor_limit()
}

/// How many descriptors this process may have open.
#[cfg(feature = "host")]
#[must_use]
pub fn descriptor_limit() -> u64 {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// How many descriptors this process may still open. None if the kernel does not tell, as without `/proc`.
#[cfg(feature = "host")]
#[must_use]
pub fn descriptors_left() -> Option<u64> {
    descriptors_open().map(|open| descriptor_limit().saturating_sub(open))
}

#[cfg(feature = "host")]
const DESCRIPTORS: &str = "/proc/self/fd";

/// How many descriptors of this process are open.
#[cfg(feature = "host")]
fn descriptors_open() -> Option<u64> {
    match std::fs::metadata(DESCRIPTORS).ok()?.len() {
        0 => std::fs::read_dir(DESCRIPTORS).ok().map(|all| all.count() as u64),
        count => Some(count),
    }
}

/// Whether the kernel knows how many descriptors are open: since Linux 6.2, their number is the size of the folder.
/// Before, that is 0, and to count them takes a microsecond or two for each.
#[cfg(feature = "host")]
#[must_use]
pub fn knows_descriptors() -> bool {
    std::fs::metadata(DESCRIPTORS).is_ok_and(|folder| folder.len() != 0)
}

/// The effective user of this process.
#[must_use]
pub fn effective_uid() -> u32 {
    sys::effective_uid()
}

/// The id of this process.
#[must_use]
pub fn pid() -> i32 {
    std::process::id().cast_signed()
}
