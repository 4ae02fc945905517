//! The program of a filter: the fields of each message that pass.
//!
//! ```text
//!   word word word ... checksum        varints; a word = field << 3 | operation
//!
//!   0 end of message     1 field            2 fields [id, id + ARGUMENT)
//!   3 message ARGUMENT   4 string           5 string of semantic type ARGUMENT
//! ```
//!
//! Messages are numbered in their order; 0 is the root. They may refer to each other in cycles.
//! The checksum is the lower half of the 64-bit FNV-1a of all words before it, four bytes each, lowest
//! first. An *overlay* changes a program for newer services: triples (message, word, argument), sorted.
//! (`filter_bytecode_parser.cc`)

use core::fmt;

use crate::limits;
use protozero::wire::hostile;

/// What happens to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rule {
    /// It is left out.
    #[default]
    Deny,
    /// It is copied.
    Pass,
    /// It is a message with rules of its own, by number.
    Message(u32),
    /// It is copied, then changed by the rules for strings of this semantic type.
    String(u32),
}

/// Why a program is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// There are no words.
    Empty,
    /// There is no varint of 32 bits at this offset.
    Varint {
        /// Bytes from the start.
        offset: usize,
    },
    /// The last word is not the checksum of the words before.
    Checksum,
    /// The operation of a word is unknown, or not allowed in an overlay.
    Operation {
        /// Index of the word.
        word: usize,
    },
    /// A word names field 0.
    FieldZero {
        /// Index of the word.
        word: usize,
    },
    /// The argument of the last word is missing, or the end of a message.
    Truncated,
    /// Fields above 127 are not in order, or there is a field twice.
    Order {
        /// Index of the word.
        word: usize,
    },
    /// A rule names a message that does not exist.
    NoSuchMessage {
        /// Its number.
        message: u32,
    },
    /// More words or messages than [`limits::FILTER_WORDS_MAX`] and [`limits::FILTER_MESSAGES_MAX`].
    TooLarge,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Varint { offset } => write!(f, "no 32-bit varint at byte {offset}"),
            Self::Checksum => f.write_str("the checksum does not match"),
            Self::Operation { word } => write!(f, "unknown operation in word {word}"),
            Self::FieldZero { word } => write!(f, "field 0 in word {word}"),
            Self::Truncated => f.write_str("it ends early"),
            Self::Order { word } => write!(f, "fields out of order at word {word}"),
            Self::NoSuchMessage { message } => write!(f, "there is no message {message}"),
            Self::TooLarge => f.write_str("too many words or messages"),
        }
    }
}

impl core::error::Error for ProgramError {}

/// Fields below this number are found by index, others by search.
const INDEXED: u32 = 128;

/// Consecutive fields with the same rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    /// Exclusive.
    end: u64,
    rule: Rule,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Message {
    /// Rules by field number, up to the last one that is not [`Rule::Deny`].
    low: Vec<Rule>,
    /// Fields from [`INDEXED`] on, in order.
    high: Vec<Run>,
}

impl Message {
    #[inline]
    fn rule(&self, field: u32) -> Rule {
        if field < INDEXED {
            return self.low.get(field as usize).copied().unwrap_or_default();
        }
        let at = self.high.partition_point(|run| run.first <= field);
        let run = at.checked_sub(1).and_then(|at| self.high.get(at));
        run.filter(|run| u64::from(field) < run.end).map_or(Rule::Deny, |run| run.rule)
    }

    fn set_low(&mut self, field: u32, rule: Rule) {
        let at = field as usize;
        if self.low.len() <= at {
            self.low.resize(at.saturating_add(1), Rule::Deny);
        }
        if let Some(slot) = self.low.get_mut(at) {
            *slot = rule;
        }
    }

    /// Adds the fields `[first, end)`. False if above 127 they are not behind all others.
    fn add(&mut self, first: u32, end: u64, rule: Rule) -> bool {
        let low_end = u32::try_from(end.min(INDEXED.into())).unwrap_or(INDEXED);
        for field in first..low_end {
            self.set_low(field, rule);
        }
        let first = first.max(INDEXED);
        if end <= first.into() {
            return true;
        }
        if self.high.last().is_some_and(|last| last.end > first.into()) {
            return false;
        }
        self.high.push(Run { first, end, rule });
        true
    }

    /// Changes the rule of one field.
    fn overlay(&mut self, field: u32, rule: Rule) {
        if field < INDEXED {
            return self.set_low(field, rule);
        }
        let one = Run { first: field, end: u64::from(field).saturating_add(1), rule };
        let at = self.high.partition_point(|run| run.end <= field.into());
        match self.high.get(at).copied().filter(|run| run.first <= field) {
            None => self.high.insert(at, one),
            Some(around) => {
                let before = Run { end: field.into(), ..around };
                let after = Run { first: field.saturating_add(1), ..around };
                let parts = [before, one, after];
                let parts = parts.into_iter().filter(|run| u64::from(run.first) < run.end);
                self.high.splice(at..=at, parts);
            }
        }
    }
}

