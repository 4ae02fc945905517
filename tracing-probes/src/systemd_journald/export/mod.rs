//! The format in which `journalctl -o export` prints entries.
//!
//! ```text
//!   MESSAGE=hello\n                                  a field that is text
//!   MESSAGE\n  07 00 00 00 00 00 00 00  one\ntwo \n  a field with any bytes, behind its length (u64, little endian)
//!   \n                                               the end of the entry
//! ```
//!
//! Any process can put entries into the journal, so names and values are of any length and of any bytes. What is kept
//! of an entry is bounded: values are cut at [`JOURNAL_VALUE_BYTES_MAX`], where the journal's library cuts them, too,
//! and only fields that a packet has are kept.

#[cfg(test)]
mod tests;

use crate::limits::JOURNAL_VALUE_BYTES_MAX;
use crate::parse::number;

/// Bytes of the longest name that is kept whole: longer than those that count.
const NAME_BYTES_MAX: usize = 64;

/// What a packet has of an entry. Empty values, and numbers that are none, are left out; of a field that is there
/// several times, the last counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// When journald received it, by the monotonic clock, microseconds. `None` if that was in another boot.
    pub(super) this_boot_us: Option<u64>,
    pub(super) pid: Option<u32>,
    pub(super) tid: Option<u32>,
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) prio: Option<u32>,
    pub(super) tag: Option<String>,
    pub(super) message: Option<String>,
    pub(super) comm: Option<String>,
    pub(super) exe: Option<String>,
    pub(super) unit: Option<String>,
    pub(super) hostname: Option<String>,
    pub(super) transport: Option<String>,
}

impl Entry {
    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        let Self { tag, message, comm, exe, unit, hostname, transport, .. } = self;
        let texts = [tag, message, comm, exe, unit, hostname, transport];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        size_of::<Self>().saturating_add(texts)
    }
}

/// An entry that is being read.
#[derive(Debug, Default)]
struct Fields {
    entry: Entry,
    monotonic_us: Option<u64>,
    boot_id: Vec<u8>,
}

impl Fields {
    fn set(&mut self, name: &[u8], value: &[u8]) {
        let text = || (!value.is_empty()).then(|| String::from_utf8_lossy(value).into_owned());
        let small = || number(value).and_then(|value| u32::try_from(value).ok());
        let entry = &mut self.entry;
        match name {
            b"__MONOTONIC_TIMESTAMP" => self.monotonic_us = number(value),
            b"_BOOT_ID" => self.boot_id = value.to_vec(),
            b"_PID" => entry.pid = small(),
            // journald does not know it; programs that log by its library tell it.
            b"_TID" | b"TID" => entry.tid = small(),
            b"_UID" => entry.uid = small(),
            b"_GID" => entry.gid = small(),
            b"PRIORITY" => entry.prio = small(),
            b"SYSLOG_IDENTIFIER" => entry.tag = text(),
            b"MESSAGE" => entry.message = text(),
            b"_COMM" => entry.comm = text(),
            b"_EXE" => entry.exe = text(),
            b"_SYSTEMD_UNIT" => entry.unit = text(),
            b"_HOSTNAME" => entry.hostname = text(),
            b"_TRANSPORT" => entry.transport = text(),
            _ => {}
        }
    }

    /// Takes the entry. `boot_id` is that of this boot; empty if it is not known.
    fn take(&mut self, boot_id: &[u8]) -> Entry {
        let is_here = boot_id.is_empty() || boot_id == self.boot_id;
        let this_boot_us = self.monotonic_us.filter(|_| is_here);
        let entry = Entry { this_boot_us, ..std::mem::take(&mut self.entry) };
        *self = Self::default();
        entry
    }
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Name,
    Text,
    /// The length of a value; this many bytes of it came.
    Length(usize),
    /// A value of any bytes; this many are missing.
    Bytes(u64),
    /// The end of the line behind such a value.
    EndOfBytes,
}

/// Reads entries of bytes that come in pieces.
#[derive(Debug, Default)]
pub(super) struct Parser {
    state: State,
    name: Vec<u8>,
    value: Vec<u8>,
    length: [u8; 8],
    /// Whether the entry has a field.
    has_fields: bool,
    fields: Fields,
    /// Of this boot, as entries name it.
    boot_id: Vec<u8>,
}

impl Parser {
    /// For the boot with this id, in hexadecimal digits.
    pub(super) fn new(boot_id: Vec<u8>) -> Self {
        Self { boot_id, ..Self::default() }
    }

    /// Reads `bytes`, and gives the entries that end in them to `take`.
    pub(super) fn read(&mut self, mut bytes: &[u8], mut take: impl FnMut(Entry)) {
        while let Some((&first, rest)) = bytes.split_first() {
            match self.state {
                State::Name => {
                    bytes = rest;
                    self.name_byte(first, &mut take);
                }
                State::Text => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let (value, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
                    keep(&mut self.value, value, JOURNAL_VALUE_BYTES_MAX);
                    bytes = rest.get(1..).unwrap_or_default();
                    if end.is_some() {
                        self.end_field();
                    }
                }
                State::Length(came) => {
                    bytes = rest;
                    if let Some(place) = self.length.get_mut(came) {
                        *place = first;
                    }
                    let came = came.saturating_add(1);
                    let length = u64::from_le_bytes(self.length);
                    self.state = if came < 8 { State::Length(came) } else { State::bytes(length) };
                }
                State::Bytes(missing) => {
                    let count = usize::try_from(missing).unwrap_or(usize::MAX).min(bytes.len());
                    let (value, rest) = bytes.split_at(count);
                    keep(&mut self.value, value, JOURNAL_VALUE_BYTES_MAX);
                    bytes = rest;
                    self.state = State::bytes(missing.saturating_sub(count as u64));
                }
                State::EndOfBytes => {
                    bytes = rest;
                    self.end_field();
                }
            }
        }
    }

    fn name_byte(&mut self, byte: u8, take: &mut impl FnMut(Entry)) {
        match byte {
            b'=' => self.state = State::Text,
            b'\n' if self.name.is_empty() => {
                if std::mem::take(&mut self.has_fields) {
                    take(self.fields.take(&self.boot_id));
                }
            }
            b'\n' => self.state = State::Length(0),
            _ => keep(&mut self.name, &[byte], NAME_BYTES_MAX),
        }
    }

    fn end_field(&mut self) {
        self.fields.set(&self.name, &self.value);
        self.has_fields = true;
        self.name.clear();
        self.value.clear();
        self.state = State::Name;
    }
}

impl State {
    fn bytes(missing: u64) -> Self {
        if missing == 0 { Self::EndOfBytes } else { Self::Bytes(missing) }
    }
}

/// Appends as much of `bytes` as makes `to` at most `max` bytes long.
fn keep(to: &mut Vec<u8>, bytes: &[u8], max: usize) {
    let count = max.saturating_sub(to.len()).min(bytes.len());
    to.extend_from_slice(bytes.get(..count).unwrap_or_default());
}
