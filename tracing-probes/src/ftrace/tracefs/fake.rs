//! A tree in memory that answers as the kernel's tracefs does: commands, sizes that are rounded, refusals, pipes.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::rc::Rc;

use super::{Polled, PolledPipe, Tracefs};
use crate::ftrace::drain::Pipe;

/// Functions that the kernel can trace.
const FUNCTIONS: &[&str] = &["do_sys_open", "kfree", "schedule", "vfs_read"];
const CLOCKS: &[&str] = &["local", "global", "boot", "mono_raw"];
const ALL_FUNCTIONS: &str = "#### all functions enabled ####";
/// Bytes of records in a page of the ring.
const PAGE_PAYLOAD: u64 = 4080;
/// Kilobytes of a ring before and after its first use.
const UNUSED_KB: u64 = 7;
const EXPANDED_KB: u64 = 1408;

/// What a read of a pipe gives.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    Page(Vec<u8>),
    /// 0 bytes.
    Nothing,
    Error(i32),
}

/// A tracefs in memory.
#[derive(Debug)]
pub(crate) struct Fake {
    files: RefCell<BTreeMap<String, String>>,
    log: RefCell<Vec<String>>,
    /// Changes until one fails, and how.
    failure: Cell<Option<(usize, i32)>>,
    /// Is the failure the end of the process?
    kills: Cell<bool>,
    is_killed: Rc<Cell<bool>>,
    /// What files print, whatever was written.
    printed: RefCell<BTreeMap<String, Vec<u8>>>,
    /// Files that cannot be read or changed, and the error.
    denied: RefCell<BTreeMap<String, i32>>,
    /// Files that can be read and not changed, and the error.
    unwritable: RefCell<BTreeMap<String, i32>>,
    /// By file: another one, and what it has as soon as the first one is written.
    effects: RefCell<BTreeMap<String, [String; 2]>>,
    scripts: Rc<RefCell<BTreeMap<String, VecDeque<Next>>>>,
    open_pipes: Rc<Cell<usize>>,
    next_id: Cell<u32>,
}

/// Events with an enable, a filter and a format.
const EVENTS: &[&str] = &[
    "kmem/rss_stat",
    "power/cpu_frequency",
    "power/cpu_idle",
    "raw_syscalls/sys_enter",
    "raw_syscalls/sys_exit",
    "sched/sched_switch",
    "sched/sched_wakeup",
    "sched/sched_waking",
    "task/task_newtask",
    "task/task_rename",
    "user/made_by_hand",
];

impl Fake {
    /// A machine of two CPUs on which nobody has used ftrace, with an instance `other`.
    pub(crate) fn new() -> Self {
        let fake = Self {
            files: RefCell::default(),
            log: RefCell::default(),
            failure: Cell::default(),
            kills: Cell::default(),
            is_killed: Rc::default(),
            printed: RefCell::default(),
            denied: RefCell::default(),
            unwritable: RefCell::default(),
            effects: RefCell::default(),
            scripts: Rc::default(),
            open_pipes: Rc::default(),
            next_id: Cell::new(100),
        };
        fake.add_instance("");
        fake.add_instance("instances/other/");
        for (file, text) in [
            ("kprobe_events", ""),
            ("kprobe_profile", ""),
            ("printk_formats", ""),
            ("per_cpu/cpu2/trace", "stale"),
        ] {
            fake.set(file, text);
        }
        fake
    }

