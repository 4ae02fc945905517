//! Which events of the kernel a trace lacks, as the probes say in it.
//!
//! They write `FtraceStats` at the start of a session: with events that this kernel does not have, events that it does
//! not record, what of the config is not used, and the reason if nothing is recorded. At each flush and at the end come
//! the counters of the kernel's rings, which `KernelLosses` of `tracing-file` looks at.

use std::collections::{BTreeMap, BTreeSet};

use protozero::{Reader, Value};
use tracing_file::losses::KernelLosses;

use crate::config::parts::FTRACE;

/// Names that are kept of each kind: a config may have thousands.
const NAMES_MAX: usize = 100;
/// Names that are printed of each kind.
const SHOWN_MAX: usize = 8;
/// Bytes of a text that is kept.
const TEXT_BYTES_MAX: usize = 4096;
/// Data sources that are counted for each reason.
const SEQUENCES_MAX: usize = 16 * 1024;
/// What stands between the name of a data source and its reason in the text of a refusal.
const REFUSED: &str = " records nothing: ";
/// The data sources that write such a text.
const SOURCES: [&str; 2] = [FTRACE, "linux.frozen_ftrace"];

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FtraceNotes {
    /// The sequences of data sources that recorded nothing, by name and reason.
    refused: BTreeMap<(&'static str, String), BTreeSet<u64>>,
    /// Some data source has counters of rings.
    has_rings: bool,
    /// What was lost of events that the kernel did record.
    pub lost: KernelLosses,
    unknown: BTreeSet<String>,
    failed: BTreeSet<String>,
    remarks: BTreeSet<String>,
}

/// Fields of `FtraceStats`.
mod field {
    pub(super) const CPU_STATS: u32 = 2;
    pub(super) const ERRORS: u32 = 5;
    pub(super) const UNKNOWN: u32 = 6;
    pub(super) const FAILED: u32 = 7;
}

impl FtraceNotes {
    /// Adds the texts of an `FtraceStats` of a sequence. What is not valid is left out.
    pub fn add(&mut self, sequence: u64, stats: &[u8]) {
        let mut reader = Reader::new(stats);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (field::CPU_STATS, Value::Len(_)) => self.has_rings = true,
                (number, Value::Len(text)) => self.add_text(sequence, number, text),
                _ => {}
            }
        }
    }

    fn add_text(&mut self, sequence: u64, number: u32, text: &[u8]) {
        let text = text.get(..TEXT_BYTES_MAX).unwrap_or(text);
        let text = || String::from_utf8_lossy(text).into_owned();
        match number {
            field::ERRORS => {
                for line in text().lines().filter(|line| !line.is_empty()) {
                    match refusal(line) {
                        Some((source, why)) => self.add_refusal(sequence, source, why),
                        None => add(&mut self.remarks, line.to_owned()),
                    }
                }
            }
            field::UNKNOWN => add(&mut self.unknown, text()),
            field::FAILED => add(&mut self.failed, text()),
            _ => {}
        }
    }

    fn add_refusal(&mut self, sequence: u64, source: &'static str, why: &str) {
        let reason = (source, why.to_owned());
        if self.refused.len() >= NAMES_MAX && !self.refused.contains_key(&reason) {
            return;
        }
        let sequences = self.refused.entry(reason).or_default();
        if sequences.len() < SEQUENCES_MAX {
            sequences.insert(sequence);
        }
    }

    /// How many data sources of this name told that they recorded nothing.
    #[must_use]
    pub fn refused_count(&self, name: &str) -> u64 {
        let of_name = self.refused.iter().filter(|((source, _), _)| *source == name);
        of_name.map(|(_, sequences)| sequences.len() as u64).sum()
    }

    /// A line for each reason for which data sources recorded nothing.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        let line = |((source, why), sequences): (&(&str, String), &BTreeSet<u64>)| {
            // Only data sources that record have counters of rings. Without any, all of this name recorded nothing;
            // with some it is not known, as those of a frozen ring do not tell their name.
            let is_name = *source == FTRACE && !self.has_rings;
            let who = match sequences.len() {
                _ if is_name => (*source).to_owned(),
                0 | 1 => format!("a {source} data source"),
                count => format!("{count} {source} data sources"),
            };
            format!("{who} recorded nothing: {why}")
        };
        self.refused.iter().map(line).collect()
    }

    /// A line for each kind of events that are missing, and for each remark. What was lost, and a refusal, is a loss,
    /// and is not among them.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |what: &str, names: &BTreeSet<String>| {
            let shown: Vec<&str> = names.iter().map(String::as_str).take(SHOWN_MAX).collect();
            let more = match names.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            (!names.is_empty()).then(|| format!("{what}: {}{more}", shown.join(", ")))
        };
        let unknown = line("Not recorded, because this kernel does not have it", &self.unknown);
        let failed =
            line("Not recorded, because the kernel or the config does not allow it", &self.failed);
        let remarks = self.remarks.iter().take(SHOWN_MAX);
        let remarks = remarks.map(|remark| format!("linux.ftrace: {remark}"));
        unknown.into_iter().chain(failed).chain(remarks).collect()
    }
}

/// The data source that a line says records nothing, and the reason.
fn refusal(line: &str) -> Option<(&'static str, &str)> {
    let (name, why) = line.split_once(REFUSED)?;
    let source = SOURCES.into_iter().find(|source| *source == name)?;
    Some((source, why))
}

fn add(names: &mut BTreeSet<String>, name: String) {
    if names.len() < NAMES_MAX {
        names.insert(name);
    }
}

#[cfg(test)]
mod tests;
