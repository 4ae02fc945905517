//! Pages made for tests: a writer of the kernel's format, and nothing else of it.

use super::{Commit, HAS_COUNT, LOST, Lost};

/// Collects records.
#[derive(Clone, Debug)]
pub(in crate::ftrace) struct Made {
    /// Time of the page.
    pub(in crate::ftrace) time: u64,
    pub(in crate::ftrace) records: Vec<u8>,
    pub(in crate::ftrace) lost: Lost,
}

impl Made {
    pub(in crate::ftrace) fn new(time: u64) -> Self {
        Self { time, records: Vec::new(), lost: Lost::Nothing }
    }

    fn words(mut self, words: &[u32]) -> Self {
        self.records.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self
    }

    /// A record without a body.
    pub(in crate::ftrace) fn head(self, kind: u32, delta: u32) -> Self {
        self.words(&[kind | delta << 5])
    }

    /// A record with a word behind its head.
    pub(in crate::ftrace) fn pair(self, kind: u32, delta: u32, word: u32) -> Self {
        self.words(&[kind | delta << 5, word])
    }

    /// An event whose type says its length; the body is filled to words.
    pub(in crate::ftrace) fn event(self, delta: u32, body: &[u8]) -> Self {
        let words = body.len().div_ceil(4);
        self.head(words as u32, delta).body(body)
    }

    /// An event whose length is behind its head.
    pub(in crate::ftrace) fn long_event(self, delta: u32, body: &[u8]) -> Self {
        let len = body.len().next_multiple_of(4) as u32;
        self.pair(0, delta, len + 4).body(body)
    }

    fn body(mut self, body: &[u8]) -> Self {
        self.records.extend_from_slice(body);
        // The kernel does not clear what it does not write.
        let filled = self.records.len().next_multiple_of(4);
        self.records.resize(filled, 0xee);
        self
    }

    /// The page, of `size` bytes, with stale bytes at its end.
    pub(in crate::ftrace) fn page(&self, size: usize, commit: Commit) -> Vec<u8> {
        let mut page = self.time.to_le_bytes().to_vec();
        let flags = match self.lost {
            Lost::Nothing => 0,
            Lost::Some => LOST,
            Lost::Count(_) => LOST | HAS_COUNT,
        };
        page.extend((self.records.len() as u32 | flags).to_le_bytes());
        if commit == Commit::Eight {
            page.extend(if flags == 0 { [0; 4] } else { [0xff; 4] });
        }
        page.extend(&self.records);
        if let Lost::Count(count) = self.lost {
            page.extend(count.to_le_bytes());
        }
        assert!(page.len() <= size, "more than a page");
        page.resize(size, 0xdd);
        page
    }
}
