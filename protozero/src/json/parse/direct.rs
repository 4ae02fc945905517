//! JSON to structs, without bytes of protobuf in between.
//!
//! Each value is passed to the struct as a field that was decoded. What a field of protobuf cannot hold comes with the
//! other of the two wire types that have bytes, so the struct asks for it:
//!
//! ```text
//!  {"id":7,"child":{...},"texts":["a\n"]}
//!        └─ Varint(7)  └─ Group(rest of the text) ─▶ message() ─▶ its fields ─▶ where it ends
//!                                 └─ Group(a\n) ─▶ text()
//! ```
//!
//! Nothing here makes an error: a text that is wrong or rare, or a struct that is not as its descriptor says, is parsed
//! to bytes once more, which finds the fault.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::cell::Cell;

use super::text::Text;
use crate::decode::limits::{JsonSource, Slot, growth_of};
use crate::decode::{DecodeContext, DecodeMemory, Field as WireField, Value};
use crate::dynamic::MessageDescriptor;
use crate::dynamic::schema::{Schema, Type};
use crate::error::{DecodeErrorKind, ReadError};
use crate::json::known::Known;
use crate::json::lexer::Lexer;
use crate::json::print::Seen;
use crate::json::table::{Field, Form, Shape, Table};
use crate::json::{base64, time};
use crate::message::Message;
use crate::owned::Merge;
use crate::wire::tag::LEN;

/// The message that `text` is, or none if it must be parsed with more care. It may take `memory_max` bytes.
pub(in crate::json) fn parse<M: Message>(
    descriptor: &MessageDescriptor,
    text: &str,
    memory_max: Option<usize>,
) -> Option<M> {
    let source = Source {
        schema: &descriptor.pool().0,
        pending: Cell::new(Pending::Nothing),
        left: Cell::new(None),
    };
    let memory_max = memory_max.unwrap_or_else(|| growth_of(text.len()));
    let memory = DecodeMemory::with_json(memory_max, &source);
    let context = DecodeContext::new().with_growth(&memory);
    let mut message = M::default();
    let mut text = Text::new(text.as_bytes());
    source.content(&mut &mut message, descriptor.index, &mut text, context)?;
    text.peek().is_none().then_some(message)
}

impl<'a, M: Merge<'a>> Slot<'a> for &mut M {
    fn merge_field(&mut self, field: WireField<'a>, context: DecodeContext<'_>) -> Option<()> {
        M::merge_field(self, field, context).ok()
    }
}

/// What a struct may ask for.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Pending {
    #[default]
    Nothing,
    /// A message of this type.
    Message(u32),
    /// An entry of this type.
    Entry(u32),
    /// A text with escapes.
    Escaped,
    Base64,
}

/// The parser, for structs that ask for values.
struct Source<'p> {
    schema: &'p Schema,
    pending: Cell<Pending>,
    /// Bytes behind the message or the entry that was asked for. None if nothing was.
    left: Cell<Option<usize>>,
}

/// The struct is not as its descriptor says, or the text is wrong.
fn refused() -> ReadError {
    DecodeErrorKind::WireTypeMismatch.at(0)
}

impl<'p> Source<'p> {
    fn take(&self, pending: Pending) -> Result<(), ReadError> {
        if self.pending.take() == pending { Ok(()) } else { Err(refused()) }
    }