    fn add_instance(&self, prefix: &str) {
        for (file, text) in [
            ("buffer_percent", "50"),
            ("current_tracer", "nop"),
            ("events/enable", "0"),
            ("max_graph_depth", "0"),
            ("options/overwrite", "1"),
            ("options/record-tgid", "0"),
            ("set_event", ""),
            ("set_event_notrace_pid", ""),
            ("set_event_pid", ""),
            ("set_ftrace_filter", ""),
            ("set_ftrace_notrace", ""),
            ("set_ftrace_notrace_pid", ""),
            ("set_ftrace_pid", ""),
            ("set_graph_notrace", ""),
            ("set_graph_function", ""),
            ("trace", ""),
            ("trace_clock", "local"),
            ("tracing_cpumask", "7"),
            ("tracing_on", "1"),
            ("buffer_size_kb", ""),
            ("per_cpu/cpu0/buffer_size_kb", "unused"),
            ("per_cpu/cpu1/buffer_size_kb", "unused"),
            ("per_cpu/cpu0/stats", "entries: 3\n"),
            ("per_cpu/cpu1/stats", "entries: 4\n"),
            ("events/ftrace/print/format", "name: print\nID: 5\n"),
        ] {
            self.set(&format!("{prefix}{file}"), text);
        }
        for (id, event) in EVENTS.iter().enumerate() {
            let folder = format!("{prefix}events/{event}");
            self.set(&format!("{folder}/enable"), "0");
            self.set(&format!("{folder}/filter"), "none");
            self.set(&format!("{folder}/trigger"), "");
            self.set(&format!("{folder}/format"), &format!("name: x\nID: {}\n", 10 + id));
        }
    }

    /// Sets a file as it is stored, without a log.
    pub(crate) fn set(&self, path: &str, text: &str) {
        self.files.borrow_mut().insert(path.to_owned(), text.to_owned());
    }

    /// A file as it is stored.
    pub(crate) fn get(&self, path: &str) -> String {
        self.files.borrow().get(path).cloned().unwrap_or_default()
    }

    /// Removes all files below a path.
    pub(crate) fn remove(&self, path: &str) {
        self.files.borrow_mut().retain(|file, _| !file.starts_with(path));
    }

    /// A file that prints this from now on, whatever is written.
    pub(crate) fn print(&self, path: &str, text: &[u8]) {
        self.files.borrow_mut().entry(path.to_owned()).or_default();
        self.printed.borrow_mut().insert(path.to_owned(), text.to_owned());
    }

    /// Nothing can be done to this file from now on.
    pub(crate) fn deny(&self, path: &str, errno: i32) {
        self.denied.borrow_mut().insert(path.to_owned(), errno);
    }

    /// This file can be read, and not written, from now on.
    pub(crate) fn fail_writes(&self, path: &str, errno: i32) {
        self.unwritable.borrow_mut().insert(path.to_owned(), errno);
    }

    /// Writing to `path` sets another file.
    pub(crate) fn set_on_write(&self, path: &str, other: &str, text: &str) {
        let effect = [other.to_owned(), text.to_owned()];
        self.effects.borrow_mut().insert(path.to_owned(), effect);
    }

    /// After so many changes, one fails.
    pub(crate) fn fail_after(&self, changes: usize, errno: i32) {
        self.failure.set(Some((changes, errno)));
    }

    /// After so many changes, no more is made: the process is gone.
    pub(crate) fn kill_after(&self, changes: usize) {
        self.kills.set(true);
        self.fail_after(changes, libc::EIO);
    }

