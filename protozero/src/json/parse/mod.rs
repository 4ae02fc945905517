//! JSON to wire bytes.
//!
//! ```text
//!  {"a": 1, "b": {...}}     a member is written when it is read, so the fields have the order of the text
//!              └─▶ tag, one byte for the length, content; a longer length moves the content
//! ```

mod known;
mod lexer;
mod number;
mod output;
mod scalar;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::known::{Known, NULL_VALUE};
use super::options::ParseOptions;
use super::print::Seen;
use crate::decode::limits::DEPTH_MAX;
use crate::dynamic::schema::{FieldData, Schema, Symbol, Type};
use crate::dynamic::{DynamicMessage, MessageDescriptor};
use crate::text::error::{TextError, TextErrors, nearest, quote};
use lexer::{Fault, Lexer, Parsed, number_len};
use number::not_in_range;
use output::{FIXED32, FIXED64, GROUP, GROUP_END, LEN, Output, VARINT};

pub(super) fn parse(
    descriptor: &MessageDescriptor,
    text: &[u8],
    options: &ParseOptions<'_>,
) -> Result<Vec<u8>, TextErrors> {
    let failed =
        |span, message| TextErrors::new(options.file, [TextError::new(text, span, message)].into());
    let utf8 = core::str::from_utf8(text).map_err(|error| {
        failed(error.valid_up_to()..error.valid_up_to() + 1, "the text is not UTF-8".to_string())
    })?;
    let schema = &*descriptor.pool().0;
    let mut parser = Parser { lexer: Lexer::new(utf8), schema, options, out: Output::default() };
    match parser.root(descriptor.index) {
        Ok(()) => Ok(parser.out.into_bytes()),
        Err(Fault { span, message }) => Err(failed(span, message)),
    }
}

