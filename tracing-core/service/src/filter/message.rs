//! Applies a program to a packet.
//!
//! ```text
//!   in    0a 84 80 00 | 08 01  1a 02 'a' 'b' | ...       the length of the message takes three bytes
//!   out   0a 84 00    | 08 01                | ...       the length is filled in when its message has ended
//! ```
//!
//! The output is never longer than the input: tags and values are written in their shortest form, and the length of a
//! message in as many bytes as the shortest form of the input's length has. Nested messages take no stack.

use core::fmt;

use super::budget::FilterBudget;
use super::program::{Program, Rule};
use super::strings::StringFilter;
use crate::limits;
use abi::limits::FIELD_BYTES_MAX;
use protozero::DecodeErrorKind;
use protozero::wire::{hostile, tag, varint, write};

/// Why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterError {
    /// It is empty.
    Empty,
    /// The wire type is invalid, or a group.
    WireType {
        /// Offset of the field.
        offset: usize,
    },
    /// The length is above 2^28 - 1, or leads out of the message around it.
    Length {
        /// Offset of the length.
        offset: usize,
    },
    /// A varint has more than ten bytes.
    Varint {
        /// Its offset.
        offset: usize,
    },
    /// The message ends inside a field.
    Truncated {
        /// Offset of its end.
        offset: usize,
    },
    /// A field has the number 0.
    FieldZero {
        /// Offset of the field.
        offset: usize,
    },
    /// Messages are nested deeper than [`limits::FILTER_DEPTH_MAX`].
    Depth {
        /// Offset of the field.
        offset: usize,
    },
    /// The rules for its strings take more steps than [`limits::FILTER_STEPS_PER_PACKET_MAX`].
    Budget {
        /// Offset of the string at which the steps ran out.
        offset: usize,
    },
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("empty packet"),
            Self::WireType { offset } => write!(f, "invalid wire type at byte {offset}"),
            Self::Length { offset } => write!(f, "invalid length at byte {offset}"),
            Self::Varint { offset } => write!(f, "varint too long at byte {offset}"),
            Self::Truncated { offset } => write!(f, "a field is cut off at byte {offset}"),
            Self::FieldZero { offset } => write!(f, "field 0 at byte {offset}"),
            Self::Depth { offset } => write!(f, "nested too deep at byte {offset}"),
            Self::Budget { offset } => {
                write!(f, "rules take too long for the string at byte {offset}")
            }
        }
    }
}

impl core::error::Error for FilterError {}

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Varint(u64),
    Fixed64,
    Fixed32,
    /// A length-delimited field with this many bytes.
    Len(usize),
}

/// Reads the field at `at` of the message `bytes[..end]`: its number, its value, and where the content begins. After a
/// varint that is the next field.
#[inline]
pub(super) fn token(
    bytes: &[u8],
    at: usize,
    end: usize,
) -> Result<(u64, Token, usize), FilterError> {
    let bytes = bytes.get(..end).unwrap_or_default();
    let number = |at| {
        let (value, rest) =
            hostile::varint(bytes.get(at..).unwrap_or_default()).map_err(|kind| match kind {
                DecodeErrorKind::VarintTooLong => FilterError::Varint { offset: at },
                _ => FilterError::Truncated { offset: end },
            })?;
        Ok((value, bytes.len().saturating_sub(rest.len())))
    };
    let (tag, value_at) = number(at)?;
    let field = tag >> 3;
    if field == 0 {
        return Err(FilterError::FieldZero { offset: at });
    }
    let left = end.saturating_sub(value_at);
    match tag & 7 {
        0 => number(value_at).map(|(value, next)| (field, Token::Varint(value), next)),
        1 if left >= 8 => Ok((field, Token::Fixed64, value_at)),
        5 if left >= 4 => Ok((field, Token::Fixed32, value_at)),
        1 | 5 => Err(FilterError::Truncated { offset: end }),
        2 => {
            let (len, next) = number(value_at)?;
            let left = end.saturating_sub(next);
            let len = Some(len).filter(|len| *len <= FIELD_BYTES_MAX);
            let len = len.and_then(|len| usize::try_from(len).ok()).filter(|len| *len <= left);
            let len = len.ok_or(FilterError::Length { offset: value_at })?;
            Ok((field, Token::Len(len), next))
        }
        _ => Err(FilterError::WireType { offset: at }),
    }
}

/// A message that was begun and has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Number in the program, and end in the input, of the message around it.
    message: u32,
    end: usize,
    /// Where its length goes in the output, and how many bytes it takes.
    len_at: usize,
    len_width: usize,
}

