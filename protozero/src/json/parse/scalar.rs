//! Numbers, enums and bytes.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::ToString;

use super::number::{self, not_in_range};
use super::{Parser, Put};
use crate::dynamic::schema::{EnumData, Type};
use crate::json::known::NULL_VALUE;
use crate::json::lexer::{Parsed, number_len};
use crate::text::error::{nearest, quote};
use crate::wire::zigzag;

impl<'t> Parser<'t> {
    pub(super) fn enumeration(&mut self, of: &EnumData) -> Parsed<Put> {
        let begin = self.lexer.peek();
        let at = self.lexer.position();
        if &*of.full_name == NULL_VALUE && self.lexer.take_word("null") {
            self.out.put(&[0]);
            return Ok(Put::Zero);
        }
        let number = if begin == Some(b'"') {
            let name = self.lexer.string("a name")?;
            let Some(number) = of.number(&name) else {
                if self.options.ignore_unknown {
                    return Ok(Put::Nothing);
                }
                let shown = quote(name.as_bytes());
                let mut text = format!("`{}` has no value `{shown}`", of.full_name);
                let names = of.values.iter().map(|value| &*value.0);
                if let Some(near) = nearest(name.as_bytes(), names) {
                    text += &format!(": did you mean `{near}`?");
                }
                return self.lexer.fault(at, text);
            };
            number
        } else {
            let text = self.lexer.number()?;
            let number = number::integer(text).and_then(|number| i32::try_from(number).ok());
            match number {
                Some(number) if !of.closed || of.name_of(number).is_some() => number,
                Some(_) if self.options.ignore_unknown => return Ok(Put::Nothing),
                Some(_) => {
                    return self.lexer.fault(at, format!("`{}` has no value {text}", of.full_name));
                }
                None => return self.lexer.fault(at, not_in_range(Type::Int32, text)),
            }
        };
        self.out.varint(i64::from(number) as u64);
        Ok(if number == 0 { Put::Zero } else { Put::Value })
    }

    /// Parses and writes text; true if it is empty.
    #[inline]
    pub(super) fn string(&mut self) -> Parsed<bool> {
        if let Some((text, len)) = self.lexer.plain_string() {
            self.out.text(text, len);
            return Ok(len == 0);
        }
        let text = self.lexer.string("text")?;
        self.out.text(text.as_bytes(), text.len());
        Ok(text.is_empty())
    }

    /// Parses and writes bytes; true if there are none.
    pub(super) fn bytes(&mut self) -> Parsed<bool> {
        self.lexer.peek();
        let at = self.lexer.position();
        let text = self.lexer.string("bytes as base64")?;
        match self.out.base64(text.as_bytes()) {
            Some(is_empty) => Ok(is_empty),
            None => self.lexer.fault(at, "this is not base64"),
        }
    }

    /// The text of a number, in quotes or not.
    pub(super) fn number_text(&mut self) -> Parsed<(usize, Cow<'t, str>)> {
        let begin = self.lexer.peek();
        let at = self.lexer.position();
        let text = match begin {
            Some(b'"') => self.lexer.string("a number")?,
            _ => Cow::Borrowed(self.lexer.number()?),
        };
        Ok((at, text))
    }

    /// Parses and writes an integer; true if it is zero.
    #[inline]
    pub(super) fn number(&mut self, ty: Type) -> Parsed<bool> {
        let begin = self.lexer.peek();
        let at = self.lexer.position();
        if let Some((amount, is_negative)) = self.lexer.short_integer() {
            let value = i64::try_from(amount).unwrap_or(i64::MAX);
            let value = if is_negative { -value } else { value };
            if self.put_integer(ty, value.into()) {
                return Ok(value == 0);
            }
            let text = value.to_string();
            return self.lexer.fault(at, not_in_range(ty, &text));
        }
        self.long_number(ty, begin, at)
    }

