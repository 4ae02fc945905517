//! Texts of control files. The kernel prints them, so what does not parse is left out, and nothing panics.

use std::collections::BTreeSet;

use abi::map::SortedMap;

use crate::limits::CPUS_MAX;
use crate::parse::{key_value, lines, number, words};

/// CPUs in a word of a mask.
const CPUS_PER_WORD: u32 = 32;
/// Longest part of a second that is kept, digits: nanoseconds.
const SECOND_DIGITS: usize = 9;

/// The CPUs in a list such as `0-3,5`, rising. `None` if it is no such list.
pub(crate) fn cpu_list(text: &[u8]) -> Option<Vec<u32>> {
    let text = text.trim_ascii();
    let mut cpus = Vec::new();
    for part in text.split(|b| *b == b',').filter(|_| !text.is_empty()) {
        let (first, last) = match part.iter().position(|b| *b == b'-') {
            Some(dash) => (number(&part[..dash])?, number(&part[dash + 1..])?),
            None => (number(part)?, number(part)?),
        };
        if first > last || last >= u64::from(CPUS_MAX) {
            return None;
        }
        cpus.extend((first..=last).filter_map(|cpu| u32::try_from(cpu).ok()));
        if cpus.len() > CPUS_MAX as usize {
            return None;
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// The CPUs of a mask such as `1,0000000f`: words in hexadecimal digits, the one of the highest CPUs first. What is no
/// number has none.
pub(crate) fn cpus_of_mask(mask: &str) -> BTreeSet<u32> {
    let words = mask.rsplit(',').map(|word| u32::from_str_radix(word, 16).unwrap_or(0));
    let firsts = (0..CPUS_MAX).step_by(CPUS_PER_WORD as usize);
    let of_word = |(first, word): (u32, u32)| {
        (0..CPUS_PER_WORD).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first + bit)
    };
    firsts.zip(words).flat_map(of_word).collect()
}

/// The mask of CPUs, each below [`CPUS_MAX`].
pub(crate) fn mask_of_cpus(cpus: &BTreeSet<u32>) -> String {
    let last = cpus.last().map_or(0, |cpu| cpu / CPUS_PER_WORD);
    let word = |index: u32| {
        let first = index * CPUS_PER_WORD;
        let bits = cpus.range(first..first + CPUS_PER_WORD).map(|cpu| 1_u32 << (cpu - first));
        format!("{:08x}", bits.sum::<u32>())
    };
    (0..=last).rev().map(word).collect::<Vec<_>>().join(",")
}

/// The clocks of `trace_clock`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clocks {
    /// All of them.
    pub(crate) available: Vec<String>,
    /// The one in brackets. Empty if there is none.
    pub(crate) current: String,
}

/// Parses `trace_clock`: names, the current one in brackets.
pub(crate) fn clocks(text: &[u8]) -> Clocks {
    let mut clocks = Clocks::default();
    for word in words(text) {
        let inner = word.strip_prefix(b"[").and_then(|w| w.strip_suffix(b"]"));
        let name = String::from_utf8_lossy(inner.unwrap_or(word)).into_owned();
        if inner.is_some() {
            clocks.current.clone_from(&name);
        }
        clocks.available.push(name);
    }
    clocks
}

/// What `buffer_size_kb` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferKb {
    /// Each CPU has so many.
    Each(u64),
    /// Nobody has used it yet: each CPU has the first, and the first use makes it the second.
    Unused { now: u64, expanded: u64 },
    /// The CPUs differ.
    Differs,
}

/// Parses `buffer_size_kb`: `7 (expanded: 1408)`, `1408`, `X`.
pub(crate) fn buffer_kb(text: &[u8]) -> Option<BufferKb> {
    let mut words = words(text);
    let first = words.next()?;
    if first == b"X" {
        return Some(BufferKb::Differs);
    }
    let now = number(first)?;
    Some(match (words.next(), words.next()) {
        (Some(b"(expanded:"), Some(size)) => {
            BufferKb::Unused { now, expanded: number(size.strip_suffix(b")")?)? }
        }
        _ => BufferKb::Each(now),
    })
}

/// What `per_cpu/cpuN/stats` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuStats {
    pub(crate) entries: u64,
    pub(crate) overrun: u64,
    pub(crate) commit_overrun: u64,
    /// Bytes that were read, or not yet read, by the kernel's choice.
    pub(crate) bytes: u64,
    /// Stays after the buffer was emptied.
    pub(crate) oldest_event: Stamp,
    pub(crate) now: Stamp,
    pub(crate) dropped_events: u64,
    pub(crate) read_events: u64,
}

