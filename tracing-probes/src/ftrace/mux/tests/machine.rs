//! The tracefs of this machine: sessions that are set up at random, fail, are killed and stop, in an instance of the
//! test's and in the main one, leave every control file as found.

use std::fs::File;
use std::io;
use std::path::Path;

use super::super::record::Records;
use super::*;
use crate::ftrace::table::choice::Choice;
use crate::ftrace::table::{FieldIds, Options, Table};
use crate::ftrace::tracefs::{Mounted, PolledPipe, Tracefs, find_root};

/// Sessions that are tried.
const STARTS: u32 = 200;
const INSTANCE: &str = "tracing_probes_test";

/// The tracefs of this machine. The change that is due to fail is not made, and with a kill no later one.
struct Faulty {
    mounted: Mounted,
    /// Changes until one fails.
    left: Cell<Option<usize>>,
    kills: Cell<bool>,
    is_killed: Rc<Cell<bool>>,
}

impl Faulty {
    fn change(&self, make: impl FnOnce(&Mounted) -> io::Result<()>) -> io::Result<()> {
        let failed = Err(io::Error::from_raw_os_error(libc::EIO));
        match self.left.get() {
            _ if self.is_killed.get() => failed,
            Some(0) => {
                self.left.set(None);
                self.is_killed.set(self.kills.get());
                failed
            }
            left => {
                self.left.set(left.map(|left| left - 1));
                make(&self.mounted)
            }
        }
    }

    fn heal(&self) {
        self.left.set(None);
        self.is_killed.set(false);
    }
}

impl Tracefs for Faulty {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.mounted.read(path)
    }
    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.change(|mounted| mounted.write(path, bytes))
    }
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.change(|mounted| mounted.append(path, bytes))
    }
    fn truncate(&self, path: &str) -> io::Result<()> {
        self.change(|mounted| mounted.truncate(path))
    }
    fn exists(&self, path: &str) -> bool {
        self.mounted.exists(path)
    }
    fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        self.mounted.folders(path)
    }
    fn make_folder(&self, path: &str) -> io::Result<()> {
        self.mounted.make_folder(path)
    }
    fn remove_folder(&self, path: &str) -> io::Result<()> {
        self.mounted.remove_folder(path)
    }
    fn open_pipe(&self, path: &str) -> io::Result<Box<dyn PolledPipe>> {
        self.mounted.open_pipe(path)
    }
}

/// The tracefs of this machine, and a lock that keeps other tests away.
fn take() -> Result<(Mounted, File), String> {
    let mounted = find_root(Path::new("/"))?;
    let folders = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(File::open);
    let lock = folders.into_iter().find_map(Result::ok).ok_or("the folder cannot be opened")?;
    lock.lock().map_err(|e| format!("the folder cannot be locked: {e}"))?;
    let found = change::text(&mounted, "tracing_on").map_err(|e| format!("tracing_on: {e}"))?;
    mounted.write("tracing_on", found.as_bytes()).map_err(|e| format!("tracing_on: {e}"))?;
    Ok((mounted, lock))
}

/// Does another program record? It has events on, or pipes open.
fn is_used(mounted: &Mounted) -> bool {
    let text = |path| change::text(mounted, path).unwrap_or_default();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let folders = processes.filter_map(|process| std::fs::read_dir(process.path().join("fd")).ok());
    let links = folders.flatten().flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
    let mut pipes = links.filter(|link| link.ends_with("trace_pipe_raw"));
    text("current_tracer") != "nop" || !text("set_event").is_empty() || pipes.next().is_some()
}

fn skip(what: &str, reason: &str) {
    skip::test(&format!("every_file_of_this_machine_is_as_found, {what}"), reason);
}

/// All settings of an instance that sessions can change.
fn settings(tracefs: &dyn Tracefs, directory: &Directory) -> BTreeMap<String, String> {
    let files = [
        "tracing_on",
        "trace_clock",
        "buffer_size_kb",
        "buffer_percent",
        "current_tracer",
        "set_event",
        "set_event_pid",
        "tracing_cpumask",
        "kprobe_events",
        "set_ftrace_filter",
        "max_graph_depth",
        "options/overwrite",
        "options/record-tgid",
        "options/markers",
    ];
    let mut paths: Vec<String> = files.map(|file| directory.path(file)).to_vec();
    paths.extend(events::filter_paths(directory));
    let setting = |path: String| {
        let text = change::text(tracefs, &path).unwrap_or_else(|e| e.to_string());
        // Used once, it stays expanded.
        let text = text.split_once(" (expanded").map_or(text.as_str(), |_| "expanded").to_owned();
        (path, text)
    };
    paths.into_iter().map(setting).collect()
}

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn random_config(random: &mut Random) -> Config {
    use protos::{FtraceConfigTracefsOption, FtraceConfigTracefsOptionState as State};
    let events = [
        "sched/*",
        "sched_switch",
        "irq/*",
        "ftrace/print",
        "no/such",
        "power/*",
        "raw_syscalls/*",
        "task/*",
    ];
    config(|config| {
        config.ftrace_events =
            (0..random.below(4)).map(|_| events[random.below(8) as usize].to_owned()).collect();
        config.buffer_size_kb = Some([0, 16, 64, 1000][random.below(4) as usize]);
        config.use_monotonic_raw_clock = Some(random.below(3) == 0);
        config.drain_buffer_percent = Some([0, 25, 75][random.below(3) as usize]);
        config.preserve_ftrace_buffer = Some(random.below(8) == 0);
        match random.below(8) {
            0 => config.tids_to_trace = vec![1, 2, 3],
            1 => config.tracing_cpumask = Some("1".to_owned()),
            2 => {
                config.tracefs_options = vec![FtraceConfigTracefsOption {
                    name: Some("overwrite".to_owned()),
                    state: Some(State::STATE_DISABLED),
                    ..Default::default()
                }];
            }
            3 => config.tracing_cpumask = Some("ffffffff,ffffffff,ffffffff".to_owned()),
            4 => config.syscall_events = strings(&["sys_read", "sys_nonsense"]),
            5 => graph(&["vfs_read"], 3)(config),
            6 => kprobes(config),
            _ => {}
        }
    })
}

