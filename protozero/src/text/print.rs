//! Prints messages as text.
//!
//! ```text
//!  name: "a"                  fields in the order of numbers, one line per element
//!  point {                    messages; groups with the name of their type
//!    x: 1
//!  }
//!  sizes { key: "k" value: 3 }   maps in the order of keys
//!  [pkg.ext]: 5               extensions
//!  99: 0x00000001             unknown fields, as an option
//! ```

use alloc::string::String;
use core::fmt::{self, Write};

use super::any::{ANY, is_url};
use crate::decode::limits::DEPTH_MAX;
use crate::decode::{DecodeContext, DecodeMemory, Field, Reader, Value as Wire};
use crate::descriptor;
use crate::dynamic::schema::{FieldData, Schema, Symbol, Type, short};
use crate::dynamic::{DynamicMessage, MEMORY_MAX, MessageDescriptor, Value};
use crate::error::DecodeError;
use crate::unknown::UnknownFields;

/// Options for printing.
#[derive(Clone, Copy, Debug)]
pub struct PrintOptions {
    /// Print everything in one line, without a line break.
    pub single_line: bool,
    /// Print unknown fields by number, after the known ones. A field with a length is printed as a
    /// message if it looks like one. The result cannot be parsed.
    pub unknown_fields: bool,
    /// Print the content of a `google.protobuf.Any`, if the pool contains its type, and all fields of the content
    /// unless `unknown_fields` is on. Otherwise its bytes are printed, and nothing is lost.
    pub expand_any: bool,
    /// Print only ASCII: other characters in strings become octal escapes.
    pub ascii: bool,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { single_line: false, unknown_fields: false, expand_any: true, ascii: false }
    }
}

/// Prints `message`.
#[must_use]
pub fn print(message: &DynamicMessage, options: &PrintOptions) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(message, options, &mut text);
    text
}

/// Prints `message` to `out`.
///
/// # Errors
/// Those of `out`.
pub fn write<W: Write + ?Sized>(
    message: &DynamicMessage,
    options: &PrintOptions,
    out: &mut W,
) -> fmt::Result {
    let schema = &*message.descriptor().pool().0;
    Printer { out, options, schema, level: 0, first: true, memory: MEMORY_MAX }.message(message)
}

/// Prints the encoded message of the generated type `descriptor`.
///
/// To print many messages of one type, create a [`Pool`](crate::dynamic::Pool) once.
///
/// # Errors
/// [`DecodeError`] if `bytes` is not a valid message.
pub fn print_bytes(
    descriptor: &'static descriptor::MessageDescriptor,
    bytes: &[u8],
    options: &PrintOptions,
) -> Result<String, DecodeError> {
    Ok(print(&DynamicMessage::decode(MessageDescriptor::from(descriptor), bytes)?, options))
}

/// Maximum levels of messages that are guessed from unknown bytes.
const GUESS_MAX: u32 = 10;

struct Printer<'p, W: ?Sized> {
    out: &'p mut W,
    options: &'p PrintOptions,
    schema: &'p Schema,
    level: u32,
    /// Nothing has been printed in this line or message yet.
    first: bool,
    /// Memory budget for decoding the content of `Any` messages, in bytes.
    memory: usize,
}

