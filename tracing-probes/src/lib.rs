//! Linux data sources: they read files of the kernel in `/proc` and `/sys`, and write packets.
//!
//! | data source | config | reads | writes |
//! |---|---|---|---|
//! | `linux.ftrace` | `FtraceConfig` | `/sys/kernel/tracing` | `FtraceEventBundle`, `FtraceStats` |
//! | `linux.frozen_ftrace` | `FrozenFtraceConfig` | an instance of tracefs | `FtraceEventBundle`, `FtraceStats` |
//! | `linux.inode_file_map` | `InodeFileConfig` | folders, when events name inodes | `InodeFileMap` |
//! | `linux.process_stats` | `ProcessStatsConfig` | `/proc/PID` | `ProcessTree`, `ProcessStats` |
//! | `linux.sys_stats` | `SysStatsConfig` | `/proc`, `/sys` | `SysStats` |
//! | `linux.sysfs_power` | | `/sys/class/power_supply` | `BatteryCounters` |
//! | `linux.system_info` | `SystemInfoConfig` | `/proc/cpuinfo`, `/sys` | `CpuInfo`, `InterruptInfo` |
//! | `linux.systemd_journald` | `SystemdJournaldConfig` | what `journalctl` prints | `SystemdJournaldEvent` |
//!
//! Each source but `linux.ftrace` is a kind of *probe*; `probe` says what that consists of. All instances of a kind
//! have one thread, and so have those of `linux.ftrace`, whose pages hold the events of all instances (`ftrace`). Some
//! kinds take threads, files and inodes that these events name (`facts`).
//!
//! ```text
//!  thread of the producer                       thread of the kind
//!  source ── admits, or refuses ──> inbox ──> scheduler ──> probe ──> output
//!            instances              one order    which         reads     fills
//!                                   for each     instance is   files     packets
//!                                                due next
//! ```
//!
//! So a config of thousands of sources, and any number of flushes, take a bounded number of threads, descriptors and
//! bytes (`limits`); and a file that does not answer delays its own kind alone. An instance beyond the bounds records
//! nothing; the ledger of its session tells so. The bound is one of each session, because a producer does not know the
//! users of sessions, and the service bounds the sessions of a user.
//!
//! Trust: the kernel is trusted, but not the text it prints: any process chooses its name, and formats change
//! with versions. A line that does not parse is skipped. A file that cannot be read is named once in the log
//! and not read again. A process that ends while it is read is left out.

mod boost;
mod facts;
mod ftrace;
mod inbox;
mod inode_file_map;
mod instances;
mod limits;
mod output;
mod parse;
mod polled_files;
mod probe;
mod process_stats;
mod root;
mod scheduler;
mod source;
mod sys_stats;
mod sysfs_power;
mod system_info;
mod systemd_journald;

#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use self::ftrace::offline;
pub use self::ftrace::{
    FTRACE_LOCK, FTRACE_ROOTS, FtraceCategory, FtraceOptions, FtraceRecords, ftrace_categories,
    ftrace_records, ftrace_records_of_others,
};
pub use self::root::Root;

use std::time::Duration;

use abi::sync::Arc;
use client::producer::{Producer, ProducerError, ProducerOptions};

use self::boost::Boosts;
use self::facts::Exchange;
use self::ftrace::{FrozenFtraceProbe, FtraceSource};
use self::inode_file_map::InodeFileMapProbe;
use self::probe::{Probe, descriptor};
use self::process_stats::ProcessStatsProbe;
use self::source::Source;
use self::sys_stats::SysStatsProbe;
use self::sysfs_power::SysfsPowerProbe;
use self::system_info::SystemInfoProbe;
use self::systemd_journald::JournaldProbe;

/// Name of the producer with these sources. It is that of upstream's program, so that the
/// `producer_name_filter`s of configs keep working.
pub const PRODUCER_NAME: &str = "perfetto.traced_probes";

/// Chunks that fill within this time are committed together, ms: a pass over the rings of ftrace fills some hundred,
/// and each commit wakes the thread of the connection. What a session flushes, and half of the memory, leaves at once.
const COMMITS_MS: u32 = 10;

