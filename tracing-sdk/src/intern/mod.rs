//! Numbers for texts that repeat: categories, names of events, keys of annotations, texts a user marks.
//!
//! A literal of the program gets its number once for the whole process, so a call site needs no table: it loads the
//! number and looks at one bit that says whether this sequence has defined it. Each sequence numbers other texts by
//! itself, above those:
//!
//! ```text
//!   1 ... 65,535          literals of the program, the same number in all sequences
//!   65,536 ...            texts of this sequence, at most 4,096 of each kind
//! ```
//!
//! | file | what |
//! |---|---|
//! | `literal` | literals of the program, and their numbers |
//! | `place` | places in the source |
//! | here | what one sequence has defined |

mod literal;
mod place;

use core::ops::Range;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use protos::TracePacketWriter;
use protozero::Writer as _;

use self::literal::STATIC_MAX;
pub(crate) use self::literal::{HeldNames, lock_for_fork};
pub use self::literal::{StaticName, key_of};
pub use self::place::Location;
pub(crate) use self::place::Place;
use crate::category::Category;
use crate::fields;
use crate::hash::WordHasher;

/// How many texts a sequence numbers by itself, and how long they may be.
const DYNAMIC_MAX: usize = 4096;
const DYNAMIC_BYTES_MAX: usize = 256;
/// How much memory for texts of one packet a sequence keeps for the next.
const DEFINITION_BYTES_KEPT: usize = 4096;

// Fields of `InternedData`. An entry of each has a number and a text (`interned_data.proto`).
const EVENT_CATEGORIES: u32 = 1;
const EVENT_NAMES: u32 = 2;
const DEBUG_ANNOTATION_NAMES: u32 = 3;
const LOG_MESSAGE_BODY: u32 = 20;
const DEBUG_ANNOTATION_STRING_VALUES: u32 = 29;
const CORRELATION_ID_STR: u32 = 43;