    /// Is the process gone?
    pub(crate) fn is_killed(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.is_killed)
    }

    /// Has the failure that was asked for not happened yet? It does not happen any more.
    pub(crate) fn take_failure(&self) -> bool {
        self.kills.set(false);
        self.is_killed.set(false);
        self.failure.take().is_some_and(|(changes, _)| changes > 0)
    }

    /// What the reads of a pipe give.
    pub(crate) fn script(&self, path: &str, next: impl IntoIterator<Item = Next>) {
        self.scripts.borrow_mut().insert(path.to_owned(), next.into_iter().collect());
    }

    /// How many pipes are open.
    pub(crate) fn open_pipes(&self) -> usize {
        self.open_pipes.get()
    }

    /// The changes so far, and no longer.
    pub(crate) fn take_log(&self) -> Vec<String> {
        self.log.take()
    }

    /// All settings. The contents of rings are none, and the ring that nobody has used counts as expanded.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        let mut files = self.files.borrow().clone();
        files.retain(|path, _| !path.ends_with("/trace") && path != "trace");
        for text in files.values_mut().filter(|text| *text == "unused") {
            *text = rounded(EXPANDED_KB).to_string();
        }
        files
    }

    /// The events that are on in an instance.
    pub(crate) fn enabled(&self, prefix: &str) -> BTreeSet<String> {
        let files = self.files.borrow();
        let event = |(path, value): (&String, &String)| {
            let event =
                path.strip_prefix(prefix)?.strip_prefix("events/")?.strip_suffix("/enable")?;
            (value == "1").then(|| event.to_owned())
        };
        files.iter().filter_map(event).collect()
    }

    fn errno<T>(errno: i32) -> io::Result<T> {
        Err(io::Error::from_raw_os_error(errno))
    }

    fn check(&self, path: &str) -> io::Result<()> {
        assert!(super::is_below(path), "{path}");
        if let Some(errno) = self.denied.borrow().get(path) {
            return Self::errno(*errno);
        }
        if !self.files.borrow().contains_key(path) {
            return Self::errno(libc::ENOENT);
        }
        Ok(())
    }

    /// Counts and logs a change.
    fn begin_change(&self, what: &str, path: &str, bytes: &[u8]) -> io::Result<String> {
        let text = String::from_utf8(bytes.to_vec()).expect("settings are text");
        let shown = text.trim_end().replace('\n', ",");
        self.log.borrow_mut().push(format!("{what} {path} {shown}").trim_end().to_owned());
        self.check(path)?;
        if let Some(errno) = self.unwritable.borrow().get(path) {
            return Self::errno(*errno);
        }
        if let Some((changes, errno)) = self.failure.get() {
            let left = changes.checked_sub(1).or(self.kills.get().then_some(0));
            self.failure.set(left.map(|left| (left, errno)));
            if changes == 0 {
                self.is_killed.set(self.kills.get());
                // A filter that the kernel does not take removes the one that was there.
                if path.ends_with("/filter") && !self.kills.get() {
                    self.set(path, "none");
                }
                return Self::errno(errno);
            }
        }
        Ok(text)
    }

    fn switch_all(&self, prefix: &str, value: &str) {
        for (path, state) in self.files.borrow_mut().iter_mut() {
            if path.starts_with(&format!("{prefix}events/")) && path.ends_with("/enable") {
                value.clone_into(state);
            }
        }
        self.set(&format!("{prefix}events/enable"), "0");
    }

    /// What writing a value to a file does.
    fn command(&self, path: &str, text: &str) -> io::Result<()> {
        let (prefix, file) = split(path);
        let value = text.trim();
        let is_good = match file {
            "tracing_on" => matches!(value, "0" | "1"),
            "buffer_percent" => value.parse().is_ok_and(|percent: u32| percent <= 100),
            "max_graph_depth" => value.parse::<u32>().is_ok(),
            "trace_clock" => CLOCKS.contains(&value),
            "tracing_cpumask" => match u64::from_str_radix(&value.replace(',', ""), 16) {
                Ok(mask) if mask > 7 => return Self::errno(libc::EOVERFLOW),
                mask => mask.is_ok(),
            },
            "current_tracer" if self.open_pipes.get() > 0 => return Self::errno(libc::EBUSY),
            "current_tracer" => matches!(value, "nop" | "function_graph"),
            "events/enable" if matches!(value, "0" | "1") => {
                self.switch_all(prefix, value);
                return Ok(());
            }
            "set_event" => return self.set_event(prefix, text),
            "buffer_size_kb" => {
                let kb = value.parse().ok().filter(|kb| *kb > 0);
                let Some(kb) = kb else { return Self::errno(libc::EINVAL) };
                for cpu in 0..2 {
                    self.set(
                        &format!("{prefix}per_cpu/cpu{cpu}/buffer_size_kb"),
                        &rounded(kb).to_string(),
                    );
                }
                return Ok(());
            }
            "kprobe_events" => return self.probe(value),
            "set_ftrace_filter" | "set_graph_function" | "set_ftrace_notrace"
            | "set_graph_notrace" => {
                return self.add_lines(path, text, FUNCTIONS);
            }
            "set_event_pid"
            | "set_event_notrace_pid"
            | "set_ftrace_pid"
            | "set_ftrace_notrace_pid" => return self.add_lines(path, text, &[]),
            _ if file.starts_with("options/") => matches!(value, "0" | "1"),
            _ if file.ends_with("/enable") => matches!(value, "0" | "1"),
            _ if file.ends_with("/filter") => {
                self.set(path, if value == "0" { "none" } else { value });
                return Ok(());
            }
            _ if file.ends_with("/buffer_size_kb") => {
                let Ok(kb) = value.parse() else { return Self::errno(libc::EINVAL) };
                self.set(path, &rounded(kb).to_string());
                return Ok(());
            }
            _ => return Self::errno(libc::EACCES),
        };
        if !is_good {
            return Self::errno(libc::EINVAL);
        }
        if file == "trace_clock" {
            self.set(&format!("{prefix}trace"), "");
        }
        self.set(path, value);
        Ok(())
    }

    fn set_event(&self, prefix: &str, text: &str) -> io::Result<()> {
        for word in text.split_ascii_whitespace() {
            let (name, value) = word.strip_prefix('!').map_or((word, "1"), |name| (name, "0"));
            let path = format!("{prefix}events/{}/enable", name.replacen(':', "/", 1));
            if !self.files.borrow().contains_key(&path) {
                return Self::errno(libc::EINVAL);
            }
            self.set(&path, value);
        }
        Ok(())
    }

    /// Adds the lines to a file. If `known` has names, others are refused that are no patterns.
    fn add_lines(&self, path: &str, text: &str, known: &[&str]) -> io::Result<()> {
        for line in text.lines() {
            if !known.is_empty() && !known.contains(&line) && !line.contains(['*', '?']) {
                return Self::errno(libc::EINVAL);
            }
            let all = format!("{}{line}\n", self.get(path));
            self.set(path, &all);
        }
        Ok(())
    }

    fn probe(&self, command: &str) -> io::Result<()> {
        let (kind, what) = command.split_once(':').expect("a kind");
        let (event, function) = what.split_once(' ').unwrap_or((what, ""));
        let folders = ["", "instances/other/"].map(|prefix| format!("{prefix}events/{event}/"));
        let exists = self.files.borrow().keys().any(|path| path.starts_with(&folders[0]));
        if kind == "-" {
            if !exists {
                return Self::errno(libc::ENOENT);
            }
            if folders.iter().any(|folder| self.get(&format!("{folder}enable")) == "1") {
                return Self::errno(libc::EBUSY);
            }
            folders.iter().for_each(|folder| self.remove(folder));
            return Ok(());
        }
        if exists || !FUNCTIONS.contains(&function) {
            return Self::errno(if exists { libc::EEXIST } else { libc::EINVAL });
        }
        self.next_id.set(self.next_id.get() + 1);
        for folder in folders {
            self.set(&format!("{folder}enable"), "0");
            self.set(&format!("{folder}format"), &format!("name: x\nID: {}\n", self.next_id.get()));
        }
        Ok(())
    }
}

