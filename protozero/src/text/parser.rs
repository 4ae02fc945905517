//! Builds messages from tokens.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::any::{ANY, is_url_byte};
use super::error::{ERRORS_MAX, TextError, TextErrors, nearest, quote};
use super::lexer::{self, LexError, Lexer, Token};
use super::literal;
use super::options::Options;
use super::place;
use super::scalar::{self, Scalar, Target, ValueError};
use crate::decode::limits::DEPTH_MAX;
use crate::dynamic::schema::{FieldData, Schema, Symbol, Type};
use crate::dynamic::{DynamicMessage, MEMORY_MAX, MapKey, MessageDescriptor, Pool, Value, cost};

/// The differences between the two text formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    /// Protobuf's text format.
    Protobuf,
    /// Perfetto's: strings may contain line breaks, and the colon before a value is optional.
    Perfetto,
}

/// Parsing ends here. `errors` contains the reason.
struct Aborted;

type ParseResult<T> = Result<T, Aborted>;

/// What a field name refers to.
enum Key<'s> {
    Field(&'s FieldData),
    /// Name of the type in an `Any`, and its index; `None` after an error.
    Any(String, Option<u32>),
    /// An unknown field: reported as an error already, or allowed.
    Unknown,
}

/// The singular fields and oneofs of a message that were set, with their positions.
#[derive(Default)]
struct SetFields<'s> {
    fields: BTreeMap<u32, usize>,
    oneofs: BTreeMap<u32, (&'s str, usize)>,
}

struct Parser<'t, 's> {
    pool: &'s Pool,
    schema: &'s Schema,
    text: &'t [u8],
    lexer: Lexer<'t>,
    /// The next token, which is not consumed yet.
    next: Token,
    lossy: bool,
    dialect: Dialect,
    errors: Vec<TextError>,
    /// Bytes that the message may take, and those that are left.
    memory_max: usize,
    memory_left: usize,
}

pub(super) fn parse(
    descriptor: MessageDescriptor,
    text: &[u8],
    options: &Options<'_>,
    dialect: Dialect,
) -> Result<DynamicMessage, TextErrors> {
    let pool = descriptor.pool().clone();
    let memory_max = options.memory_max.unwrap_or(MEMORY_MAX);
    let mut parser = Parser {
        pool: &pool,
        schema: &pool.0,
        text,
        lexer: Lexer::new(text, dialect == Dialect::Perfetto),
        next: Token { kind: lexer::Kind::End, start: 0, end: 0 },
        lossy: options.lossy,
        dialect,
        errors: Vec::new(),
        memory_max,
        memory_left: memory_max,
    };
    let root = descriptor.index;
    let mut message = DynamicMessage::new(descriptor);
    let end = parser.take().and_then(|_| parser.message(Some(&mut message), None, 0));
    if end.is_err() || !parser.errors.is_empty() {
        let multiline = dialect == Dialect::Perfetto;
        let path = |at| place::path(&pool.0, root, text, at, multiline);
        let errors = parser.errors.into_iter().map(|error| error.with_path(path)).collect();
        return Err(TextErrors::new(options.file, errors));
    }
    Ok(message)
}

impl<'t, 's> Parser<'t, 's> {
    /// Consumes the next token.
    fn take(&mut self) -> ParseResult<Token> {
        match self.lexer.next() {
            Ok(token) => Ok(core::mem::replace(&mut self.next, token)),
            Err(LexError::OpenString(at)) => {
                self.abort(at..at + 1, "this string has no closing quote")
            }
        }
    }

    fn take_if(&mut self, sign: u8) -> ParseResult<bool> {
        let found = self.next.kind == lexer::Kind::Sign(sign);
        if found {
            self.take()?;
        }
        Ok(found)
    }

