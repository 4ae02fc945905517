//! Wire bytes to JSON.
//!
//! ```text
//!  message ──▶ fields ──▶ {"name": value, ...}
//!                └─ a field again ─▶ all once more, with care:
//!                                     message ── in order? ──yes──▶ fields
//!                                                   └────────no───▶ DynamicMessage ──encode──▶ fields
//! ```

#[cfg(feature = "std")]
mod back;
#[cfg(feature = "std")]
mod direct;
mod entry;
mod known;
mod located;
mod map;
mod order;
mod scalar;
mod source;
mod stop;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;

use super::error::PrintError;
use super::known::NULL_VALUE;
use super::options::PrintOptions;
use super::output::Output;
use super::table::{Field, Form, SHORT_KEY_BYTES, Shape, Table};
use crate::decode::limits::DEPTH_MAX;
use crate::decode::{DecodeContext, DecodeMemory, Fields, Reader, Value as Wire};
use crate::dynamic::schema::{Schema, Type};
use crate::dynamic::{DynamicMessage, MEMORY_MAX, MessageDescriptor, Pool, Value};
use crate::error::DecodeErrorKind;
#[cfg(feature = "std")]
pub use direct::Direct;
#[cfg(feature = "std")]
pub(super) use direct::to_string as direct;
use entry::next_tag;
use located::located;
pub(super) use order::Seen;
use order::elements;
use source::Source;
use stop::{NextTag, Printed, Stop};

/// What is collected before it is written to an output, bytes.
#[cfg(feature = "std")]
const PIECE_BYTES: usize = 8 << 10;

pub(super) fn to_string(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    options: &PrintOptions,
) -> Result<String, PrintError> {
    let mut printer = Printer::new(descriptor, options, bytes.len() * 2 + 64);
    printer.spare = bytes.len() * 2;
    match printer.message(descriptor.index, bytes, 0) {
        // All else is ASCII, so the output is UTF-8 if each string is.
        Ok(()) => {
            if let Some(text) = printer.out.into_string() {
                return Ok(text);
            }
        }
        Err(stop) => {
            if let Stop::Error(error) = *stop {
                return Err(located(error, descriptor, bytes, &printer.out));
            }
        }
    }
    careful(descriptor, bytes, options)
}

/// [`to_string`] with care.
fn careful(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    options: &PrintOptions,
) -> Result<String, PrintError> {
    let mut printer = Printer::new(descriptor, options, bytes.len());
    printer.is_careful = true;
    let printed = printer.message(descriptor.index, bytes, 0);
    printed.map_err(|stop| located(stop.into_error(), descriptor, bytes, &printer.out))?;
    let text = printer.out.into_string();
    text.ok_or_else(|| PrintError::value("the output", "is not UTF-8"))
}

#[cfg(feature = "std")]
pub(super) fn to_writer(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    options: &PrintOptions,
    out: &mut dyn std::io::Write,
) -> Result<(), PrintError> {
    let mut printer = Printer::new(descriptor, options, PIECE_BYTES);
    printer.writer = Some(out);
    // What is written cannot be taken back.
    printer.is_careful = true;
    let printed = printer.message(descriptor.index, bytes, 0).and_then(|()| printer.write_out());
    printed.map_err(|stop| match stop.into_error() {
        error @ PrintError::Write(_) => error,
        // The output that tells the place was written in pieces.
        error => careful(descriptor, bytes, options).err().unwrap_or(error),
    })
}

struct Printer<'p> {
    pool: &'p Pool,
    schema: &'p Schema,
    options: &'p PrintOptions,
    out: Output,
    #[cfg(feature = "std")]
    writer: Option<&'p mut dyn std::io::Write>,
    /// Short keys are printed as they are.
    has_short_keys: bool,
    /// How many objects and lists are open.
    indent: usize,
    /// Messages are put in order before they are printed, and strings are checked one by one.
    is_careful: bool,
    /// How many bytes may still be taken back: so a map in a map in a map is not printed again and again.
    spare: usize,
}

impl<'p> Printer<'p> {
    fn new(descriptor: &'p MessageDescriptor, options: &'p PrintOptions, capacity: usize) -> Self {
        let pool = descriptor.pool();
        Self {
            pool,
            schema: &pool.0,
            options,
            out: Output::with_capacity(capacity),
            #[cfg(feature = "std")]
            writer: None,
            has_short_keys: !options.pretty && !options.original_names,
            indent: 0,
            is_careful: false,
            spare: 0,
        }
    }