    /// Parses the content of a message.
    fn content<'a>(
        &self,
        slot: &mut dyn Slot<'a>,
        index: u32,
        text: &mut Text<'a>,
        context: DecodeContext<'_>,
    ) -> Option<()> {
        let table = &self.schema.json[index as usize];
        match table.form {
            Form::Fields => self.fields(slot, table, text, context),
            Form::Known(known) => self.known(slot, table, known, text, context),
            Form::MessageSet => None,
        }
    }

    fn fields<'a>(
        &self,
        slot: &mut dyn Slot<'a>,
        table: &Table,
        text: &mut Text<'a>,
        context: DecodeContext<'_>,
    ) -> Option<()> {
        let (mut seen, mut oneofs) = (Seen::default(), Seen::default());
        let mut expected = 0;
        text.items(*b"{}", |text| {
            let at = match self.expected(table, expected, text) {
                Some(at) => at,
                None => {
                    let name = core::str::from_utf8(text.plain()?).ok()?;
                    text.expect(b':')?;
                    table.find_name(self.schema, name)?
                }
            };
            expected = at + 1;
            let field = table.fields.get(at)?;
            if !seen.insert(at as u32) {
                return None;
            }
            if text.peek() == Some(b'n') {
                return (!field.nullable && text.take_word(b"null")).then_some(());
            }
            if !field.oneof.is_none_or(|oneof| oneofs.insert(oneof)) {
                return None;
            }
            self.member(slot, field, text, context)
        })
    }

    /// Takes the name and the colon of one of the next two fields.
    #[inline(always)]
    fn expected(&self, table: &Table, next: usize, text: &mut Text<'_>) -> Option<usize> {
        for at in next..next + 2 {
            let field = table.fields.get(at)?;
            let len = usize::from(field.short_key_len);
            if len != 0 && text.take_all(field.short_key.get(1..)?, len - 1) {
                return Some(at);
            }
        }
        None
    }

    /// Parses the value of a field.
    #[inline(always)]
    fn member<'a>(
        &self,
        slot: &mut dyn Slot<'a>,
        field: &Field,
        text: &mut Text<'a>,
        context: DecodeContext<'_>,
    ) -> Option<()> {
        match field.shape {
            Shape::One => self.element(slot, field, text, context),
            Shape::List => text.items(*b"[]", |text| self.element(slot, field, text, context)),
            // The struct refuses a key that its map has.
            Shape::Map(of) => text.items(*b"{}", |text| {
                text.peek();
                self.pending.set(Pending::Entry(of));
                let value = Value::Group(text.remaining());
                self.merge_rest(slot, field, value, text, context)
            }),
        }
    }

    #[inline]
    fn element<'a>(
        &self,
        slot: &mut dyn Slot<'a>,
        field: &Field,
        text: &mut Text<'a>,
        context: DecodeContext<'_>,
    ) -> Option<()> {
        let value = self.single(field, text)?;
        if let Type::Message(_) = field.ty {
            return self.merge_rest(slot, field, value, text, context);
        }
        slot.merge_field(WireField { number: field.number, value, raw: &[] }, context)
    }

    /// Parses the key of an entry and its colon, and its value. Of a message, only the place is known.
    #[inline]
    fn parts<'a>(&self, of: u32, text: &mut Text<'a>) -> Option<[WireField<'a>; 2]> {
        let [key, value, ..] = &self.schema.json[of as usize].fields[..] else { return None };
        let key = match key.ty {
            // One with escapes is rare: the struct can ask for one text only.
            Type::String => Value::Len(text.plain()?),
            // Numbers are in quotes.
            Type::Bool => match text.plain()? {
                b"true" => Value::Varint(1),
                b"false" => Value::Varint(0),
                _ => return None,
            },
            ty if text.peek() == Some(b'"') => text.integer(ty)?,
            _ => return None,
        };
        text.expect(b':')?;
        let is_message = matches!(value.ty, Type::Message(_));
        let value = self.single(value, text)?;
        if !is_message {
            self.left.set(Some(text.remaining().len()));
        }
        let part = |number, value| WireField { number, value, raw: &[] };
        Some([part(1, key), part(2, value)])
    }

    /// Passes the rest of the text to the struct, which asks for what is in it.
    fn merge_rest<'a>(
        &self,
        slot: &mut dyn Slot<'a>,
        field: &Field,
        value: Value<'a>,
        text: &mut Text<'a>,
        context: DecodeContext<'_>,
    ) -> Option<()> {
        slot.merge_field(WireField { number: field.number, value, raw: &[] }, context)?;
        text.leave(self.left.take()?)
    }

    /// Parses a value. Of a message, only the place is known.
    #[inline(always)]
    fn single<'a>(&self, field: &Field, text: &mut Text<'a>) -> Option<Value<'a>> {
        match field.ty {
            Type::String => self.string(text),
            Type::Message(index) => {
                self.pending.set(Pending::Message(index));
                match field.wire_type() {
                    LEN => Some(Value::Group(text.remaining())),
                    _ => Some(Value::Len(text.remaining())),
                }
            }
            ty => self.scalar(field, ty, text),
        }
    }

    #[inline(never)]
    fn scalar<'a>(&self, field: &Field, ty: Type, text: &mut Text<'a>) -> Option<Value<'a>> {
        match ty {
            Type::Bytes => {
                let base64 = text.plain()?;
                self.pending.set(Pending::Base64);
                Some(Value::Group(base64))
            }
            Type::Bool if text.take_word(b"true") => Some(Value::Varint(1)),
            Type::Bool => text.take_word(b"false").then_some(Value::Varint(0)),
            Type::Enum(index) => {
                let of = self.schema.enumeration(index);
                if text.peek() == Some(b'"') {
                    let name = core::str::from_utf8(text.plain()?).ok()?;
                    return Some(Value::Varint(i64::from(of.number(name)?) as u64));
                }
                let Value::Varint(number) = text.integer(Type::Int32)? else { return None };
                let is_known = !field.closed || of.name_of(number as i32).is_some();
                is_known.then_some(Value::Varint(number))
            }
            Type::Double => text.float().map(|value: f64| Value::Fixed64(value.to_bits())),
            Type::Float => text.float().map(|value: f32| Value::Fixed32(value.to_bits())),
            ty => text.integer(ty),
        }
    }

    #[inline(always)]
    fn string<'a>(&self, text: &mut Text<'a>) -> Option<Value<'a>> {
        match text.plain() {
            Some(plain) => Some(Value::Len(plain)),
            None => {
                let quoted = text.escaped()?;
                self.pending.set(Pending::Escaped);
                Some(Value::Group(quoted))
            }
        }
    }

    /// Parses a message with a form of its own.
    fn known<'a>(
        &self,
        slot: &mut dyn Slot<'a>,
        table: &Table,
        known: Known,
        text: &mut Text<'a>,
        context: DecodeContext<'_>,
    ) -> Option<()> {
        let parse = match known {
            Known::Timestamp => time::timestamp,
            Known::Duration => time::duration,
            Known::Struct | Known::ListValue | Known::Wrapper => {
                let field = table.fields.get(table.find(1)?)?;
                return self.member(slot, field, text, context);
            }
            Known::Value => {
                let number = match text.peek()? {
                    b'{' => 5,
                    b'[' => 6,
                    b'"' => 3,
                    b't' | b'f' => 4,
                    b'-' | b'0'..=b'9' => 2,
                    _ => return None,
                };
                let field = table.fields.get(table.find(number)?)?;
                return self.member(slot, field, text, context);
            }
            Known::Any | Known::FieldMask => return None,
        };
        let (seconds, nanos) = parse(core::str::from_utf8(text.plain()?).ok()?)?;
        for (number, value) in [(1, seconds), (2, i64::from(nanos))] {
            if value != 0 {
                let value = Value::Varint(value as u64);
                slot.merge_field(WireField { number, value, raw: &[] }, context)?;
            }
        }
        Some(())
    }
}

