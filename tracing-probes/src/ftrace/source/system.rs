//! The machine, as the controller needs it.

use std::cell::RefCell;
use std::io::{self, Read};

use rustix::event::{Timespec, poll};

use super::super::config::SyscallArch;
use super::super::controller::System;
use super::super::mux::{Journal, Machine, Records, RecordsError};
use super::super::symbols::{Parser, Restrict, Revealed, Symbols};
use super::super::tracefs::{Directory, Tracefs, cpu_list, find_root};
use crate::Root;

/// Where `linux.ftrace` keeps what it found in tracefs, below the root of the file system: a reboot clears it, and
/// tracefs with it. A file that ends in `.ftrace` is of a recording that runs, or of one that was killed.
pub const FTRACE_RECORDS: &str = "run/tracing-probes";
const KALLSYMS: &str = "proc/kallsyms";
const KPTR_RESTRICT: &str = "proc/sys/kernel/kptr_restrict";
/// How often, and how long between, it is tried to lock the records of another program: a second in all.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Bytes of `kallsyms` that tell whether addresses show.
const SAMPLE: u64 = 4096;

/// See [`System`].
pub(super) struct Linux {
    root: Root,
    /// While sessions record, if the folder can be used.
    records: RefCell<Option<Records>>,
}

impl Linux {
    pub(super) fn new(root: &Root) -> Self {
        Self { root: root.clone(), records: RefCell::default() }
    }
}

/// Uses the records. A program that starts locks them for a moment, while it puts back what a killed one has left.
fn open(root: &Root) -> Result<Records, RecordsError> {
    let open = || Records::open(&root.join(FTRACE_RECORDS), &boot(root));
    let mut opened = open();
    for _ in 0..LOCK_TRIES {
        if !matches!(opened, Err(RecordsError::InUse(_))) {
            break;
        }
        // Nothing is polled: it waits for its time.
        _ = poll(&mut [], Some(&LOCK_PAUSE));
        opened = open();
    }
    opened
}

/// Puts back what a daemon that was killed has left. If another program uses the records now, it has done so; the text
/// tells that it records.
pub(super) fn restore_left(root: &Root) -> Option<String> {
    let folder = root.join(FTRACE_RECORDS);
    if !Records::any_left(&folder) {
        return None;
    }
    match (Records::open(&folder, &boot(root)), find_root(root.path())) {
        (Ok(records), Ok(tracefs)) => restore(root, &records, &tracefs),
        (Err(RecordsError::InUse(why)), _) => return Some(why),
        _ => {}
    }
    None
}

/// Names the boot.
fn boot(root: &Root) -> String {
    root.read_line("proc/sys/kernel/random/boot_id").unwrap_or_default()
}

fn restore(root: &Root, records: &Records, tracefs: &dyn Tracefs) {
    let notes = records.restore(tracefs);
    let notes = notes.into_iter().chain(restore_restrict(root, records));
    notes.for_each(|note| root.warn_once(&format!("linux.ftrace: {note}")));
}

/// Puts back `kptr_restrict`, if a daemon was killed while it had lowered it. The text tells so.
fn restore_restrict(root: &Root, records: &Records) -> Option<String> {
    let level = records.restrict_left()?;
    if let Err(error) = std::fs::write(root.join(KPTR_RESTRICT), level.to_string()) {
        return Some(format!(
            "a daemon was killed that had lowered /{KPTR_RESTRICT}: it is not put back: {error}; write {level} to it"
        ));
    }
    // If it stays, the value is put back once more.
    _ = records.keep_restrict(None);
    Some(format!("a daemon was killed that had lowered /{KPTR_RESTRICT}: {level} is put back"))
}

impl System for Linux {
    fn claim(&self, tracefs: &dyn Tracefs) -> Result<(), String> {
        match open(&self.root) {
            Ok(records) => {
                restore(&self.root, &records, tracefs);
                *self.records.borrow_mut() = Some(records);
                Ok(())
            }
            Err(RecordsError::InUse(why)) => Err(why),
            Err(RecordsError::Unusable(why)) => {
                self.log(&format!(
                    "linux.ftrace: {why}; if this program is killed, `sudo tracebox --reset-ftrace` resets the kernel"
                ));
                Ok(())
            }
        }
    }

    fn release(&self) {
        *self.records.borrow_mut() = None;
    }

    fn machine(&self) -> Machine {
        let cpus = |file: &str| {
            let mut text = Vec::new();
            self.root.read(&format!("sys/devices/system/cpu/{file}"), &mut text).ok()?;
            cpu_list(&text)
        };
        let (possible, online) =
            (cpus("possible").unwrap_or_default(), cpus("online").unwrap_or_default());
        let memory_kb = self.root.read_line("proc/meminfo").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        });
        let machine = rustix::system::uname();
        Machine {
            offline_cpus: possible.into_iter().filter(|cpu| !online.contains(cpu)).collect(),
            ram_bytes: memory_kb.unwrap_or(0).saturating_mul(1024),
            page_kb: u32::try_from(rustix::param::page_size() / 1024).unwrap_or(4),
            arch: SyscallArch::of_machine(&machine.machine().to_string_lossy()),
        }
    }

    fn journal(&self, directory: &Directory) -> Journal {
        Journal::new(self.records.borrow().as_ref().map(|records| records.store(directory)))
    }

    fn symbols(&self) -> Result<Symbols, String> {
        let _revealed = Revealed::new(self)?;
        let failed =
            |error: io::Error| format!("kernel symbols: /{KALLSYMS} cannot be read: {error}");
        let mut file = self.root.open(KALLSYMS).map_err(failed)?;
        let (mut parser, mut piece) = (Parser::default(), vec![0; 64 * 1024]);
        loop {
            let len = match file.read(&mut piece) {
                Ok(0) => return Ok(parser.finish()),
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(error)),
            };
            parser.push(piece.get(..len).unwrap_or_default());
        }
    }

    fn has_polls(&self) -> bool {
        let names = rustix::system::uname();
        release(&names.release().to_string_lossy()).is_some_and(|release| release >= (6, 9))
    }

    fn log(&self, line: &str) {
        self.root.warn_once(line);
    }

    fn boot_ns(&self) -> u64 {
        os::clock::boot_ns()
    }
}

impl Restrict for Linux {
    fn is_hidden(&self) -> io::Result<bool> {
        let mut sample = Vec::new();
        self.root.open(KALLSYMS)?.take(SAMPLE).read_to_end(&mut sample)?;
        let mut words = sample
            .split(|byte| *byte == b'\n')
            .filter_map(|line| line.split(|b| *b == b' ').next());
        Ok(words.all(|address| address.iter().all(|digit| *digit == b'0')))
    }

    fn level(&self) -> io::Result<u32> {
        let level = self.root.read_number(KPTR_RESTRICT).and_then(|level| level.try_into().ok());
        level.ok_or_else(|| io::Error::other(format!("/{KPTR_RESTRICT} is no number")))
    }

    fn set_level(&self, level: u32) -> io::Result<()> {
        std::fs::write(self.root.join(KPTR_RESTRICT), level.to_string())
    }

    fn remember(&self, found: Option<u32>) -> io::Result<()> {
        // Without records the user was told what a kill leaves.
        self.records.borrow().as_ref().map_or(Ok(()), |records| records.keep_restrict(found))
    }
}

/// The first two numbers of a kernel's release, such as `6.18.5-generic` or `6.9-rc1`.
pub(super) fn release(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.split_once('.')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest.get(..digits)?.parse().ok()?))
}
