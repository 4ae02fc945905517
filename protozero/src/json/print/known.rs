//! The messages with a form of their own.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::order::entry;
use super::scalar::{escaped, quoted};
use super::{Object, Printer};
use crate::decode::limits::DEPTH_MAX;
use crate::decode::{Reader, Value as Wire};
use crate::dynamic::schema::{Symbol, Type};
use crate::error::DecodeErrorKind;
use crate::json::error::PrintError;
use crate::json::known::Known;
use crate::json::time;

/// The value of field `number`. The message has been put in order, so it occurs once.
fn get(bytes: &[u8], number: u32) -> Result<Option<Wire<'_>>, PrintError> {
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        if field.number == number {
            return Ok(Some(field.value));
        }
    }
    Ok(None)
}

impl Printer<'_> {
    pub(super) fn known(
        &mut self,
        known: Known,
        index: u32,
        bytes: &[u8],
        level: u32,
    ) -> Result<(), PrintError> {
        match known {
            Known::Any => self.any(bytes, level),
            Known::Timestamp => self.time(bytes, time::put_timestamp, "a timestamp"),
            Known::Duration => self.time(bytes, time::put_duration, "a duration"),
            Known::FieldMask => self.field_mask(bytes),
            Known::Struct => self.structure(index, bytes, level),
            Known::Value => self.any_value(index, bytes, level),
            Known::ListValue => self.list(index, bytes, level),
            Known::Wrapper => {
                let Some(data) = self.schema.field_by_number(index, 1) else { return Ok(()) };
                match get(bytes, 1)? {
                    Some(wire) => self.value(data, wire, level),
                    None => self.absent(data.ty, level),
                }
            }
        }
    }

    fn any(&mut self, bytes: &[u8], level: u32) -> Result<(), PrintError> {
        let text = |wire| match wire {
            Some(Wire::Len(bytes)) => bytes,
            _ => &[],
        };
        let (url, content) = (text(get(bytes, 1)?), text(get(bytes, 2)?));
        self.open(b'{');
        if url.is_empty() && content.is_empty() {
            self.close(b'}', true);
            return Ok(());
        }
        let url = core::str::from_utf8(url);
        let url = url.map_err(|_| PrintError::value("type_url of an Any", "is not UTF-8"))?;
        let name = url.rsplit('/').next().unwrap_or_default();
        let Some(&Symbol::Message(index)) = self.schema.symbols.get(name) else {
            let why = format!("the pool has no message {name:?}");
            return Err(PrintError::value("the content of an Any", &why));
        };
        let mut object = Object::new();
        self.next(&mut object.is_empty)?;
        self.out.extend_from_slice(b"\"@type\"");
        self.colon();
        quoted(url, &mut self.out);
        if Known::of(name).is_some() {
            self.next(&mut object.is_empty)?;
            self.out.extend_from_slice(b"\"value\"");
            self.colon();
            self.message(index, content, level + 1)?;
        } else {
            if level + 1 > DEPTH_MAX {
                return Err(DecodeErrorKind::TooDeep.at(0).into());
            }
            let content = &*self.ordered(index, content, level + 1)?;
            self.fields(index, content, level + 1, &mut object)?;
        }
        self.close(b'}', false);
        Ok(())
    }

    fn time(
        &mut self,
        bytes: &[u8],
        put: fn(i64, i32, &mut Vec<u8>) -> bool,
        what: &str,
    ) -> Result<(), PrintError> {
        let number = |wire| match wire {
            Some(Wire::Varint(bits)) => bits,
            _ => 0,
        };
        let (seconds, nanos) = (number(get(bytes, 1)?) as i64, number(get(bytes, 2)?) as i32);
        self.out.push(b'"');
        if !put(seconds, nanos, &mut self.out) {
            let why = format!("{seconds} s and {nanos} ns are out of range");
            return Err(PrintError::value(what, &why));
        }
        self.out.push(b'"');
        Ok(())
    }

    /// Paths in `lowerCamelCase`, with commas.
    fn field_mask(&mut self, bytes: &[u8]) -> Result<(), PrintError> {
        self.out.push(b'"');
        let mut is_first = true;
        let mut reader = Reader::new(bytes);
        while let Some(field) = reader.next_field()? {
            let (1, Wire::Len(path)) = (field.number, field.value) else { continue };
            let camel = core::str::from_utf8(path).ok().and_then(camel_case);
            let Some(camel) = camel else {
                let path = String::from_utf8_lossy(path);
                let why = format!("{path:?} would be another path when it is parsed");
                return Err(PrintError::value("a path of a FieldMask", &why));
            };
            if !core::mem::take(&mut is_first) {
                self.out.push(b',');
            }
            escaped(&camel, &mut self.out);
        }
        self.out.push(b'"');
        Ok(())
    }

    fn structure(&mut self, index: u32, bytes: &[u8], level: u32) -> Result<(), PrintError> {
        let schema = self.schema;
        let Some(of) = schema.field_by_number(index, 1).and_then(|data| data.entry()) else {
            return Ok(());
        };
        self.open(b'{');
        let mut is_empty = true;
        let mut reader = Reader::new(bytes);
        while let Some(field) = reader.next_field()? {
            let (1, Wire::Len(bytes)) = (field.number, field.value) else { continue };
            let Some(parts) = entry(schema, of, bytes)? else { continue };
            self.next(&mut is_empty)?;
            self.entry(&parts, level)?;
        }
        self.close(b'}', is_empty);
        Ok(())
    }

    fn list(&mut self, index: u32, bytes: &[u8], level: u32) -> Result<(), PrintError> {
        let Some(data) = self.schema.field_by_number(index, 1) else { return Ok(()) };
        self.open(b'[');
        let mut is_empty = true;
        let mut reader = Reader::new(bytes);
        while let Some(field) = reader.next_field()? {
            if field.number == 1 && super::fits(data, &field.value) {
                self.next(&mut is_empty)?;
                self.value(data, field.value, level)?;
            }
        }
        self.close(b']', is_empty);
        Ok(())
    }

    fn any_value(&mut self, index: u32, bytes: &[u8], level: u32) -> Result<(), PrintError> {
        let schema = self.schema;
        let mut reader = Reader::new(bytes);
        while let Some(field) = reader.next_field()? {
            let Some(data) = schema.field_by_number(index, field.number) else { continue };
            if !super::fits(data, &field.value) {
                continue;
            }
            if let (Type::Double, Wire::Fixed64(bits)) = (data.ty, field.value)
                && !f64::from_bits(bits).is_finite()
            {
                let why = "JSON has neither NaN nor infinity";
                return Err(PrintError::value("number_value of a Value", why));
            }
            return self.value(data, field.value, level);
        }
        self.out.extend_from_slice(b"null");
        Ok(())
    }
}

/// `a_b.c` as `aB.c`; none if that is not `a_b.c` again.
fn camel_case(path: &str) -> Option<String> {
    let mut camel = String::with_capacity(path.len());
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        match letter {
            'A'..='Z' => return None,
            '_' => {
                camel.push(letters.next().filter(char::is_ascii_lowercase)?.to_ascii_uppercase())
            }
            _ => camel.push(letter),
        }
    }
    Some(camel)
}
