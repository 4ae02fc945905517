//! Texts that have got a number, so that later packets name them by it.

use std::collections::HashMap;

/// Texts of one kind that get a number. Later ones are written in full.
const TEXTS_MAX: usize = 4096;

/// Longer texts are written in full: they are rarely the same twice.
const TEXT_BYTES_MAX: usize = 256;

/// How to name a text in a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Name {
    /// In full.
    Full,
    /// By a number that earlier packets define.
    Known(u64),
    /// By a number that this packet has to define.
    New(u64),
}

/// The numbers of texts of one kind. Its memory has a bound.
#[derive(Debug, Default)]
pub(super) struct Interner<K> {
    numbers: HashMap<K, u64>,
    last: u64,
}

impl Interner<Box<str>> {
    /// How to name `text`.
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(iid) = self.numbers.get(text) {
            return Name::Known(*iid);
        }
        if text.len() > TEXT_BYTES_MAX || self.numbers.len() >= TEXTS_MAX {
            return Name::Full;
        }
        let iid = self.fresh();
        self.numbers.insert(text.into(), iid);
        Name::New(iid)
    }

    /// A number for a text that has no other form and is not remembered.
    pub(super) fn fresh(&mut self) -> u64 {
        // Consecutive from 1; 0 means that there is none.
        self.last += 1;
        self.last
    }
}
