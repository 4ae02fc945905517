//! This process, as the trace describes it.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::hash::fnv1a;

static UUID: AtomicU64 = AtomicU64::new(0);

/// The uuid of the process: a hash of its start time and its id, as in the C++ SDK (`track.cc`).
#[inline]
pub(crate) fn uuid() -> u64 {
    match UUID.load(Ordering::Relaxed) {
        0 => compute(),
        uuid => uuid,
    }
}

#[cold]
fn compute() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let start = start_ticks(&stat).filter(|&start| start != 0).unwrap_or_else(random);
    let uuid = uuid_of(start, std::process::id());
    match UUID.compare_exchange(0, uuid, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => uuid,
        Err(other) => other,
    }
}

/// In a forked process, which has its own uuid.
pub(crate) fn forget_after_fork() {
    UUID.store(0, Ordering::Relaxed);
}

pub(super) fn uuid_of(start: u64, pid: u32) -> u64 {
    let mut bytes = [0; 12];
    let (time, id) = bytes.split_at_mut(8);
    time.copy_from_slice(&start.to_le_bytes());
    id.copy_from_slice(&pid.to_le_bytes());
    fnv1a(&bytes)
}

/// The time when a process started, in ticks since boot: field 22 of `/proc/PID/stat`. The name of the program, in
/// parentheses, may contain spaces and parentheses.
pub(super) fn start_ticks(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(')')?;
    after.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// A number that other processes, and other copies of the SDK in this one, do not get.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    // The keys of hash maps are random.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// How much of its command line a process writes, bytes. Each sequence describes the process, and again after each
/// clear: what is longer would fill the shared memory, or the ring.
const COMMAND_LINE_LEN_MAX: usize = 1024;

/// The arguments of the process, the program first, up to [`COMMAND_LINE_LEN_MAX`] bytes.
pub(crate) fn command_line() -> Arc<[String]> {
    static KNOWN: Mutex<Option<Arc<[String]>>> = Mutex::new(None);
    let arguments = || std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    // In a forked process a thread that is not there may have the lock.
    match KNOWN.try_lock() {
        Ok(mut known) => known.get_or_insert_with(|| cut(arguments())).clone(),
        Err(_) => cut(arguments()),
    }
}

/// As many arguments as have [`COMMAND_LINE_LEN_MAX`] bytes in all, each with a NUL; the last one may be a part.
pub(super) fn cut(arguments: impl Iterator<Item = String>) -> Arc<[String]> {
    let mut left = COMMAND_LINE_LEN_MAX;
    let fitting = arguments.map_while(|mut argument| {
        if left == 0 {
            return None;
        }
        let mut len = argument.len().min(left);
        while !argument.is_char_boundary(len) {
            len -= 1;
        }
        // Behind a part there is nothing.
        left = if len == argument.len() { left.saturating_sub(len + 1) } else { 0 };
        argument.truncate(len);
        Some(argument)
    });
    fitting.collect()
}

/// The longest name of a thread in the kernel, bytes.
const COMM_LEN_MAX: usize = 15;

/// The name of a thread of this process; none if the kernel may have cut it.
pub(crate) fn name_of_thread(tid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).ok()?;
    let name = name.trim_end_matches('\n');
    (!name.is_empty() && name.len() < COMM_LEN_MAX).then(|| name.to_owned())
}

/// The name of the calling thread.
pub(crate) fn thread_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/thread-self/comm").ok();
    let name =
        name.map(|name| name.trim_end_matches('\n').to_owned()).filter(|name| !name.is_empty());
    match std::thread::current().name() {
        // The kernel cuts names at 15 bytes; the main thread has the name of the program there.
        Some(full) if full != "main" => Some(full.to_owned()),
        _ => name,
    }
}