impl Tracefs for Fake {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.check(path)?;
        if let Some(text) = self.printed.borrow().get(path) {
            return Ok(text.clone());
        }
        let (prefix, file) = split(path);
        let text = self.get(path);
        let size = |text: String| match text.as_str() {
            "unused" => format!("{UNUSED_KB} (expanded: {EXPANDED_KB})\n"),
            _ => format!("{text}\n"),
        };
        let text = match file {
            "trace_clock" => {
                let name = |clock: &&str| {
                    if **clock == text { format!("[{clock}]") } else { (*clock).to_owned() }
                };
                CLOCKS.iter().map(name).collect::<Vec<_>>().join(" ")
            }
            "set_event" => {
                self.enabled(prefix).iter().map(|e| e.replacen('/', ":", 1) + "\n").collect()
            }
            "buffer_size_kb" => {
                let [a, b] =
                    [0, 1].map(|cpu| self.get(&format!("{prefix}per_cpu/cpu{cpu}/buffer_size_kb")));
                if a == b { size(a) } else { "X\n".to_owned() }
            }
            "set_ftrace_filter" | "set_graph_function" if text.is_empty() => {
                format!("{ALL_FUNCTIONS}\n")
            }
            _ if file.ends_with("/buffer_size_kb") => size(text),
            _ => text + "\n",
        };
        Ok(text.into_bytes())
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let text = self.begin_change("write", path, bytes)?;
        self.command(path, &text)?;
        if let Some([other, text]) = self.effects.borrow().get(path) {
            self.set(other, text);
        }
        Ok(())
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let text = self.begin_change("append", path, bytes)?;
        self.command(path, &text)
    }

    fn truncate(&self, path: &str) -> io::Result<()> {
        self.begin_change("trunc", path, b"")?;
        let (prefix, file) = split(path);
        if file == "set_event" {
            self.switch_all(prefix, "0");
        }
        self.set(path, "");
        Ok(())
    }

    fn exists(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.borrow().keys().any(|file| file == path || file.starts_with(&folder))
    }

    fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        let folder = format!("{path}/");
        let files = self.files.borrow();
        let below = files.keys().filter_map(|file| file.strip_prefix(&folder));
        let names: BTreeSet<&str> =
            below.filter_map(|file| Some(file.split_once('/')?.0)).collect();
        if names.is_empty() && !self.exists(path) {
            return Self::errno(libc::ENOENT);
        }
        Ok(names.into_iter().map(str::to_owned).collect())
    }

    fn make_folder(&self, path: &str) -> io::Result<()> {
        if self.exists(path) {
            return Self::errno(libc::EEXIST);
        }
        self.add_instance(&format!("{path}/"));
        Ok(())
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        if !self.exists(path) {
            return Self::errno(libc::ENOENT);
        }
        self.remove(&format!("{path}/"));
        Ok(())
    }

    fn open_pipe(&self, path: &str) -> io::Result<Box<dyn PolledPipe>> {
        if let Some(errno) = self.denied.borrow().get(path) {
            return Self::errno(*errno);
        }
        let cpu = path.strip_suffix("trace_pipe_raw").unwrap_or(path);
        if !self.exists(&format!("{cpu}stats")) {
            return Self::errno(libc::ENOENT);
        }
        self.open_pipes.set(self.open_pipes.get() + 1);
        let (scripts, open) = (Rc::clone(&self.scripts), Rc::clone(&self.open_pipes));
        Ok(Box::new(FakePipe { path: path.to_owned(), scripts, open }))
    }
}