/// Applies programs, with memory that is kept between packets.
#[derive(Debug, Default)]
pub struct MessageFilter {
    root: u32,
    stack: Vec<Open>,
}

impl MessageFilter {
    /// A filter for the messages at the end of a path of fields from the program's root. None if a field of the
    /// path is no message.
    #[must_use]
    pub fn rooted(program: &Program, path: &[u32]) -> Option<Self> {
        let step = |message, field: &u32| match program.rule(message, *field) {
            Rule::Message(inner) => Some(inner),
            _ => None,
        };
        let root = path.iter().try_fold(0, step)?;
        Some(Self { root, stack: Vec::new() })
    }

    /// The same filter without state.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { root: self.root, stack: Vec::new() }
    }

    /// Appends the fields of `input` that `program` allows to `out`, with `strings` applied.
    ///
    /// # Errors
    /// When `input`, or a message in it that the program knows, is no valid message. `out` is unchanged then.
    pub fn apply(
        &mut self,
        program: &Program,
        strings: &StringFilter,
        budget: &mut FilterBudget,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), FilterError> {
        self.stack.clear();
        let before = out.len();
        out.reserve(input.len());
        let result = self.filter_fields(program, strings, budget, input, out);
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    fn filter_fields(
        &mut self,
        program: &Program,
        strings: &StringFilter,
        budget: &mut FilterBudget,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), FilterError> {
        if input.is_empty() {
            return Err(FilterError::Empty);
        }
        let (mut message, mut at, mut end) = (self.root, 0usize, input.len());
        loop {
            if at >= end {
                let Some(open) = self.stack.pop() else { return Ok(()) };
                (message, end) = (open.message, open.end);
                close(&open, out);
                continue;
            }
            let (field, token, value_at) = token(input, at, end)?;
            let (number, rule) = rule_for(program, message, field);
            let len = match token {
                Token::Varint(value) => {
                    if rule == Rule::Pass {
                        write::append_tag(out, number, tag::VARINT);
                        write::append_varint(out, value);
                    }
                    at = value_at;
                    continue;
                }
                Token::Fixed64 => 8,
                Token::Fixed32 => 4,
                Token::Len(len) => len,
            };
            let value_end = value_at.saturating_add(len);
            let value = input.get(value_at..value_end).unwrap_or_default();
            let offset = std::mem::replace(&mut at, value_end);
            match (token, rule) {
                (_, Rule::Deny) => {}
                (Token::Len(1..), Rule::Message(inner)) => {
                    if self.stack.len() >= limits::FILTER_DEPTH_MAX {
                        return Err(FilterError::Depth { offset });
                    }
                    write::append_tag(out, number, tag::LEN);
                    let (len_at, len_width) = (out.len(), varint::len(len as u64));
                    out.resize(len_at.saturating_add(len_width), 0);
                    self.stack.push(Open { message, end, len_at, len_width });
                    (message, at, end) = (inner, value_at, value_end);
                }
                (Token::Len(_), _) => {
                    write::append_tag(out, number, tag::LEN);
                    write::append_varint(out, len as u64);
                    let text_at = out.len();
                    out.extend_from_slice(value);
                    let text = out.get_mut(text_at..).unwrap_or_default();
                    redact(strings, rule, text, budget).ok_or(FilterError::Budget { offset })?;
                }
                // Only plain fields may be fixed-width numbers.
                (_, Rule::Pass) => {
                    write::append_tag(
                        out,
                        number,
                        if len == 8 { tag::FIXED64 } else { tag::FIXED32 },
                    );
                    out.extend_from_slice(value);
                }
                (_, Rule::Message(_) | Rule::String(_)) => {}
            }
        }
    }
}

/// A field number and its rule. What is above the largest number is denied, whatever the program says.
fn rule_for(program: &Program, message: u32, field: u64) -> (u32, Rule) {
    match u32::try_from(field) {
        Ok(number) if number <= tag::NUMBER_MAX => (number, program.rule(message, number)),
        _ => (0, Rule::Deny),
    }
}

/// Applies the rules for strings, if the field is one. None if they take too many steps.
fn redact(
    strings: &StringFilter,
    rule: Rule,
    text: &mut [u8],
    budget: &mut FilterBudget,
) -> Option<()> {
    if let Rule::String(kind) = rule {
        strings.apply(kind, text, budget).ok()?;
    }
    Some(())
}

/// Fills in the length of a message that has ended.
fn close(open: &Open, out: &mut [u8]) {
    let body_at = open.len_at.saturating_add(open.len_width);
    let len = out.len().saturating_sub(body_at);
    if let Some(to) = out.get_mut(open.len_at..body_at) {
        write::fill(to, len as u64);
    }
}
