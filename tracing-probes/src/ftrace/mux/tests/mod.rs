//! The mux on a tracefs in memory.

mod crash;
mod features;
mod journal;
mod machine;
mod model;
mod order;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use protos::FtraceConfig;

use super::change::Change;
use super::lines::{header, line, parse};
use super::*;
use crate::ftrace::config::{KnownEvents, SyscallArch};
use crate::ftrace::tracefs::fake::Fake;

const BOOT: &str = "boot-1";

/// A table of events that knows all but the group `user`, and remembers what it was given.
#[derive(Default)]
struct Table {
    added: Vec<(String, EventKind)>,
}

impl KnownEvents for Table {
    fn groups_of(&self, name: &str) -> Vec<String> {
        if name.starts_with("sched_") { vec!["sched".to_owned()] } else { Vec::new() }
    }

    fn names_of(&self, _group: &str) -> Vec<String> {
        Vec::new()
    }

    fn is_known(&self, event: &EventName) -> bool {
        event.group != "user"
    }
}

impl EventTable for Table {
    fn add(&mut self, event: &EventName, kind: EventKind, format: &[u8]) -> Option<u16> {
        self.added.push((event.to_string(), kind));
        let text = str::from_utf8(format).ok()?;
        text.lines().find_map(|line| line.strip_prefix("ID: "))?.parse().ok()
    }
}

/// A record in memory, which outlives the mux.
#[derive(Clone, Default)]
struct Memory {
    lines: Rc<RefCell<Vec<u8>>>,
    is_full: Rc<Cell<bool>>,
}

impl RecordStore for Memory {
    fn append(&mut self, line: &[u8]) -> std::io::Result<()> {
        if self.is_full.get() {
            return Err(std::io::Error::from_raw_os_error(libc::ENOSPC));
        }
        self.lines.borrow_mut().extend_from_slice(line);
        Ok(())
    }

    fn replace(&mut self, lines: &[u8]) -> std::io::Result<()> {
        *self.lines.borrow_mut() = lines.to_vec();
        Ok(())
    }

    fn clear(&mut self) -> std::io::Result<()> {
        self.lines.borrow_mut().clear();
        Ok(())
    }
}

fn machine() -> Machine {
    Machine { offline_cpus: vec![2], ram_bytes: 8 << 30, page_kb: 4, arch: SyscallArch::X86_64 }
}

/// A record that ends when the process is killed: what its code does later is not done.
struct UntilKilled(Box<dyn RecordStore>, Rc<Cell<bool>>);

impl RecordStore for UntilKilled {
    fn append(&mut self, line: &[u8]) -> std::io::Result<()> {
        if self.1.get() { Ok(()) } else { self.0.append(line) }
    }

    fn replace(&mut self, lines: &[u8]) -> std::io::Result<()> {
        if self.1.get() { Ok(()) } else { self.0.replace(lines) }
    }

    fn clear(&mut self) -> std::io::Result<()> {
        if self.1.get() { Ok(()) } else { self.0.clear() }
    }
}

/// A machine, and the mux of one of its instances.
struct World {
    fake: Fake,
    table: Table,
    memory: Memory,
    mux: Mux,
    notes: Vec<String>,
}

impl World {
    fn new() -> Self {
        Self::at(Fake::new(), Directory::root())
    }

    fn at(fake: Fake, directory: Directory) -> Self {
        let memory = Memory::default();
        let store = UntilKilled(Box::new(memory.clone()), fake.is_killed());
        let mux = Mux::new(directory, Journal::new(Some(Box::new(store))));
        Self { fake, table: Table::default(), memory, mux, notes: Vec::new() }
    }

    fn set_up(
        &mut self,
        id: SessionId,
        edit: impl FnOnce(&mut FtraceConfig),
    ) -> Result<(), String> {
        self.mux.set_up(&self.fake, id, config(edit)).map_err(|Refusal(text)| text)
    }

