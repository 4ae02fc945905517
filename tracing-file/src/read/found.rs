//! What was found wrong. All of it is counted, and of the last packet some is kept.

use std::collections::BTreeMap;

use super::problem::{Finding, Problem};
use crate::limits::FINDINGS_MAX;
use crate::packets::Place;

#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Those of the last packet.
    pub(super) findings: Vec<Finding>,
    pub(super) counts: BTreeMap<Problem, u64>,
    /// The last packet.
    pub(super) place: Place,
}

impl Found {
    /// A packet comes.
    pub(super) fn begin(&mut self, place: Place) {
        self.findings.clear();
        self.place = place;
    }

    pub(super) fn add(&mut self, problem: Problem, value: u64) {
        *self.counts.entry(problem).or_insert(0) += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { problem, place: self.place, value });
        }
    }
}