/// The name of an event.
#[derive(Clone, Copy, Debug)]
pub enum EventName<'a> {
    /// The end of a slice or of a state.
    None,
    /// A literal.
    Static(&'static StaticName),
    /// Written in full.
    Dynamic(&'a str),
    /// Written in full once for each sequence.
    Interned(&'a str, Intern),
}

/// Gives a sequence's number of a text. What makes such a name brings it, so that no other program contains it.
#[derive(Clone, Copy, Debug)]
pub struct Intern(fn(&mut Interning, &str) -> Option<u64>);

impl<'a> EventName<'a> {
    /// A name that repeats.
    #[must_use]
    pub const fn interned(text: &'a str) -> Self {
        Self::Interned(text, Intern(|interning, text| interning.text(TextKind::EventName, text)))
    }
}

/// The name of an event, as it is written.
pub(crate) enum WrittenName<'a> {
    None,
    Iid(u64),
    Text(&'a str),
}

/// Which numbers a sequence has defined: one bit each.
#[derive(Default)]
struct Defined(Vec<u64>);

impl Defined {
    /// True if it was not defined before.
    #[inline(always)]
    fn insert(&mut self, iid: u32) -> bool {
        let bit = 1 << (iid % 64);
        match self.0.get_mut(iid as usize / 64) {
            Some(word) => {
                let is_new = *word & bit == 0;
                if is_new {
                    *word |= bit;
                }
                is_new
            }
            None => self.grow(iid),
        }
    }

    #[cold]
    fn grow(&mut self, iid: u32) -> bool {
        self.0.resize(iid as usize / 64 + 1, 0);
        self.insert(iid)
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }
}

/// The kinds of texts that a sequence numbers by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum TextKind {
    EventName,
    StringValue,
    LogBody,
    CorrelationId,
}

impl TextKind {
    const COUNT: usize = Self::CorrelationId as usize + 1;
}

enum Definition {
    Category(&'static Category),
    EventName(u32, &'static str),
    Key(u32, &'static str),
    #[cfg(feature = "tracing")]
    LogBody(u32, &'static str),
    /// A part of `Interning::definition_text`.
    Text(TextKind, u64, Range<usize>),
    Location(u64, Location),
}

/// What a sequence has defined.
#[derive(Default)]
pub(crate) struct Interning {
    categories: Defined,
    event_names: Defined,
    keys: Defined,
    #[cfg(feature = "tracing")]
    log_bodies: Defined,
    /// By kind.
    texts: [HashMap<Box<str>, u64>; TextKind::COUNT],
    last_text: u64,
    locations: HashMap<(usize, usize, usize, u32), u64, BuildHasherDefault<WordHasher>>,
    /// The numbers of places, by index; 0: none yet.
    #[cfg(feature = "tracing")]
    places: Vec<u64>,
    /// Numbers up to here are of locations that were forgotten.
    last_location: u64,
    /// Used by the packet at hand, which has to define it.
    definitions: Vec<Definition>,
    definition_text: String,
}

impl Interning {
    pub(crate) fn clear(&mut self) {
        self.categories.clear();
        self.event_names.clear();
        self.keys.clear();
        #[cfg(feature = "tracing")]
        self.log_bodies.clear();
        self.texts.iter_mut().for_each(HashMap::clear);
        self.forget_locations();
        self.definitions.clear();
        self.definition_text.clear();
    }

    #[inline]
    pub(crate) fn has_definitions(&self) -> bool {
        !self.definitions.is_empty()
    }

    /// Makes sure that the number of a category is defined.
    #[inline(always)]
    pub(crate) fn category(&mut self, category: &'static Category) {
        if self.categories.insert(category.iid()) {
            self.definitions.push(Definition::Category(category));
        }
    }

    /// The number of the name of an event; 0 if it must be written in full.
    #[inline(always)]
    pub(crate) fn event_name(&mut self, name: &'static StaticName) -> u32 {
        let iid = name.iid();
        if iid != 0 && self.event_names.insert(iid) {
            self.definitions.push(Definition::EventName(iid, name.text()));
        }
        iid
    }

    /// How the name of an event is written. With `drop_dynamic` only literals are written as they are.
    #[inline(always)]
    pub(crate) fn name<'a>(&mut self, name: EventName<'a>, drop_dynamic: bool) -> WrittenName<'a> {
        match name {
            EventName::None => WrittenName::None,
            EventName::Static(name) => match self.event_name(name) {
                0 => WrittenName::Text(name.text()),
                iid => WrittenName::Iid(iid.into()),
            },
            EventName::Dynamic(_) | EventName::Interned(..) if drop_dynamic => {
                WrittenName::Text("FILTERED")
            }
            EventName::Dynamic(name) => WrittenName::Text(name),
            EventName::Interned(name, Intern(intern)) => match intern(self, name) {
                Some(iid) => WrittenName::Iid(iid),
                None => WrittenName::Text(name),
            },
        }
    }

    /// 0 if the key must be written in full.
    #[inline]
    pub(crate) fn key(&mut self, key: &'static StaticName) -> u64 {
        let iid = key.iid();
        if iid != 0 && self.keys.insert(iid) {
            self.definitions.push(Definition::Key(iid, key.text()));
        }
        iid.into()
    }

    /// The number of a line of a log.
    #[cfg(feature = "tracing")]
    pub(crate) fn log_body(&mut self, body: &'static StaticName) -> u64 {
        let iid = body.iid();
        if iid == 0 {
            return self.text_of_any_length(TextKind::LogBody, body.text());
        }
        if self.log_bodies.insert(iid) {
            self.definitions.push(Definition::LogBody(iid, body.text()));
        }
        iid.into()
    }

    /// The number of `text`; none if it is long, or there are too many: then it is written in full.
    pub(crate) fn text(&mut self, kind: TextKind, text: &str) -> Option<u64> {
        let texts = &mut self.texts[kind as usize];
        if let Some(iid) = texts.get(text) {
            return Some(*iid);
        }
        if text.len() > DYNAMIC_BYTES_MAX || texts.len() >= DYNAMIC_MAX {
            return None;
        }
        self.last_text += 1;
        let iid = u64::from(STATIC_MAX) + self.last_text;
        texts.insert(text.into(), iid);
        self.define_text(kind, iid, text);
        Some(iid)
    }

    /// A number for `text` also if it is long; such a text is defined again each time.
    pub(crate) fn text_of_any_length(&mut self, kind: TextKind, text: &str) -> u64 {
        if let Some(iid) = self.text(kind, text) {
            return iid;
        }
        self.text_once(kind, text)
    }

    /// A number for this use of `text` alone.
    pub(crate) fn text_once(&mut self, kind: TextKind, text: &str) -> u64 {
        self.last_text += 1;
        let iid = u64::from(STATIC_MAX) + self.last_text;
        self.define_text(kind, iid, text);
        iid
    }

    fn define_text(&mut self, kind: TextKind, iid: u64, text: &str) {
        let start = self.definition_text.len();
        self.definition_text.push_str(text);
        self.definitions.push(Definition::Text(kind, iid, start..self.definition_text.len()));
    }

    /// The number of a place in the source.
    pub(crate) fn location(&mut self, location: Location) -> u64 {
        // The compiler may store one literal several times. Its places then have several numbers, which is allowed. An
        // empty function may have the address of any text, so its length is a part of the key.
        let Location { file, function, line } = location;
        let key = (file.as_ptr().addr(), function.as_ptr().addr(), function.len(), line);
        if self.locations.len() >= DYNAMIC_MAX {
            // A program that makes up its lines. They are defined anew, with other numbers.
            self.forget_locations();
            self.last_location += DYNAMIC_MAX as u64;
        }
        let next = self.last_location + self.locations.len() as u64 + 1;
        *self.locations.entry(key).or_insert_with(|| {
            self.definitions.push(Definition::Location(next, location));
            next
        })
    }

    fn forget_locations(&mut self) {
        self.locations.clear();
        #[cfg(feature = "tracing")]
        self.places.fill(0);
    }

    #[cfg(not(feature = "tracing"))]
    #[inline(always)]
    pub(crate) fn place(&mut self, place: &Place) -> u64 {
        match *place {}
    }

    /// As [`location`](Self::location).
    #[cfg(feature = "tracing")]
    #[inline]
    pub(crate) fn place(&mut self, place: &Place) -> u64 {
        match self.places.get(place.index) {
            Some(&iid) if iid != 0 => iid,
            _ => self.new_place(place),
        }
    }

    #[cfg(feature = "tracing")]
    #[cold]
    fn new_place(&mut self, place: &Place) -> u64 {
        let iid = self.location(place.location);
        if self.places.len() <= place.index {
            self.places.resize(place.index + 1, 0);
        }
        self.places[place.index] = iid;
        iid
    }

    /// Defines what the packet used for the first time.
    #[cold]
    #[inline(never)]
    pub(crate) fn define(&mut self, mut packet: TracePacketWriter<'_>) {
        let mut data = packet.interned_data();
        let text = |range: Range<usize>| self.definition_text.get(range).unwrap_or_default();
        for definition in self.definitions.drain(..) {
            let (field, iid, text) = match definition {
                Definition::Category(category) => {
                    (EVENT_CATEGORIES, category.iid().into(), category.name())
                }
                Definition::EventName(iid, name) => (EVENT_NAMES, iid.into(), name),
                Definition::Key(iid, name) => (DEBUG_ANNOTATION_NAMES, iid.into(), name),
                #[cfg(feature = "tracing")]
                Definition::LogBody(iid, body) => (LOG_MESSAGE_BODY, iid.into(), body),
                Definition::Text(kind, iid, range) => {
                    let field = match kind {
                        TextKind::EventName => EVENT_NAMES,
                        TextKind::StringValue => DEBUG_ANNOTATION_STRING_VALUES,
                        TextKind::LogBody => LOG_MESSAGE_BODY,
                        TextKind::CorrelationId => CORRELATION_ID_STR,
                    };
                    (field, iid, text(range))
                }
                Definition::Location(iid, location) => {
                    let mut out = data.source_locations();
                    let out = out.scope_mut();
                    fields::number(out, 1, iid);
                    fields::text(out, 2, location.file.as_bytes());
                    if !location.function.is_empty() {
                        fields::text(out, 3, location.function.as_bytes());
                    }
                    fields::number(out, 4, location.line.into());
                    continue;
                }
            };
            fields::entry(data.scope_mut(), field, iid, text.as_bytes());
        }
        // One long text must not occupy memory for ever.
        self.definition_text.clear();
        self.definition_text.shrink_to(DEFINITION_BYTES_KEPT);
    }
}