struct FakePipe {
    path: String,
    scripts: Rc<RefCell<BTreeMap<String, VecDeque<Next>>>>,
    open: Rc<Cell<usize>>,
}

impl Drop for FakePipe {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
    }
}

impl Pipe for FakePipe {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        let mut scripts = self.scripts.borrow_mut();
        let script = scripts.entry(self.path.clone()).or_default();
        match script.pop_front() {
            None => Fake::errno(libc::EAGAIN),
            Some(Next::Nothing) => Ok(0),
            Some(Next::Error(errno)) => Fake::errno(errno),
            Some(Next::Page(mut bytes)) => {
                let len = bytes.len().min(page.len());
                page[..len].copy_from_slice(&bytes[..len]);
                // A short read splits the page.
                if len < bytes.len() {
                    script.push_front(Next::Page(bytes.split_off(len)));
                }
                Ok(len)
            }
        }
    }
}

impl PolledPipe for FakePipe {
    fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    /// A page is as full as it takes. An error that comes next is one of `poll`, too.
    fn polled(&self) -> Polled {
        match self.scripts.borrow().get(&self.path).and_then(VecDeque::front) {
            None | Some(Next::Nothing) => Polled::Waits,
            Some(Next::Page(_)) => Polled::Ready,
            Some(Next::Error(_)) => Polled::Broken,
        }
    }
}

/// The prefix of the instance, and the file in it.
fn split(path: &str) -> (&str, &str) {
    let Some(name) = path.strip_prefix("instances/") else { return ("", path) };
    let end = name.find('/').expect("a file") + "instances/".len() + 1;
    path.split_at(end)
}

/// Kilobytes that a ring has if so many are asked for.
fn rounded(kb: u64) -> u64 {
    kb.saturating_mul(1024).div_ceil(PAGE_PAYLOAD).max(2).saturating_mul(PAGE_PAYLOAD) / 1024
}