/// A time of `stats`: seconds with a fraction, or for some clocks a number of their units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Nanoseconds of a time with a fraction, else the number itself.
    pub(crate) value: u64,
    /// Had it a fraction?
    pub(crate) is_seconds: bool,
}

impl Stamp {
    /// Parses `14.135643` or `14`, digit by digit: a float has too few bits for a long uptime.
    fn parse(word: &[u8]) -> Option<Self> {
        let Some(point) = word.iter().position(|b| *b == b'.') else {
            return Some(Self { value: number(word)?, is_seconds: false });
        };
        let (seconds, fraction) = (&word[..point], &word[point + 1..]);
        if fraction.is_empty() || fraction.len() > SECOND_DIGITS {
            return None;
        }
        let scale = 10u64.pow(u32::try_from(SECOND_DIGITS - fraction.len()).ok()?);
        let whole = number(seconds)?.checked_mul(1_000_000_000)?;
        let value = whole.checked_add(number(fraction)?.checked_mul(scale)?)?;
        Some(Self { value, is_seconds: true })
    }
}

/// Parses `per_cpu/cpuN/stats`. What is missing or no number stays 0.
pub(crate) fn cpu_stats(text: &[u8]) -> CpuStats {
    let mut stats = CpuStats::default();
    for (key, value) in lines(text).filter_map(key_value) {
        let count = number(value).unwrap_or_default();
        let stamp = || Stamp::parse(value).unwrap_or_default();
        match key {
            b"entries" => stats.entries = count,
            b"overrun" => stats.overrun = count,
            b"commit overrun" => stats.commit_overrun = count,
            b"bytes" => stats.bytes = count,
            b"oldest event ts" => stats.oldest_event = stamp(),
            b"now ts" => stats.now = stamp(),
            b"dropped events" => stats.dropped_events = count,
            b"read events" => stats.read_events = count,
            _ => {}
        }
    }
    stats
}

/// Parses `printk_formats`: lines `0xADDRESS : "TEXT"`. The first text of an address stays.
pub(crate) fn printk_formats(text: &[u8]) -> SortedMap<u64, Box<[u8]>> {
    let mut strings = Vec::new();
    for (address, text) in lines(text).filter_map(key_value) {
        let digits = address.strip_prefix(b"0x").and_then(|d| str::from_utf8(d).ok());
        let address = digits.and_then(|d| u64::from_str_radix(d, 16).ok());
        let Some(address) = address.filter(|a| *a != 0) else { continue };
        let text = text.strip_prefix(b"\"").unwrap_or(text);
        let text = text.strip_suffix(b"\"").unwrap_or(text);
        strings.push((address, Box::from(text)));
    }
    // A stable sort: of equal addresses the first line comes first.
    strings.sort_by_key(|(address, _)| *address);
    strings.dedup_by_key(|(address, _)| *address);
    strings.into_iter().collect()
}

/// Hits and misses of all kprobes of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KprobeProfile {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

/// Parses `kprobe_profile`: lines of name, hits and misses. A line without these three is left out.
pub(crate) fn kprobe_profile(text: &[u8]) -> KprobeProfile {
    let mut profile = KprobeProfile::default();
    for line in lines(text) {
        let mut words = words(line).skip(1);
        let (Some(hits), Some(misses)) =
            (words.next().and_then(number), words.next().and_then(number))
        else {
            continue;
        };
        profile.hits = profile.hits.saturating_add(hits);
        profile.misses = profile.misses.saturating_add(misses);
    }
    profile
}

/// The events of `set_event`: group and name of those that are on. Lines that name anything else are left out.
pub(crate) fn events_listed(text: &[u8]) -> Vec<(String, String)> {
    let event = |line: &[u8]| {
        let line = str::from_utf8(line).ok()?.trim();
        let (group, name) = line.split_once(':')?;
        let is_plain = super::is_part(group) && super::is_part(name) && !name.contains(':');
        is_plain.then(|| (group.to_owned(), name.to_owned()))
    };
    lines(text).filter_map(event).collect()
}

/// The functions of `set_ftrace_filter` or `set_graph_function`, which have a comment in place of an empty list.
pub(crate) fn functions_listed(text: &[u8]) -> Vec<String> {
    let is_function = |line: &&[u8]| !line.starts_with(b"#");
    let first_word =
        |line: &[u8]| words(line).next().map(|w| String::from_utf8_lossy(w).into_owned());
    lines(text).filter(is_function).filter_map(first_word).collect()
}
