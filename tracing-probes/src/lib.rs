//! Linux data sources: what the kernel says in `/proc` and `/sys`, as packets of a trace.
//!
//! | data source | config | reads | writes |
//! |---|---|---|---|
//! | `linux.process_stats` | `ProcessStatsConfig` | `/proc/PID` | `ProcessTree`, `ProcessStats` |
//! | `linux.sys_stats` | `SysStatsConfig` | `/proc`, `/sys` | `SysStats` |
//! | `linux.system_info` | `SystemInfoConfig` | `/proc/cpuinfo`, `/sys` | `CpuInfo`, `InterruptInfo` |
//!
//! Each source is a *probe*: a value that reads files below a [`Root`] and fills packets, knowing
//! neither threads nor clocks. One thread per running instance owns the probe and its writer, ticks
//! it at multiples of its period, and listens in between; so a stop or a flush never waits for a
//! timer, and a slow file holds up nobody else.
//!
//! Trust: the kernel is, what it prints is not quite: names come from any process, formats change
//! with versions. A line that does not parse is skipped, a file that cannot be read is named once in
//! the log and left alone, a process that vanishes half-way was not there.

mod output;
mod parse;
mod process_stats;
mod root;
mod source;
mod sys_stats;
mod system_info;

#[cfg(test)]
mod tests;

pub use self::root::Root;

use std::time::Duration;

use tracing_core::client::producer::{Producer, ProducerError, ProducerOptions};

use self::process_stats::ProcessStatsProbe;
use self::source::{Source, descriptor};
use self::sys_stats::SysStatsProbe;
use self::system_info::SystemInfoProbe;

/// Name under which these sources register: that of the program which has them upstream, so that
/// `producer_name_filter`s written for it keep working.
pub const PRODUCER_NAME: &str = "perfetto.traced_probes";

/// How a producer with these sources presents itself. A scan of all processes is one packet of
/// some hundred kilobytes, hence the wish for more memory and larger pages than the default.
#[must_use]
pub fn options() -> ProducerOptions {
    let mut options = ProducerOptions::new(PRODUCER_NAME);
    options.shm_bytes_hint = 1024 * 1024;
    options.page_bytes_hint = 32 * 1024;
    options
}

/// Registers all sources of this machine.
///
/// # Errors
/// If one of the names is registered already.
pub fn register_all(producer: &Producer) -> Result<(), ProducerError> {
    register_all_at(producer, &Root::system())
}

/// Registers all sources, reading below `root`.
///
/// # Errors
/// If one of the names is registered already.
pub fn register_all_at(producer: &Producer, root: &Root) -> Result<(), ProducerError> {
    producer.register(descriptor::<ProcessStatsProbe>(), Source::<ProcessStatsProbe>::new(root))?;
    producer.register(descriptor::<SysStatsProbe>(), Source::<SysStatsProbe>::new(root))?;
    producer.register(descriptor::<SystemInfoProbe>(), Source::<SystemInfoProbe>::new(root))
}

/// Serves all sources of this machine to a running service until `stop` returns; connects again
/// whenever the service goes away. `waiting` is called if there is no service yet, and `ready` once the service
/// knows all sources.
///
/// # Errors
/// If the service's address makes no sense.
pub fn run(
    options: ProducerOptions,
    waiting: impl FnOnce(),
    ready: impl FnOnce() + Send,
    stop: impl FnOnce(),
) -> Result<(), ProducerError> {
    let producer = Producer::connect(options)?;
    register_all(&producer)?;
    // `stop` must work without a service, too: the wait for `ready` goes on in a thread of its own.
    if producer.sync(READY_WAIT) {
        ready();
        stop();
        return Ok(());
    }
    if !producer.is_connected() {
        waiting();
    }
    std::thread::scope(|scope| {
        let (over, stopped) = std::sync::mpsc::channel::<()>();
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
        drop(over);
    });
    Ok(())
}

const READY_WAIT: Duration = Duration::from_millis(500);
