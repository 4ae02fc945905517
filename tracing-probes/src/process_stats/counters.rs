//! The counters of a process: the file each comes from, the field it goes to, and its last value.

use abi::map::SortedMap;

use protos::{ProcessStatsProcessWriter as Writer, ProcessStatsWriter};

use crate::limits::{FILE_ENTRY_BYTES, STATS_PACKET_BYTES};
use crate::parse::{key_value, lines, number, words};

/// Most that the values of a process take in a packet, bytes: a tag of two and a value of ten for each, and the id.
const VALUES_BYTES_MAX: usize = 12 * (COUNTERS.len() + 2) + 4;
/// Most that comes behind the last look at the length: the values of a process, or a file. The kernel's paths have less
/// than 4096 bytes, which may triple where they are not UTF-8; and what the packet has beside.
const LONGEST_STEP_BYTES: usize = 3 * 4096 + FILE_ENTRY_BYTES + VALUES_BYTES_MAX + 64;

/// The file of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterFile {
    Status,
    Smaps,
    Stat,
    Dmabuf,
}

/// Writes a counter.
type Set = for<'a, 'w> fn(&'a mut Writer<'w>, u64) -> &'a mut Writer<'w>;

/// A counter.
pub(super) struct Counter {
    file: CounterFile,
    /// Its row in the file, if that has named rows.
    row: &'static str,
    set: Set,
}

const fn counter(file: CounterFile, row: &'static str, set: Set) -> Counter {
    Counter { file, row, set }
}

/// All counters, grouped by file. `VmSize` is the first: a process without it is a kernel thread.
pub(super) const COUNTERS: [Counter; 17] = [
    counter(CounterFile::Status, "VmSize", |w, kb| w.vm_size_kb(kb)),
    counter(CounterFile::Status, "VmLck", |w, kb| w.vm_locked_kb(kb)),
    counter(CounterFile::Status, "VmHWM", |w, kb| w.vm_hwm_kb(kb)),
    counter(CounterFile::Status, "VmRSS", |w, kb| w.vm_rss_kb(kb)),
    counter(CounterFile::Status, "RssAnon", |w, kb| w.rss_anon_kb(kb)),
    counter(CounterFile::Status, "RssFile", |w, kb| w.rss_file_kb(kb)),
    counter(CounterFile::Status, "RssShmem", |w, kb| w.rss_shmem_kb(kb)),
    counter(CounterFile::Status, "VmSwap", |w, kb| w.vm_swap_kb(kb)),
    counter(CounterFile::Smaps, "Rss", |w, kb| w.smr_rss_kb(kb)),
    counter(CounterFile::Smaps, "Pss", |w, kb| w.smr_pss_kb(kb)),
    counter(CounterFile::Smaps, "Pss_Anon", |w, kb| w.smr_pss_anon_kb(kb)),
    counter(CounterFile::Smaps, "Pss_File", |w, kb| w.smr_pss_file_kb(kb)),
    counter(CounterFile::Smaps, "Pss_Shmem", |w, kb| w.smr_pss_shmem_kb(kb)),
    counter(CounterFile::Smaps, "SwapPss", |w, kb| w.smr_swap_pss_kb(kb)),
    counter(CounterFile::Stat, "", |w, ns| w.runtime_user_mode(ns)),
    counter(CounterFile::Stat, "", |w, ns| w.runtime_kernel_mode(ns)),
    counter(CounterFile::Dmabuf, "", |w, kb| w.dmabuf_rss_kb(kb)),
];

/// The counters of `file`, with their indexes in [`COUNTERS`].
fn counters_of(file: CounterFile) -> impl Iterator<Item = (usize, &'static Counter)> {
    const ALL: &[Counter] = &COUNTERS;
    ALL.iter().enumerate().filter(move |(_, counter)| counter.file == file)
}