impl JsonSource for Source<'_> {
    fn message<'a>(
        &self,
        slot: &mut dyn Slot<'a>,
        text: &'a [u8],
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        let Pending::Message(index) = self.pending.take() else { return Err(refused()) };
        let context = context.enter().map_err(|kind| kind.at(0))?;
        let mut text = Text::new(text);
        self.content(slot, index, &mut text, context).ok_or_else(refused)?;
        self.left.set(Some(text.remaining().len()));
        Ok(())
    }

    fn text<'a>(&self, text: &'a [u8]) -> Result<Cow<'a, str>, ReadError> {
        self.take(Pending::Escaped)?;
        let text = core::str::from_utf8(text).map_err(|_| refused())?;
        Lexer::new(text).string("text").map_err(|_| refused())
    }

    fn bytes(&self, text: &[u8]) -> Result<Vec<u8>, ReadError> {
        self.take(Pending::Base64)?;
        let mut bytes = Vec::new();
        base64::decode(text, &mut bytes).then_some(bytes).ok_or_else(refused)
    }

    fn entry<'a>(&self, text: &'a [u8]) -> Result<[WireField<'a>; 2], ReadError> {
        let Pending::Entry(of) = self.pending.take() else { return Err(refused()) };
        self.parts(of, &mut Text::new(text)).ok_or_else(refused)
    }
}
