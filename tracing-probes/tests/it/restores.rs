//! The tracefs of this machine, recorded by processes that end at any moment: afterwards every setting is as found.
//!
//! A process is this test binary, started with [`CHILD_ENV`]: it has a service and all data sources, and records two
//! instances of `linux.ftrace` with configs at random, some of which are refused. It is told to stop, or is killed when
//! its record of found values has so many lines: a place in a sequence of events, no point in time. Then the next
//! process starts, which puts back what the killed one has left. `FTRACE_SETUPS` is the number of processes, `FTRACE_SEED`
//! the begin of the numbers at random.
//!
//! The files of single events are thousands, and take most of the time: they are read before the first process, after
//! each [`WHOLE`] and after the last. `set_event`, which is read each time, names the events that are on.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use client::consumer::Waited;
use client::producer::Producer;
use daemon::in_process::InProcessService;
use daemon::serve::service_config;
use protos::{
    DataSourceConfig, FtraceConfig, FtraceConfigTracefsOption as TracefsOption,
    FtraceConfigTracefsOptionState as OptionState, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource,
};
use protozero::Message;
use tracing_probes::Root;

use super::FOREVER;

/// The directory of a process: its config, its log, and what is `/` for it.
const CHILD_ENV: &str = "RESTORES_TEST_CHILD";
const TRACEFS: &str = "/sys/kernel/tracing";
const KPTR_RESTRICT: &str = "/proc/sys/kernel/kptr_restrict";
const INSTANCE: &str = "tracing_probes_restores";
const SETUPS: u64 = 20;
/// Processes between two looks at the files of all events.
const WHOLE: u64 = 20;

/// Numbers that are the same in each run of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// What a process does when it is this test's.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(CHILD_ENV).map(PathBuf::from) else { return };
    let service = service_config("test").expect("this machine is known");
    let service = InProcessService::start(service, Box::new(|_, _: &str| {})).expect("a service");
    let producer = Producer::attach(service.producer(), tracing_probes::options());
    let producer = producer.expect("a producer");
    // Its records of found values are those of no other program.
    let root = Root::at(folder.join("root"), |line| eprintln!("{line}"));
    tracing_probes::register_all_at(&producer, &root, tracing_probes::FtraceOptions::default())
        .expect("names are free");
    assert!(producer.sync(FOREVER));
    let Ok(config) = fs::read(folder.join("config")) else { return };
    let mut consumer = service.consumer();
    let config = TraceConfig::decode(&config).expect("the test's");
    consumer.enable_tracing(&config, None).expect("the service is there");
    // Answered when all sources have started, or were refused.
    consumer.flush(FOREVER).expect("the sources flush");
    File::create(folder.join("records")).expect("a file");
    let mut line = [0];
    // A line asks for the end of the process, as SIGTERM does; the end of the input for the end of the session.
    if std::io::stdin().read(&mut line).is_ok_and(|len| len > 0) {
        return drop(producer);
    }
    consumer.disable_tracing().expect("the service is there");
    assert_eq!(consumer.wait(Some(FOREVER)).expect("it records"), Waited::Ended);
}

/// A process, or none once it has ended.
struct Process(Child);

impl Process {
    fn start(folder: &Path) -> Self {
        let log = File::create(folder.join("log")).unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["restores::child", "--exact", "--nocapture"])
            .env(CHILD_ENV, folder)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        Self(child.unwrap())
    }

    fn stop(mut self, folder: &Path, word: &str) {
        let mut input = self.0.stdin.take().unwrap();
        // It may have ended by itself.
        _ = input.write_all(word.as_bytes());
        drop(input);
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{status}: {}", log(folder));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn log(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).unwrap_or_default()
}

fn config(random: &mut Random) -> TraceConfig {
    let sources = [(); 2].map(|()| {
        let ftrace_config = Some(ftrace_config(random));
        let name = Some("linux.ftrace".to_owned());
        let config = DataSourceConfig { name, ftrace_config, ..Default::default() };
        TraceConfigDataSource { config: Some(config), ..Default::default() }
    });
    TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(4096), ..Default::default() }],
        data_sources: sources.to_vec(),
        ..Default::default()
    }
}