    fn bytes(&self, token: Token) -> &'t [u8] {
        &self.text[token.span()]
    }

    /// Reports an error and continues.
    fn error(&mut self, span: Range<usize>, message: impl Into<String>) -> ParseResult<()> {
        self.errors.push(TextError::new(self.text, span, message.into()));
        if self.errors.len() < ERRORS_MAX { Ok(()) } else { Err(Aborted) }
    }

    /// Reports an error and ends parsing.
    fn abort<T>(&mut self, span: Range<usize>, message: impl Into<String>) -> ParseResult<T> {
        self.errors.push(TextError::new(self.text, span, message.into()));
        Err(Aborted)
    }

    /// Counts memory that the message takes.
    fn charge(&mut self, bytes: usize) -> ParseResult<()> {
        let Some(left) = self.memory_left.checked_sub(bytes) else {
            let message =
                format!("the message takes more than {} bytes of memory", self.memory_max);
            return self.abort(self.next.span(), message);
        };
        self.memory_left = left;
        Ok(())
    }

    fn unexpected<T>(&mut self, expected: &str) -> ParseResult<T> {
        let found = match self.next.kind {
            lexer::Kind::End => String::from("the end of the text"),
            _ => format!("`{}`", quote(self.bytes(self.next))),
        };
        self.abort(self.next.span(), format!("expected {expected}, found {found}"))
    }

    /// The line number of a position.
    fn line(&self, at: usize) -> usize {
        TextError::new(self.text, at..at, String::new()).line
    }

    /// Parses fields up to `close` (with the token that opened the message) or the end of the text.
    /// Without `into`, checks only the syntax.
    fn message(
        &mut self,
        mut into: Option<&mut DynamicMessage>,
        close: Option<(u8, Token)>,
        depth: u32,
    ) -> ParseResult<()> {
        let mut seen = SetFields::default();
        loop {
            match (self.next.kind, close) {
                (lexer::Kind::End, None) => return Ok(()),
                (lexer::Kind::End, Some((sign, open))) => {
                    let message = format!("this has no closing `{}`", char::from(sign));
                    return self.abort(open.span(), message);
                }
                (lexer::Kind::Sign(sign), Some((expected, _))) if sign == expected => return Ok(()),
                (lexer::Kind::Word | lexer::Kind::Sign(b'['), _) => {}
                // The printer writes unknown fields as numbers.
                (lexer::Kind::Number, _) if self.lossy || into.is_none() => {}
                (lexer::Kind::Sign(b'}' | b'>'), None) => {
                    return self.abort(self.next.span(), "this has no matching opening brace");
                }
                _ => return self.unexpected("a field name"),
            }
            let (key, place) = self.key(into.as_deref())?;
            self.check_unique(&key, place, &mut seen)?;
            let colon = self.take_if(b':')?;
            match (key, into.as_deref_mut()) {
                (Key::Field(field), Some(into)) => {
                    if !colon && !matches!(field.ty, Type::Message(_)) {
                        self.missing_colon()?;
                    }
                    self.values(Some((field, into)), depth)?;
                }
                (Key::Any(url, Some(index)), Some(into)) => self.any(into, url, index, depth)?,
                _ => {
                    if !colon && !matches!(self.next.kind, lexer::Kind::Sign(b'{' | b'<' | b'[')) {
                        self.missing_colon()?;
                    }
                    self.values(None, depth)?;
                }
            }
            if !self.take_if(b';')? {
                self.take_if(b',')?;
            }
        }
    }

    /// Handles a missing colon.
    fn missing_colon(&mut self) -> ParseResult<()> {
        match self.dialect {
            Dialect::Protobuf => self.unexpected("`:`"),
            Dialect::Perfetto => Ok(()),
        }
    }

    /// Reports a second value for a singular field, an `Any` or a oneof.
    fn check_unique(
        &mut self,
        key: &Key<'s>,
        place: Range<usize>,
        seen: &mut SetFields<'s>,
    ) -> ParseResult<()> {
        let field = match key {
            Key::Field(field) if !field.repeated() => *field,
            Key::Any(..) => {
                let first = [1, 2].map(|number| seen.fields.insert(number, place.start));
                return match first {
                    [None, None] => Ok(()),
                    _ => self.error(place, "the content of an `Any` is given twice"),
                };
            }
            _ => return Ok(()),
        };
        let name = &*field.name;
        if let Some(first) = seen.fields.get(&field.number) {
            let line = self.line(*first);
            return self.error(place, format!("`{name}` is given twice, first in line {line}"));
        }
        seen.fields.insert(field.number, place.start);
        let Some(oneof) = field.oneof else { return Ok(()) };
        if let Some((other, first)) = seen.oneofs.get(&oneof) {
            let line = self.line(*first);
            let group = &self.schema.message(field.parent).oneofs[oneof as usize].name;
            let message = format!(
                "`{name}` cannot be set together with `{other}` (line {line}): both are members of the oneof `{group}`"
            );
            return self.error(place, message);
        }
        seen.oneofs.insert(oneof, (name, place.start));
        Ok(())
    }

    /// Parses a field name and returns its position.
    fn key(&mut self, into: Option<&DynamicMessage>) -> ParseResult<(Key<'s>, Range<usize>)> {
        let first = self.take()?;
        let place = first.span();
        match (first.kind, into) {
            (lexer::Kind::Word, Some(message)) => {
                let key = self.named(message.descriptor.index, first)?;
                Ok((key, place))
            }
            (lexer::Kind::Word, None) => Ok((Key::Unknown, place)),
            (lexer::Kind::Number, _) => {
                if !self.bytes(first).iter().all(u8::is_ascii_digit) {
                    return self.abort(place, "this is not a field number");
                }
                Ok((Key::Unknown, place))
            }
            _ => {
                let (name, place) = self.bracketed(first)?;
                let key = match into {
                    Some(message) => self.extension(message, name, &place)?,
                    None => Key::Unknown,
                };
                Ok((key, place))
            }
        }
    }

    fn named(&mut self, message: u32, token: Token) -> ParseResult<Key<'s>> {
        let data = self.schema.message(message);
        let name = self.bytes(token);
        // Words are ASCII, so this never fails.
        let word = core::str::from_utf8(name).unwrap_or_default();
        let is_group = |index: u32| {
            let field = &data.fields[index as usize];
            let ty = match field.ty {
                Type::Message(index) => self.schema.message(index).name(),
                _ => return false,
            };
            field.is_proto2_group && ty == word
        };
        let found = data.by_name(word);
        let found = found
            .or_else(|| data.by_name(&word.to_ascii_lowercase()).filter(|index| is_group(*index)));
        if let Some(index) = found {
            return Ok(Key::Field(&data.fields[index as usize]));
        }
        let reserved = data.reserved_names.binary_search_by(|name| (**name).cmp(word)).is_ok();
        if !self.lossy && !reserved {
            let names = data.fields.iter().map(|field| &*field.name);
            let mut message = format!("no field named `{}` in `{}`", quote(name), data.full_name);
            if let Some(meant) = nearest(name, names) {
                message.push_str(&format!(": did you mean `{meant}`?"));
            }
            self.error(token.span(), message)?;
        }
        Ok(Key::Unknown)
    }

    /// Parses a name in brackets. `open` is the opening bracket, which is consumed already.
    fn bracketed(&mut self, open: Token) -> ParseResult<(String, Range<usize>)> {
        let mut name = String::new();
        loop {
            match self.next.kind {
                lexer::Kind::Word | lexer::Kind::Number => {}
                lexer::Kind::Sign(b'/') => {}
                lexer::Kind::Sign(byte) if is_url_byte(byte) => {}
                lexer::Kind::Sign(b']') if !name.is_empty() => break,
                _ => return self.unexpected("the name of an extension and `]`"),
            }
            let token = self.take()?;
            name.push_str(&String::from_utf8_lossy(self.bytes(token)));
        }
        let close = self.take()?;
        Ok((name, open.start..close.end))
    }

    fn extension(
        &mut self,
        message: &DynamicMessage,
        name: String,
        place: &Range<usize>,
    ) -> ParseResult<Key<'s>> {
        let (schema, index) = (self.schema, message.descriptor.index);
        let data = schema.message(index);
        if let Some((_, ty)) = name.rsplit_once('/')
            && *data.full_name == *ANY
        {
            if let Some(Symbol::Message(found)) = schema.symbols.get(ty) {
                return Ok(Key::Any(name, Some(*found)));
            }
            if !self.lossy {
                self.error(place.clone(), format!("unknown type `{}`", quote(ty.as_bytes())))?;
            }
            return Ok(Key::Any(name, None));
        }
        let found = match schema.symbols.get(&name) {
            Some(Symbol::Extension(index)) => Some(&schema.extensions[*index as usize]),
            // In a message set, the name of an extension is the name of its type.
            Some(Symbol::Message(ty)) => {
                data.members.get(ty).map(|index| &schema.extensions[*index as usize])
            }
            _ => None,
        };
        match found {
            Some(field) if field.parent == index => return Ok(Key::Field(field)),
            _ if self.lossy => {}
            Some(_) => {
                let message =
                    format!("`[{}]` does not extend `{}`", quote(name.as_bytes()), data.full_name);
                self.error(place.clone(), message)?;
            }
            None => {
                let shown = quote(&self.text[place.clone()]);
                self.error(place.clone(), format!("unknown extension `{shown}`"))?;
            }
        }
        Ok(Key::Unknown)
    }

    /// Parses one value or a list.
    fn values(
        &mut self,
        mut to: Option<(&'s FieldData, &mut DynamicMessage)>,
        depth: u32,
    ) -> ParseResult<()> {
        let open = self.next;
        if !self.take_if(b'[')? {
            return self.value(to, depth);
        }
        if let Some((field, _)) = to.as_ref().filter(|to| !to.0.repeated()) {
            let message = format!("`{}` holds one value, not a list", field.name);
            self.error(open.span(), message)?;
        }
        if self.take_if(b']')? {
            return Ok(());
        }
        loop {
            self.value(to.as_mut().map(|(field, into)| (*field, &mut **into)), depth)?;
            if self.take_if(b']')? {
                return Ok(());
            }
            if !self.take_if(b',')? {
                return self.unexpected("`,` or `]`");
            }
        }
    }

    fn value(
        &mut self,
        to: Option<(&'s FieldData, &mut DynamicMessage)>,
        depth: u32,
    ) -> ParseResult<()> {
        if !matches!(self.next.kind, lexer::Kind::Sign(b'{' | b'<')) {
            return self.scalar(to);
        }
        let Some((field, into)) = to else { return self.body(None, depth) };
        let Type::Message(index) = field.ty else {
            let is = self.schema.type_name(field.ty);
            let message = format!("`{}` is a {is}, not a message", field.name);
            self.error(self.next.span(), message)?;
            return self.body(None, depth);
        };
        let Ok(mut inner) = into.child(index) else {
            return self.too_deep();
        };
        if !field.map {
            self.charge(cost::MESSAGE)?;
            self.body(Some(&mut inner), depth)?;
            return self.store(field, into, Value::Message(Box::new(inner)));
        }
        self.body(Some(&mut inner), depth)?;
        let key = inner.fields.remove(&1).or_else(|| self.zero(index, 1, &inner));
        let value = match inner.fields.remove(&2) {
            Some(value) => Some(value),
            None => {
                self.charge(cost::MESSAGE)?;
                self.zero(index, 2, &inner)
            }
        };
        if let (Some(key), Some(value)) = (key.and_then(Value::into_key), value) {
            let before = into.fields.len();
            if let Some(entries) = into.add_entry(field.number, key, value) {
                self.charge(cost::entry::<MapKey>(entries))?;
            }
            self.charge_field(into, before)?;
        }
        Ok(())
    }

    /// Sets a field that is no map, or adds an element to it.
    fn store(
        &mut self,
        field: &FieldData,
        into: &mut DynamicMessage,
        value: Value,
    ) -> ParseResult<()> {
        let before = into.fields.len();
        if !field.repeated() {
            into.put(field, value);
        } else {
            match into.fields.get(&field.number) {
                Some(Value::List(all)) if all.len() < all.capacity() => {}
                Some(Value::List(all)) => self.charge(cost::element(all.len()))?,
                _ => self.charge(cost::element(0))?,
            }
            into.add(field, value);
        }
        self.charge_field(into, before)
    }

    /// Counts the place of a field in a message that had `before` fields.
    fn charge_field(&mut self, message: &DynamicMessage, before: usize) -> ParseResult<()> {
        // The message of an entry does not stay.
        let is_entry = self.schema.message(message.descriptor.index).map_entry;
        match !is_entry && message.fields.len() > before {
            true => self.charge(cost::entry::<u32>(before)),
            false => Ok(()),
        }
    }

    /// The key or value of a map entry that does not set it.
    fn zero(&self, entry: u32, number: u32, inner: &DynamicMessage) -> Option<Value> {
        match self.schema.field_by_number(entry, number)?.ty {
            Type::Message(index) => Some(Value::Message(Box::new(inner.child(index).ok()?))),
            ty => Value::zero(self.schema, ty),
        }
    }

    fn too_deep(&mut self) -> ParseResult<()> {
        self.abort(
            self.next.span(),
            format!("messages are nested more than {DEPTH_MAX} levels deep"),
        )
    }

    /// Parses a message in braces.
    fn body(&mut self, into: Option<&mut DynamicMessage>, depth: u32) -> ParseResult<()> {
        if depth >= DEPTH_MAX {
            return self.too_deep();
        }
        let close = match self.next.kind {
            lexer::Kind::Sign(b'{') => b'}',
            lexer::Kind::Sign(b'<') => b'>',
            _ => return self.unexpected("`{`"),
        };
        let open = self.take()?;
        self.message(into, Some((close, open)), depth + 1)?;
        self.take()?;
        Ok(())
    }

    /// Parses the content of an `Any`.
    fn any(
        &mut self,
        into: &mut DynamicMessage,
        url: String,
        index: u32,
        depth: u32,
    ) -> ParseResult<()> {
        let place = self.next.span();
        let mut inner = DynamicMessage::new(self.pool.message_at(index));
        let left = self.memory_left;
        self.body(Some(&mut inner), depth)?;
        let bytes = match inner.try_encode() {
            Ok(bytes) => bytes,
            Err(error) => return self.error(place, format!("{error}")),
        };
        // Only the bytes stay.
        self.memory_left = left;
        self.charge(cost::entry::<u32>(0) + url.len() + bytes.len())?;
        match into.set(1, url).and_then(|()| into.set(2, bytes)) {
            Ok(()) => Ok(()),
            Err(_) => self.error(place, "this type is not protobuf's `Any`"),
        }
    }

    fn scalar(&mut self, to: Option<(&'s FieldData, &mut DynamicMessage)>) -> ParseResult<()> {
        let start = self.next.start;
        let negative = self.take_if(b'-')?;
        let token = self.next;
        let mut span = start..token.end;
        let scalar = match token.kind {
            lexer::Kind::Number => {
                self.take()?;
                Scalar::Number(negative, self.bytes(token).to_vec())
            }
            lexer::Kind::Word => {
                self.take()?;
                Scalar::Word(negative, self.bytes(token).to_vec())
            }
            lexer::Kind::String if !negative => {
                let mut value = Vec::new();
                while self.next.kind == lexer::Kind::String {
                    let token = self.take()?;
                    span.end = token.end;
                    if let Err((place, message)) = literal::unescape(self.bytes(token), &mut value)
                    {
                        let place = token.start + place.start..token.start + place.end;
                        self.error(place, message)?;
                    }
                }
                Scalar::String(value)
            }
            _ if negative => return self.unexpected("a number"),
            _ => return self.unexpected("a value"),
        };
        let Some((field, into)) = to else { return Ok(()) };
        match scalar::value(Target { schema: self.schema, field }, &scalar) {
            Ok(value) => {
                if let Scalar::String(text) = &scalar {
                    self.charge(text.len())?;
                }
                self.store(field, into, value)?;
            }
            Err(ValueError::UnknownName(_)) if self.lossy => {}
            Err(ValueError::UnknownName(message) | ValueError::Wrong(message)) => {
                self.error(span, message)?;
            }
        }
        Ok(())
    }
}