    #[inline(never)]
    fn long_number(&mut self, ty: Type, begin: Option<u8>, at: usize) -> Parsed<bool> {
        // Integers of 64 bits are in quotes.
        if begin == Some(b'"')
            && let Some((text, len @ 1..=18)) = self.lexer.plain_string()
            && let Some(digits) = text.get(..len)
            && digits.iter().all(u8::is_ascii_digit)
            && (digits[0] != b'0' || len == 1)
        {
            let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
            if self.put_integer(ty, value.into()) {
                return Ok(value == 0);
            }
        }
        self.lexer.go_to(at);
        let (at, text) = self.number_text()?;
        let is_number = number_len(text.as_bytes()) == Some(text.len());
        match self.integer(ty, &text).filter(|_| is_number) {
            Some(is_zero) => Ok(is_zero),
            None => self.lexer.fault(at, not_in_range(ty, &text)),
        }
    }

    /// Writes an integer; true if it is zero. None if it is none, or not of this type.
    pub(super) fn integer(&mut self, ty: Type, text: &str) -> Option<bool> {
        let value = number::integer(text)?;
        self.put_integer(ty, value).then_some(value == 0)
    }

    /// Writes an integer. False if it is not of this type.
    #[inline]
    fn put_integer(&mut self, ty: Type, value: i128) -> bool {
        let Ok(small) = i64::try_from(value) else {
            let Ok(large) = u64::try_from(value) else { return false };
            match ty {
                Type::Uint64 => self.out.varint(large),
                Type::Fixed64 => self.out.put(&large.to_le_bytes()),
                _ => return false,
            }
            return true;
        };
        let (signed, unsigned) = (i32::try_from(small), u32::try_from(small));
        match (ty, signed, unsigned) {
            (Type::Int64, ..) => self.out.varint(small as u64),
            (Type::Uint64, ..) if small >= 0 => self.out.varint(small as u64),
            (Type::Sint64, ..) => self.out.varint(zigzag::encode64(small)),
            (Type::Fixed64, ..) if small >= 0 => self.out.put(&small.to_le_bytes()),
            (Type::Sfixed64, ..) => self.out.put(&small.to_le_bytes()),
            (Type::Int32, Ok(_), _) => self.out.varint(small as u64),
            (Type::Sint32, Ok(value), _) => self.out.varint(zigzag::encode32(value).into()),
            (Type::Sfixed32, Ok(value), _) => self.out.put(&value.to_le_bytes()),
            (Type::Uint32, _, Ok(value)) => self.out.varint(value.into()),
            (Type::Fixed32, _, Ok(value)) => self.out.put(&value.to_le_bytes()),
            _ => return false,
        }
        true
    }

    /// Parses and writes a float; true if it is zero and not negative zero.
    pub(super) fn float(&mut self, ty: Type) -> Parsed<bool> {
        let is_quoted = self.lexer.peek() == Some(b'"');
        let (at, text) = self.number_text()?;
        let special = match &*text {
            "NaN" if is_quoted => Some(f64::NAN),
            "Infinity" if is_quoted => Some(f64::INFINITY),
            "-Infinity" if is_quoted => Some(f64::NEG_INFINITY),
            _ => None,
        };
        // A number without quotes is one.
        let is_number = !is_quoted || number_len(text.as_bytes()) == Some(text.len());
        let bits = match (ty, special) {
            (Type::Double, Some(value)) => Some(value.to_bits()),
            (_, Some(value)) => Some((value as f32).to_bits().into()),
            _ if !is_number => None,
            (Type::Double, None) => {
                text.parse().ok().filter(|value: &f64| value.is_finite()).map(f64::to_bits)
            }
            // Not by way of `f64`, because rounding twice can give another number.
            _ => {
                let value = text.parse().ok().filter(|value: &f32| value.is_finite());
                value.map(|value| value.to_bits().into())
            }
        };
        let Some(bits) = bits else {
            return self.lexer.fault(at, not_in_range(ty, &text));
        };
        match ty {
            Type::Double => self.out.put(&bits.to_le_bytes()),
            _ => self.out.put(&(bits as u32).to_le_bytes()),
        }
        Ok(bits == 0)
    }
}
