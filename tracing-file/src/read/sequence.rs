//! What a reader remembers of one sequence: interned data, defaults, sums of counters.

use std::collections::BTreeMap;

use protozero::Reader;

use super::budget::Budget;
use super::interned::{Entry, KEPT, LOCATIONS, Location, Text, number};
use super::problem::Problem;
use crate::limits::DEFAULT_TRACKS_MAX;

/// Bytes that a sum takes.
const SUM_COST: usize = 96;

/// Bytes that a sequence takes without its entries.
pub(super) const SEQUENCE_COST: usize = 512;

/// Reasons of a loss in `TracePacket.previous_packet_dropped` (`DataLossReason` of `trace_packet.proto`): the packets
/// were lost on their way from the writer to the file.
const LOST_BY_OTHERS: u64 = 2 | 4 | 8 | 16 | 32 | 64;
/// The writer gave a packet up, or found no memory for it.
const LOST_BY_WRITER: u64 = 128 | 256;

/// Which sequence: ids are those of the writers of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId {
    /// The `machine_id`. 0 is the machine of the service.
    pub machine: u32,
    /// The `trusted_packet_sequence_id`. 0: there is none.
    pub id: u32,
}

/// The state of one sequence.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// Flag 1 came, and no loss after it.
    pub(super) is_valid: bool,
    /// It is not valid because others have lost packets of its writer, such as a ring that overwrote them. The writer
    /// does not know.
    pub(super) is_cut: bool,
    pub(super) packets: u64,
    pub(super) clock: Option<u32>,
    pub(super) track: Option<u64>,
    pub(super) extra: Vec<u64>,
    pub(super) extra_double: Vec<u64>,
    interned: BTreeMap<(u32, u64), Entry>,
    interned_cost: usize,
    /// Sums of incremental counters.
    sums: BTreeMap<u64, f64>,
}

impl Sequence {
    /// Flag 1: what was known is no longer valid, and what follows is.
    pub(super) fn clear(&mut self, budget: &mut Budget) {
        budget.give_back(std::mem::take(&mut self.interned_cost));
        self.interned.clear();
        self.forget_sums(budget);
        (self.clock, self.track) = (None, None);
        self.extra.clear();
        self.extra_double.clear();
        self.is_valid = true;
    }

    /// A loss, with the bits of its reasons: nothing is valid until flag 1.
    pub(super) fn invalidate(&mut self, dropped: u64, is_first: bool, budget: &mut Budget) {
        self.is_valid = false;
        self.is_cut = match self.packets {
            // The writer began the sequence before it.
            ..=1 => !is_first,
            _ => dropped & LOST_BY_OTHERS != 0 && dropped & LOST_BY_WRITER == 0,
        };
        self.forget_sums(budget);
    }

    fn forget_sums(&mut self, budget: &mut Budget) {
        budget.give_back(self.sums.len() * SUM_COST);
        self.sums.clear();
    }

    /// Reads `TracePacketDefaults`, which replace the old ones.
    pub(super) fn set_defaults(&mut self, body: &[u8]) {
        (self.clock, self.track) = (None, None);
        self.extra.clear();
        self.extra_double.clear();
        let mut reader = Reader::new(body);
        while let Ok(Some(field)) = reader.next_field() {
            match field.number {
                58 => self.clock = field.value.uint32().ok(),
                11 => {
                    let mut reader = Reader::new(field.value.bytes().unwrap_or_default());
                    while let Ok(Some(field)) = reader.next_field() {
                        let Ok(uuid) = field.value.uint64() else { continue };
                        match field.number {
                            11 => self.track = Some(uuid),
                            31 if self.extra.len() < DEFAULT_TRACKS_MAX => self.extra.push(uuid),
                            45 if self.extra_double.len() < DEFAULT_TRACKS_MAX => {
                                self.extra_double.push(uuid);
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads `InternedData`. `problem` is called with the iid that it is about.
    pub(super) fn intern(
        &mut self,
        body: &[u8],
        budget: &mut Budget,
        mut problem: impl FnMut(Problem, u64),
    ) {
        let mut reader = Reader::new(body);
        while let Ok(Some(field)) = reader.next_field() {
            if !KEPT.contains(&field.number) {
                continue;
            }
            let Ok(entry) = field.value.bytes() else { continue };
            let iid = number(entry, 1).unwrap_or(0);
            if iid == 0 {
                problem(Problem::ZeroIid, iid);
                continue;
            }
            if let Some(known) = self.interned.get(&(field.number, iid)) {
                if !known.is_same(entry) {
                    problem(Problem::IidRedefined, iid);
                }
                continue;
            }
            let Some((entry, cost)) = Entry::read(field.number, entry, budget) else {
                return problem(Problem::LimitReached, iid);
            };
            self.interned_cost += cost;
            self.interned.insert((field.number, iid), entry);
        }
    }

    /// Whether there is an entry `iid` of the interned field `kind`.
    pub(super) fn has(&self, kind: u32, iid: u64) -> bool {
        self.interned.contains_key(&(kind, iid))
    }

    /// An entry with its hash.
    pub(super) fn interned(&self, kind: u32, iid: u64) -> Option<&Text> {
        match self.interned.get(&(kind, iid))? {
            Entry::Text(text) => Some(text),
            Entry::Location(_) => None,
        }
    }

    /// The text of an entry.
    pub(super) fn text(&self, kind: u32, iid: u64) -> Option<&str> {
        self.interned(kind, iid).map(|entry| &*entry.text)
    }

    /// An entry of the places in the source.
    pub(super) fn location(&self, iid: u64) -> Option<&Location> {
        match self.interned.get(&(LOCATIONS, iid))? {
            Entry::Text(_) => None,
            Entry::Location(location) => Some(location),
        }
    }

    /// Adds to an incremental counter, and returns its sum.
    pub(super) fn sum(&mut self, track: u64, value: f64, budget: &mut Budget) -> Option<f64> {
        if !self.sums.contains_key(&track) && !budget.take(SUM_COST) {
            return None;
        }
        let sum = self.sums.entry(track).or_insert(0.0);
        *sum += value;
        Some(*sum)
    }
}
