//! The kernel's tracing files.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Access;
use tracing_core::os::process::effective_uid;
use tracing_probes::{
    FTRACE_LOCK, FTRACE_ROOTS, FtraceRecords, ftrace_categories, ftrace_records,
    ftrace_records_of_others,
};

use super::super::facts::{Process, Records, Tracefs, TracefsState};
use super::files::{may, owner, process, text};

/// Files that a recording reads.
const READ: [&str; 4] =
    ["trace", "events/header_page", "per_cpu/cpu0/stats", "per_cpu/cpu0/trace_pipe_raw"];

/// Files that a recording writes.
const WRITTEN: [&str; 7] = [
    "tracing_on",
    "trace",
    "trace_clock",
    "buffer_size_kb",
    "set_event",
    "events/enable",
    "events/sched/sched_switch/enable",
];

/// Names of enabled events that are kept.
const ENABLED_MAX: usize = 3;

pub(super) fn read() -> Tracefs {
    let mounts = text("/proc/mounts");
    let roots: Vec<String> = FTRACE_ROOTS.iter().map(|root| format!("/{root}")).collect();
    let mount = roots.iter().find_map(|root| Some((root, mount_options(&mounts, root)?)));
    let path = mount.map(|(path, _)| path);
    let mut tracefs = Tracefs {
        is_in_kernel: roots.iter().any(|root| Path::new(root).exists()),
        path: path.cloned(),
        is_read_only: mount.is_some_and(|(_, options)| options.split(',').any(|o| o == "ro")),
        records: records(&ftrace_records(), path.map(Path::new), effective_uid()),
        ..Tracefs::default()
    };
    let Some(path) = path.map(Path::new) else { return tracefs };
    tracefs.owner = owner(path);
    tracefs.claimed_by = lock_holder(path);
    tracefs.closed = closed(path);
    if may(&path.join("set_event"), Access::READ_OK) {
        tracefs.state = Some(state(path));
    }
    tracefs
}

/// The options of the tracefs that is mounted at `path`, by the text of `/proc/mounts`. Of several the last one is
/// seen. Below debugfs the kernel mounts one by itself.
pub(super) fn mount_options<'a>(mounts: &'a str, path: &str) -> Option<&'a str> {
    let options = |line: &'a str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let is_one = fields.next() == Some(path) && fields.next() == Some("tracefs");
        fields.next().filter(|_| is_one)
    };
    mounts.lines().filter_map(options).next_back()
}

fn closed(path: &Path) -> Vec<String> {
    let lacks = |access: Access| {
        move |file: &&str| path.join(file).exists() && !may(&path.join(file), access)
    };
    if !may(path, Access::EXEC_OK) {
        return vec![path.display().to_string()];
    }
    let unread = READ.iter().copied().filter(|file| lacks(Access::READ_OK)(file));
    let unwritten = WRITTEN.iter().copied().filter(|file| lacks(Access::WRITE_OK)(file));
    let mut closed: Vec<String> = unread.chain(unwritten).map(str::to_owned).collect();
    closed.sort_unstable();
    closed.dedup();
    closed
}

fn state(path: &Path) -> TracefsState {
    let lines =
        |file: &str| -> Vec<String> { text(path.join(file)).lines().map(str::to_owned).collect() };
    let instances = std::fs::read_dir(path.join("instances")).into_iter().flatten().flatten();
    let mut instances: Vec<String> =
        instances.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    instances.sort_unstable();
    let mut enabled: Vec<String> = lines("set_event");
    let enabled_count = enabled.len();
    enabled.truncate(ENABLED_MAX);
    let clocks = text(path.join("trace_clock"));
    let has = |(group, name): &&(&str, &str)| path.join(format!("events/{group}/{name}")).exists();
    let categories = ftrace_categories();
    let categories = categories
        .iter()
        .map(|of| (of.name, of.events.iter().filter(has).count(), of.events.len()));
    TracefsState {
        tracer: text(path.join("current_tracer")),
        is_on: text(path.join("tracing_on")) == "1",
        enabled,
        enabled_count,
        instances,
        clocks: clocks
            .split_whitespace()
            .map(|clock| clock.trim_matches(['[', ']']).to_owned())
            .collect(),
        categories: categories.collect(),
    }
}

/// The records of recordings of user `uid`, this one, that run, or were killed; and which program records, which may be
/// that of another user: it has locked tracefs.
pub(super) fn records(folder: &Path, tracefs: Option<&Path>, uid: u32) -> Records {
    let holder = || {
        let of_tracefs = || lock_holder(&tracefs?.join(FTRACE_LOCK));
        lock_holder(&folder.join("lock")).or_else(of_tracefs)
    };
    let owner = std::fs::symlink_metadata(folder).map(|metadata| metadata.uid());
    let entries = match (owner, std::fs::read_dir(folder)) {
        // Those of another user: this one has none.
        (Ok(owner), _) if owner != uid => {
            return Records::Seen { files: Vec::new(), holder: holder() };
        }
        (_, Ok(entries)) => entries,
        (_, Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            return Records::Seen { files: Vec::new(), holder: holder() };
        }
        (_, Err(_)) => return Records::Hidden,
    };
    let mut files: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    files.retain(|name| name.ends_with(".ftrace"));
    files.sort_unstable();
    Records::Seen { files, holder: holder() }
}

/// What killed recordings of other users have left, for root: others may not read it.
pub(super) fn records_of_others() -> Vec<FtraceRecords> {
    if effective_uid() == 0 { killed(ftrace_records_of_others()) } else { Vec::new() }
}

/// Those of recordings that do not run any more: a program that does has locked its folder.
pub(super) fn killed(mut records: Vec<FtraceRecords>) -> Vec<FtraceRecords> {
    records.retain(|records| lock_holder(&records.folder.join("lock")).is_none());
    records
}

/// The process that has locked a file: as the kernel lists it, since to try would take the lock.
fn lock_holder(lock: &Path) -> Option<Process> {
    // Another user may have made a link of it.
    let metadata = std::fs::symlink_metadata(lock).ok()?;
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    locked_by(&text("/proc/locks"), major, minor, metadata.ino()).map(process)
}

/// The process with a lock on a file, in the text of `/proc/locks`.
pub(super) fn locked_by(locks: &str, major: u32, minor: u32, inode: u64) -> Option<i32> {
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    let holder = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let at = fields.iter().position(|field| *field == file)?;
        fields.get(at.checked_sub(1)?)?.parse().ok()
    };
    // A process that waits for a lock has `->`.
    locks.lines().filter(|line| !line.contains("->")).find_map(holder)
}
