//! The messages with a form of their own.

use alloc::format;
use alloc::string::String;

use super::Printer;
use super::entry::next_tag;
use super::stop::Printed;
use crate::decode::limits::DEPTH_MAX;
use crate::decode::{Fields, Reader, Value as Wire};
use crate::dynamic::schema::{Symbol, Type};
use crate::error::DecodeErrorKind;
use crate::json::error::PrintError;
use crate::json::known::{ADD, Known};
use crate::json::output::Output;
use crate::json::scan;
use crate::json::table::{Field, Shape};
use crate::json::time;
use crate::wire::tag;

/// What `of` makes of the value of field `number`; it takes values of one wire type. The message has been put in order,
/// so the field occurs once. With another wire type it is an unknown field.
fn get<'a, T>(
    bytes: &'a [u8],
    number: u32,
    of: impl Fn(Wire<'a>) -> Option<T>,
) -> Result<Option<T>, PrintError> {
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        if field.number == number
            && let Some(value) = of(field.value)
        {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

impl<'p> Printer<'p> {
    /// The field with this number.
    fn field_of(&self, index: u32, number: u32) -> Option<&'p Field> {
        let table = &self.schema.json[index as usize];
        table.find(number).map(|at| &table.fields[at])
    }

    pub(super) fn known(&mut self, known: Known, index: u32, bytes: &[u8], level: u32) -> Printed {
        match known {
            Known::Any => self.any(bytes, level),
            Known::Timestamp => self.time(bytes, time::put_timestamp, "a timestamp"),
            Known::Duration => self.time(bytes, time::put_duration, "a duration"),
            Known::FieldMask => self.field_mask(bytes),
            Known::Struct => self.structure(index, bytes, level),
            Known::Value => self.any_value(index, bytes, level),
            Known::ListValue => self.values(index, bytes, level),
            Known::Wrapper => {
                let Some(field) = self.field_of(index, 1) else { return Ok(()) };
                let mut fields = Fields::new(bytes);
                while let Some(tag) = next_tag(&mut fields)? {
                    if tag == field.tag {
                        return self.value(field, &mut fields, level);
                    }
                    fields.skip(tag).map_err(|_| fields.fail())?;
                }
                self.absent(field, level)
            }
        }
    }

    fn any(&mut self, bytes: &[u8], level: u32) -> Printed {
        let text = |number| get(bytes, number, |wire| wire.bytes().ok());
        let (url, content) = (text(1)?.unwrap_or_default(), text(2)?.unwrap_or_default());
        self.open(b'{');
        if url.is_empty() && content.is_empty() {
            self.close(b'}', true);
            return Ok(());
        }
        let url = core::str::from_utf8(url);
        let url = url.map_err(|_| PrintError::value("type_url of an Any", "is not UTF-8"))?;
        let Some((_, name)) = url.rsplit_once('/') else {
            return Err(
                PrintError::value("type_url of an Any", &format!("{url:?} has no slash")).into()
            );
        };
        let Some(&Symbol::Message(index)) = self.schema.symbols.get(name) else {
            let why = format!("the pool has no message {name:?}{ADD}");
            return Err(PrintError::value("the content of an Any", &why).into());
        };
        let mut is_empty = true;
        self.next(&mut is_empty)?;
        self.out.put(b"\"@type\"");
        self.colon();
        self.out.put_string(url.as_bytes());
        if Known::of(name).is_some() {
            self.next(&mut is_empty)?;
            self.out.put(b"\"value\"");
            self.colon();
            self.message(index, content, level + 1)?;
        } else {
            if level + 1 > DEPTH_MAX {
                return Err(DecodeErrorKind::TooDeep.at(0).into());
            }
            let content = &*self.ordered(index, content, level + 1)?;
            let table = &self.schema.json[index as usize];
            self.fields(table, content, level + 1, &mut is_empty)?;
        }
        self.close(b'}', false);
        Ok(())
    }

    fn time(
        &mut self,
        bytes: &[u8],
        put: fn(i64, i32, &mut Output) -> bool,
        what: &str,
    ) -> Printed {
        let seconds = get(bytes, 1, |wire| wire.int64().ok())?.unwrap_or(0);
        let nanos = get(bytes, 2, |wire| wire.int32().ok())?.unwrap_or(0);
        self.out.push(b'"');
        if !put(seconds, nanos, &mut self.out) {
            let why = format!("{seconds} s and {nanos} ns are out of range");
            return Err(PrintError::value(what, &why).into());
        }
        self.out.push(b'"');
        Ok(())
    }

    /// Paths in `lowerCamelCase`, with commas.
    fn field_mask(&mut self, bytes: &[u8]) -> Printed {
        self.out.push(b'"');
        let mut is_first = true;
        let mut reader = Reader::new(bytes);
        while let Some(field) = reader.next_field()? {
            let (1, Wire::Len(path)) = (field.number, field.value) else { continue };
            let camel = core::str::from_utf8(path).ok().and_then(camel_case);
            let Some(camel) = camel else {
                let path = String::from_utf8_lossy(path);
                let why = format!("{path:?} would be another path when it is parsed");
                return Err(PrintError::value("a path of a FieldMask", &why).into());
            };
            if !core::mem::take(&mut is_first) {
                self.out.push(b',');
            }
            scan::escape(camel.as_bytes(), |part| self.out.put(part));
        }
        self.out.push(b'"');
        Ok(())
    }

    /// The map in field 1, without its name.
    fn structure(&mut self, index: u32, bytes: &[u8], level: u32) -> Printed {
        let field = self.field_of(index, 1);
        let Some((field, Shape::Map(of))) = field.map(|field| (field, field.shape)) else {
            return Ok(());
        };
        let mut fields = Fields::new(bytes);
        let mut is_empty = true;
        let mut next = next_tag(&mut fields)?;
        while let Some(tag) = next {
            if tag == field.tag {
                next = self.map(None, (field, of), &mut fields, level, &mut false)?;
                is_empty = false;
                continue;
            }
            fields.skip(tag).map_err(|_| fields.fail())?;
            next = next_tag(&mut fields)?;
        }
        if is_empty {
            self.out.put(b"{}");
        }
        Ok(())
    }

    fn values(&mut self, index: u32, bytes: &[u8], level: u32) -> Printed {
        let Some(field) = self.field_of(index, 1) else { return Ok(()) };
        self.open(b'[');
        let mut is_empty = true;
        let mut fields = Fields::new(bytes);
        while let Some(tag) = next_tag(&mut fields)? {
            if tag == field.tag {
                self.next(&mut is_empty)?;
                self.value(field, &mut fields, level)?;
            } else {
                fields.skip(tag).map_err(|_| fields.fail())?;
            }
        }
        self.close(b']', is_empty);
        Ok(())
    }

    fn any_value(&mut self, index: u32, bytes: &[u8], level: u32) -> Printed {
        let mut reader = Reader::new(bytes);
        while let Some(wire) = reader.next_field()? {
            let Some(field) = self.field_of(index, wire.number) else { continue };
            let wire_type = match wire.value {
                Wire::Varint(_) => tag::VARINT,
                Wire::Fixed64(_) => tag::FIXED64,
                Wire::Len(_) => tag::LEN,
                Wire::Group(_) | Wire::Fixed32(_) => continue,
            };
            if field.tag != tag::tag(wire.number, wire_type) {
                continue;
            }
            if let (Type::Double, Wire::Fixed64(bits)) = (field.ty, wire.value)
                && !f64::from_bits(bits).is_finite()
            {
                let why = "JSON has neither NaN nor infinity";
                return Err(PrintError::value("number_value of a Value", why).into());
            }
            return self.value(field, wire.value, level);
        }
        Err(PrintError::value("a Value", "it has no kind").into())
    }
}

/// `a_b.c` as `aB.c`; none if that is not `a_b.c` again.
fn camel_case(path: &str) -> Option<String> {
    if path.is_empty() {
        return None;
    }
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
