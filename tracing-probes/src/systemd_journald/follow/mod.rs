//! The `journalctl` that prints entries as they come, and who gets them.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::SystemTime;

use abi::sync::{Arc, Mutex, Weak, lock};

use super::export::{Entry, Parser};
use crate::Root;
use crate::limits::{JOURNAL_BATCH_BYTES, JOURNAL_MAILBOX_BYTES_MAX};
use crate::probe::Shared;

/// Folders that may have the program. `PATH` is not used: who starts the daemon must not choose the program.
const FOLDERS: [&str; 3] = ["usr/bin", "bin", "run/current-system/sw/bin"];

/// Folders with the journals of machines.
const JOURNALS: [&str; 2] = ["run/log/journal", "var/log/journal"];

/// Entries that one instance has not taken yet, and their bytes.
#[derive(Debug, Default)]
pub(super) struct Mailbox(Mutex<(VecDeque<Arc<Entry>>, usize)>);

impl Mailbox {
    /// Takes all entries.
    pub(super) fn take(&self) -> VecDeque<Arc<Entry>> {
        std::mem::take(&mut *lock(&self.0)).0
    }

    fn put(&self, entry: &Arc<Entry>) {
        let (entries, bytes) = &mut *lock(&self.0);
        *bytes = bytes.saturating_add(entry.bytes());
        entries.push_back(Arc::clone(entry));
    }

    fn is_full(&self) -> bool {
        lock(&self.0).1 >= JOURNAL_MAILBOX_BYTES_MAX
    }
}

/// The journal of this system, for all instances.
#[derive(Debug)]
pub(crate) struct Journal {
    root: Root,
    following: Option<Following>,
    mailboxes: Vec<Weak<Mailbox>>,
}

impl Shared for Journal {
    fn new(root: &Root) -> Self {
        Self { root: root.clone(), following: None, mailboxes: Vec::new() }
    }

    fn begin_batch(&mut self) {
        self.read();
    }
}

impl Journal {
    /// Delivers the entries from now on to `mailbox`, as long as it exists.
    pub(super) fn deliver_to(&mut self, mailbox: &Arc<Mailbox>) {
        if self.following.is_none() {
            self.following = self.follow();
        }
        self.mailboxes.push(Arc::downgrade(mailbox));
    }

    fn follow(&self) -> Option<Following> {
        let names = FOLDERS.map(|folder| self.root.join(folder).join("journalctl"));
        let Some(program) = names.iter().find(|path| path.is_file()) else {
            self.root.warn(
                "systemd_journald: there is no journalctl here, so nothing is recorded: install systemd",
            );
            return None;
        };
        self.warn_of_unreadable_journal();
        let boot_id = self.root.read_line("proc/sys/kernel/random/boot_id").unwrap_or_default();
        let boot_id = boot_id.bytes().filter(|byte| *byte != b'-').collect();
        match Following::begin(Command::new(program), boot_id) {
            Ok(following) => Some(following),
            Err(error) => {
                self.root.warn(&format!(
                    "systemd_journald: {} does not run, so nothing is recorded: {error}",
                    program.display()
                ));
                None
            }
        }
    }

    /// `journalctl` prints what this user may read, and does not tell what that leaves out.
    fn warn_of_unreadable_journal(&self) {
        let machine = self.root.read_line("etc/machine-id").unwrap_or_default();
        if machine.len() != 32 || !machine.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return;
        }
        let mut is_there = false;
        for folder in JOURNALS {
            let path = format!("{folder}/{machine}/system.journal");
            match self.root.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => self.root.warn(&format!(
                    "systemd_journald: /{path} cannot be read: {error}; so only entries of this user are recorded: \
                     record as root, or as a member of the group systemd-journal"
                )),
                Ok(_) => {}
            }
            is_there = true;
        }
        if !is_there {
            self.root.warn(
                "systemd_journald: this machine has no system.journal below /run/log/journal and /var/log/journal, so \
                 nothing is recorded until there is one: start systemd-journald",
            );
        }
    }

    /// Delivers what was printed, without waiting for more. What exceeds a bound stays in the pipe, and `journalctl`
    /// waits.
    fn read(&mut self) {
        self.mailboxes.retain(|mailbox| mailbox.strong_count() > 0);
        let boxes: Vec<_> = self.mailboxes.iter().filter_map(Weak::upgrade).collect();
        let Some(following) = &mut self.following else { return };
        let is_full = || boxes.iter().any(|mailbox| mailbox.is_full());
        let end = following.read(is_full, |entry| {
            let entry = Arc::new(entry);
            boxes.iter().for_each(|mailbox| mailbox.put(&entry));
        });
        if let Some(end) = end {
            self.root.warn(&format!(
                "systemd_journald: journalctl ended ({end}), so no more entries are recorded: `journalctl -f` tells why"
            ));
            self.following = None;
        }
    }

    /// Whether entries may still come.
    #[cfg(test)]
    pub(super) fn is_following(&self) -> bool {
        self.following.is_some()
    }
}

/// A `journalctl` that runs.
#[derive(Debug)]
struct Following {
    child: Child,
    printed: ChildStdout,
    reader: Reader,
}

impl Following {
    fn begin(mut program: Command, boot_id: Vec<u8>) -> io::Result<Self> {
        // From a second ago on: it takes a while until it follows. Instances leave out what is too old for them.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let since = format!("--since=@{}", now.as_secs().saturating_sub(1));
        program.args(["--quiet", "--no-pager", "--output=export", "--follow", "--no-tail", &since]);
        program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = program.spawn()?;
        let printed = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let following = Self { child, printed, reader: Reader::new(boot_id) };
        rustix::io::ioctl_fionbio(&following.printed, true)?;
        Ok(following)
    }

    /// As [`Reader::read`]. Returns why no more can come, if that is so.
    fn read(&mut self, is_full: impl Fn() -> bool, put: impl FnMut(Entry)) -> Option<String> {
        match self.reader.read(&mut self.printed, is_full, put) {
            Ok(true) => None,
            Ok(false) => Some(self.end()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// It has closed its output. Returns how it ended.
    fn end(&mut self) -> String {
        let _ = self.child.kill();
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // If it has ended already, both have nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what was printed, a batch at a time.
#[derive(Debug)]
struct Reader {
    parser: Parser,
    buffer: Box<[u8]>,
}

impl Reader {
    fn new(boot_id: Vec<u8>) -> Self {
        Self { parser: Parser::new(boot_id), buffer: vec![0; 64 * 1024].into() }
    }

    /// Reads entries until nothing more is there, a batch was read, or `is_full`. Returns whether more may come.
    fn read(
        &mut self,
        printed: &mut impl io::Read,
        is_full: impl Fn() -> bool,
        mut put: impl FnMut(Entry),
    ) -> io::Result<bool> {
        let mut left = JOURNAL_BATCH_BYTES;
        while left > 0 && !is_full() {
            match printed.read(&mut self.buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    left = left.saturating_sub(count);
                    self.parser.read(self.buffer.get(..count).unwrap_or_default(), &mut put);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
