//! Numbers, enums and bytes.

use alloc::borrow::Cow;
use alloc::format;

use super::lexer::{Parsed, number_len};
use super::number::{self, not_in_range};
use super::{Parser, Put};
use crate::dynamic::schema::{EnumData, Type};
use crate::json::known::NULL_VALUE;
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

    pub(super) fn bytes(&mut self) -> Parsed<()> {
        self.lexer.peek();
        let at = self.lexer.position();
        let text = self.lexer.string("bytes as base64")?;
        match self.out.base64(text.as_bytes()) {
            true => Ok(()),
            false => self.lexer.fault(at, "this is not base64"),
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

    pub(super) fn number(&mut self, ty: Type) -> Parsed<()> {
        let (at, text) = self.number_text()?;
        let is_number = number_len(text.as_bytes()) == Some(text.len());
        if !is_number || !self.integer(ty, &text) {
            return self.lexer.fault(at, not_in_range(ty, &text));
        }
        Ok(())
    }

    /// Writes an integer. False if it is none, or not of this type.
    pub(super) fn integer(&mut self, ty: Type, text: &str) -> bool {
        let Some(value) = number::integer(text) else { return false };
        let signed32 = || i32::try_from(value).ok();
        let signed64 = || i64::try_from(value).ok();
        let unsigned32 = || u32::try_from(value).ok();
        let unsigned64 = || u64::try_from(value).ok();
        let varint = match ty {
            Type::Int32 => signed32().map(|value| i64::from(value) as u64),
            Type::Int64 => signed64().map(|value| value as u64),
            Type::Uint32 => unsigned32().map(u64::from),
            Type::Uint64 => unsigned64(),
            Type::Sint32 => signed32().map(|value| u64::from(zigzag::encode32(value))),
            Type::Sint64 => signed64().map(zigzag::encode64),
            _ => None,
        };
        if let Some(varint) = varint {
            self.out.varint(varint);
            return true;
        }
        let fixed32 = match ty {
            Type::Fixed32 => unsigned32(),
            Type::Sfixed32 => signed32().map(|value| value as u32),
            _ => None,
        };
        let fixed64 = match ty {
            Type::Fixed64 => unsigned64(),
            Type::Sfixed64 => signed64().map(|value| value as u64),
            _ => None,
        };
        match (fixed32, fixed64) {
            (Some(fixed), _) => self.out.put(&fixed.to_le_bytes()),
            (_, Some(fixed)) => self.out.put(&fixed.to_le_bytes()),
            _ => return false,
        }
        true
    }

    pub(super) fn float(&mut self, ty: Type) -> Parsed<()> {
        let is_quoted = self.lexer.peek() == Some(b'"');
        let (at, text) = self.number_text()?;
        let value = match &*text {
            "NaN" if is_quoted => Some(f64::NAN),
            "Infinity" if is_quoted => Some(f64::INFINITY),
            "-Infinity" if is_quoted => Some(f64::NEG_INFINITY),
            text if number_len(text.as_bytes()) == Some(text.len()) => {
                text.parse().ok().filter(|value: &f64| value.is_finite())
            }
            _ => None,
        };
        let Some(value) = value else {
            return self.lexer.fault(at, not_in_range(ty, &text));
        };
        if ty == Type::Double {
            self.out.put(&value.to_le_bytes());
            return Ok(());
        }
        // Parsed once more, because rounding twice can give another number.
        let small = match value.is_finite() {
            true => text.parse().unwrap_or(f32::INFINITY),
            false => value as f32,
        };
        if value.is_finite() && !small.is_finite() {
            return self.lexer.fault(at, not_in_range(ty, &text));
        }
        self.out.put(&small.to_le_bytes());
        Ok(())
    }
}
