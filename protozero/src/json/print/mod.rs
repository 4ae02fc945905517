//! Wire bytes to JSON.
//!
//! ```text
//!  message ── in order? ──yes──▶ fields ──▶ {"name": value, ...}
//!                └────────no───▶ DynamicMessage ──encode──▶ fields
//! ```

mod known;
mod order;
mod scalar;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;

use super::error::PrintError;
use super::known::{Known, NULL_VALUE};
use super::options::PrintOptions;
use crate::decode::limits::DEPTH_MAX;
use crate::decode::{DecodeContext, Reader, Value as Wire};
use crate::dynamic::schema::{FieldData, Schema, Type};
use crate::dynamic::{DynamicMessage, MEMORY_MAX, MessageDescriptor, Pool, Value};
use crate::error::DecodeErrorKind;
pub(super) use order::Seen;
use order::{elements, entry, fits, is_known};

/// What is collected before it is written to an output, bytes.
#[cfg(feature = "std")]
const PIECE_BYTES: usize = 8 << 10;

pub(super) fn to_string(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    options: &PrintOptions,
) -> Result<String, PrintError> {
    let mut printer = Printer::new(descriptor, options);
    printer.out.reserve(bytes.len() * 2);
    printer.message(descriptor.index, bytes, 0)?;
    // All strings were checked, and all else is ASCII.
    String::from_utf8(printer.out).map_err(|_| PrintError::value("the output", "is not UTF-8"))
}

#[cfg(feature = "std")]
pub(super) fn to_writer(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    options: &PrintOptions,
    out: &mut dyn std::io::Write,
) -> Result<(), PrintError> {
    let mut printer = Printer::new(descriptor, options);
    printer.writer = Some(out);
    printer.message(descriptor.index, bytes, 0)?;
    printer.write_out()
}

struct Printer<'p> {
    pool: &'p Pool,
    schema: &'p Schema,
    options: &'p PrintOptions,
    out: Vec<u8>,
    #[cfg(feature = "std")]
    writer: Option<&'p mut dyn std::io::Write>,
    /// How many objects and lists are open.
    indent: usize,
}

/// The object that is printed, and its field to which elements are added.
struct Object {
    /// Nothing is in it yet.
    is_empty: bool,
    /// The repeated field whose list or map is open, and the bracket that ends it.
    open: Option<(u32, u8)>,
    /// Nothing is in that yet.
    is_open_empty: bool,
}

impl Object {
    fn new() -> Self {
        Self { is_empty: true, open: None, is_open_empty: true }
    }
}

impl<'p> Printer<'p> {
    fn new(descriptor: &'p MessageDescriptor, options: &'p PrintOptions) -> Self {
        let pool = descriptor.pool();
        Self {
            pool,
            schema: &pool.0,
            options,
            out: Vec::new(),
            #[cfg(feature = "std")]
            writer: None,
            indent: 0,
        }
    }

    #[cfg(feature = "std")]
    fn write_out(&mut self) -> Result<(), PrintError> {
        if let Some(writer) = &mut self.writer {
            writer.write_all(&self.out).map_err(PrintError::Write)?;
            self.out.clear();
        }
        Ok(())
    }

    /// Begins an object or a list.
    fn open(&mut self, bracket: u8) {
        self.out.push(bracket);
        self.indent += 1;
    }

    /// Ends what [`open`](Self::open) began.
    fn close(&mut self, bracket: u8, is_empty: bool) {
        self.indent -= 1;
        if !is_empty {
            self.line();
        }
        self.out.push(bracket);
    }

    /// Begins a member or an element.
    fn next(&mut self, is_first: &mut bool) -> Result<(), PrintError> {
        if !core::mem::take(is_first) {
            self.out.push(b',');
        }
        self.line();
        #[cfg(feature = "std")]
        if self.writer.is_some() && self.out.len() >= PIECE_BYTES {
            self.write_out()?;
        }
        Ok(())
    }

