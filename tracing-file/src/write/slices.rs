//! The open slices of one track, and the rules that keep them nested.
//!
//! ```text
//!  file    B0 E100 B10 E20       a slice that is written as a whole has its end right behind its begin
//!  time    B0 B10 E20 E100       a reader sorts by time; the order in the file breaks ties
//! ```
//!
//! A reader closes the innermost open slice at each end, so slices of a track that cross would exchange their ends
//! without a word. Here that is an error.

use super::error::WriteError;

/// Open slices on one track. A reader drops what is deeper (`slice_max_depth_exceeded`).
const OPEN_MAX: usize = 512;

/// Slices of one track, which are nested or follow each other.
#[derive(Debug, Default)]
pub(super) struct Slices {
    open: Vec<OpenSlice>,
    /// The latest begin, and the latest end of a slice that was begun and ended in two calls.
    latest_ns: u64,
    next_id: u64,
}

#[derive(Debug)]
struct OpenSlice {
    id: u64,
    begin_ns: u64,
    /// The end of a slice that was written as a whole.
    end_ns: Option<u64>,
}

impl Slices {
    /// A slice that is known as a whole.
    pub(super) fn complete(&mut self, begin_ns: u64, end_ns: u64) -> Result<(), WriteError> {
        if end_ns < begin_ns {
            return Err(WriteError::EndBeforeBegin { begin_ns, end_ns });
        }
        self.advance(begin_ns)?;
        if let Some(other_end_ns) = self.open.last().and_then(|around| around.end_ns)
            && other_end_ns < end_ns
        {
            return Err(WriteError::Crossing { begin_ns, end_ns, other_end_ns });
        }
        self.push(begin_ns, Some(end_ns)).map(drop)
    }

    /// A slice whose end comes later. Returns its id on this track.
    pub(super) fn begin(&mut self, begin_ns: u64) -> Result<u64, WriteError> {
        self.advance(begin_ns)?;
        if let Some(end_ns) = self.open.last().and_then(|around| around.end_ns) {
            return Err(WriteError::InsideComplete { begin_ns, end_ns });
        }
        self.push(begin_ns, None)
    }

    /// The end of the slice `id`.
    pub(super) fn end(&mut self, id: u64, end_ns: u64) -> Result<(), WriteError> {
        let (at, slice) = self.find(id)?;
        let begin_ns = slice.begin_ns;
        if end_ns < begin_ns {
            return Err(WriteError::EndBeforeBegin { begin_ns, end_ns });
        }
        let within = self.open.get(at + 1..).unwrap_or_default();
        if within.iter().any(|inner| inner.end_ns.is_none()) {
            return Err(WriteError::NotInnermost);
        }
        let late = within.iter().filter_map(|inner| inner.end_ns).find(|inner| *inner > end_ns);
        if let Some(other_end_ns) = late {
            return Err(WriteError::Crossing { begin_ns, end_ns, other_end_ns });
        }
        // An inner slice that was ended in a call of its own is not in `open` any more.
        if end_ns < self.latest_ns {
            return Err(WriteError::Crossing { begin_ns, end_ns, other_end_ns: self.latest_ns });
        }
        self.open.truncate(at);
        self.latest_ns = end_ns;
        Ok(())
    }

    /// Whether a slice from `begin_ns` can follow all slices so far.
    pub(super) fn is_free(&self, begin_ns: u64) -> bool {
        let ended = |slice: &OpenSlice| slice.end_ns.is_some_and(|end| end <= begin_ns);
        begin_ns >= self.latest_ns && self.open.iter().all(ended)
    }

    fn find(&self, id: u64) -> Result<(usize, &OpenSlice), WriteError> {
        let is_it = |slice: &&OpenSlice| slice.id == id && slice.end_ns.is_none();
        let found = self.open.iter().enumerate().rev().find(|(_, slice)| is_it(slice));
        found.ok_or(WriteError::Foreign)
    }

    fn advance(&mut self, begin_ns: u64) -> Result<(), WriteError> {
        if begin_ns < self.latest_ns {
            return Err(WriteError::OutOfOrder { begin_ns, latest_ns: self.latest_ns });
        }
        while self.open.last().is_some_and(|top| top.end_ns.is_some_and(|end| end <= begin_ns)) {
            self.open.pop();
        }
        Ok(())
    }

    fn push(&mut self, begin_ns: u64, end_ns: Option<u64>) -> Result<u64, WriteError> {
        if self.open.len() >= OPEN_MAX {
            return Err(WriteError::TooManyOpen);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.latest_ns = begin_ns;
        self.open.push(OpenSlice { id, begin_ns, end_ns });
        Ok(id)
    }
}
