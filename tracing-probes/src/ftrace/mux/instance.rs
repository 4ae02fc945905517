//! An instance of tracefs, taken for the first session: recording and events off, the ring cleared, its clock and size,
//! no filter of others.

use protos::FtraceClock;

use super::change::{Change, text};
use super::filters;
use super::journal::{Transaction, Until};
use crate::ftrace::RUN_AS_ROOT;
use crate::ftrace::config::{Config, Refusal, SyscallArch};
use crate::ftrace::tracefs::{BufferKb, Directory, Tracefs, buffer_kb, clocks, events_listed};

/// What the machine is.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// CPUs that the kernel can have, and that are not on.
    pub(crate) offline_cpus: Vec<u32>,
    /// Bytes of memory; 0 if that is not known.
    pub(crate) ram_bytes: u64,
    /// Kilobytes of a page of memory.
    pub(crate) page_kb: u32,
    /// Whose system calls the kernel has.
    pub(crate) arch: SyscallArch,
}

/// The clock of events, as traces name it.
fn clock_of_name(name: &str) -> FtraceClock {
    match name {
        // The clock of traces: no field.
        "boot" => FtraceClock::FTRACE_CLOCK_UNSPECIFIED,
        "global" => FtraceClock::FTRACE_CLOCK_GLOBAL,
        "local" => FtraceClock::FTRACE_CLOCK_LOCAL,
        "mono_raw" => FtraceClock::FTRACE_CLOCK_MONO_RAW,
        _ => FtraceClock::FTRACE_CLOCK_UNKNOWN,
    }
}

/// What is set for all sessions of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstanceState {
    pub(crate) clock: FtraceClock,
    /// Kilobytes of each CPU's ring, as the kernel says. The largest, if the CPUs differ.
    pub(crate) buffer_kb: u64,
    /// Kilobytes that the first session wished; 0 for a ring that was taken as it was.
    pub(crate) wish_kb: u64,
    /// The ring was taken as it was found.
    pub(crate) is_preserved: bool,
    /// All events were switched off.
    pub(super) is_all_off: bool,
}

impl InstanceState {
    /// What a further session asks for and does not get, because the first one has decided it: a note for each.
    pub(super) fn note_unmet(&self, config: &Config, machine: &Machine, notes: &mut Vec<String>) {
        let kb = u64::from(config.buffer.kb(machine.ram_bytes, machine.page_kb));
        let others = "another session records there";
        if config.buffer.kb != 0 && kb > self.buffer_kb {
            let has = self.buffer_kb;
            notes.push(format!("buffer_size_kb {kb} is not used: {others} with {has} KiB"));
        }
        if config.wants_raw_clock && self.clock != FtraceClock::FTRACE_CLOCK_MONO_RAW {
            notes.push(format!("use_monotonic_raw_clock is not used: {others} with its own clock"));
        }
        if config.is_preserving && !self.is_preserved {
            notes.push(format!("preserve_ftrace_buffer has no effect: {others}"));
        }
        if self.is_preserved && !config.is_preserving {
            notes.push(format!(
                "filters that others may have left stay: {others}, and keeps what it found"
            ));
        }
    }
}

/// Another program uses the instance if it has a tracer.
pub(super) fn check_tracer(tracefs: &dyn Tracefs, directory: &Directory) -> Result<(), Refusal> {
    let path = directory.path("current_tracer");
    // Unreadable: without rights for it, nobody of this group can set it.
    let tracer = text(tracefs, &path).unwrap_or_default();
    if matches!(tracer.as_str(), "" | "nop") {
        return Ok(());
    }
    Err(Refusal(format!(
        "another program uses ftrace: {path} is `{tracer}`; stop it, or run `tracebox --reset-ftrace`"
    )))
}