/// A program that was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    messages: Vec<Message>,
}

impl Program {
    /// Checks and compiles a program, with an optional overlay.
    ///
    /// # Errors
    /// The first error, and its place. A program of only a checksum is legal and allows nothing.
    pub fn parse(code: &[u8], overlay: Option<&[u8]>) -> Result<Self, ProgramError> {
        let mut this = Self::parse_base(&words(code)?)?;
        if let Some(overlay) = overlay {
            this.apply_overlay(&words(overlay)?)?;
        }
        this.check_references()?;
        Ok(this)
    }

    fn parse_base(words: &[u32]) -> Result<Self, ProgramError> {
        let mut messages = Vec::new();
        let mut message = Message::default();
        let mut open = false;
        let mut at = 0usize;
        while let Some(&word) = words.get(at) {
            let (field, here) = (word >> 3, at);
            at = at.saturating_add(1);
            let operation = word & 7;
            if operation == 0 {
                if messages.len() >= limits::FILTER_MESSAGES_MAX {
                    return Err(ProgramError::TooLarge);
                }
                messages.push(core::mem::take(&mut message));
                open = false;
                continue;
            }
            open = true;
            if field == 0 {
                return Err(ProgramError::FieldZero { word: here });
            }
            let argument = if matches!(operation, 2 | 3 | 5) {
                let argument = words.get(at).copied().ok_or(ProgramError::Truncated)?;
                at = at.saturating_add(1);
                argument
            } else {
                0
            };
            let one = u64::from(field).saturating_add(1);
            let (end, rule) = match operation {
                1 => (one, Rule::Pass),
                2 => (u64::from(field).saturating_add(argument.into()), Rule::Pass),
                3 => (one, Rule::Message(argument)),
                4 => (one, Rule::String(0)),
                5 => (one, Rule::String(argument)),
                _ => return Err(ProgramError::Operation { word: here }),
            };
            if !message.add(field, end, rule) {
                return Err(ProgramError::Order { word: here });
            }
        }
        if open { Err(ProgramError::Truncated) } else { Ok(Self { messages }) }
    }

    /// Applies an overlay.
    fn apply_overlay(&mut self, words: &[u32]) -> Result<(), ProgramError> {
        if words.len() > limits::FILTER_OVERLAY_WORDS_MAX {
            return Err(ProgramError::TooLarge);
        }
        let mut last = None;
        for (index, triple) in words.chunks(3).enumerate() {
            let number = index.saturating_mul(3).saturating_add(1);
            let &[message, word, argument] = triple else { return Err(ProgramError::Truncated) };
            let field = word >> 3;
            let rule = match word & 7 {
                1 => Rule::Pass,
                4 => Rule::String(0),
                5 => Rule::String(argument),
                _ => return Err(ProgramError::Operation { word: number }),
            };
            if field == 0 {
                return Err(ProgramError::FieldZero { word: number });
            }
            if last.is_some_and(|last| last >= (message, field)) {
                return Err(ProgramError::Order { word: number });
            }
            last = Some((message, field));
            let of = self.messages.get_mut(message as usize);
            of.ok_or(ProgramError::NoSuchMessage { message })?.overlay(field, rule);
        }
        Ok(())
    }

    fn check_references(&self) -> Result<(), ProgramError> {
        let rules = self.messages.iter().flat_map(|message| {
            message.low.iter().copied().chain(message.high.iter().map(|run| run.rule))
        });
        for rule in rules {
            if let Rule::Message(message) = rule
                && message as usize >= self.messages.len()
            {
                return Err(ProgramError::NoSuchMessage { message });
            }
        }
        Ok(())
    }

    /// What becomes of a field of a message.
    #[inline]
    #[must_use]
    pub fn rule(&self, message: u32, field: u32) -> Rule {
        self.messages.get(message as usize).map_or(Rule::Deny, |message| message.rule(field))
    }

    /// The number of its messages.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }
}

/// Checks the checksum, and returns the words before it.
fn words(code: &[u8]) -> Result<Vec<u32>, ProgramError> {
    let mut words = Vec::new();
    let mut rest = code;
    while !rest.is_empty() {
        let bad = ProgramError::Varint { offset: code.len().saturating_sub(rest.len()) };
        let (value, behind) = hostile::varint(rest).map_err(|_| bad)?;
        if words.len() > limits::FILTER_WORDS_MAX {
            return Err(ProgramError::TooLarge);
        }
        words.push(u32::try_from(value).map_err(|_| bad)?);
        rest = behind;
    }
    let sum = words.pop().ok_or(ProgramError::Empty)?;
    if sum == checksum(&words) { Ok(words) } else { Err(ProgramError::Checksum) }
}

/// The lower half of FNV-1a.
#[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
pub(super) fn checksum(words: &[u32]) -> u32 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    }) as u32
}
