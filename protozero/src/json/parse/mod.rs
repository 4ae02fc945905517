//! JSON to wire bytes.
//!
//! ```text
//!  {"a": 1, "b": {...}}     a member is written when it is read; sorted at the `}` if the text has another order
//!              └─▶ tag, one byte for the length, content; a longer length moves the content
//! ```

#[cfg(feature = "std")]
mod direct;
#[cfg(feature = "std")]
mod float;
mod known;
mod map;
mod number;
mod order;
mod output;
mod scalar;
#[cfg(feature = "std")]
mod text;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::lexer::{Fault, Lexer, Parsed};
use super::options::ParseOptions;
use super::place;
use super::print::Seen;
use super::table::{Field, Form, Shape, Table};
use crate::decode::limits::DEPTH_MAX;
use crate::decode::{DecodeContext, DecodeMemory};
use crate::dynamic::schema::{FieldAt, Schema, Symbol, Type};
use crate::dynamic::{DynamicMessage, MEMORY_MAX, MessageDescriptor};
use crate::error::DecodeError;
use crate::text::error::{TextError, TextErrors, nearest, quote};
use crate::wire::tag::{BEGIN_GROUP, END_GROUP, LEN, VARINT};
#[cfg(feature = "std")]
pub(super) use direct::parse as direct;
use output::Encoded;

pub(super) fn parse(
    descriptor: &MessageDescriptor,
    text: &[u8],
    options: &ParseOptions<'_>,
) -> Result<Vec<u8>, TextErrors> {
    match core::str::from_utf8(text) {
        Ok(text) => parse_text(descriptor, text, options),
        Err(error) => {
            let begin = error.valid_up_to();
            let error = TextError::new(text, begin..begin + 1, "the text is not UTF-8".to_string());
            Err(TextErrors::new(options.file, [error].into()))
        }
    }
}

/// [`parse`], of a text that is UTF-8.
pub(super) fn parse_text(
    descriptor: &MessageDescriptor,
    text: &str,
    options: &ParseOptions<'_>,
) -> Result<Vec<u8>, TextErrors> {
    let schema = &*descriptor.pool().0;
    let out = Encoded::with_capacity(text.len() / 4 * 3 + 64);
    let mut parser = Parser { lexer: Lexer::new(text), schema, options, out };
    match parser.root(descriptor.index) {
        Ok(()) => Ok(parser.out.into_bytes()),
        Err(fault) => {
            let Fault { span, message } = *fault;
            let error = TextError::new(text.as_bytes(), span, message);
            let root = &schema.message(descriptor.index).full_name;
            let error = error.with_path(|at| place::path(root, text, at));
            Err(TextErrors::new(options.file, [error].into()))
        }
    }
}

/// Parses to a dynamic message.
pub(super) fn message(
    descriptor: MessageDescriptor,
    text: &[u8],
    options: &ParseOptions<'_>,
) -> Result<DynamicMessage, TextErrors> {
    let bytes = parse(&descriptor, text, options)?;
    let memory = DecodeMemory::new(options.memory_max.unwrap_or(MEMORY_MAX));
    let mut message = DynamicMessage::new(descriptor);
    match message.merge_within(&bytes, DecodeContext::new().with_growth(&memory)) {
        Ok(()) => Ok(message),
        Err(error) => Err(not_decoded(&error, text, options)),
    }
}

/// The error of a text whose bytes are refused, such as those of a message that would take too much memory. Offsets in
/// these bytes mean nothing to who wrote the text.
#[cold]
pub(super) fn not_decoded(
    error: &DecodeError,
    text: &[u8],
    options: &ParseOptions<'_>,
) -> TextErrors {
    let path = error.path().to_string();
    let error = TextError::new(text, 0..0, error.kind.to_string()).with_path(|_| path);
    TextErrors::new(options.file, [error].into())
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    schema: &'t Schema,
    options: &'t ParseOptions<'t>,
    out: Encoded,
}

/// What was written for a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    /// It was written.
    Value,
    /// It was written, and a field without presence does not need it.
    Zero,
    /// It was skipped: nobody knows it.
    Nothing,
}

