//! Interned entries, as events need them. A text is converted and hashed once, when it comes: an event of a few bytes
//! may name one of many megabytes, so what an event costs must not depend on it.

use std::borrow::Cow;

use protozero::Reader;

use super::budget::Budget;

/// Fields of `InternedData` that events refer to.
pub(super) const CATEGORIES: u32 = 1;
pub(super) const NAMES: u32 = 2;
pub(super) const ARG_NAMES: u32 = 3;
pub(super) const LOCATIONS: u32 = 4;
pub(super) const LOG_BODIES: u32 = 20;
pub(super) const PROTO_NAMES: u32 = 27;
pub(super) const ARG_TEXTS: u32 = 29;
pub(super) const CORRELATION_IDS: u32 = 43;

/// Those of them that are kept.
pub(super) const KEPT: [u32; 8] =
    [CATEGORIES, NAMES, ARG_NAMES, LOCATIONS, LOG_BODIES, PROTO_NAMES, ARG_TEXTS, CORRELATION_IDS];

/// Bytes that an entry takes beside its texts.
const ENTRY_COST: usize = 96;

/// Bytes that a place in the source takes beside that.
const LOCATION_COST: usize = 64;

/// An entry of `InternedData`.
#[derive(Debug)]
pub(super) enum Entry {
    Text(Text),
    Location(Box<Location>),
}

/// A text with its hash.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: Box<str>,
    pub(super) hash: u64,
}

/// A place in the source of the traced program.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) file: Option<Box<str>>,
    pub(super) function: Option<Box<str>>,
    pub(super) line: Option<u64>,
}

impl Entry {
    /// Reads an entry of the field `kind`. Also returns the memory that it takes; `None` if that much is not left.
    pub(super) fn read(kind: u32, body: &[u8], budget: &mut Budget) -> Option<(Self, usize)> {
        let is_location = kind == LOCATIONS;
        let (text, function) = (last(body, 2), last(body, 3).filter(|_| is_location));
        let len = |text: Option<&[u8]>| text.map_or(0, converted_len);
        let (text_len, function_len) = (len(text), len(function));
        let own = ENTRY_COST + if is_location { LOCATION_COST } else { 0 };
        let cost = own + text_len + function_len;
        if !budget.take(cost) {
            return None;
        }
        let text = text.map(|text| converted(text, text_len));
        let entry = if is_location {
            let function = function.map(|function| converted(function, function_len));
            Self::Location(Box::new(Location { file: text, function, line: number(body, 4) }))
        } else {
            let text = text.unwrap_or_default();
            Self::Text(Text { hash: hash(&text), text })
        };
        Some((entry, cost))
    }

    /// Whether `body` has the same texts.
    pub(super) fn is_same(&self, body: &[u8]) -> bool {
        let are_same = |text: Option<&str>, bytes: Option<&[u8]>| match (text, bytes) {
            (Some(text), Some(bytes)) => is_converted(text, bytes),
            (text, bytes) => text.is_none() && bytes.is_none(),
        };
        match self {
            Self::Text(known) => is_converted(&known.text, last(body, 2).unwrap_or_default()),
            Self::Location(known) => {
                are_same(known.file.as_deref(), last(body, 2))
                    && are_same(known.function.as_deref(), last(body, 3))
                    && known.line == number(body, 4)
            }
        }
    }
}

/// A text of the trace. Bytes that are no UTF-8 are replaced.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    note_work(bytes.len());
    String::from_utf8_lossy(bytes)
}

/// The last text in a field of a message.
pub(super) fn string(body: &[u8], wanted: u32) -> Option<Cow<'_, str>> {
    last(body, wanted).map(text)
}

/// The last number in a field of a message.
pub(super) fn number(body: &[u8], wanted: u32) -> Option<u64> {
    let mut found = None;
    let mut reader = Reader::new(body);
    while let Ok(Some(field)) = reader.next_field() {
        if field.number == wanted {
            found = field.value.uint64().ok();
        }
    }
    found
}

/// By which names and categories are compared: FNV-1a.
pub(super) fn hash(text: &str) -> u64 {
    note_work(text.len());
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The last bytes in a field of a message.
fn last(body: &[u8], wanted: u32) -> Option<&[u8]> {
    let mut found = None;
    let mut reader = Reader::new(body);
    while let Ok(Some(field)) = reader.next_field() {
        if field.number == wanted {
            found = field.value.bytes().ok();
        }
    }
    found
}

/// Bytes of a text once those that are no UTF-8 are replaced, of which one may become three.
fn converted_len(bytes: &[u8]) -> usize {
    if std::str::from_utf8(bytes).is_ok() {
        return bytes.len();
    }
    let replaced = |invalid: &[u8]| if invalid.is_empty() { 0 } else { REPLACEMENT.len() };
    bytes.utf8_chunks().map(|chunk| chunk.valid().len() + replaced(chunk.invalid())).sum()
}

const REPLACEMENT: &str = "\u{fffd}";

/// The text of `bytes`, which has `len` bytes.
fn converted(bytes: &[u8], len: usize) -> Box<str> {
    note_work(bytes.len());
    let mut text = String::with_capacity(len);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push_str(REPLACEMENT);
        }
    }
    text.into()
}

/// Whether `text` is what `bytes` convert to.
fn is_converted(text: &str, bytes: &[u8]) -> bool {
    note_work(bytes.len());
    let mut rest = Some(text);
    for chunk in bytes.utf8_chunks() {
        rest = rest.and_then(|rest| rest.strip_prefix(chunk.valid()));
        if !chunk.invalid().is_empty() {
            rest = rest.and_then(|rest| rest.strip_prefix(REPLACEMENT));
        }
        if rest.is_none() {
            return false;
        }
    }
    rest == Some("")
}

/// Counts the bytes of texts that are converted, hashed or compared, for tests.
fn note_work(bytes: usize) {
    #[cfg(test)]
    crate::testing::TEXT_BYTES.with(|counted| counted.set(counted.get() + bytes));
    let _ = bytes;
}
