//! The machine, as the controller needs it.

use std::cell::RefCell;
use std::io::{self, Read};

use super::super::config::SyscallArch;
use super::super::controller::System;
use super::super::mux::{Journal, Machine, Records};
use super::super::options::FtraceOptions;
use super::super::symbols::{Parser, Restrict, Revealed, Symbols};
use super::super::table::kind::Pointers;
use super::super::tracefs::{Directory, Tracefs, cpu_list};
use super::claim::{self, Claim};
use crate::Root;

const KALLSYMS: &str = "proc/kallsyms";
const KPTR_RESTRICT: &str = "proc/sys/kernel/kptr_restrict";
/// Bytes of `kallsyms` that tell whether addresses show.
const SAMPLE: u64 = 4096;

/// See [`System`].
pub(super) struct Linux {
    root: Root,
    options: FtraceOptions,
    /// While sessions record.
    claim: RefCell<Option<Claim>>,
}

impl Linux {
    pub(super) fn new(root: &Root, options: FtraceOptions) -> Self {
        Self { root: root.clone(), options, claim: RefCell::default() }
    }

    /// What `with` makes of the records, if there are some.
    fn with_records<T>(&self, with: impl FnOnce(&Records) -> T) -> Option<T> {
        let claim = self.claim.borrow();
        claim.as_ref()?.records.as_ref().ok().map(with)
    }
}

impl System for Linux {
    fn claim(&self, tracefs: &dyn Tracefs) -> Result<(), String> {
        let claim = Claim::take(&self.root)?;
        match &claim.records {
            Ok(records) => claim::restore(&self.root, records, tracefs),
            Err(why) => self.log(&format!(
                "linux.ftrace: {why}; if this program is killed, `sudo tracebox --reset-ftrace` resets the kernel"
            )),
        }
        *self.claim.borrow_mut() = Some(claim);
        Ok(())
    }

    fn release(&self) {
        *self.claim.borrow_mut() = None;
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
        Journal::new(self.with_records(|records| records.store(directory)))
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

    fn pointers(&self) -> Pointers {
        if self.options.shows_pointers { Pointers::Shown } else { Pointers::Hidden }
    }

    fn has_polls(&self) -> bool {
        let names = rustix::system::uname();
        release(&names.release().to_string_lossy()).is_some_and(|release| release >= (6, 9))
    }

    fn own_threads(&self) -> Vec<i32> {
        // In another PID namespace they would be those of others.
        if self.root.is_first_pid_namespace() == Some(false) {
            return Vec::new();
        }
        let threads = self.root.numbers("proc/self/task", "").unwrap_or_default();
        threads.into_iter().filter_map(|id| i32::try_from(id).ok()).collect()
    }

    fn log(&self, line: &str) {
        self.root.warn(line);
    }

    fn boot_ns(&self) -> u64 {
        os::clock::boot_ns()
    }
}

impl Restrict for Linux {
    fn may_lower(&self) -> bool {
        !self.options.keeps_kptr_restrict
    }

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
        self.with_records(|records| records.keep_restrict(found)).unwrap_or(Ok(()))
    }
}

/// The first two numbers of a kernel's release, such as `6.18.5-generic` or `6.9-rc1`.
pub(super) fn release(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.split_once('.')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest.get(..digits)?.parse().ok()?))
}
