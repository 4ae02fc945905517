//! Which events of the kernel a trace lacks, as the probes say in it.
//!
//! They write `FtraceStats` at the start of a session: with events that this kernel does not have, events that it does
//! not record, and the reason if nothing is recorded.

use std::collections::BTreeSet;

use protozero::{Reader, Value};

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
    unknown: BTreeSet<String>,
    failed: BTreeSet<String>,
}

impl FtraceNotes {
    const ERRORS: u32 = 5;
    const UNKNOWN: u32 = 6;
    const FAILED: u32 = 7;

    /// Adds the body of an `FtraceStats`. What is not valid is left out.
    pub fn add(&mut self, stats: &[u8]) {
        let mut reader = Reader::new(stats);
        while let Ok(Some(field)) = reader.next_field() {
            let Value::Len(text) = field.value else { continue };
            let text = text.get(..TEXT_BYTES_MAX).unwrap_or(text);
            let text = || String::from_utf8_lossy(text).into_owned();
            match field.number {
                Self::ERRORS => {
                    let text = text();
                    if let Some(why) = text.strip_prefix(REFUSED) {
                        self.refused = Some(why.to_owned());
                    }
                }
                Self::UNKNOWN => add(&mut self.unknown, text()),
                Self::FAILED => add(&mut self.failed, text()),
                _ => {}
            }
        }
    }

    /// A line for each kind of events that are missing. The refusal is a loss, and is not among them.
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
        unknown.into_iter().chain(failed).collect()
    }
}

fn add(names: &mut BTreeSet<String>, name: String) {
    if names.len() < NAMES_MAX {
        names.insert(name);
    }
}

#[cfg(test)]
mod tests;