    fn line(&mut self) {
        if self.options.pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * self.indent, b' ');
        }
    }

    /// The colon behind a key.
    fn colon(&mut self) {
        self.out.extend_from_slice(if self.options.pretty { b": " } else { b":" });
    }

    /// Prints a message, `level` levels below the outermost one.
    fn message(&mut self, index: u32, bytes: &[u8], level: u32) -> Result<(), PrintError> {
        if level > DEPTH_MAX {
            return Err(DecodeErrorKind::TooDeep.at(0).into());
        }
        if self.schema.message(index).message_set {
            return self.message_set(index, bytes, level);
        }
        let bytes = &*self.ordered(index, bytes, level)?;
        match Known::of(&self.schema.message(index).full_name) {
            Some(known) => self.known(known, index, bytes, level),
            None => {
                self.open(b'{');
                let mut object = Object::new();
                self.fields(index, bytes, level, &mut object)?;
                self.close(b'}', object.is_empty);
                Ok(())
            }
        }
    }

    /// `bytes`, or what an encoder makes of them if they are in another order.
    fn ordered<'b>(
        &self,
        index: u32,
        bytes: &'b [u8],
        level: u32,
    ) -> Result<Cow<'b, [u8]>, PrintError> {
        if order::is_ordered(self.schema, index, bytes)? {
            return Ok(Cow::Borrowed(bytes));
        }
        let message = self.decode(index, bytes, level)?;
        Ok(Cow::Owned(message.try_encode().map_err(PrintError::encode)?))
    }

    fn decode(&self, index: u32, bytes: &[u8], level: u32) -> Result<DynamicMessage, PrintError> {
        let mut message = DynamicMessage::new(self.pool.message_at(index));
        let growth = Cell::new(MEMORY_MAX);
        let context = DecodeContext::with_depth(DEPTH_MAX - level).with_growth(&growth);
        message.merge_within(bytes, context)?;
        Ok(message)
    }

    /// Prints the items of a message set, an old format that few use, by way of a tree.
    fn message_set(&mut self, index: u32, bytes: &[u8], level: u32) -> Result<(), PrintError> {
        let schema = self.schema;
        let set = self.decode(index, bytes, level)?;
        let mut object = Object::new();
        self.open(b'{');
        for (number, value) in &set.fields {
            let (Some(data), Value::Message(item)) =
                (schema.field_by_number(index, *number), value)
            else {
                continue;
            };
            self.begin_field(data, &mut object)?;
            let bytes = item.try_encode().map_err(PrintError::encode)?;
            self.message(item.descriptor().index, &bytes, level + 1)?;
        }
        self.close(b'}', object.is_empty);
        Ok(())
    }

    /// Prints the members of the object of a message.
    fn fields(
        &mut self,
        index: u32,
        bytes: &[u8],
        level: u32,
        object: &mut Object,
    ) -> Result<(), PrintError> {
        let schema = self.schema;
        let mut seen = Seen::default();
        let mut last: Option<&FieldData> = None;
        let mut reader = Reader::new(bytes);
        while let Some(field) = reader.next_field()? {
            let data = match last {
                Some(data) if data.number == field.number => data,
                _ => match schema.field_by_number(index, field.number) {
                    Some(data) => data,
                    None => continue,
                },
            };
            last = Some(data);
            if !fits(data, &field.value) {
                continue;
            }
            if self.options.defaults {
                seen.insert(data.number);
            }
            self.field(data, field.value, level, object)?;
        }
        self.end_open(object);
        if self.options.defaults {
            self.defaults(index, &seen, object)?;
        }
        Ok(())
    }

    /// Prints the value of a singular field, or adds elements to a repeated one.
    fn field(
        &mut self,
        data: &FieldData,
        wire: Wire<'_>,
        level: u32,
        object: &mut Object,
    ) -> Result<(), PrintError> {
        if let Some(of) = data.entry() {
            let Wire::Len(bytes) = wire else { return Ok(()) };
            let Some(parts) = entry(self.schema, of, bytes)? else { return Ok(()) };
            if !parts.value.is_none_or(|value| is_known(self.schema, parts.value_data.ty, value)) {
                return Ok(());
            }
            self.begin_field(data, object)?;
            self.next(&mut object.is_open_empty)?;
            return self.entry(&parts, level);
        }
        if !data.repeated() {
            if is_known(self.schema, data.ty, wire) {
                self.begin_field(data, object)?;
                self.value(data, wire, level)?;
            }
            return Ok(());
        }
        elements(data, wire, |element| {
            if is_known(self.schema, data.ty, element) {
                self.begin_field(data, object)?;
                self.next(&mut object.is_open_empty)?;
                self.value(data, element, level)?;
            }
            Ok(())
        })
    }

    /// Prints a key and a value.
    fn entry(&mut self, parts: &order::Entry<'_, '_>, level: u32) -> Result<(), PrintError> {
        self.key(parts.key_data, parts.key)?;
        self.colon();
        match parts.value {
            Some(value) => self.value(parts.value_data, value, level),
            None => self.absent(parts.value_data.ty, level),
        }
    }

    /// Prints the name of the field, unless its list is open.
    fn begin_field(&mut self, data: &FieldData, object: &mut Object) -> Result<(), PrintError> {
        if object.open.is_some_and(|open| open.0 == data.number) {
            return Ok(());
        }
        self.end_open(object);
        self.next(&mut object.is_empty)?;
        self.out.push(b'"');
        if data.extension {
            self.out.push(b'[');
            scalar::escaped(&data.name, &mut self.out);
            self.out.push(b']');
        } else if self.options.original_names {
            scalar::escaped(&data.name, &mut self.out);
        } else {
            scalar::escaped(&data.json_name, &mut self.out);
        }
        self.out.push(b'"');
        self.colon();
        if data.repeated() {
            let [begin, end] = if data.map { *b"{}" } else { *b"[]" };
            self.open(begin);
            object.open = Some((data.number, end));
            object.is_open_empty = true;
        }
        Ok(())
    }

    /// Ends the list or map that is open.
    fn end_open(&mut self, object: &mut Object) {
        if let Some((_, bracket)) = object.open.take() {
            self.close(bracket, object.is_open_empty);
        }
    }

    /// Prints what a message without a value in these fields means.
    fn defaults(&mut self, index: u32, seen: &Seen, object: &mut Object) -> Result<(), PrintError> {
        for data in &self.schema.message(index).fields {
            let is_implied = data.repeated() || !(data.presence || data.oneof.is_some());
            if is_implied && !seen.contains(data.number) {
                self.begin_field(data, object)?;
                self.end_open(object);
                if !data.repeated() {
                    self.absent(data.ty, DEPTH_MAX)?;
                }
            }
        }
        Ok(())
    }

    /// Prints the value that a missing field of this type has.
    fn absent(&mut self, ty: Type, level: u32) -> Result<(), PrintError> {
        let wire = match ty {
            Type::Message(index) => return self.message(index, &[], level + 1),
            Type::Enum(index) => Wire::Varint(self.schema.enumeration(index).default() as u64),
            Type::String | Type::Bytes => Wire::Len(&[]),
            Type::Fixed32 | Type::Sfixed32 | Type::Float => Wire::Fixed32(0),
            Type::Fixed64 | Type::Sfixed64 | Type::Double => Wire::Fixed64(0),
            _ => Wire::Varint(0),
        };
        self.scalar(ty, wire)
    }

    /// Prints a value of a field.
    fn value(&mut self, data: &FieldData, wire: Wire<'_>, level: u32) -> Result<(), PrintError> {
        match (data.ty, wire) {
            (Type::Message(index), Wire::Len(bytes) | Wire::Group(bytes)) => {
                self.message(index, bytes, level + 1)
            }
            (ty, wire) => self.scalar(ty, wire).map_err(|error| match error {
                PrintError::Value(text) => PrintError::value(&data.name, &text),
                error => error,
            }),
        }
    }

    /// Prints the key of an entry.
    fn key(&mut self, data: &FieldData, wire: Option<Wire<'_>>) -> Result<(), PrintError> {
        let begin = self.out.len();
        match wire {
            Some(wire) => self.value(data, wire, 0)?,
            None => self.absent(data.ty, 0)?,
        }
        if self.out.get(begin) != Some(&b'"') {
            self.out.insert(begin, b'"');
            self.out.push(b'"');
        }
        Ok(())
    }

    /// Prints a number, a text, a name of an enum.
    fn scalar(&mut self, ty: Type, wire: Wire<'_>) -> Result<(), PrintError> {
        if let (Type::Enum(index), Wire::Varint(bits)) = (ty, wire) {
            let (of, number) = (self.schema.enumeration(index), bits as i32);
            match of.name_of(number) {
                _ if &*of.full_name == NULL_VALUE => self.out.extend_from_slice(b"null"),
                Some(name) if !self.options.enums_as_numbers => {
                    scalar::quoted(name, &mut self.out);
                }
                _ => scalar::signed(number.into(), &mut self.out),
            }
            return Ok(());
        }
        scalar::put(ty, wire, &mut self.out)
    }
}