fn ftrace_config(random: &mut Random) -> FtraceConfig {
    let events =
        ["sched/*", "sched_switch", "irq/*", "ftrace/print", "no/such", "task/*", "raw_syscalls/*"];
    let option = |name: &str| TracefsOption {
        name: Some(name.to_owned()),
        state: Some(OptionState::STATE_DISABLED),
        ..Default::default()
    };
    let count = random.below(4);
    let mut config = FtraceConfig {
        ftrace_events: (0..count).map(|_| random.one(&events).to_owned()).collect(),
        buffer_size_kb: Some(random.one(&[0, 16, 64, 1000])),
        use_monotonic_raw_clock: Some(random.below(3) == 0),
        drain_buffer_percent: Some(random.one(&[0, 25, 75])),
        preserve_ftrace_buffer: Some(random.below(8) == 0),
        symbolize_ksyms: Some(random.below(3) == 0),
        instance_name: (random.below(4) == 0).then(|| INSTANCE.to_owned()),
        ..Default::default()
    };
    match random.below(8) {
        0 => config.tids_to_trace = vec![1, 2, 3],
        1 => config.tracing_cpumask = Some("1".to_owned()),
        2 => config.tracefs_options = vec![option("overwrite")],
        3 => config.tracefs_options = vec![option("overwrite"), option("no-such-option")],
        4 => config.tracing_cpumask = Some("ffffffff,ffffffff,ffffffff".to_owned()),
        5 => config.syscall_events = vec!["sys_read".to_owned(), "sys_nonsense".to_owned()],
        6 => config.enable_function_graph = Some(true),
        _ => {}
    }
    config
}

/// All control files of the main instance and of another one, the instances, and the setting for addresses.
pub(super) fn settings_with(instance: &str) -> BTreeMap<String, String> {
    settings_of(instance, true)
}

/// The settings found that are others now, or are gone. A ring that is used once stays expanded, to the size that was
/// told before; the kernel rounds it to pages.
pub(super) fn changed<'a>(
    found: &'a BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<(&'a String, &'a String)> {
    let expanded_kb = |path: &str| -> Option<u64> {
        let folder = path.strip_suffix("/buffer_size_kb")?;
        let instance = folder.split("/per_cpu/").next()?;
        let text = found.get(&format!("{instance}/buffer_size_kb"))?;
        text.split_once("(expanded: ")?.1.trim_end_matches(')').parse().ok()
    };
    let is_expanded = |path: &str, is: &str| {
        let sizes = expanded_kb(path).zip(is.parse::<u64>().ok());
        sizes.is_some_and(|(told, is)| (told..told + 64).contains(&is))
    };
    let is_other = |(path, was): &(&String, &String)| match now.get(*path) {
        Some(is) => is != *was && !is_expanded(path, is),
        None => true,
    };
    found.iter().filter(is_other).collect()
}

/// The same as [`settings_with`]; those of single events only if `is_whole`.
fn settings_of(instance: &str, is_whole: bool) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let mut read = |path: PathBuf| {
        let Ok(text) = fs::read_to_string(&path) else { return };
        settings.insert(path.display().to_string(), text.trim().to_owned());
    };
    for base in [TRACEFS.to_owned(), format!("{TRACEFS}/instances/{instance}")] {
        let base = Path::new(&base);
        for file in [
            "tracing_on",
            "current_tracer",
            "trace_clock",
            "trace_options",
            "buffer_size_kb",
            "buffer_subbuf_size_kb",
            "buffer_percent",
            "set_event",
            "set_event_pid",
            "set_event_notrace_pid",
            "set_ftrace_filter",
            "set_ftrace_notrace",
            "set_ftrace_pid",
            "set_graph_function",
            "max_graph_depth",
            "tracing_cpumask",
            "tracing_thresh",
            "kprobe_events",
            "uprobe_events",
            "dynamic_events",
        ] {
            read(base.join(file));
        }
        folders(&base.join("options")).into_iter().for_each(&mut read);
        for name in ["sys_enter", "sys_exit"] {
            read(base.join("events/raw_syscalls").join(name).join("filter"));
        }
        let groups = if is_whole { folders(&base.join("events")) } else { Vec::new() };
        for group in groups {
            for event in folders(&group) {
                ["enable", "filter", "trigger"].into_iter().for_each(|file| read(event.join(file)));
            }
        }
        let cpus = folders(&base.join("per_cpu"));
        cpus.into_iter().for_each(|cpu| read(cpu.join("buffer_size_kb")));
    }
    read(KPTR_RESTRICT.into());
    let instances = folders(&Path::new(TRACEFS).join("instances"));
    settings.insert("instances".to_owned(), format!("{instances:?}"));
    settings
}

/// What a folder has, sorted.
fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Does another program record? It has pipes open.
pub(super) fn is_used() -> bool {
    let files =
        folders(Path::new("/proc")).into_iter().flat_map(|process| folders(&process.join("fd")));
    files.filter_map(|file| fs::read_link(file).ok()).any(|link| link.ends_with("trace_pipe_raw"))
}

/// Is anything set that sessions would find in use?
pub(super) fn is_set() -> bool {
    let text = |file: &str| fs::read_to_string(Path::new(TRACEFS).join(file)).unwrap_or_default();
    text("current_tracer").trim() != "nop" || !text("set_event").trim().is_empty()
}

/// Puts the setting for addresses, the test's instance and the lock back.
struct Taken {
    kptr_restrict: String,
    _lock: File,
}

