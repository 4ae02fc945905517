//! One event of a trace, with its names looked up.

use std::borrow::Cow;

use protozero::{Reader, Value as Wire};

use super::annotation::Annotations;
use super::decoded::{CounterValue, Decoded, EventKind};
use super::interned::{
    CATEGORIES, CORRELATION_IDS, LOG_BODIES, Location, NAMES, Text, hash, number, string, text,
};
use super::sequence::Sequence;
use super::tracks::{Track, Tracks};
use crate::limits::CATEGORIES_MAX;
use crate::packets::Place;

/// An event. It borrows from the reader until the next one is read.
#[derive(Clone, Copy, Debug)]
pub struct Event<'r> {
    pub(super) place: Place,
    pub(super) decoded: &'r Decoded,
    pub(super) body: &'r [u8],
    pub(super) names: &'r Sequence,
    pub(super) tracks: &'r Tracks,
}

/// A place in the source of the traced program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLocation<'r> {
    /// File.
    pub file: Option<Cow<'r, str>>,
    /// Function.
    pub function: Option<Cow<'r, str>>,
    /// Line, from 1.
    pub line: Option<u64>,
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMessage<'r> {
    /// Its text.
    pub body: Option<Cow<'r, str>>,
    /// 2 verbose, 3 debug, 4 info, 5 warning, 6 error, 7 fatal.
    pub priority: u64,
    /// Where it comes from.
    pub location: Option<SourceLocation<'r>>,
}

impl<'r> Event<'r> {
    /// The packet.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.place
    }

    /// What happened.
    #[must_use]
    pub const fn kind(&self) -> EventKind {
        self.decoded.kind
    }

    /// When, in ns of the trace's clock.
    #[must_use]
    pub const fn timestamp_ns(&self) -> u64 {
        self.decoded.ts_ns
    }

    /// The `trusted_packet_sequence_id`.
    #[must_use]
    pub const fn sequence(&self) -> u32 {
        self.decoded.sequence.id
    }

    /// The `machine_id`: 0 for the machine of the service. Other machines have sequences and clocks of their own.
    #[must_use]
    pub const fn machine(&self) -> u32 {
        self.decoded.sequence.machine
    }

    /// Uuid of its track. 0 is the track of everything that names none.
    #[must_use]
    pub const fn track_uuid(&self) -> u64 {
        self.decoded.track
    }

    /// Its track, if it is described so far.
    #[must_use]
    pub fn track(&self) -> Option<&'r Track> {
        self.tracks.get(self.decoded.track).filter(|track| track.described.is_some())
    }

    /// Its name. Ends of slices and values of counters have none.
    #[must_use]
    pub fn name(&self) -> Option<Cow<'r, str>> {
        self.label().map(Label::text)
    }

    /// What stands for its name in comparisons, however long that is.
    pub(crate) fn name_hash(&self) -> Option<u64> {
        self.label().map(Label::hash)
    }

    fn label(&self) -> Option<Label<'r>> {
        let mut name = None;
        for field in fields(self.body) {
            match (field.number, field.value) {
                // A number goes before a text.
                (10, Wire::Varint(iid)) if iid != 0 => {
                    return self.names.interned(NAMES, iid).map(Label::Interned);
                }
                (23, Wire::Len(text)) => name = Some(Label::Inline(text)),
                _ => {}
            }
        }
        name
    }

    /// Its categories, at most 64. One whose number nothing defines is `unknown(NUMBER)`.
    pub fn categories(&self) -> impl Iterator<Item = Cow<'r, str>> + use<'r> {
        self.category_labels().map(Label::text)
    }

    /// What stands for its categories in comparisons, if it has any.
    pub(crate) fn categories_hash(&self) -> Option<u64> {
        // In their order.
        self.category_labels().map(Label::hash).reduce(|a, b| a.rotate_left(1) ^ b)
    }

    fn category_labels(&self) -> impl Iterator<Item = Label<'r>> + use<'r> {
        let (names, body) = (self.names, self.body);
        let by_number = fields(body).filter_map(move |field| match field.value {
            Wire::Varint(iid) if field.number == 3 => {
                let known = names.interned(CATEGORIES, iid).map(Label::Interned);
                Some(known.unwrap_or(Label::Unknown(iid)))
            }
            _ => None,
        });
        let by_text = fields(body).filter(|field| field.number == 22);
        let by_text = by_text.filter_map(|field| field.value.bytes().ok().map(Label::Inline));
        by_number.chain(by_text).take(CATEGORIES_MAX)
    }

    /// Its annotations.
    #[must_use]
    pub const fn annotations(&self) -> Annotations<'r> {
        Annotations::new(self.body, 4, self.names)
    }

    /// Flows that begin here or lead here and on.
    pub fn flows(&self) -> impl Iterator<Item = u64> + use<'r> {
        flows(self.body, 47, 36)
    }

    /// Flows that end here.
    pub fn ended_flows(&self) -> impl Iterator<Item = u64> + use<'r> {
        flows(self.body, 48, 42)
    }

    /// Values of further counters at the same moment, with the uuids of their tracks.
    #[must_use]
    pub fn extra_counters(&self) -> &'r [(u64, CounterValue)] {
        &self.decoded.extra
    }

    /// Where in the source it comes from.
    #[must_use]
    pub fn source_location(&self) -> Option<SourceLocation<'r>> {
        let mut found = None;
        for field in fields(self.body) {
            match (field.number, field.value) {
                (34, Wire::Varint(iid)) => return self.location(iid),
                (33, Wire::Len(body)) => found = Some(SourceLocation::read(body)),
                _ => {}
            }
        }
        found
    }

    /// The line of a log that it is.
    #[must_use]
    pub fn log_message(&self) -> Option<LogMessage<'r>> {
        let body = fields(self.body).filter(|field| field.number == 21).last()?;
        let body = body.value.bytes().ok()?;
        Some(LogMessage {
            body: number(body, 2)
                .and_then(|iid| self.names.text(LOG_BODIES, iid))
                .map(Cow::Borrowed),
            priority: number(body, 3).unwrap_or(4),
            location: number(body, 1).and_then(|iid| self.location(iid)),
        })
    }

    /// Its `correlation_id`, as text: a number is in decimal.
    #[must_use]
    pub fn correlation_id(&self) -> Option<Cow<'r, str>> {
        fields(self.body).find_map(|field| match (field.number, field.value) {
            (52, Wire::Varint(id)) => Some(id.to_string().into()),
            (53, Wire::Len(id)) => Some(text(id)),
            (54, Wire::Varint(iid)) => self.names.text(CORRELATION_IDS, iid).map(Cow::Borrowed),
            _ => None,
        })
    }

    /// The encoded `TrackEvent`.
    #[must_use]
    pub const fn bytes(&self) -> &'r [u8] {
        self.body
    }

    fn location(&self, iid: u64) -> Option<SourceLocation<'r>> {
        self.names.location(iid).map(SourceLocation::of)
    }
}

