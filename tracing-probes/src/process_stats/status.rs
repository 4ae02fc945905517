//! `/proc/PID/status` and `/proc/PID/stat`.

use super::counters::{self, CounterFile};
use crate::parse::{key_value, lines, number, signed, words};

/// The values of `status` that are used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Status {
    /// The name of the process, any bytes. The kernel escapes newlines and backslashes.
    pub(super) name: Vec<u8>,
    /// The process that the thread belongs to; 0 if the file does not tell.
    pub(super) tgid: i32,
    pub(super) ppid: i32,
    pub(super) uid: i32,
    /// Its process ids in nested PID namespaces, without the outermost.
    pub(super) inner_pids: Vec<i32>,
    /// It is a kernel thread; false on older kernels, which do not tell.
    pub(super) is_kernel: bool,
    /// The counters of this file, in the order of [`counters::COUNTERS`].
    pub(super) memory: Vec<Option<u64>>,
}

impl Status {
    pub(super) fn parse(contents: &[u8]) -> Self {
        let mut status =
            Self { memory: counters::rows(contents, CounterFile::Status), ..Self::default() };
        let int = |word: &[u8]| signed(word).and_then(|value| i32::try_from(value).ok());
        for (key, value) in lines(contents).filter_map(key_value) {
            match key {
                b"Name" => status.name = value.to_vec(),
                b"Tgid" => status.tgid = int(value).unwrap_or(0),
                b"PPid" => status.ppid = int(value).unwrap_or(0),
                b"Uid" => {
                    // Real, effective, saved, file system. Ids above i32 wrap as upstream's do.
                    let uid = words(value).next().and_then(number);
                    let uid = uid.and_then(|uid| u32::try_from(uid).ok());
                    status.uid = uid.unwrap_or(0).cast_signed();
                }
                b"NSpid" => status.inner_pids = words(value).skip(1).filter_map(int).collect(),
                b"Kthread" => status.is_kernel = value == b"1",
                _ => {}
            }
        }
        status
    }
}

/// The values of `stat` that are used, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stat {
    pub(super) user_ticks: u64,
    pub(super) kernel_ticks: u64,
    /// Since boot.
    pub(super) start_ticks: u64,
}

impl Stat {
    /// `1 (name) S 0 1 ...`; the name may have parentheses and spaces, so it ends at the last `)`.
    pub(super) fn parse(contents: &[u8]) -> Option<Self> {
        let end = contents.iter().rposition(|b| *b == b')')?;
        let mut values = words(contents.get(end + 1..)?);
        // Fields after the name, counted from 0: 11 is utime, 12 stime, 19 starttime.
        let user_ticks = number(values.nth(11)?)?;
        let kernel_ticks = number(values.next()?)?;
        let start_ticks = number(values.nth(6)?)?;
        Some(Self { user_ticks, kernel_ticks, start_ticks })
    }
}
