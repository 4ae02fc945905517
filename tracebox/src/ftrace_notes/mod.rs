//! Which events of the kernel a trace lacks, as the probes say in it.
//!
//! They write `FtraceStats` at the start of a session: with events that this kernel does not have, events that it does
//! not record, what of the config is not used, and the reason if nothing is recorded. At each flush and at the end come
//! the counters of the kernel's rings, which had values at the start, too:
//!
//! ```text
//!   start   cpu 0: overrun 100                     of sessions before
//!   flush   cpu 0: overrun 130
//!   end     cpu 0: overrun 170    ──> 70 events were lost before the probes read them
//! ```

use std::collections::{BTreeMap, BTreeSet};

use protozero::{Reader, Value};

/// Names that are kept of each kind: a config may have thousands.
const NAMES_MAX: usize = 100;
/// Names that are printed of each kind.
const SHOWN_MAX: usize = 8;
/// Bytes of a text that is kept.
const TEXT_BYTES_MAX: usize = 4096;
/// Rings whose counters are kept: more than the processors of a machine, times the data sources of a session.
const RINGS_MAX: usize = 16 * 1024;
/// What the text of a refusal begins with.
const REFUSED: &str = "linux.ftrace records nothing: ";

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FtraceNotes {
    /// Why nothing is recorded, if nothing is.
    pub refused: Option<String>,
    unknown: BTreeSet<String>,
    failed: BTreeSet<String>,
    remarks: BTreeSet<String>,
    /// Events that the rings had lost at the start and now, by sequence and processor.
    rings: BTreeMap<(u64, u64), [u64; 2]>,
}

/// Fields of `FtraceStats` and of `FtraceCpuStats`.
mod field {
    pub(super) const PHASE: u32 = 1;
    pub(super) const CPU_STATS: u32 = 2;
    pub(super) const ERRORS: u32 = 5;
    pub(super) const UNKNOWN: u32 = 6;
    pub(super) const FAILED: u32 = 7;
    pub(super) const CPU: u32 = 1;
    pub(super) const OVERRUN: u32 = 3;
    pub(super) const COMMIT_OVERRUN: u32 = 4;
    pub(super) const DROPPED_EVENTS: u32 = 8;
}

/// `FtraceStats.phase` of the packet at the start.
const START_OF_TRACE: u64 = 1;

impl FtraceNotes {
    /// Adds the body of an `FtraceStats` of a sequence. What is not valid is left out.
    pub fn add(&mut self, sequence: u64, stats: &[u8]) {
        let mut reader = Reader::new(stats);
        let (mut phase, mut rings) = (0, Vec::new());
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (field::PHASE, Value::Varint(value)) => phase = value,
                (field::CPU_STATS, Value::Len(stats)) if rings.len() < RINGS_MAX => {
                    rings.push(lost_by_ring(stats));
                }
                (number, Value::Len(text)) => self.add_text(number, text),
                _ => {}
            }
        }
        for (cpu, lost) in rings {
            if phase != START_OF_TRACE {
                // Without the values of the start, nobody knows what the session lost.
                let ring = self.rings.get_mut(&(sequence, cpu));
                if let Some([_, now]) = ring {
                    *now = lost;
                }
            } else if self.rings.len() < RINGS_MAX {
                self.rings.insert((sequence, cpu), [lost; 2]);
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

    /// Events that the kernel's rings lost during the session, before the probes read them.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        let lost = self.rings.values().map(|[start, now]| now.saturating_sub(*start));
        lost.fold(0, u64::saturating_add)
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

/// The processor of an `FtraceCpuStats`, and the events that its ring has lost so far.
fn lost_by_ring(stats: &[u8]) -> (u64, u64) {
    let (mut cpu, mut lost) = (0, 0_u64);
    let mut reader = Reader::new(stats);
    while let Ok(Some(field)) = reader.next_field() {
        match (field.number, field.value) {
            (field::CPU, Value::Varint(value)) => cpu = value,
            (
                field::OVERRUN | field::COMMIT_OVERRUN | field::DROPPED_EVENTS,
                Value::Varint(count),
            ) => lost = lost.saturating_add(count),
            _ => {}
        }
    }
    (cpu, lost)
}

fn add(names: &mut BTreeSet<String>, name: String) {
    if names.len() < NAMES_MAX {
        names.insert(name);
    }
}

#[cfg(test)]
mod tests;