/// Two sessions at random, of which the first starts with a fault, if there is one.
fn try_sessions(
    tracefs: &Faulty,
    mux: &mut Mux,
    table: &mut dyn EventTable,
    random: &mut Random,
) -> (bool, Vec<String>) {
    let mut notes = Vec::new();
    let mut is_started = false;
    match random.below(4) {
        0 => tracefs.left.set(Some(random.below(12) as usize)),
        1 => {
            tracefs.left.set(Some(random.below(20) as usize));
            tracefs.kills.set(true);
        }
        _ => {}
    }
    for id in 0..2 {
        if mux.set_up(tracefs, id, random_config(random)).is_ok() {
            is_started |= mux.start(tracefs, &machine(), table, id, &mut notes).is_ok();
        }
    }
    // A process that is killed leaves its notes to nobody.
    let is_killed = tracefs.kills.take() && tracefs.left.get().is_none();
    if is_killed || random.below(4) == 0 {
        tracefs.is_killed.set(true);
    }
    if !tracefs.is_killed.get() {
        tracefs.left.set(None);
        let first = random.below(2);
        mux.stop(tracefs, first, &mut notes);
        mux.stop(tracefs, 1 - first, &mut notes);
    }
    (is_started, notes)
}

fn check(mounted: &Mounted, directory: &Directory, seed: u64, starts: u32) -> Result<u32, String> {
    let folder = tempfile::tempdir().unwrap();
    let is_killed = Rc::new(Cell::new(false));
    let tracefs = Faulty {
        mounted: mounted.clone(),
        left: Cell::default(),
        kills: Cell::default(),
        is_killed: Rc::clone(&is_killed),
    };
    let mut read = |group: &str, name: &str| {
        mounted.read(&directory.path(&format!("events/{group}/{name}/format"))).ok()
    };
    let mut table = Table::new(Options::default(), &mut read);
    let mut ids = FieldIds::default();
    let mut random = Random(seed);
    let mut started = 0;
    // The first use expands the ring, and that stays.
    let found = settings(&tracefs, directory);
    let mut before = None;
    for turn in 0..starts {
        let records = Records::open(folder.path(), BOOT).map_err(|error| format!("{error:?}"))?;
        let store = UntilKilled(records.store(directory), Rc::clone(&is_killed));
        let mut mux = Mux::new(directory.clone(), Journal::new(Some(Box::new(store))));
        let mut formats = Choice::new(&mut table, &mut ids);
        let (is_started, notes) = try_sessions(&tracefs, &mut mux, &mut formats, &mut random);
        started += u32::from(is_started);
        let was_killed = is_killed.get();
        drop(mux);
        tracefs.heal();
        let restored = records.restore(&tracefs);
        let bad = |note: &&String| !note.contains("was killed");
        if let Some(note) = restored.iter().find(bad) {
            return Err(format!("turn {turn}: {note}"));
        }
        let is_clean = restored.is_empty() && notes.is_empty();
        if !was_killed && !is_clean {
            return Err(format!("turn {turn}: {notes:?} {restored:?}"));
        }
        let after = settings(&tracefs, directory);
        for (path, value) in before.as_ref().unwrap_or(&found) {
            if after.get(path) != Some(value) && value != "expanded" {
                return Err(format!(
                    "turn {turn}: {path} was {value} and is {:?}",
                    after.get(path)
                ));
            }
        }
        before = Some(after);
    }
    Ok(started)
}

#[test]
fn every_file_of_this_machine_is_as_found() {
    let (mounted, lock) = match take() {
        Ok(taken) => taken,
        Err(reason) => return skip("all of it", &reason),
    };
    let folder = format!("instances/{INSTANCE}");
    // Of a run that was killed.
    _ = mounted.remove_folder(&folder);
    mounted.make_folder(&folder).unwrap();
    let instance = Directory::instance(&mounted, INSTANCE).unwrap();
    let in_instance = check(&mounted, &instance, 1, STARTS / 2);
    mounted.remove_folder(&folder).unwrap();
    assert!(in_instance.unwrap() > STARTS / 8);
    if is_used(&mounted) {
        return skip("the main instance", "another program records with it; stop it first");
    }
    let in_root = check(&mounted, &Directory::root(), 2, STARTS / 2);
    drop(lock);
    if in_root.is_err() && is_used(&mounted) {
        return skip("the main instance", "another program began to record with it; stop it first");
    }
    assert!(in_root.unwrap() > STARTS / 8);
}