    #[cfg(feature = "std")]
    fn write_out(&mut self) -> Printed {
        if let Some(writer) = &mut self.writer {
            writer.write_all(self.out.text()).map_err(PrintError::Write)?;
            self.out.truncate(0);
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
    #[inline]
    fn next(&mut self, is_first: &mut bool) -> Printed {
        if !core::mem::take(is_first) {
            self.out.push(b',');
        }
        self.line();
        self.write_piece()
    }

    /// Writes what was collected, if that is enough.
    #[inline(always)]
    fn write_piece(&mut self) -> Printed {
        #[cfg(feature = "std")]
        if self.is_careful && self.out.len() >= PIECE_BYTES && self.writer.is_some() {
            self.write_out()?;
        }
        Ok(())
    }

    #[inline]
    fn line(&mut self) {
        if self.options.pretty {
            self.out.push(b'\n');
            self.out.fill(b' ', 2 * self.indent);
        }
    }

    /// The colon behind a key.
    #[inline]
    fn colon(&mut self) {
        self.out.push(b':');
        if self.options.pretty {
            self.out.push(b' ');
        }
    }

    /// Prints a message, `level` levels below the outermost one.
    fn message(&mut self, index: u32, bytes: &[u8], level: u32) -> Printed {
        if level > DEPTH_MAX {
            return Err(DecodeErrorKind::TooDeep.at(0).into());
        }
        let table = &self.schema.json[index as usize];
        match table.form {
            Form::Fields if !self.is_careful => self.object(table, bytes, level),
            Form::Fields => {
                let bytes = &*self.ordered(index, bytes, level)?;
                self.object(table, bytes, level)
            }
            Form::MessageSet => self.message_set(index, bytes, level),
            Form::Known(known) => {
                let bytes = &*self.ordered(index, bytes, level)?;
                self.known(known, index, bytes, level)
            }
        }
    }

    fn object(&mut self, table: &'p Table, bytes: &[u8], level: u32) -> Printed {
        self.open(b'{');
        let mut is_empty = true;
        self.fields(table, bytes, level, &mut is_empty)?;
        self.close(b'}', is_empty);
        Ok(())
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
        let mut message = self.decode(index, bytes, level)?;
        // Values that are unknown to a closed enum are apart from the others of their field.
        self.check_texts(&self.schema.json[index as usize], message.unknown.as_bytes())?;
        message.unknown.clear();
        Ok(Cow::Owned(message.try_encode().map_err(PrintError::encode)?))
    }

    /// Checks that unknown fields are not unknown because a string is not UTF-8.
    fn check_texts(&self, table: &Table, unknown: &[u8]) -> Result<(), PrintError> {
        let mut reader = Reader::new(unknown);
        while let Some(field) = reader.next_field()? {
            let (Some(at), Wire::Len(bytes)) = (table.find(field.number), field.value) else {
                continue;
            };
            let field = &table.fields[at];
            match field.shape {
                Shape::Map(of) => self.check_texts(&self.schema.json[of as usize], bytes)?,
                _ if field.ty == Type::String => self.check_text(field, bytes)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_text(&self, field: &Field, text: &[u8]) -> Result<(), PrintError> {
        match core::str::from_utf8(text) {
            Ok(_) => Ok(()),
            Err(_) => {
                let name = &self.schema.field(field.at).name;
                Err(PrintError::value(name, "is not UTF-8"))
            }
        }
    }

    fn decode(&self, index: u32, bytes: &[u8], level: u32) -> Result<DynamicMessage, PrintError> {
        let mut message = DynamicMessage::new(self.pool.message_at(index));
        let growth = DecodeMemory::new(MEMORY_MAX);
        let context = DecodeContext::with_depth(DEPTH_MAX - level).with_growth(&growth);
        message.merge_within(bytes, context)?;
        Ok(message)
    }

    /// Prints the items of a message set, an old format that few use, by way of a tree.
    fn message_set(&mut self, index: u32, bytes: &[u8], level: u32) -> Printed {
        let table = &self.schema.json[index as usize];
        let set = self.decode(index, bytes, level)?;
        let mut is_empty = true;
        self.open(b'{');
        for (number, value) in &set.fields {
            let (Some(at), Value::Message(item)) = (table.find(*number), value) else {
                continue;
            };
            self.begin_field(table, &table.fields[at], &mut is_empty)?;
            let bytes = item.try_encode().map_err(PrintError::encode)?;
            self.message(item.descriptor().index, &bytes, level + 1)?;
        }
        self.close(b'}', is_empty);
        Ok(())
    }

    /// Prints the members of the object of a message. `is_empty`: nothing is in it yet.
    fn fields(
        &mut self,
        table: &'p Table,
        bytes: &[u8],
        level: u32,
        is_empty: &mut bool,
    ) -> Printed {
        let mut seen = Seen::default();
        let mut expected = 0;
        let mut fields = Fields::new(bytes);
        let mut next = next_tag(&mut fields)?;
        while let Some(tag) = next {
            let Some(at) = table.find_tag(tag, expected) else {
                fields.skip(tag).map_err(|_| fields.fail())?;
                next = next_tag(&mut fields)?;
                continue;
            };
            let field = &table.fields[at];
            expected = at + 1;
            if !seen.insert(field.slot) {
                return Err(Box::new(Stop::Again));
            }
            if field.closed || field.is_packable() {
                next = self.numbers(table, field, tag, &mut fields, is_empty)?;
                continue;
            }
            match field.shape {
                Shape::One => {
                    if !self.text(field, &mut fields, is_empty)? {
                        self.begin_field(table, field, is_empty)?;
                        self.value(field, &mut fields, level)?;
                    }
                    next = next_tag(&mut fields)?;
                }
                Shape::List => {
                    self.begin_field(table, field, is_empty)?;
                    next = self.list(field, &mut fields, level)?;
                }
                Shape::Map(of) => {
                    next = self.map(Some(table), (field, of), &mut fields, level, is_empty)?;
                }
            }
        }
        if self.options.defaults {
            self.defaults(table, &seen, is_empty)?;
        }
        Ok(())
    }

    /// Prints the name and the value of a field that is text in one step. False if it is not, or needs care.
    #[inline(always)]
    fn text(
        &mut self,
        field: &Field,
        fields: &mut Fields<'_>,
        is_empty: &mut bool,
    ) -> Result<bool, Box<Stop>> {
        let len = usize::from(field.short_key_len);
        let (Some(key), Some(first)) =
            (field.short_key.first_chunk(), field.short_key.last_chunk())
        else {
            return Ok(false);
        };
        if field.ty != Type::String || self.is_careful || !self.has_short_keys || len == 0 {
            return Ok(false);
        }
        let text = fields.bytes().map_err(|_| fields.fail())?;
        // Without the comma before the first one.
        match core::mem::take(is_empty) {
            true => self.out.put_quoted::<SHORT_KEY_BYTES, false>(first, len - 1, text),
            false => self.out.put_quoted::<SHORT_KEY_BYTES, false>(key, len, text),
        }
        Ok(true)
    }

    /// Prints strings without spaces, as [`list`](Self::list) does.
    fn texts(&mut self, field: &Field, fields: &mut Fields<'_>) -> NextTag {
        let mut before = b'[';
        loop {
            let text = fields.bytes().map_err(|_| fields.fail())?;
            self.out.put_quoted::<1, false>(&[before], 1, text);
            before = b',';
            let next = next_tag(fields)?;
            if next != Some(field.tag) {
                self.out.push(b']');
                return Ok(next);
            }
        }
    }

    /// Prints the elements of a field, of which the tag of the first was read, and returns the tag behind them.
    fn list(&mut self, field: &'p Field, fields: &mut Fields<'_>, level: u32) -> NextTag {
        if field.ty == Type::String && !self.is_careful && !self.options.pretty {
            return self.texts(field, fields);
        }
        let mut is_empty = true;
        self.open(b'[');
        loop {
            self.next(&mut is_empty)?;
            self.value(field, &mut *fields, level)?;
            let next = next_tag(fields)?;
            if next != Some(field.tag) {
                self.close(b']', false);
                return Ok(next);
            }
        }
    }

    /// Prints a field of numbers that may be packed or unknown, like [`list`](Self::list) with its name.
    fn numbers(
        &mut self,
        table: &'p Table,
        field: &'p Field,
        tag: u32,
        fields: &mut Fields<'_>,
        is_empty: &mut bool,
    ) -> NextTag {
        let is_list = field.shape != Shape::One;
        let mut is_first = true;
        let mut put = |this: &mut Self, wire: Wire<'_>| -> Printed {
            if !this.is_known(field, wire) {
                return Ok(());
            }
            if is_first {
                this.begin_field(table, field, is_empty)?;
            }
            if is_first && is_list {
                this.open(b'[');
            }
            if is_list {
                this.next(&mut is_first)?;
            }
            this.value(field, wire, 0)
        };
        let mut next = Some(tag);
        loop {
            match next {
                Some(tag) if tag == field.tag => {
                    let wire = fields.unknown(tag).map_err(|_| fields.fail())?.value;
                    put(self, wire)?;
                }
                Some(tag) if tag == field.run_tag => {
                    let run = fields.bytes().map_err(|_| fields.fail())?;
                    elements(field.ty, run, |wire| put(self, wire))?;
                }
                _ => break,
            }
            next = next_tag(fields)?;
            if !is_list {
                return Ok(next);
            }
        }
        if !is_first {
            self.close(b']', false);
        }
        Ok(next)
    }

    /// Whether the number of a closed enum has a name; else the value is unknown. Other values are known.
    fn is_known(&self, field: &Field, wire: Wire<'_>) -> bool {
        match (field.ty, wire) {
            (Type::Enum(index), Wire::Varint(bits)) => {
                !field.closed || self.schema.enumeration(index).name_of(bits as i32).is_some()
            }
            _ => true,
        }
    }

    /// Prints the name of the field.
    #[inline(always)]
    fn begin_field(&mut self, table: &Table, field: &Field, is_empty: &mut bool) -> Printed {
        // Without the comma before the first one.
        let is_empty = core::mem::take(is_empty);
        let len = usize::from(field.short_key_len);
        match (self.has_short_keys && len != 0, field.short_key.first_chunk()) {
            (true, Some(key)) if !is_empty => {
                self.out.put_part::<SHORT_KEY_BYTES>(key, len);
            }
            (true, _) => {
                if let Some(key) = field.short_key.last_chunk() {
                    self.out.put_part::<SHORT_KEY_BYTES>(key, len - 1);
                }
            }
            _ => self.long_key(table, field, is_empty),
        }
        self.write_piece()
    }

    #[inline(never)]
    fn long_key(&mut self, table: &Table, field: &Field, is_empty: bool) {
        let (key, len) = table.padded_key(field, self.options.original_names);
        if !is_empty {
            self.out.push(b',');
        }
        self.line();
        self.out.put(key.get(1..len).unwrap_or_default());
        if self.options.pretty {
            self.out.push(b' ');
        }
    }

    /// Prints what a message without a value in these fields means, in the order of the numbers.
    fn defaults(&mut self, table: &'p Table, seen: &Seen, is_empty: &mut bool) -> Printed {
        for field in &table.fields {
            let is_implied = field.shape != Shape::One || !field.presence;
            if is_implied && !field.is_extension() && !seen.contains(field.slot) {
                self.begin_field(table, field, is_empty)?;
                match field.shape {
                    Shape::One => self.absent(field, DEPTH_MAX)?,
                    Shape::List => self.out.put(b"[]"),
                    Shape::Map(_) => self.out.put(b"{}"),
                }
            }
        }
        Ok(())
    }

    /// Prints the value that a missing field of this type has.
    fn absent(&mut self, field: &Field, level: u32) -> Printed {
        let wire = match field.ty {
            Type::Message(index) => return self.message(index, &[], level + 1),
            Type::Enum(index) => Wire::Varint(self.schema.enumeration(index).default() as u64),
            Type::String | Type::Bytes => Wire::Len(&[]),
            Type::Fixed32 | Type::Sfixed32 | Type::Float => Wire::Fixed32(0),
            Type::Fixed64 | Type::Sfixed64 | Type::Double => Wire::Fixed64(0),
            _ => Wire::Varint(0),
        };
        self.value(field, wire, level)
    }

    /// Prints a value of a field.
    #[inline(always)]
    fn value<'b>(&mut self, field: &Field, mut from: impl Source<'b>, level: u32) -> Printed {
        match field.ty {
            Type::Message(index) => {
                let bytes = from.message(field.tag)?;
                return self.message(index, bytes, level + 1);
            }
            Type::String => {
                let bytes = from.bytes()?;
                if self.is_careful && core::str::from_utf8(bytes).is_err() {
                    return Err(PrintError::value("a string", "is not UTF-8").into());
                }
                self.out.put_string(bytes);
            }
            Type::Enum(index) => {
                let number = from.varint()? as i32;
                self.enumeration(index, number);
            }
            Type::Bytes => scalar::bytes(from.bytes()?, &mut self.out),
            Type::Fixed32 | Type::Sfixed32 | Type::Float => {
                scalar::fixed32(field.ty, from.fixed32()?, &mut self.out);
            }
            Type::Fixed64 | Type::Sfixed64 | Type::Double => {
                scalar::fixed64(field.ty, from.fixed64()?, &mut self.out);
            }
            ty => scalar::varint(ty, from.varint()?, &mut self.out),
        }
        Ok(())
    }

    /// Prints the name of a number, or the number.
    fn enumeration(&mut self, index: u32, number: i32) {
        let of = self.schema.enumeration(index);
        match of.name_of(number) {
            _ if &*of.full_name == NULL_VALUE => self.out.put(b"null"),
            Some(name) if !self.options.enums_as_numbers => {
                self.out.put_string(name.as_bytes());
            }
            _ => scalar::varint(Type::Int32, number as u64, &mut self.out),
        }
    }
}