impl<W: Write + ?Sized> Printer<'_, W> {
    fn begin(&mut self) -> fmt::Result {
        if self.options.single_line {
            if !self.first {
                self.out.write_char(' ')?;
            }
            self.first = false;
            return Ok(());
        }
        for _ in 0..self.level {
            self.out.write_str("  ")?;
        }
        Ok(())
    }

    fn end(&mut self) -> fmt::Result {
        if self.options.single_line { Ok(()) } else { self.out.write_char('\n') }
    }

    /// Prints `{ ... }` after the name.
    fn nested(&mut self, inside: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        self.out.write_str(" {")?;
        self.end()?;
        self.level += 1;
        inside(self)?;
        self.level -= 1;
        self.begin()?;
        self.out.write_char('}')?;
        self.end()
    }

    /// Prints a known message, unless it is deeper than parsers accept.
    fn known(&mut self, inside: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        self.nested(|inner| {
            if inner.level <= DEPTH_MAX {
                return inside(inner);
            }
            inner.begin()?;
            inner.out.write_str("...")?;
            inner.end()
        })
    }

    fn message(&mut self, message: &DynamicMessage) -> fmt::Result {
        if self.options.expand_any && self.any(message)? {
            return Ok(());
        }
        for (number, value) in &message.fields {
            let Some(data) = self.schema.field_by_number(message.descriptor.index, *number) else {
                continue;
            };
            match value {
                Value::List(values) => {
                    values.iter().try_for_each(|value| self.field(data, value))?;
                }
                Value::Map(entries) => {
                    for (key, value) in entries {
                        self.entry(data, &key.clone().into(), value)?;
                    }
                }
                value => self.field(data, value)?,
            }
        }
        if self.options.unknown_fields {
            self.unknown(&message.unknown)?;
        }
        Ok(())
    }

    fn entry(&mut self, data: &FieldData, key: &Value, value: &Value) -> fmt::Result {
        let schema = self.schema;
        let Some(entry) = data.entry() else { return Ok(()) };
        self.begin()?;
        self.name(data)?;
        self.known(|inner| {
            for (number, value) in [(1, key), (2, value)] {
                if let Some(part) = schema.field_by_number(entry, number) {
                    inner.field(part, value)?;
                }
            }
            Ok(())
        })
    }

    fn field(&mut self, data: &FieldData, value: &Value) -> fmt::Result {
        self.begin()?;
        self.name(data)?;
        if let Value::Message(message) = value {
            return self.known(|inner| inner.message(message));
        }
        self.out.write_str(": ")?;
        self.scalar(data.ty, value)?;
        self.end()
    }

    fn name(&mut self, data: &FieldData) -> fmt::Result {
        let Type::Message(index) = data.ty else {
            return match data.extension {
                true => write!(self.out, "[{}]", data.name),
                false => self.out.write_str(&data.name),
            };
        };
        let full_name = &*self.schema.message(index).full_name;
        if !data.extension {
            let name = if data.is_proto2_group { short(full_name) } else { &data.name };
            return self.out.write_str(name);
        }
        // An extension that a message-set member declares within itself is printed with the name of
        // that type.
        let own = self.schema.message(data.parent).members.get(&index);
        let own = own.is_some_and(|own| self.schema.extensions[*own as usize].name == data.name);
        write!(self.out, "[{}]", if own { full_name } else { &data.name })
    }

    fn scalar(&mut self, ty: Type, value: &Value) -> fmt::Result {
        match value {
            Value::Bool(value) => write!(self.out, "{value}"),
            Value::I32(value) => write!(self.out, "{value}"),
            Value::I64(value) => write!(self.out, "{value}"),
            Value::U32(value) => write!(self.out, "{value}"),
            Value::U64(value) => write!(self.out, "{value}"),
            Value::F32(value) => {
                let magnitude = f64::from(value.abs());
                float(self.out, magnitude, value.is_nan(), *value, value)
            }
            Value::F64(value) => float(self.out, value.abs(), value.is_nan(), *value, value),
            Value::String(text) => quoted(self.out, text.as_bytes(), self.options.ascii),
            Value::Bytes(bytes) => quoted(self.out, bytes, true),
            Value::Enum(number) => {
                let Type::Enum(index) = ty else { return write!(self.out, "{number}") };
                match self.schema.enumeration(index).name_of(*number) {
                    Some(name) => self.out.write_str(name),
                    None => write!(self.out, "{number}"),
                }
            }
            Value::Message(_) | Value::List(_) | Value::Map(_) => Ok(()),
        }
    }

    /// Prints the content of an `Any`. Returns false if it must be printed as a normal message.
    fn any(&mut self, message: &DynamicMessage) -> Result<bool, fmt::Error> {
        if message.descriptor().full_name() != ANY || self.level >= DEPTH_MAX {
            return Ok(false);
        }
        // Nothing may be lost: only an `Any` with these two fields, of which the second may be
        // absent, and content of which the pool knows every field.
        let url = message.fields.get(&1).and_then(Value::as_str);
        let bytes = match message.fields.get(&2) {
            None => &[],
            Some(Value::Bytes(bytes)) => bytes.as_slice(),
            Some(_) => return Ok(false),
        };
        let Some((url, (_, name))) = url.and_then(|url| Some((url, url.rsplit_once('/')?))) else {
            return Ok(false);
        };
        let Some(Symbol::Message(index)) = self.schema.symbols.get(name) else { return Ok(false) };
        let inner = message.descriptor().pool().message_at(*index);
        if !is_url(url) {
            return Ok(false);
        }
        let mut inner = DynamicMessage::new(inner);
        let memory = DecodeMemory::new(self.memory);
        let context = DecodeContext::new().with_growth(&memory);
        if inner.merge_within(bytes, context).is_err() {
            return Ok(false);
        }
        let loses = !self.options.unknown_fields && inner.has_unknown();
        // The content is deeper than parsers accept.
        if loses || self.level + 1 + inner.depth() > DEPTH_MAX {
            return Ok(false);
        }
        self.begin()?;
        write!(self.out, "[{url}]")?;
        let before = core::mem::replace(&mut self.memory, memory.left());
        self.nested(|printer| printer.message(&inner))?;
        self.memory = before;
        if self.options.unknown_fields {
            self.unknown(&message.unknown)?;
        }
        Ok(true)
    }

    fn unknown(&mut self, fields: &UnknownFields) -> fmt::Result {
        self.unknown_bytes(fields.as_bytes(), GUESS_MAX)
    }

    /// Prints fields that are known to be complete.
    fn unknown_bytes(&mut self, bytes: &[u8], guesses: u32) -> fmt::Result {
        let mut reader = Reader::new(bytes);
        while let Ok(Some(field)) = reader.next_field() {
            self.unknown_field(&field, guesses)?;
        }
        Ok(())
    }

    fn unknown_field(&mut self, field: &Field<'_>, guesses: u32) -> fmt::Result {
        self.begin()?;
        write!(self.out, "{}", field.number)?;
        match field.value {
            Wire::Varint(bits) => write!(self.out, ": {bits}")?,
            Wire::Fixed32(bits) => write!(self.out, ": 0x{bits:08x}")?,
            Wire::Fixed64(bits) => write!(self.out, ": 0x{bits:016x}")?,
            Wire::Len(bytes) if guesses > 0 && looks_like_message(bytes) => {
                return self.nested(|inner| inner.unknown_bytes(bytes, guesses - 1));
            }
            Wire::Group(body) if self.level < 2 * DEPTH_MAX => {
                return self.nested(|inner| inner.unknown_bytes(body, guesses));
            }
            Wire::Len(bytes) | Wire::Group(bytes) => {
                self.out.write_str(": ")?;
                quoted(self.out, bytes, true)?;
            }
        }
        self.end()
    }
}