impl Taken {
    /// The tracefs of this machine, with a lock that keeps other tests away; addresses of the kernel are hidden.
    fn take() -> Result<Self, String> {
        let lock = File::open(TRACEFS).map_err(|e| format!("{TRACEFS}: {e}"))?;
        lock.lock().map_err(|e| format!("{TRACEFS} cannot be locked: {e}"))?;
        if is_used() || is_set() {
            return Err("another program records; stop it first".to_owned());
        }
        let on = Path::new(TRACEFS).join("tracing_on");
        fs::read(&on)
            .and_then(|found| fs::write(&on, found))
            .map_err(|e| format!("tracing_on: {e}"))?;
        let failed = |e| format!("{KPTR_RESTRICT}: {e}");
        let kptr_restrict = fs::read_to_string(KPTR_RESTRICT).map_err(failed)?;
        let taken = Self { kptr_restrict, _lock: lock };
        fs::write(KPTR_RESTRICT, "2").map_err(failed)?;
        // Of a run that was killed.
        _ = fs::remove_dir(Self::instance());
        fs::create_dir(Self::instance()).map_err(|e| format!("{INSTANCE}: {e}"))?;
        Ok(taken)
    }

    fn instance() -> PathBuf {
        Path::new(TRACEFS).join("instances").join(INSTANCE)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        _ = fs::write(KPTR_RESTRICT, &self.kptr_restrict);
        _ = fs::remove_dir(Self::instance());
    }
}

/// Waits until the process records, or has ended, or has noted so many changes.
fn wait(process: &mut Process, folder: &Path, changes: usize) {
    let records = folder.join("root/run/tracing-probes");
    let noted = || {
        let files = folders(&records).into_iter().filter(|file| !file.ends_with("lock"));
        // Each begins with a line of another kind.
        let lines = |file: PathBuf| fs::read_to_string(file).map_or(0, |text| text.lines().count());
        files.map(|file| lines(file).saturating_sub(1)).sum::<usize>()
    };
    while noted() < changes
        && !folder.join("records").exists()
        && process.0.try_wait().unwrap().is_none()
    {
        std::thread::yield_now();
    }
}

/// A process that is stopped or killed, and one that puts back. Tells whether it was killed while it noted changes.
fn try_one(folder: &Path, random: &mut Random) -> bool {
    fs::write(folder.join("config"), config(random).encode_to_vec()).unwrap();
    _ = fs::remove_file(folder.join("records"));
    let is_killed = random.below(4) > 0;
    let changes = if is_killed { 1 + random.below(40) as usize } else { usize::MAX };
    let mut process = Process::start(folder);
    wait(&mut process, folder, changes);
    if !is_killed {
        process.stop(folder, random.one(&["", "end\n"]));
        return false;
    }
    process.0.kill().unwrap();
    drop(process);
    let is_early = !folder.join("records").exists();
    fs::remove_file(folder.join("config")).unwrap();
    Process::start(folder).stop(folder, "");
    is_early
}

fn skip(reason: &str) {
    skip::test("every_setting_of_this_machine_is_as_found", reason);
}

#[test]
fn every_setting_of_this_machine_is_as_found() {
    let taken = match Taken::take() {
        Ok(taken) => taken,
        Err(reason) => return skip(&reason),
    };
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let setups = number("FTRACE_SETUPS").unwrap_or(SETUPS);
    let seed = number("FTRACE_SEED").unwrap_or(1);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("run")).unwrap();
    for name in ["proc", "sys"] {
        std::os::unix::fs::symlink(Path::new("/").join(name), root.join(name)).unwrap();
    }
    let mut random = Random(seed);
    let (found, mut early) = (settings_with(INSTANCE), 0);
    for setup in 0..setups {
        early += u64::from(try_one(folder.path(), &mut random));
        let is_whole = (setup + 1) % WHOLE == 0 || setup + 1 == setups;
        let mut now = settings_of(INSTANCE, is_whole);
        let mut differs = changed(&found, &now);
        // A file that is gone is one that is not as found.
        differs
            .retain(|(path, _)| is_whole || now.contains_key(*path) || !path.contains("/events/"));
        if !differs.is_empty() && is_used() {
            let what = differs.iter().take(4);
            return skip(&format!(
                "another program began to record, stop it first: {:?}",
                what.collect::<Vec<_>>()
            ));
        }
        let now: Vec<_> = differs.iter().map(|(path, _)| now.remove(*path)).collect();
        assert!(
            differs.is_empty(),
            "set-up {setup} of seed {seed}: {differs:?} is {now:?}: {}",
            log(folder.path())
        );
    }
    drop(taken);
    assert!(setups < 20 || early > setups / 8, "{early} of {setups} were killed in the middle");
}
