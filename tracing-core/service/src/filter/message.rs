//! One packet through a program.
//!
//! ```text
//!   in    0a 84 80 00 | 08 01  1a 02 'a' 'b' | ...       a message whose length takes three bytes
//!   out   0a 84 00    | 08 01                | ...       shorter inside: the length is filled in later
//! ```
//!
//! Output never gets longer than input: tags and values are written in their shortest form, and a nested
//! length in as many bytes as the input's own shortest form has. Nesting costs an entry of a list, not stack.

use core::fmt;

use super::program::{Program, Rule};
use super::strings::StringFilter;
use super::work::Work;
use crate::limits;
use protozero::DecodeErrorKind;
use protozero::wire::{hostile, tag, varint, write};

/// Largest length of a field: what four bytes of varint hold.
const FIELD_BYTES_MAX: u64 = (1 << 28) - 1;

/// Why a packet is no message. Nothing of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterError {
    /// There is nothing in it: a packet of the service never is empty.
    Empty,
    /// A wire type that is none, or a group.
    WireType {
        /// Offset of the field.
        offset: usize,
    },
    /// A length above 2^28 - 1, or beyond the end of the message around it.
    Length {
        /// Offset of the length.
        offset: usize,
    },
    /// A varint of more than ten bytes.
    Varint {
        /// Its offset.
        offset: usize,
    },
    /// The message ends within a field.
    Truncated {
        /// Where it ends.
        offset: usize,
    },
    /// Field number 0.
    FieldZero {
        /// Offset of the field.
        offset: usize,
    },
    /// Messages within messages beyond [`limits::FILTER_DEPTH_MAX`].
    Depth {
        /// Offset of the field.
        offset: usize,
    },
    /// The rules for its strings take more steps than [`limits::FILTER_STEPS_PER_PACKET_MAX`].
    Work {
        /// Offset of the string they came to.
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
            Self::Work { offset } => {
                write!(f, "rules take too long for the string at byte {offset}")
            }
        }
    }
}

impl core::error::Error for FilterError {}

/// A field as it lies in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Varint(u64),
    Fixed64,
    Fixed32,
    /// So many bytes follow.
    Len(usize),
}

/// Cuts a message into fields: number, value, and where the value (of a length: its content) begins.
/// The message is `bytes[..end]`, the field is at `at`.
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

/// A message that the walk is in.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its number in the program, and its end in the input: those of the message around.
    message: u32,
    end: usize,
    /// Where in the output the length of the message inside is to be, and in how many bytes.
    len_at: usize,
    len_width: usize,
}

/// The walk, with memory that is kept between packets.
#[derive(Debug, Default)]
pub struct MessageFilter {
    root: u32,
    stack: Vec<Open>,
}

impl MessageFilter {
    /// A filter for the messages at the end of a path of fields from the program's root. None if one of
    /// them is no message there.
    #[must_use]
    pub fn rooted(program: &Program, path: &[u32]) -> Option<Self> {
        let step = |message, field: &u32| match program.rule(message, *field) {
            Rule::Message(inner) => Some(inner),
            _ => None,
        };
        let root = path.iter().try_fold(0, step)?;
        Some(Self { root, stack: Vec::new() })
    }

    /// One like this.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { root: self.root, stack: Vec::new() }
    }

    /// Appends to `out` what `program` allows of `input`; strings go through `strings` in `out`.
    ///
    /// # Errors
    /// When `input` is no message, as far as the program makes one look into it. `out` is as before then.
    pub fn apply(
        &mut self,
        program: &Program,
        strings: &StringFilter,
        work: &mut Work,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), FilterError> {
        self.stack.clear();
        let before = out.len();
        out.reserve(input.len());
        let result = self.walk(program, strings, work, input, out);
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    fn walk(
        &mut self,
        program: &Program,
        strings: &StringFilter,
        work: &mut Work,
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
                    redact(strings, rule, text, work).ok_or(FilterError::Work { offset })?;
                }
                // Only plain fields may be numbers.
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

/// Lets the rules for strings do their work if the field is one; none if that is too much.
fn redact(strings: &StringFilter, rule: Rule, text: &mut [u8], work: &mut Work) -> Option<()> {
    if let Rule::String(kind) = rule {
        strings.apply(kind, text, work).ok()?;
    }
    Some(())
}

/// Fills in the length of a message that is over.
fn close(open: &Open, out: &mut [u8]) {
    let body_at = open.len_at.saturating_add(open.len_width);
    let len = out.len().saturating_sub(body_at);
    if let Some(to) = out.get_mut(open.len_at..body_at) {
        write::fill(to, len as u64);
    }
}