impl<'t> Parser<'t> {
    fn root(&mut self, index: u32) -> Parsed<()> {
        self.message(index, 0)?;
        if self.lexer.peek().is_some() {
            let found = self.lexer.next_for_error();
            return self.fault(format!("expected the end behind the message, found {found}"));
        }
        Ok(())
    }

    /// A fault at the next token.
    fn fault<T>(&mut self, message: impl Into<String>) -> Parsed<T> {
        self.lexer.peek();
        self.lexer.fault(self.lexer.position(), message)
    }

    fn unexpected<T>(&mut self, what: &str) -> Parsed<T> {
        let found = self.lexer.next_for_error();
        self.fault(format!("expected {what}, found {found}"))
    }

    /// Parses the content of a message, `level` levels below the outermost one.
    fn message(&mut self, index: u32, level: u32) -> Parsed<()> {
        self.check_level(level)?;
        match self.schema.json[index as usize].form {
            Form::Known(known) => self.known(known, index, level),
            Form::Fields | Form::MessageSet => self.fields(index, level, false),
        }
    }

    fn check_level(&mut self, level: u32) -> Parsed<()> {
        if level > DEPTH_MAX {
            return self.fault(format!("more than {DEPTH_MAX} levels"));
        }
        Ok(())
    }

    /// Calls `member` at each value of an object, with its key and the place of that.
    fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &str, usize) -> Parsed<()>,
    ) -> Parsed<()> {
        let mut is_next = self.begin_object()?;
        while is_next {
            self.lexer.peek();
            let begin = self.lexer.position();
            let key = self.lexer.string("a name")?;
            self.lexer.expect(b':', "behind the name")?;
            member(self, &key, begin)?;
            is_next = self.next_member()?;
        }
        Ok(())
    }

    /// Begins an object. False if it has no members, and is at its end.
    #[inline]
    fn begin_object(&mut self) -> Parsed<bool> {
        if !self.lexer.take(b'{') {
            return self.unexpected("an object: `{`");
        }
        Ok(!self.lexer.take(b'}'))
    }

    /// Takes what is behind a member. False if that is the end of the object.
    #[inline]
    fn next_member(&mut self) -> Parsed<bool> {
        if self.lexer.take(b'}') {
            return Ok(false);
        }
        self.lexer.expect(b',', "or `}` behind a value")?;
        Ok(true)
    }

    /// Calls `element` at each value of a list.
    fn list(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if self.lexer.peek() != Some(b'[') {
            return self.unexpected("a list: `[`");
        }
        self.lexer.take(b'[');
        if self.lexer.take(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            if self.lexer.take(b']') {
                return Ok(());
            }
            self.lexer.expect(b',', "or `]` behind an element")?;
        }
    }

    /// Parses the fields of a message; `in_any` says that `@type` is not one of them.
    fn fields(&mut self, index: u32, level: u32, in_any: bool) -> Parsed<()> {
        let mut is_next = self.begin_object()?;
        let table = &self.schema.json[index as usize];
        let (mut seen, mut oneofs) = (Seen::default(), Seen::default());
        let mut expected = 0;
        let (content, mut is_sorted) = (self.out.len(), true);
        // Where no expected name is.
        let mut other = usize::MAX;
        while is_next {
            self.lexer.peek();
            let mut begin = self.lexer.position();
            let mut next = match other == begin {
                true => None,
                false => self.expected::<1>(table, expected),
            };
            if next.is_none() {
                let key = self.lexer.string("a name")?;
                self.lexer.expect(b':', "behind the name")?;
                match self.find(table, index, &key) {
                    _ if in_any && key == "@type" => self.skip(level)?,
                    Some(at) => {
                        is_sorted &= at >= expected;
                        expected = at + 1;
                        self.member(table, at, (&mut seen, &mut oneofs), begin, level)?;
                    }
                    None => self.unknown(index, &key, begin, level)?,
                }
            }
            // As printers without spaces write them: the comma and the next name at once.
            while let Some(at) = next {
                expected = at + 1;
                self.member(table, at, (&mut seen, &mut oneofs), begin, level)?;
                next = None;
                if self.lexer.is_at_name() {
                    begin = self.lexer.position() + 1;
                    other = begin;
                    next = self.expected::<0>(table, expected);
                }
            }
            is_next = self.next_member()?;
        }
        if !is_sorted {
            order::sort_fields(self.out.since(content), table.form == Form::MessageSet);
        }
        Ok(())
    }

    /// Takes the name of a field and its colon, without the first `SKIP` bytes of the comma before it, if it is one of
    /// the next two.
    #[inline]
    fn expected<const SKIP: usize>(&mut self, table: &Table, next: usize) -> Option<usize> {
        for at in next..next + 2 {
            let field = table.fields.get(at)?;
            let key = field.short_key.get(SKIP..)?;
            let len = usize::from(field.short_key_len);
            if len != 0 && self.lexer.take_all(key, len - SKIP) {
                return Some(at);
            }
        }
        None
    }

    /// The field or extension that a name means.
    fn find(&self, table: &Table, index: u32, key: &str) -> Option<usize> {
        let Some(name) = key.strip_prefix('[').and_then(|key| key.strip_suffix(']')) else {
            return table.find_name(self.schema, key);
        };
        let Some(&Symbol::Extension(extension)) = self.schema.symbols.get(name) else {
            return None;
        };
        let data = self.schema.field(FieldAt::Extension(extension));
        table.find(data.number).filter(|_| data.parent == index)
    }

    /// Parses the value of a field, whose name begins at `begin`.
    #[inline]
    fn member(
        &mut self,
        table: &'t Table,
        at: usize,
        (seen, oneofs): (&mut Seen, &mut Seen),
        begin: usize,
        level: u32,
    ) -> Parsed<()> {
        let field = &table.fields[at];
        if !seen.insert(at as u32) {
            let key = self.name_at(begin);
            return self.lexer.fault(begin, format!("the field `{key}` is set twice"));
        }
        let is_null = self.lexer.peek() == Some(b'n') && self.lexer.take_word("null");
        if is_null && !(field.nullable && field.shape == Shape::One) {
            return Ok(());
        }
        if !field.oneof.is_none_or(|oneof| oneofs.insert(oneof)) {
            let key = self.name_at(begin);
            let message = format!("`{key}`: another field of the same oneof is set, too");
            return self.lexer.fault(begin, message);
        }
        if is_null {
            self.null(field);
            return Ok(());
        }
        self.field(field, level)
    }

    /// The name that begins at `begin`, for an error.
    #[cold]
    fn name_at(&mut self, begin: usize) -> Cow<'t, str> {
        let end = self.lexer.position();
        self.lexer.go_to(begin);
        let key = self.lexer.string("a name").unwrap_or_default();
        self.lexer.go_to(end);
        key
    }

    fn unknown(&mut self, index: u32, key: &str, begin: usize, level: u32) -> Parsed<()> {
        if self.options.ignore_unknown {
            return self.skip(level);
        }
        let message = self.schema.message(index);
        let mut text = format!("`{}` has no field `{}`", message.name(), quote(key.as_bytes()));
        let names = message.fields.iter().map(|field| &*field.json_name);
        if let Some(near) = nearest(key.as_bytes(), names) {
            text += &format!(": did you mean `{near}`?");
        }
        self.lexer.fault(begin, text)
    }

    /// Writes `null`, which is a value of the type of this field.
    fn null(&mut self, field: &Field) {
        match field.ty {
            Type::Message(_) if field.wire_type() == BEGIN_GROUP => {
                self.out.tag(field.number, BEGIN_GROUP);
                self.out.put(&[0x08, 0]);
                self.out.tag(field.number, END_GROUP);
            }
            Type::Message(_) => {
                self.out.tag(field.number, LEN);
                self.out.put(&[2, 0x08, 0]);
            }
            _ if field.presence => {
                self.out.tag(field.number, VARINT);
                self.out.put(&[0]);
            }
            _ => {}
        }
    }

    /// Parses the value of a field.
    #[inline]
    fn field(&mut self, field: &'t Field, level: u32) -> Parsed<()> {
        match field.shape {
            Shape::Map(of) => self.map(field, of, level),
            _ if self.is_item(field) => self.item(field, level),
            Shape::One => {
                let begin = self.out.len();
                let put = self.element(field, level)?;
                // Absent, a closed enum without presence, which only a derived struct has, is its `Default`.
                let is_absent = put == Put::Zero && !field.presence && !field.closed;
                if put == Put::Nothing || is_absent {
                    self.out.truncate(begin);
                }
                Ok(())
            }
            Shape::List if field.packed => {
                let begin = self.out.len();
                self.out.tag(field.number, LEN);
                let content = self.out.begin();
                self.list(|this| {
                    let element = this.out.len();
                    if this.value(field, level)? == Put::Nothing {
                        this.out.truncate(element);
                    }
                    Ok(())
                })?;
                match self.out.len() == content {
                    true => self.out.truncate(begin),
                    false => self.out.end(content),
                }
                Ok(())
            }
            Shape::List => self.list(|this| {
                let begin = this.out.len();
                if this.element(field, level)? == Put::Nothing {
                    this.out.truncate(begin);
                }
                Ok(())
            }),
        }
    }

    /// Whether the field is an item of a message set.
    fn is_item(&self, field: &Field) -> bool {
        field.is_extension() && {
            let data = self.schema.field(field.at);
            self.schema.message(data.parent).message_set
        }
    }

    /// Parses an item of a message set: a group of the number and the message.
    fn item(&mut self, field: &'t Field, level: u32) -> Parsed<()> {
        self.out.tag(1, BEGIN_GROUP);
        self.out.tag(2, VARINT);
        self.out.varint(field.number.into());
        self.out.tag(3, LEN);
        self.value(field, level)?;
        self.out.tag(1, END_GROUP);
        Ok(())
    }

    /// Parses a value and writes it behind its tag.
    #[inline(always)]
    fn element(&mut self, field: &'t Field, level: u32) -> Parsed<Put> {
        if field.ty == Type::String
            && let Some((text, len)) = self.lexer.plain_string()
        {
            self.out.text_field(field.tag, text, len);
            return Ok(if len == 0 { Put::Zero } else { Put::Value });
        }
        let wire_type = field.wire_type();
        self.out.varint(field.tag.into());
        let put = self.value(field, level)?;
        if wire_type == BEGIN_GROUP {
            self.out.tag(field.number, END_GROUP);
        }
        Ok(put)
    }

    /// Parses a value that is not a list, and writes it without a tag.
    #[inline]
    fn value(&mut self, field: &'t Field, level: u32) -> Parsed<Put> {
        let is_zero = match field.ty {
            Type::Message(index) => {
                if field.wire_type() == BEGIN_GROUP {
                    self.message(index, level + 1)?;
                } else {
                    let content = self.out.begin();
                    self.message(index, level + 1)?;
                    self.out.end(content);
                }
                false
            }
            Type::Enum(index) => return self.enumeration(self.schema.enumeration(index)),
            Type::String => self.string()?,
            Type::Bytes => self.bytes()?,
            Type::Bool => {
                let value = self.lexer.take_word("true");
                if !value && !self.lexer.take_word("false") {
                    return self.unexpected("`true` or `false`");
                }
                self.out.put(&[u8::from(value)]);
                !value
            }
            Type::Float | Type::Double => self.float(field.ty)?,
            ty => self.number(ty)?,
        };
        Ok(if is_zero { Put::Zero } else { Put::Value })
    }

    /// Skips a value of any type that is `level` levels below the outermost message.
    fn skip(&mut self, level: u32) -> Parsed<()> {
        self.check_level(level)?;
        match self.lexer.peek() {
            Some(b'{') => self.object(|this, _, _| this.skip(level + 1)),
            Some(b'[') => self.list(|this| this.skip(level + 1)),
            Some(b'"') => self.lexer.string("text").map(drop),
            _ => {
                if ["true", "false", "null"].into_iter().any(|word| self.lexer.take_word(word)) {
                    return Ok(());
                }
                match self.lexer.peek() {
                    Some(b'-' | b'0'..=b'9') => self.lexer.number().map(drop),
                    _ => self.unexpected("a value"),
                }
            }
        }
    }
}