/// Whether `bytes` are a message with at least one field. Text rarely is.
fn looks_like_message(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    loop {
        match reader.next_field() {
            Ok(Some(_)) => {}
            Ok(None) => return !bytes.is_empty(),
            Err(_) => return false,
        }
    }
}

/// The shortest digits that parse as the same number, with an exponent instead of many zeros.
fn float<W: Write + ?Sized>(
    out: &mut W,
    magnitude: f64,
    nan: bool,
    plain: impl fmt::Display,
    exponent: &impl fmt::LowerExp,
) -> fmt::Result {
    match magnitude {
        _ if nan => out.write_str("nan"),
        0.0 | 1e-5..1e16 | f64::INFINITY => write!(out, "{plain}"),
        _ => write!(out, "{exponent:e}"),
    }
}

/// Prints `bytes` in quotes, with the escapes of protobuf.
fn quoted<W: Write + ?Sized>(out: &mut W, bytes: &[u8], ascii: bool) -> fmt::Result {
    out.write_char('"')?;
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\n' => out.write_str("\\n")?,
                '\r' => out.write_str("\\r")?,
                '\t' => out.write_str("\\t")?,
                '"' | '\'' | '\\' => write!(out, "\\{letter}")?,
                ' '..='~' => out.write_char(letter)?,
                '\u{a0}'.. if !ascii => out.write_char(letter)?,
                _ => octal(out, letter.encode_utf8(&mut [0; 4]).as_bytes())?,
            }
        }
        octal(out, chunk.invalid())?;
    }
    out.write_char('"')
}

fn octal<W: Write + ?Sized>(out: &mut W, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "\\{byte:03o}"))
}

/// Prints the text format in one line, with unknown fields.
impl fmt::Debug for DynamicMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = PrintOptions {
            single_line: !f.alternate(),
            unknown_fields: true,
            ..PrintOptions::default()
        };
        write!(f, "{} {{", self.descriptor().full_name())?;
        f.write_str(if f.alternate() { "\n" } else { " " })?;
        write(self, &options, f)?;
        f.write_str(if self.is_empty() || f.alternate() { "}" } else { " }" })
    }
}