/// Values of a file with rows like `VmSize:     3968 kB`; `None` for counters without a row.
pub(super) fn rows(contents: &[u8], file: CounterFile) -> Vec<Option<u64>> {
    let mut values = vec![None; counters_of(file).count()];
    for (key, value) in lines(contents).filter_map(key_value) {
        let found = counters_of(file).map(|(_, c)| c.row).zip(&mut values);
        if let Some((_, slot)) = found.into_iter().find(|(row, _)| row.as_bytes() == key) {
            *slot = words(value).next().and_then(number);
        }
    }
    values
}

/// The values of a process that were written last.
#[derive(Clone, Debug, Default)]
pub(super) struct LastValues {
    values: [Option<u64>; COUNTERS.len()],
    oom_score: Option<i64>,
    files: SortedMap<u32, String>,
}

impl LastValues {
    pub(super) fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none) && self.oom_score.is_none() && self.files.is_empty()
    }

    /// What the open files take, bytes.
    pub(super) fn files_bytes(&self) -> usize {
        self.files.values().map(|path| file_bytes(path)).sum()
    }
}

/// What an open file takes, bytes.
fn file_bytes(path: &str) -> usize {
    path.len() + FILE_ENTRY_BYTES
}

/// The values of a process that have changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    values: Vec<(usize, u64)>,
    oom_score: Option<i64>,
    files: Vec<(u32, String)>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.oom_score.is_none() && self.files.is_empty()
    }

    /// Takes the values of the counters of `file`, in the order of [`COUNTERS`].
    pub(super) fn record(
        &mut self,
        last: &mut LastValues,
        file: CounterFile,
        values: &[Option<u64>],
    ) {
        for ((index, _), value) in counters_of(file).zip(values) {
            if let (Some(value), Some(old)) = (*value, last.values.get_mut(index))
                && *old != Some(value)
            {
                *old = Some(value);
                self.values.push((index, value));
            }
        }
    }

    pub(super) fn record_oom_score(&mut self, last: &mut LastValues, score: i64) {
        if last.oom_score != Some(score) {
            last.oom_score = Some(score);
            self.oom_score = Some(score);
        }
    }

    /// Takes the path of an open file. Returns what it takes, bytes; 0 if it was known.
    pub(super) fn record_file(&mut self, last: &mut LastValues, fd: u32, path: String) -> usize {
        if last.files.get(&fd) == Some(&path) {
            return 0;
        }
        let bytes = file_bytes(&path);
        self.files.push((fd, path.clone()));
        last.files.insert(fd, path);
        bytes
    }

    fn write_values(&self, process: &mut Writer<'_>) {
        for (index, value) in &self.values {
            if let Some(counter) = COUNTERS.get(*index) {
                (counter.set)(process, *value);
            }
        }
        if let Some(score) = self.oom_score {
            process.oom_score_adj(score);
        }
    }
}

/// The changes of several processes, written in pieces, as what has changed in a tick may be longer than a buffer.
pub(super) struct Pieces<'a> {
    /// What is still to be written: the processes, and the files of the first one; `None`: its values, too.
    changed: &'a [(i32, Changes)],
    files: Option<&'a [(u32, String)]>,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(changed: &'a [(i32, Changes)]) -> Self {
        Self { changed, files: None }
    }

    pub(super) fn is_done(&self) -> bool {
        self.changed.is_empty()
    }

    /// Writes the next piece: as much as surely fits into [`STATS_PACKET_BYTES`].
    pub(super) fn write(&mut self, stats: &mut ProcessStatsWriter<'_>) {
        let mut left = STATS_PACKET_BYTES - LONGEST_STEP_BYTES;
        while let [(pid, changes), behind @ ..] = self.changed {
            let mut process = stats.processes();
            process.pid(*pid);
            if self.files.is_none() {
                changes.write_values(&mut process);
            }
            left = left.saturating_sub(VALUES_BYTES_MAX);
            let mut files = self.files.unwrap_or(&changes.files);
            while let [(fd, path), others @ ..] = files
                && left > 0
            {
                process.fds().fd((*fd).into()).path(path);
                left = left.saturating_sub(file_bytes(path));
                files = others;
            }
            if !files.is_empty() {
                self.files = Some(files);
                return;
            }
            (self.changed, self.files) = (behind, None);
            if left == 0 {
                return;
            }
        }
    }
}