/// Takes the instance.
pub(super) fn begin(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    config: &Config,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<InstanceState, Refusal> {
    let tracing_on = directory.path("tracing_on");
    let found = transaction.text(&tracing_on)?;
    if found != "1" {
        notes.push(format!(
            "{tracing_on} was {found} before the first session, and will be so after the last"
        ));
    }
    let undo = Change::write(tracing_on.clone(), &found);
    let mut state = InstanceState {
        clock: FtraceClock::FTRACE_CLOCK_UNKNOWN,
        buffer_kb: 0,
        wish_kb: 0,
        is_preserved: config.is_preserving,
        is_all_off: false,
    };
    if config.is_preserving {
        transaction.remember(undo, Until::LastSession)?;
    } else {
        check_tracer(transaction.tracefs(), directory)?;
        let off = Change::write(tracing_on, "0");
        transaction.must(&off, undo, Until::LastSession, RUN_AS_ROOT)?;
        state.is_all_off = clear(transaction, directory, machine)?;
        set_clock(transaction, directory, config.wants_raw_clock)?;
        let kb = config.buffer.kb(machine.ram_bytes, machine.page_kb);
        set_size(transaction, directory, kb)?;
        state.wish_kb = kb.into();
        filters::let_all_pass(transaction, directory, notes)?;
    }
    let current = text(transaction.tracefs(), &directory.path("trace_clock")).unwrap_or_default();
    state.clock = clock_of_name(&clocks(current.as_bytes()).current);
    state.buffer_kb = size(transaction.tracefs(), directory);
    Ok(state)
}

/// Switches all events off and empties the ring. Returns `false` if events are still on, as far as they were.
fn clear(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    machine: &Machine,
) -> Result<bool, Refusal> {
    // In reverse: all off, those of others on, the ring cleared, recording as it was.
    let trace = Change::Truncate { path: directory.path("trace") };
    transaction.remember(trace.clone(), Until::LastSession)?;
    let listed = transaction.tracefs().read(&directory.path("set_event")).unwrap_or_default();
    for (group, name) in events_listed(&listed) {
        let path = directory.path(&format!("events/{group}/{name}/enable"));
        transaction.remember(Change::write(path, "1"), Until::LastSession)?;
    }
    let all_off = Change::write(directory.path("events/enable"), "0");
    let is_all_off = transaction.change(&all_off, all_off.clone(), Until::LastSession)?.is_ok();
    let cleared = trace.apply(transaction.tracefs());
    cleared.map_err(|error| {
        Refusal(format!("{} cannot be cleared: {error}; {RUN_AS_ROOT}", trace.path()))
    })?;
    for cpu in &machine.offline_cpus {
        // `trace` clears the rings of the others alone. A CPU without a ring has nothing to clear.
        _ = transaction.tracefs().truncate(&directory.path(&format!("per_cpu/cpu{cpu}/trace")));
    }
    Ok(is_all_off)
}

fn set_clock(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    wants_raw: bool,
) -> Result<(), Refusal> {
    let path = directory.path("trace_clock");
    let text = transaction.text(&path)?;
    let clocks = clocks(text.as_bytes());
    let wishes = if wants_raw {
        &["mono_raw", "boot", "global", "local"][..]
    } else {
        &["boot", "global", "local"]
    };
    let Some(clock) = wishes.iter().find(|wish| clocks.available.iter().any(|c| c == *wish)) else {
        return Ok(());
    };
    if clocks.current == *clock {
        return Ok(());
    }
    let undo = Change::write(path.clone(), &clocks.current);
    transaction.must(&Change::write(path, clock), undo, Until::LastSession, RUN_AS_ROOT)
}

fn set_size(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    kb: u32,
) -> Result<(), Refusal> {
    let path = directory.path("buffer_size_kb");
    let found = transaction.text(&path)?;
    let unknown = || Refusal(format!("{path} has no size: `{found}`"));
    match buffer_kb(found.as_bytes()).ok_or_else(unknown)? {
        BufferKb::Each(kb) => {
            transaction
                .remember(Change::write(path.clone(), &kb.to_string()), Until::LastSession)?;
        }
        // The next user would find a ring that is too small, and that the kernel would not expand any more.
        BufferKb::Unused { expanded, .. } => {
            let undo = Change::write(path.clone(), &expanded.to_string());
            transaction.remember(undo, Until::LastSession)?;
        }
        BufferKb::Differs => {
            for (path, kb) in cpu_sizes(transaction.tracefs(), directory) {
                transaction.remember(Change::write(path, &kb.to_string()), Until::LastSession)?;
            }
        }
    }
    let change = Change::write(path.clone(), &kb.to_string());
    let result = change.apply(transaction.tracefs());
    result.map_err(|error| {
        Refusal(format!("{path}: {error}; ask for less than {kb} with buffer_size_kb"))
    })
}

/// The files with the sizes of single CPUs, and these, kilobytes.
fn cpu_sizes(tracefs: &dyn Tracefs, directory: &Directory) -> Vec<(String, u64)> {
    let cpus = tracefs.folders(&directory.path("per_cpu")).unwrap_or_default();
    let size = |cpu: String| {
        let path = directory.path(&format!("per_cpu/{cpu}/buffer_size_kb"));
        match buffer_kb(&tracefs.read(&path).ok()?)? {
            BufferKb::Each(kb) | BufferKb::Unused { now: kb, .. } => Some((path, kb)),
            BufferKb::Differs => None,
        }
    };
    cpus.into_iter().filter_map(size).collect()
}

/// The size of each CPU's ring, kilobytes; 0 if it cannot be read.
fn size(tracefs: &dyn Tracefs, directory: &Directory) -> u64 {
    let text = tracefs.read(&directory.path("buffer_size_kb")).unwrap_or_default();
    match buffer_kb(&text) {
        Some(BufferKb::Each(kb) | BufferKb::Unused { now: kb, .. }) => kb,
        Some(BufferKb::Differs) => {
            cpu_sizes(tracefs, directory).into_iter().map(|(_, kb)| kb).max().unwrap_or(0)
        }
        None => 0,
    }
}
