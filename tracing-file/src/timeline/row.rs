//! An event in memory, until its line is written.

use std::num::NonZeroU64;

use crate::read::{CounterValue, Event};

/// The place of a row in a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) ts_ns: u64,
    /// Index of the packet in the file.
    pub(super) packet: u64,
    /// A loss is shown before the event of its packet.
    pub(super) is_event: bool,
}

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RowKind {
    Begin,
    End,
    Instant,
    Log,
    Counter(CounterValue),
    State,
    /// The phase of an event of the old form.
    Legacy(u8),
    /// Packets of the sequence are missing before the next event.
    Lost,
}

impl RowKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::End => "end",
            Self::Instant => "instant",
            Self::Log => "log",
            Self::Counter(_) => "counter",
            Self::State => "state",
            Self::Legacy(_) => "legacy",
            Self::Lost => "lost",
        }
    }
}

/// An event. Its texts are in the form in which they are written.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) machine: u32,
    pub(super) sequence: u32,
    pub(super) track: u64,
    pub(super) kind: RowKind,
    /// Its time is in the range that is shown.
    pub(super) is_in_range: bool,
    /// Its name and categories fit.
    pub(super) is_named: bool,
    pub(super) name: Option<Box<str>>,
    pub(super) categories: Box<str>,
    pub(super) details: Box<str>,
    /// By which slices and ends are compared, however long their names are.
    pub(super) hashes: Hashes,
}

/// Hashes of the name and of the categories, if there are any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hashes {
    name: Option<NonZeroU64>,
    categories: Option<NonZeroU64>,
}

impl Hashes {
    pub(super) fn of(event: &Event<'_>) -> Self {
        // Every row has them, so they are small.
        let small = |hash: u64| NonZeroU64::new(hash).unwrap_or(NonZeroU64::MIN);
        Self { name: event.name_hash().map(small), categories: event.categories_hash().map(small) }
    }

    /// Whether `end` may end a slice with these. A name or category that the end leaves out fits any slice.
    pub(super) fn fit(self, end: Self) -> bool {
        (end.name.is_none() || end.name == self.name)
            && (end.categories.is_none() || end.categories == self.categories)
    }
}

impl Row {
    pub(super) fn bytes(&self) -> usize {
        // An allocation has some bytes of its own.
        let text = |text: &str| if text.is_empty() { 0 } else { 16 + text.len() };
        // A vector that grows has up to twice as many places as rows.
        2 * size_of::<Self>()
            + size_of::<Note>()
            + text(self.name.as_deref().unwrap_or_default())
            + text(&self.categories)
            + text(&self.details)
    }

    /// Bytes of its texts.
    pub(super) fn text_bytes(&self) -> usize {
        self.name.as_deref().map_or(0, str::len) + self.categories.len() + self.details.len()
    }

    pub(super) const fn is_shown(&self) -> bool {
        self.is_in_range && self.is_named
    }
}

/// What a row gets from the others of its track.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Note {
    /// Slices of the track that are open around it.
    pub(super) depth: u16,
    /// Of the slice that begins or ends.
    pub(super) duration_ns: Option<u64>,
    /// The row of the begin, for an end.
    pub(super) begin: Option<u32>,
}