impl<'r> SourceLocation<'r> {
    fn read(body: &'r [u8]) -> Self {
        let (file, function) = (string(body, 2), string(body, 3));
        Self { file, function, line: number(body, 4) }
    }

    fn of(interned: &'r Location) -> Self {
        let text = |text: &'r Option<Box<str>>| text.as_deref().map(Cow::Borrowed);
        let Location { file, function, line } = interned;
        Self { file: text(file), function: text(function), line: *line }
    }
}

/// A name or a category, as an event has it.
enum Label<'r> {
    Interned(&'r Text),
    /// Nothing defines this number.
    Unknown(u64),
    Inline(&'r [u8]),
}

impl<'r> Label<'r> {
    fn text(self) -> Cow<'r, str> {
        match self {
            Self::Interned(known) => Cow::Borrowed(&known.text),
            Self::Unknown(iid) => format!("unknown({iid})").into(),
            Self::Inline(bytes) => text(bytes),
        }
    }

    fn hash(self) -> u64 {
        match self {
            Self::Interned(known) => known.hash,
            label => hash(&label.text()),
        }
    }
}

pub(super) fn fields(body: &[u8]) -> impl Iterator<Item = protozero::Field<'_>> {
    let mut reader = Reader::new(body);
    std::iter::from_fn(move || reader.next_field().ok().flatten())
}

fn flows(body: &[u8], fixed: u32, old: u32) -> impl Iterator<Item = u64> + use<'_> {
    fields(body).filter_map(move |field| match field.value {
        Wire::Fixed64(id) if field.number == fixed => Some(id),
        Wire::Varint(id) if field.number == old => Some(id),
        _ => None,
    })
}
