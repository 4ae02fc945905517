//! Which events of the kernel a trace lacks, as the probes say in it.
//!
//! They write `FtraceStats` at the start of a session: with events that this kernel does not have, events that it does
//! not record, what of the config is not used, and the reason if nothing is recorded. At each flush and at the end come
//! the counters of the kernel's rings, which `KernelLosses` of `tracing-file` looks at.

use std::collections::BTreeSet;

use protozero::{Reader, Value};
use tracing_file::losses::KernelLosses;

/// Names that are kept of each kind: a config may have thousands.
const NAMES_MAX: usize = 100;
/// Names that are printed of each kind.
const SHOWN_MAX: usize = 8;
/// Bytes of a text that is kept.
const TEXT_BYTES_MAX: usize = 4096;
/// What the text of a refusal begins with.
const REFUSED: &str = "linux.ftrace records nothing: ";

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FtraceNotes {
    /// Why nothing is recorded, if nothing is.
    pub refused: Option<String>,
    /// What was lost of events that the kernel did record.
    pub lost: KernelLosses,
    unknown: BTreeSet<String>,
    failed: BTreeSet<String>,
    remarks: BTreeSet<String>,
}

/// Fields of `FtraceStats`.
mod field {
    pub(super) const ERRORS: u32 = 5;
    pub(super) const UNKNOWN: u32 = 6;
    pub(super) const FAILED: u32 = 7;
}

impl FtraceNotes {
    /// Adds the texts of an `FtraceStats`. What is not valid is left out.
    pub fn add(&mut self, stats: &[u8]) {
        let mut reader = Reader::new(stats);
        while let Ok(Some(field)) = reader.next_field() {
            if let Value::Len(text) = field.value {
                self.add_text(field.number, text);
            }
        }
    }

    fn add_text(&mut self, number: u32, text: &[u8]) {
        let text = text.get(..TEXT_BYTES_MAX).unwrap_or(text);
        let text = || String::from_utf8_lossy(text).into_owned();
        match number {
            field::ERRORS => {
                for line in text().lines().filter(|line| !line.is_empty()) {
                    match line.strip_prefix(REFUSED) {
                        Some(why) => self.refused = Some(why.to_owned()),
                        None => add(&mut self.remarks, line.to_owned()),
                    }
                }
            }
            field::UNKNOWN => add(&mut self.unknown, text()),
            field::FAILED => add(&mut self.failed, text()),
            _ => {}
        }
    }

    /// A line for each kind of events that are missing, and for each remark. What was lost, and the refusal, is a loss,
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
            line("Not recorded, because the kernel does not let it be recorded", &self.failed);
        let remarks = self.remarks.iter().take(SHOWN_MAX);
        let remarks = remarks.map(|remark| format!("linux.ftrace: {remark}"));
        unknown.into_iter().chain(failed).chain(remarks).collect()
    }
}

fn add(names: &mut BTreeSet<String>, name: String) {
    if names.len() < NAMES_MAX {
        names.insert(name);
    }
}

#[cfg(test)]
mod tests;
