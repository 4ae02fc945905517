//! The first reading of a trace: its tracks, its start, and how early the events behind each place may be.

use std::collections::BTreeMap;
use std::io::Read;

use crate::limits::BLOCKS_MAX;
use crate::packets::ReadError;
use crate::read::{Problem, TraceReader, Tracks};

/// What the first reading finds.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) tracks: Tracks,
    /// Time of the first event.
    pub(super) start_ns: u64,
    /// Time of the last event.
    pub(super) end_ns: u64,
    pub(super) earliest: Earliest,
    pub(super) problems: BTreeMap<Problem, u64>,
    pub(super) error: Option<ReadError>,
}

impl Survey {
    pub(super) fn new(input: impl Read) -> Self {
        let mut reader = TraceReader::new(input);
        let (mut start_ns, mut end_ns) = (u64::MAX, 0);
        let mut earliest = Earliest::new();
        let mut error = None;
        while reader.next_readable_packet(&mut error) {
            if let Some(event) = reader.event() {
                let ns = event.timestamp_ns();
                (start_ns, end_ns) = (start_ns.min(ns), end_ns.max(ns));
                earliest.add(ns);
            }
        }
        earliest.finish();
        let problems = reader.counts().clone();
        let start_ns = start_ns.min(end_ns);
        Self { tracks: reader.into_tracks(), start_ns, end_ns, earliest, problems, error }
    }
}

/// The earliest event behind each place of a file.
#[derive(Debug)]
pub(super) struct Earliest {
    /// Of so many events each.
    pub(super) blocks: Vec<u64>,
    block_events: u64,
    events: u64,
}

impl Earliest {
    const fn new() -> Self {
        Self { blocks: Vec::new(), block_events: 1, events: 0 }
    }

    fn add(&mut self, ns: u64) {
        if self.events.is_multiple_of(self.block_events) {
            if self.blocks.len() == BLOCKS_MAX {
                let pairs = self.blocks.chunks(2);
                self.blocks = pairs.filter_map(|pair| pair.iter().copied().min()).collect();
                self.block_events *= 2;
            }
            self.blocks.push(u64::MAX);
        }
        if let Some(block) = self.blocks.last_mut() {
            *block = ns.min(*block);
        }
        self.events += 1;
    }

    /// From now on a block has the earliest of its events and of all behind it.
    fn finish(&mut self) {
        let mut earliest = u64::MAX;
        for block in self.blocks.iter_mut().rev() {
            earliest = earliest.min(*block);
            *block = earliest;
        }
    }

    pub(super) const fn events(&self) -> u64 {
        self.events
    }

    /// No event behind the first `events` is earlier.
    pub(super) fn behind(&self, events: u64) -> u64 {
        let block = usize::try_from(events / self.block_events);
        block.ok().and_then(|block| self.blocks.get(block)).copied().unwrap_or(u64::MAX)
    }
}