/// Options of a producer with these sources. A scan of all processes is one packet of some hundred
/// kilobytes, so it asks for more memory and larger pages than the default.
#[must_use]
pub fn options() -> ProducerOptions {
    let mut options = ProducerOptions::new(PRODUCER_NAME);
    options.shm_bytes_hint = 1024 * 1024;
    options.page_bytes_hint = 32 * 1024;
    options.batch_commits_ms = COMMITS_MS;
    options
}

/// Registers all sources of this machine.
///
/// # Errors
/// If one of the names is registered already.
pub fn register_all(producer: &Producer, ftrace: FtraceOptions) -> Result<(), ProducerError> {
    register_all_at(producer, &Root::system(), ftrace)
}

/// The names of all data sources.
///
/// ```
/// assert!(tracing_probes::NAMES.contains(&"linux.sys_stats"));
/// ```
pub const NAMES: [&str; 8] = [
    ftrace::NAME,
    FrozenFtraceProbe::NAME,
    InodeFileMapProbe::NAME,
    ProcessStatsProbe::NAME,
    SysStatsProbe::NAME,
    SysfsPowerProbe::NAME,
    SystemInfoProbe::NAME,
    JournaldProbe::NAME,
];

/// Registers all sources, reading below `root`.
///
/// # Errors
/// If one of the names is registered already.
pub fn register_all_at(
    producer: &Producer,
    root: &Root,
    ftrace: FtraceOptions,
) -> Result<(), ProducerError> {
    let exchange = Arc::<Exchange>::default();
    let boosts = &Arc::new(Boosts::new(root, producer.threads()));
    let processes = Source::<ProcessStatsProbe>::new(root, boosts).with_facts(&exchange);
    let inodes = Source::<InodeFileMapProbe>::new(root, boosts).with_facts(&exchange);
    register(producer, processes)?;
    register(producer, inodes)?;
    register(producer, Source::<SysfsPowerProbe>::new(root, boosts))?;
    register(producer, Source::<SysStatsProbe>::new(root, boosts))?;
    register(producer, Source::<SystemInfoProbe>::new(root, boosts))?;
    register(producer, Source::<JournaldProbe>::new(root, boosts))?;
    register(producer, Source::<FrozenFtraceProbe>::new(root, boosts))?;
    producer.register(ftrace::descriptor(), FtraceSource::new(root, ftrace, &exchange, boosts))
}

/// Registers the source of a kind of probe.
fn register<P: Probe>(producer: &Producer, source: Source<P>) -> Result<(), ProducerError> {
    producer.register(descriptor::<P>(), source)
}

/// Stops all recording of the kernel's events by ftrace, also that of other programs, and empties its rings: for a
/// kernel that a program left in the middle of a recording. The texts tell what could not be reset, and what to do.
#[must_use]
pub fn reset_ftrace() -> Vec<String> {
    ftrace::hard_reset(&Root::system())
}

/// Serves all sources below `root` to a running service until `stop` returns; connects again
/// whenever the service goes away. `ready` is called once the service knows all sources.
///
/// # Errors
/// If the service's address is not valid.
pub fn run(
    options: ProducerOptions,
    root: &Root,
    ftrace: FtraceOptions,
    ready: impl FnOnce() + Send,
    stop: impl FnOnce(),
) -> Result<(), ProducerError> {
    let producer = Producer::connect(options)?;
    register_all_at(&producer, root, ftrace)?;
    // `stop` must work without a service, too: the wait for `ready` goes on in a thread of its own.
    if producer.sync(READY_WAIT) {
        ready();
        stop();
        return Ok(());
    }
    std::thread::scope(|scope| {
        let (running, stopped) = std::sync::mpsc::channel::<()>();
        let producer = &producer;
        scope.spawn(move || {
            while stopped.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
                if producer.sync(READY_WAIT) {
                    ready();
                    break;
                }
            }
        });
        stop();
        drop(running);
    });
    Ok(())
}

/// How long to wait for the service at a time.
const READY_WAIT: Duration = Duration::from_millis(500);