/// Parses to a dynamic message.
pub(super) fn message(
    descriptor: MessageDescriptor,
    text: &[u8],
    options: &ParseOptions<'_>,
) -> Result<DynamicMessage, TextErrors> {
    let bytes = parse(&descriptor, text, options)?;
    DynamicMessage::decode(descriptor, &bytes).map_err(|error| {
        TextErrors::new(options.file, [TextError::new(text, 0..0, error.to_string())].into())
    })
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    schema: &'t Schema,
    options: &'t ParseOptions<'t>,
    out: Output,
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
        match Known::of(&self.schema.message(index).full_name) {
            Some(known) => self.known(known, index, level),
            None => self.fields(index, level, false),
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
        if self.lexer.peek() != Some(b'{') {
            return self.unexpected("an object: `{`");
        }
        self.lexer.take(b'{');
        if self.lexer.take(b'}') {
            return Ok(());
        }
        loop {
            self.lexer.peek();
            let begin = self.lexer.position();
            let key = self.lexer.string("a name")?;
            self.lexer.expect(b':', "behind the name")?;
            member(self, &key, begin)?;
            if self.lexer.take(b'}') {
                return Ok(());
            }
            self.lexer.expect(b',', "or `}` behind a value")?;
        }
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
        let schema = self.schema;
        let (mut seen, mut oneofs) = (Seen::default(), Seen::default());
        self.object(|this, key, begin| {
            if in_any && key == "@type" {
                return this.skip(level);
            }
            let Some(data) = find(schema, index, key) else {
                return this.unknown(index, key, begin, level);
            };
            if !seen.insert(data.number) {
                return this.lexer.fault(begin, format!("the field `{key}` is set twice"));
            }
            if this.lexer.take_word("null") {
                return this.null(data);
            }
            if !data.oneof.is_none_or(|oneof| oneofs.insert(oneof)) {
                let message = format!("`{key}`: another field of the same oneof is set, too");
                return this.lexer.fault(begin, message);
            }
            this.field(data, level)
        })
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

    /// A field that is `null`: not set, but for the types that have this value.
    fn null(&mut self, data: &FieldData) -> Parsed<()> {
        if !data.repeated() && self.is_null(data.ty) {
            self.put_null(data);
        }
        Ok(())
    }

    /// Whether `null` is a value of this type.
    fn is_null(&self, ty: Type) -> bool {
        match ty {
            Type::Enum(index) => &*self.schema.enumeration(index).full_name == NULL_VALUE,
            Type::Message(index) => {
                Known::of(&self.schema.message(index).full_name) == Some(Known::Value)
            }
            _ => false,
        }
    }

    fn put_null(&mut self, data: &FieldData) {
        match data.ty {
            Type::Message(_) => {
                self.out.tag(data.number, LEN);
                self.out.put(&[2, 0x08, 0]);
            }
            _ if data.presence || data.oneof.is_some() || data.repeated() => {
                self.out.tag(data.number, VARINT);
                self.out.put(&[0]);
            }
            _ => {}
        }
    }

    /// Parses the value of a field.
    fn field(&mut self, data: &'t FieldData, level: u32) -> Parsed<()> {
        if let Some(of) = data.entry() {
            return self.map(data, of, level);
        }
        if data.extension && self.schema.message(data.parent).message_set {
            return self.item(data, level);
        }
        if !data.repeated() {
            let begin = self.out.len();
            let put = self.element(data, level)?;
            let is_needed = data.presence || data.oneof.is_some();
            if put == Put::Nothing || put == Put::Zero && !is_needed {
                self.out.truncate(begin);
            }
            return Ok(());
        }
        if data.packed && data.ty.packable() {
            let begin = self.out.len();
            self.out.tag(data.number, LEN);
            let content = self.out.begin();
            self.list(|this| {
                let element = this.out.len();
                if this.value(data, level)? == Put::Nothing {
                    this.out.truncate(element);
                }
                Ok(())
            })?;
            match self.out.len() == content {
                true => self.out.truncate(begin),
                false => self.out.end(content),
            }
            return Ok(());
        }
        self.list(|this| {
            let begin = this.out.len();
            if this.element(data, level)? == Put::Nothing {
                this.out.truncate(begin);
            }
            Ok(())
        })
    }

    /// Parses an item of a message set: a group of the number and the message.
    fn item(&mut self, data: &'t FieldData, level: u32) -> Parsed<()> {
        self.out.tag(1, GROUP);
        self.out.tag(2, VARINT);
        self.out.varint(data.number.into());
        self.out.tag(3, LEN);
        self.value(data, level)?;
        self.out.tag(1, GROUP_END);
        Ok(())
    }

    /// Parses a value and writes it behind its tag.
    fn element(&mut self, data: &'t FieldData, level: u32) -> Parsed<Put> {
        let wire_type = match data.ty {
            Type::Fixed32 | Type::Sfixed32 | Type::Float => FIXED32,
            Type::Fixed64 | Type::Sfixed64 | Type::Double => FIXED64,
            Type::Message(_) if data.delimited => GROUP,
            Type::String | Type::Bytes | Type::Message(_) => LEN,
            _ => VARINT,
        };
        self.out.tag(data.number, wire_type);
        let put = self.value(data, level)?;
        if wire_type == GROUP {
            self.out.tag(data.number, GROUP_END);
        }
        Ok(put)
    }

    fn map(&mut self, data: &'t FieldData, of: u32, level: u32) -> Parsed<()> {
        let schema = self.schema;
        let parts = (schema.field_by_number(of, 1), schema.field_by_number(of, 2));
        let (Some(key_data), Some(value_data)) = parts else {
            return self.fault("the schema has a map without keys or values");
        };
        self.object(|this, key, begin| {
            let entry = this.out.len();
            this.out.tag(data.number, LEN);
            let content = this.out.begin();
            this.key(key_data, key, begin)?;
            if this.element(value_data, level)? == Put::Nothing {
                this.out.truncate(entry);
                return Ok(());
            }
            this.out.end(content);
            Ok(())
        })
    }

    /// Writes the key of an entry, which is text for all types.
    fn key(&mut self, data: &FieldData, key: &str, begin: usize) -> Parsed<()> {
        match data.ty {
            Type::String => {
                self.out.tag(data.number, LEN);
                self.out.text(key.as_bytes());
            }
            Type::Bool => {
                let value = match key {
                    "true" => 1,
                    "false" => 0,
                    _ => return self.lexer.fault(begin, "expected the key \"true\" or \"false\""),
                };
                self.out.tag(data.number, VARINT);
                self.out.put(&[value]);
            }
            ty => {
                let wire_type = match ty {
                    Type::Fixed32 | Type::Sfixed32 => FIXED32,
                    Type::Fixed64 | Type::Sfixed64 => FIXED64,
                    _ => VARINT,
                };
                self.out.tag(data.number, wire_type);
                let is_number = number_len(key.as_bytes()) == Some(key.len());
                if !is_number || !self.integer(ty, key) {
                    return self.lexer.fault(begin, not_in_range(ty, key));
                }
            }
        }
        Ok(())
    }

    /// Parses a value that is not a list, and writes it without a tag.
    fn value(&mut self, data: &'t FieldData, level: u32) -> Parsed<Put> {
        let begin = self.out.len();
        match data.ty {
            Type::Message(index) if data.delimited => self.message(index, level + 1)?,
            Type::Message(index) => {
                let content = self.out.begin();
                self.message(index, level + 1)?;
                self.out.end(content);
            }
            Type::Enum(index) => return self.enumeration(self.schema.enumeration(index)),
            Type::String => {
                let text = self.lexer.string("text")?;
                self.out.text(text.as_bytes());
            }
            Type::Bytes => self.bytes()?,
            Type::Bool => {
                let value = self.lexer.take_word("true");
                if !value && !self.lexer.take_word("false") {
                    return self.unexpected("`true` or `false`");
                }
                self.out.put(&[u8::from(value)]);
            }
            Type::Float | Type::Double => self.float(data.ty)?,
            ty => self.number(ty)?,
        }
        let is_message = matches!(data.ty, Type::Message(_));
        let is_zero = !is_message && self.out.is_zero_from(begin);
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

/// The field or extension that a name means.
fn find<'s>(schema: &'s Schema, index: u32, key: &str) -> Option<&'s FieldData> {
    let message = schema.message(index);
    if let Some(name) = key.strip_prefix('[').and_then(|key| key.strip_suffix(']')) {
        let Some(&Symbol::Extension(at)) = schema.symbols.get(name) else { return None };
        return Some(&schema.extensions[at as usize]).filter(|data| data.parent == index);
    }
    let at = message.by_json_name(key).or_else(|| message.by_name(key))?;
    message.fields.get(at as usize)
}
