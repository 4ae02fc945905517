//! Literals of the program: names of events, keys of annotations, lines of a log. Each has one number in the process.

use core::sync::atomic::{AtomicU32, Ordering};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::fork::Held;

/// The highest number of a literal. Literals beyond it are written in full.
pub(super) const STATIC_MAX: u32 = 65_535;

/// A literal at a call site: the name of an event or the key of an annotation.
pub struct StaticName {
    text: LiteralText,
    table: LiteralTable,
    /// 0: not known yet; above [`STATIC_MAX`]: none.
    iid: AtomicU32,
}

/// The numbers of literals, by table. Equal literals have one number, also if several crates contain them.
static NAMES: [Mutex<Names>; LiteralTable::COUNT] =
    [const { Mutex::new(None) }; LiteralTable::COUNT];

type Names = Option<HashMap<&'static str, u32>>;

/// All tables, while the process forks.
pub(crate) type HeldNames = [Held<Names>; LiteralTable::COUNT];

pub(crate) fn lock_for_fork() -> HeldNames {
    NAMES.each_ref().map(|names| names.lock().unwrap_or_else(PoisonError::into_inner).into())
}

/// The key that an identifier of the program stands for: that of `r#type` is `type`.
#[must_use]
pub const fn key_of(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

enum LiteralText {
    Literal(&'static str),
    /// Gives the path of an item inside the function; the name is that path without its last part.
    Inside(fn() -> &'static str),
}

#[derive(Clone, Copy)]
enum LiteralTable {
    EventNames,
    Keys,
    LogBodies,
}

impl LiteralTable {
    const COUNT: usize = Self::LogBodies as usize + 1;
}

impl StaticName {
    /// The name of an event.
    #[must_use]
    pub const fn event(text: &'static str) -> Self {
        Self {
            text: LiteralText::Literal(text),
            table: LiteralTable::EventNames,
            iid: AtomicU32::new(0),
        }
    }

    /// The name of an event, which is the path of a function. `inside` gives the path of an item inside that function.
    #[must_use]
    pub const fn function(inside: fn() -> &'static str) -> Self {
        Self {
            text: LiteralText::Inside(inside),
            table: LiteralTable::EventNames,
            iid: AtomicU32::new(0),
        }
    }

    /// The key of an annotation.
    #[must_use]
    pub const fn key(text: &'static str) -> Self {
        Self { text: LiteralText::Literal(text), table: LiteralTable::Keys, iid: AtomicU32::new(0) }
    }

    /// A line of a log.
    #[cfg(feature = "tracing")]
    pub(crate) const fn log_body(text: &'static str) -> Self {
        Self {
            text: LiteralText::Literal(text),
            table: LiteralTable::LogBodies,
            iid: AtomicU32::new(0),
        }
    }

    /// The text.
    pub(crate) fn text(&self) -> &'static str {
        match self.text {
            LiteralText::Literal(text) => text,
            LiteralText::Inside(inside) => {
                let path = inside();
                // Not `rsplit_once`, as a search for text of any length is 3 KB of code.
                let end = path.as_bytes().windows(2).rposition(|two| two == b"::");
                let mut path = end.and_then(|end| path.get(..end)).unwrap_or(path);
                // A closure inside the function.
                while let Some(outer) = path.strip_suffix("::{{closure}}") {
                    path = outer;
                }
                path
            }
        }
    }

    /// Its number; 0 if all are taken.
    #[inline]
    pub(super) fn iid(&self) -> u32 {
        match self.iid.load(Ordering::Relaxed) {
            0 => self.assign(),
            iid if iid > STATIC_MAX => 0,
            iid => iid,
        }
    }

    #[cold]
    fn assign(&self) -> u32 {
        let mut table = NAMES[self.table as usize].lock().unwrap_or_else(PoisonError::into_inner);
        let table = table.get_or_insert_with(HashMap::new);
        let next = u32::try_from(table.len()).unwrap_or(u32::MAX).saturating_add(1);
        let text = self.text();
        let iid = match table.get(text) {
            Some(iid) => *iid,
            None if next > STATIC_MAX => u32::MAX,
            None => {
                table.insert(text, next);
                next
            }
        };
        self.iid.store(iid, Ordering::Relaxed);
        if iid > STATIC_MAX { 0 } else { iid }
    }
}

impl core::fmt::Debug for StaticName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.text().fmt(f)
    }
}