    fn start(&mut self, id: SessionId) -> Result<Active, String> {
        let result = self.mux.start(&self.fake, &machine(), &mut self.table, id, &mut self.notes);
        result.cloned().map_err(|Refusal(text)| text)
    }

    /// Sets up and starts.
    fn run(
        &mut self,
        id: SessionId,
        edit: impl FnOnce(&mut FtraceConfig),
    ) -> Result<Active, String> {
        self.set_up(id, edit)?;
        self.start(id)
    }

    fn stop(&mut self, id: SessionId) {
        self.mux.stop(&self.fake, id, &mut self.notes);
    }

    fn enabled(&self) -> Vec<String> {
        self.fake.enabled("").into_iter().collect()
    }
}

fn config(edit: impl FnOnce(&mut FtraceConfig)) -> Config {
    let mut config = FtraceConfig::default();
    edit(&mut config);
    Config::new(&config).unwrap()
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn events(names: &'static [&'static str]) -> impl Fn(&mut FtraceConfig) + Copy {
    |config| config.ftrace_events = strings(names)
}

fn kprobes(config: &mut FtraceConfig) {
    use protos::{FtraceConfigKprobeEvent, FtraceConfigKprobeEventKprobeType as Type};
    let probe = |name: &str, kind| FtraceConfigKprobeEvent {
        probe: Some(name.to_owned()),
        r#type: Some(kind),
        ..Default::default()
    };
    config.kprobe_events = vec![
        probe("kfree", Type::KPROBE_TYPE_BOTH),
        probe("schedule", Type::KPROBE_TYPE_KPROBE),
        probe("schedule", Type::KPROBE_TYPE_BOTH),
        probe("not a name", Type::KPROBE_TYPE_KPROBE),
        probe("no_such_function", Type::KPROBE_TYPE_KPROBE),
    ];
}

fn graph(filters: &'static [&'static str], depth: u32) -> impl Fn(&mut FtraceConfig) + Copy {
    move |config| {
        config.enable_function_graph = Some(true);
        config.function_filters = strings(filters);
        config.function_graph_max_depth = Some(depth);
    }
}

/// A config that changes all that can be changed.
fn everything(config: &mut FtraceConfig) {
    use protos::{FtraceConfigTracefsOption, FtraceConfigTracefsOptionState as State};
    config.ftrace_events =
        strings(&["sched/*", "ftrace/print", "user/made_by_hand", "no/such", "nonsense"]);
    config.syscall_events = strings(&["sys_read", "sys_nonsense"]);
    config.buffer_size_kb = Some(1024);
    config.use_monotonic_raw_clock = Some(true);
    config.drain_buffer_percent = Some(30);
    config.tids_to_trace = vec![1, 22];
    config.tracing_cpumask = Some("1".to_owned());
    config.tracefs_options = vec![FtraceConfigTracefsOption {
        name: Some("record-tgid".to_owned()),
        state: Some(State::STATE_ENABLED),
        ..Default::default()
    }];
    kprobes(config);
    graph(&["kfree", "vfs_read"], 5)(config);
    config.function_graph_roots = strings(&["schedule"]);
}

/// A machine that others have set: an event, a filter, threads, functions, a size.
fn used() -> Fake {
    let fake = Fake::new();
    for (path, text) in [
        ("events/power/cpu_idle/enable", "1"),
        ("events/raw_syscalls/sys_enter/filter", "id == 1"),
        ("set_event_pid", "7\n8\n"),
        ("set_ftrace_filter", "schedule\n"),
        ("max_graph_depth", "2"),
        ("buffer_percent", "10"),
        ("trace_clock", "global"),
        ("per_cpu/cpu0/buffer_size_kb", "11"),
        ("per_cpu/cpu1/buffer_size_kb", "67"),
        ("tracing_cpumask", "2"),
    ] {
        fake.set(path, text);
    }
    fake
}
