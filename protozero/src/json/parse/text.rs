//! The tokens of JSON for the parser of structs: none instead of an error.

use super::float::{self, Float};
use super::number;
use crate::decode::Value;
use crate::dynamic::schema::Type;
use crate::json::lexer::{begins_with, number_len, short_number};
use crate::json::scan;
use crate::wire::zigzag;

/// The next place in a text.
pub(super) struct Text<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Text<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// What was not read.
    pub(super) fn remaining(&self) -> &'t [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Goes on where `left` bytes are left. None if there were fewer.
    #[inline]
    pub(super) fn leave(&mut self, left: usize) -> Option<()> {
        self.at = self.bytes.len().checked_sub(left)?;
        Some(())
    }

    /// The first byte of the next token.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Option<u8> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte > b' ' => Some(byte),
            _ => self.peek_behind_space(),
        }
    }

    #[inline(never)]
    fn peek_behind_space(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// Takes a bracket, a colon or a comma.
    #[inline(always)]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    /// Takes what `item` takes, between two brackets, with commas between.
    #[inline(always)]
    pub(super) fn items(
        &mut self,
        [open, close]: [u8; 2],
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.expect(open)?;
        if self.take(close) {
            return Some(());
        }
        loop {
            item(self)?;
            if !self.take(b',') {
                return self.expect(close);
            }
        }
    }

    /// Takes the first `len` bytes of `expected` if they are next.
    #[inline(always)]
    pub(super) fn take_all(&mut self, expected: &[u8], len: usize) -> bool {
        let is_next = begins_with(self.remaining(), expected, len);
        self.at += if is_next { len } else { 0 };
        is_next
    }

    /// Takes `true`, `false` or `null`.
    pub(super) fn take_word(&mut self, word: &[u8]) -> bool {
        self.peek();
        let rest = self.remaining();
        let is_next =
            rest.starts_with(word) && !rest.get(word.len()).is_some_and(u8::is_ascii_alphanumeric);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    /// Takes a string without escapes.
    #[inline(always)]
    pub(super) fn plain(&mut self) -> Option<&'t [u8]> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let begin = self.at + 1;
        let end = scan::special(self.bytes, begin);
        if self.bytes.get(end) != Some(&b'"') {
            return None;
        }
        self.at = end + 1;
        self.bytes.get(begin..end)
    }

    /// Takes a string with its quotes. Its escapes are not read yet.
    #[inline(never)]
    pub(super) fn escaped(&mut self) -> Option<&'t [u8]> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let mut end = self.at + 1;
        loop {
            end = scan::special(self.bytes, end);
            match self.bytes.get(end)? {
                b'"' => break,
                b'\\' => end += 2,
                _ => return None,
            }
        }
        let quoted = self.bytes.get(self.at..=end);
        self.at = end + 1;
        quoted
    }

    /// The text of a number.
    fn number(&mut self) -> Option<&'t str> {
        self.peek();
        let len = number_len(self.remaining())?;
        let text = self.remaining().get(..len)?;
        self.at += len;
        core::str::from_utf8(text).ok()
    }

    /// Takes an integer, in quotes or not, that is one of type `ty`.
    #[inline]
    pub(super) fn integer(&mut self, ty: Type) -> Option<Value<'t>> {
        let is_quoted = self.take(b'"');
        let value = match self.short_integer(is_quoted) {
            Some(value) => value,
            None => return self.long_integer(ty, is_quoted),
        };
        if is_quoted && self.bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += usize::from(is_quoted);
        of_type(ty, value.into())
    }

    #[inline(never)]
    fn long_integer(&mut self, ty: Type, is_quoted: bool) -> Option<Value<'t>> {
        if is_quoted && self.bytes.get(self.at).is_some_and(|byte| *byte <= b' ') {
            return None;
        }
        let value = number::integer(self.number()?)?;
        if is_quoted && self.bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += usize::from(is_quoted);
        of_type(ty, value)
    }

    /// Takes an integer of at most 18 digits without fraction and exponent, with nothing before it.
    #[inline(always)]
    fn short_integer(&mut self, is_quoted: bool) -> Option<i64> {
        if !is_quoted {
            self.peek();
        }
        let is_negative = self.bytes.get(self.at) == Some(&b'-');
        let (value, end) = short_number(self.bytes, self.at + usize::from(is_negative))?;
        self.at = end;
        let value = value as i64;
        Some(if is_negative { -value } else { value })
    }

    /// Takes a number that is finite, or the name of another one.
    pub(super) fn float<F: Float>(&mut self) -> Option<F> {
        if self.peek() != Some(b'"') {
            if let Some((value, len)) = float::short(self.remaining()) {
                self.at += len;
                return Some(value);
            }
            return self.number()?.parse().ok().filter(F::is_finite);
        }
        match self.plain()? {
            b"NaN" => Some(F::from(f32::NAN)),
            b"Infinity" => Some(F::from(f32::INFINITY)),
            b"-Infinity" => Some(F::from(f32::NEG_INFINITY)),
            text if number_len(text) == Some(text.len()) => {
                core::str::from_utf8(text).ok()?.parse().ok().filter(F::is_finite)
            }
            _ => None,
        }
    }
}

/// An integer as a field of type `ty`.
#[inline]
fn of_type<'t>(ty: Type, value: i128) -> Option<Value<'t>> {
    Some(match ty {
        Type::Int32 => Value::Varint(i64::from(i32::try_from(value).ok()?) as u64),
        Type::Int64 => Value::Varint(i64::try_from(value).ok()? as u64),
        Type::Uint32 => Value::Varint(u32::try_from(value).ok()?.into()),
        Type::Uint64 => Value::Varint(value.try_into().ok()?),
        Type::Sint32 => Value::Varint(zigzag::encode32(value.try_into().ok()?).into()),
        Type::Sint64 => Value::Varint(zigzag::encode64(value.try_into().ok()?)),
        Type::Fixed32 => Value::Fixed32(value.try_into().ok()?),
        Type::Sfixed32 => Value::Fixed32(i32::try_from(value).ok()? as u32),
        Type::Fixed64 => Value::Fixed64(value.try_into().ok()?),
        Type::Sfixed64 => Value::Fixed64(i64::try_from(value).ok()? as u64),
        _ => return None,
    })
}
