//! From facts to findings: pure, so that tables test it.
//!
//! The names of checks, and the words of their status, are what `--json` promises: none of them changes.

mod finding;
mod kernel;
mod service;

#[cfg(test)]
mod tests;

pub(super) use self::finding::Finding;
#[cfg(test)]
use self::finding::Status;

use super::facts::Facts;

/// Judges the facts. The findings are always the same ones, in the same order.
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut findings = service::findings(facts);
    findings.extend(kernel::findings(facts));
    findings
}
