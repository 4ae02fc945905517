//! Which slices are open on each track, and which begin an end belongs to.

use std::collections::BTreeMap;

use super::row::{Hashes, Note, Row, RowKind};
use crate::limits::OPEN_SLICES_MAX;
use crate::read::Budget;

/// Bytes of an open slice beside its texts, and of a track.
const OPEN_COST: usize = 128;

/// Open slices of all tracks.
#[derive(Debug)]
pub(super) struct Nesting {
    tracks: BTreeMap<u64, Vec<Open>>,
    budget: Budget,
    /// Begins that found no memory.
    pub(super) refused: u64,
}

/// A slice that began.
#[derive(Debug)]
struct Open {
    at_ns: u64,
    is_named: bool,
    cost: usize,
    hashes: Hashes,
    texts: Texts,
}

#[derive(Debug)]
enum Texts {
    /// In the row with this index.
    Row(usize),
    Kept(Option<Box<str>>, Box<str>),
}

impl Nesting {
    /// Open slices take at most `bytes`.
    pub(super) const fn new(bytes: usize) -> Self {
        Self { tracks: BTreeMap::new(), budget: Budget::new(bytes), refused: 0 }
    }

    /// The next rows in the order of time. Ends get the name of their slice.
    pub(super) fn annotate(&mut self, rows: &mut [Row]) -> Vec<Note> {
        let mut notes = vec![Note::default(); rows.len()];
        for at in 0..rows.len() {
            let Some(row) = rows.get_mut(at) else { break };
            match row.kind {
                RowKind::Begin => notes[at].depth = self.begin(row, at),
                RowKind::End => notes[at] = self.end(row, &mut notes),
                RowKind::Counter(_) | RowKind::State => {}
                _ => notes[at].depth = self.depth(row.track),
            }
        }
        notes
    }

    /// The rows go: what is open keeps its texts.
    pub(super) fn keep_texts(&mut self, rows: &mut [Row]) {
        for open in self.tracks.values_mut().flatten() {
            if let Texts::Row(at) = open.texts {
                let row = rows.get_mut(at);
                open.texts = row.map_or(Texts::Kept(None, "".into()), |row| {
                    Texts::Kept(row.name.take(), std::mem::take(&mut row.categories))
                });
            }
        }
    }

    fn depth(&self, track: u64) -> u16 {
        // Not above `OPEN_SLICES_MAX`.
        self.tracks.get(&track).map_or(0, Vec::len) as u16
    }

    fn begin(&mut self, row: &Row, at: usize) -> u16 {
        let depth = self.depth(row.track);
        let name = row.name.as_ref().map_or(0, |name| name.len());
        let cost = OPEN_COST + name + row.categories.len();
        if usize::from(depth) >= OPEN_SLICES_MAX {
            return depth;
        }
        if !self.budget.take(cost) {
            self.refused += 1;
            return depth;
        }
        let (at_ns, is_named, hashes) = (row.key.ts_ns, row.is_named, row.hashes);
        let open = Open { at_ns, is_named, cost, hashes, texts: Texts::Row(at) };
        self.tracks.entry(row.track).or_default().push(open);
        depth
    }

    fn end(&mut self, row: &mut Row, notes: &mut [Note]) -> Note {
        let Some(track) = self.tracks.get_mut(&row.track) else { return Note::default() };
        let Some(index) = track.iter().rposition(|open| open.hashes.fit(row.hashes)) else {
            return Note { depth: track.len() as u16, ..Note::default() };
        };
        // The slices within it end with it.
        let mut ended = track.drain(index..);
        let begin = ended.next();
        let cost: usize = ended.map(|open| open.cost).sum();
        if track.is_empty() {
            self.tracks.remove(&row.track);
        }
        let mut note = Note { depth: index as u16, ..Note::default() };
        let Some(begin) = begin else { return note };
        self.budget.give_back(cost + begin.cost);
        note.duration_ns = row.key.ts_ns.checked_sub(begin.at_ns);
        row.is_named = begin.is_named;
        match begin.texts {
            Texts::Row(at) => {
                if let Some(of_begin) = notes.get_mut(at) {
                    of_begin.duration_ns = note.duration_ns;
                }
                note.begin = u32::try_from(at).ok();
            }
            Texts::Kept(name, categories) => {
                row.name = row.name.take().or(name);
                if row.categories.is_empty() {
                    row.categories = categories;
                }
            }
        }
        note
    }
}
