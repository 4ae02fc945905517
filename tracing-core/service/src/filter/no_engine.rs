//! No expressions over bytes: this build cannot filter strings.

use super::strings::Policy;
use super::work::{TooMuch, Work};

/// Nothing: there are no searches.
#[derive(Debug, Default)]
pub(super) struct Scratch {}

#[derive(Debug)]
pub(super) enum Regex {}

impl Regex {
    pub(super) fn new(_: &str, _: bool, _: &mut usize) -> Result<Self, String> {
        Err("this build cannot filter strings (feature `string-filter`)".into())
    }

    pub(super) fn bytes(&self) -> usize {
        match *self {}
    }

    pub(super) fn redact_or_match(
        &self,
        _: &mut [u8],
        _: Policy,
        work: &mut Work,
    ) -> Result<bool, TooMuch> {
        let Scratch {} = work.scratch;
        match *self {}
    }
}
