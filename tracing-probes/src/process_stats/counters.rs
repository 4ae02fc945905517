//! The counters of a process: where each comes from, where it goes, and whether it changed.

use std::collections::BTreeMap;

use protos::ProcessStatsProcessWriter as Writer;

use crate::parse::{key_value, lines, number, words};

/// The file a counter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    Status,
    Smaps,
    Stat,
    Dmabuf,
}

/// Writes a counter.
type Set = for<'a, 'w> fn(&'a mut Writer<'w>, u64) -> &'a mut Writer<'w>;

/// A counter.
pub(super) struct Counter {
    from: From,
    /// Its row there, if the file has named rows.
    row: &'static str,
    set: Set,
}

const fn counter(from: From, row: &'static str, set: Set) -> Counter {
    Counter { from, row, set }
}

/// All of them. Those of one file stand together, `VmSize` first: who has none is a kernel thread.
pub(super) const COUNTERS: [Counter; 17] = [
    counter(From::Status, "VmSize", |w, kb| w.vm_size_kb(kb)),
    counter(From::Status, "VmLck", |w, kb| w.vm_locked_kb(kb)),
    counter(From::Status, "VmHWM", |w, kb| w.vm_hwm_kb(kb)),
    counter(From::Status, "VmRSS", |w, kb| w.vm_rss_kb(kb)),
    counter(From::Status, "RssAnon", |w, kb| w.rss_anon_kb(kb)),
    counter(From::Status, "RssFile", |w, kb| w.rss_file_kb(kb)),
    counter(From::Status, "RssShmem", |w, kb| w.rss_shmem_kb(kb)),
    counter(From::Status, "VmSwap", |w, kb| w.vm_swap_kb(kb)),
    counter(From::Smaps, "Rss", |w, kb| w.smr_rss_kb(kb)),
    counter(From::Smaps, "Pss", |w, kb| w.smr_pss_kb(kb)),
    counter(From::Smaps, "Pss_Anon", |w, kb| w.smr_pss_anon_kb(kb)),
    counter(From::Smaps, "Pss_File", |w, kb| w.smr_pss_file_kb(kb)),
    counter(From::Smaps, "Pss_Shmem", |w, kb| w.smr_pss_shmem_kb(kb)),
    counter(From::Smaps, "SwapPss", |w, kb| w.smr_swap_pss_kb(kb)),
    counter(From::Stat, "", |w, ns| w.runtime_user_mode(ns)),
    counter(From::Stat, "", |w, ns| w.runtime_kernel_mode(ns)),
    counter(From::Dmabuf, "", |w, kb| w.dmabuf_rss_kb(kb)),
];

/// Places in [`COUNTERS`] of those of one file.
fn places(from: From) -> impl Iterator<Item = (usize, &'static Counter)> {
    const ALL: &[Counter] = &COUNTERS;
    ALL.iter().enumerate().filter(move |(_, counter)| counter.from == from)
}

/// Values of a file with rows like `VmSize:     3968 kB`; none for those that are not there.
pub(super) fn rows(contents: &[u8], from: From) -> Vec<Option<u64>> {
    let mut values = vec![None; places(from).count()];
    for (key, value) in lines(contents).filter_map(key_value) {
        let found = places(from).map(|(_, c)| c.row).zip(&mut values);
        if let Some((_, slot)) = found.into_iter().find(|(row, _)| row.as_bytes() == key) {
            *slot = words(value).next().and_then(number);
        }
    }
    values
}

/// What was written of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    values: [Option<u64>; COUNTERS.len()],
    oom_score: Option<i64>,
    files: BTreeMap<u32, String>,
}

impl Known {
    pub(super) fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none) && self.oom_score.is_none() && self.files.is_empty()
    }
}

/// What is to be written of a process.
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

    /// Takes the values of a file's counters, in their order.
    pub(super) fn note(&mut self, known: &mut Known, from: From, values: &[Option<u64>]) {
        for ((place, _), value) in places(from).zip(values) {
            if let (Some(value), Some(old)) = (*value, known.values.get_mut(place))
                && *old != Some(value)
            {
                *old = Some(value);
                self.values.push((place, value));
            }
        }
    }

    pub(super) fn note_oom_score(&mut self, known: &mut Known, score: i64) {
        if known.oom_score != Some(score) {
            known.oom_score = Some(score);
            self.oom_score = Some(score);
        }
    }

    pub(super) fn note_file(&mut self, known: &mut Known, fd: u32, path: String) {
        if known.files.get(&fd) != Some(&path) {
            self.files.push((fd, path.clone()));
            known.files.insert(fd, path);
        }
    }

    pub(super) fn write(&self, process: &mut Writer<'_>) {
        for (place, value) in &self.values {
            if let Some(counter) = COUNTERS.get(*place) {
                (counter.set)(process, *value);
            }
        }
        if let Some(score) = self.oom_score {
            process.oom_score_adj(score);
        }
        for (fd, path) in &self.files {
            process.fds().fd((*fd).into()).path(path);
        }
    }
}
