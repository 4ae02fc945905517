//! Ends of slices that found no memory.
//!
//! The next end on the same track would close such a slice in place of its own, and all slices around it would be
//! wrong. So a sequence remembers these ends, and writes them with their own times when it opens again. Only their
//! arguments are lost.

use std::collections::VecDeque;

/// How many ends of slices on tracks that the program named are remembered. Ends on the track of the thread have no
/// such limit: each one has a guard in the program.
pub(super) const ON_TRACKS_MAX: usize = 4096;

/// An end that was not written.
#[derive(Clone, Copy)]
pub(super) struct LateEnd {
    pub(super) time_ns: u64,
    /// The uuid of its track; none: that of the thread.
    pub(super) track: Option<u64>,
    pub(super) had_arguments: bool,
}

/// The ends that were not written, the earliest first.
#[derive(Default)]
pub(super) struct LateEnds {
    ends: VecDeque<LateEnd>,
    on_tracks: usize,
}

impl LateEnds {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// False if there are too many.
    pub(super) fn push(&mut self, end: LateEnd) -> bool {
        if end.track.is_some() && self.on_tracks >= ON_TRACKS_MAX {
            return false;
        }
        self.on_tracks += usize::from(end.track.is_some());
        self.ends.push_back(end);
        true
    }

    pub(super) fn first(&self) -> Option<LateEnd> {
        self.ends.front().copied()
    }

    pub(super) fn remove_first(&mut self) {
        if let Some(LateEnd { track: Some(_), .. }) = self.ends.pop_front() {
            self.on_tracks -= 1;
        }
    }
}
