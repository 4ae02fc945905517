//! Places in source files that have got a number.

use std::collections::HashMap;

/// Places that are remembered. Later ones are defined anew each time.
const PLACES_MAX: usize = 4096;

/// The numbers of places in source files. Its memory has a bound.
#[derive(Debug, Default)]
pub(super) struct Locations {
    numbers: HashMap<(Box<str>, Box<str>, u32), u64>,
    last: u64,
}

impl Locations {
    /// The number of a place, and whether it is new and needs a definition.
    pub(super) fn number(&mut self, file: &str, function: &str, line: u32) -> (u64, bool) {
        let place = (Box::from(file), Box::from(function), line);
        if let Some(iid) = self.numbers.get(&place) {
            return (*iid, false);
        }
        self.last += 1;
        if self.numbers.len() < PLACES_MAX {
            self.numbers.insert(place, self.last);
        }
        (self.last, true)
    }
}
