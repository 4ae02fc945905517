//! Tokens to fields of messages.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::error::{ERRORS_MAX, TextError, TextErrors, nearest, quote};
use super::lexer::{self, LexError, Lexer, Token};
use super::scalar::{self, Refusal, Scalar, Target};
use super::{ANY, Options, literal};
use crate::decode::limits::DEPTH_MAX;
use crate::dynamic::schema::{FieldData, Schema, Symbol, Type};
use crate::dynamic::{DynamicMessage, MessageDescriptor, Pool, Value};

/// Where the readers of this world differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    /// Protobuf's own.
    Protobuf,
    /// Strings may span lines, and a value needs no colon before it.
    Perfetto,
}

/// Nothing more can be made out: the reason is among the errors.
struct Stop;

type Step<T> = Result<T, Stop>;

/// What the name of a field stands for.
enum Key<'s> {
    Field(&'s FieldData),
    /// Name of the type inside an `Any`, and its index; `None` if that is an error already.
    Any(String, Option<u32>),
    /// That is an error already, or allowed.
    Unknown,
}

/// Singular fields and oneofs met in a message, and where.
#[derive(Default)]
struct Seen<'s> {
    fields: BTreeMap<u32, usize>,
    oneofs: BTreeMap<u32, (&'s str, usize)>,
}

struct Parser<'t, 's> {
    pool: &'s Pool,
    schema: &'s Schema,
    text: &'t [u8],
    lexer: Lexer<'t>,
    /// The token not taken yet.
    next: Token,
    lossy: bool,
    dialect: Dialect,
    errors: Vec<TextError>,
}

pub(super) fn parse(
    descriptor: MessageDescriptor,
    text: &[u8],
    options: &Options<'_>,
    dialect: Dialect,
) -> Result<DynamicMessage, TextErrors> {
    let pool = descriptor.pool().clone();
    let mut parser = Parser {
        pool: &pool,
        schema: &pool.0,
        text,
        lexer: Lexer::new(text, dialect == Dialect::Perfetto),
        next: Token { kind: lexer::Kind::End, start: 0, end: 0 },
        lossy: options.lossy,
        dialect,
        errors: Vec::new(),
    };
    let mut message = DynamicMessage::new(descriptor);
    let end = parser.take().and_then(|_| parser.message(Some(&mut message), None, 0));
    if end.is_err() || !parser.errors.is_empty() {
        return Err(TextErrors::new(options.file, parser.errors));
    }
    Ok(message)
}

/// Whether the printer may put this in brackets, so that it is read again.
pub(super) fn is_url(url: &str) -> bool {
    let mut parts = url.split('/');
    let part = |part: &str| !part.is_empty() && part.bytes().all(is_url_byte);
    url.contains('/') && parts.all(part)
}

fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-~!$&()*+,;=%".contains(&byte)
}

impl<'t, 's> Parser<'t, 's> {
    /// Takes the next token.
    fn take(&mut self) -> Step<Token> {
        match self.lexer.next() {
            Ok(token) => Ok(core::mem::replace(&mut self.next, token)),
            Err(LexError::OpenString(at)) => self.stop(at..at + 1, "this string has no end"),
        }
    }

    fn take_if(&mut self, sign: u8) -> Step<bool> {
        let found = self.next.kind == lexer::Kind::Sign(sign);
        if found {
            self.take()?;
        }
        Ok(found)
    }

    fn bytes(&self, token: Token) -> &'t [u8] {
        &self.text[token.span()]
    }

    /// Notes a mistake after which reading goes on.
    fn error(&mut self, span: Range<usize>, message: impl Into<String>) -> Step<()> {
        self.errors.push(TextError::new(self.text, span, message.into()));
        if self.errors.len() < ERRORS_MAX { Ok(()) } else { Err(Stop) }
    }

    /// Notes a mistake after which nothing makes sense.
    fn stop<T>(&mut self, span: Range<usize>, message: impl Into<String>) -> Step<T> {
        self.errors.push(TextError::new(self.text, span, message.into()));
        Err(Stop)
    }

    fn unexpected<T>(&mut self, expected: &str) -> Step<T> {
        let found = match self.next.kind {
            lexer::Kind::End => String::from("the end of the text"),
            _ => format!("`{}`", quote(self.bytes(self.next))),
        };
        self.stop(self.next.span(), format!("expected {expected}, found {found}"))
    }

    /// The line a place is in.
    fn line(&self, at: usize) -> usize {
        TextError::new(self.text, at..at, String::new()).line
    }

    /// The fields up to `close` (opened at the given place), or up to the end of the text. Without
    /// a message to put them into they are read for their syntax only.
    fn message(
        &mut self,
        mut into: Option<&mut DynamicMessage>,
        close: Option<(u8, Token)>,
        depth: u32,
    ) -> Step<()> {
        let mut seen = Seen::default();
        loop {
            match (self.next.kind, close) {
                (lexer::Kind::End, None) => return Ok(()),
                (lexer::Kind::End, Some((sign, open))) => {
                    let message = format!("no `{}` ends what begins here", char::from(sign));
                    return self.stop(open.span(), message);
                }
                (lexer::Kind::Sign(sign), Some((expected, _))) if sign == expected => return Ok(()),
                (lexer::Kind::Word | lexer::Kind::Sign(b'['), _) => {}
                // How unknown fields are printed.
                (lexer::Kind::Number, _) if self.lossy || into.is_none() => {}
                (lexer::Kind::Sign(b'}' | b'>'), None) => {
                    return self.stop(self.next.span(), "this closes nothing");
                }
                _ => return self.unexpected("a field name"),
            }
            let (key, place) = self.key(into.as_deref())?;
            self.note(&key, place, &mut seen)?;
            let colon = self.take_if(b':')?;
            match (key, into.as_deref_mut()) {
                (Key::Field(field), Some(into)) => {
                    if !colon && !matches!(field.ty, Type::Message(_)) {
                        self.colon()?;
                    }
                    self.values(Some((field, into)), depth)?;
                }
                (Key::Any(url, Some(index)), Some(into)) => self.any(into, url, index, depth)?,
                _ => {
                    if !colon && !matches!(self.next.kind, lexer::Kind::Sign(b'{' | b'<' | b'[')) {
                        self.colon()?;
                    }
                    self.values(None, depth)?;
                }
            }
            if !self.take_if(b';')? {
                self.take_if(b',')?;
            }
        }
    }

    /// There is no colon where one belongs.
    fn colon(&mut self) -> Step<()> {
        match self.dialect {
            Dialect::Protobuf => self.unexpected("`:`"),
            Dialect::Perfetto => Ok(()),
        }
    }

    /// Notes what may stand once only.
    fn note(&mut self, key: &Key<'s>, place: Range<usize>, seen: &mut Seen<'s>) -> Step<()> {
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
                "`{name}` cannot stand beside `{other}` (line {line}): both are of the oneof `{group}`"
            );
            return self.error(place, message);
        }
        seen.oneofs.insert(oneof, (name, place.start));
        Ok(())
    }

    /// A field name and its place.
    fn key(&mut self, into: Option<&DynamicMessage>) -> Step<(Key<'s>, Range<usize>)> {
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
                    return self.stop(place, "this is no number of a field");
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

    fn named(&mut self, message: u32, token: Token) -> Step<Key<'s>> {
        let data = self.schema.message(message);
        let name = self.bytes(token);
        // Words are ASCII: there is no other case.
        let word = core::str::from_utf8(name).unwrap_or_default();
        let is_group = |index: u32| {
            let field = &data.fields[index as usize];
            let ty = match field.ty {
                Type::Message(index) => self.schema.message(index).name(),
                _ => return false,
            };
            field.group_like && ty == word
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

    /// What stands in brackets, of which the first is taken already.
    fn bracketed(&mut self, open: Token) -> Step<(String, Range<usize>)> {
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
    ) -> Step<Key<'s>> {
        let (schema, index) = (self.schema, message.descriptor.index);
        let data = schema.message(index);
        if let Some((_, ty)) = name.rsplit_once('/')
            && *data.full_name == *ANY
        {
            if let Some(Symbol::Message(found)) = schema.symbols.get(ty) {
                return Ok(Key::Any(name, Some(*found)));
            }
            if !self.lossy {
                self.error(place.clone(), format!("no type `{}` is known", quote(ty.as_bytes())))?;
            }
            return Ok(Key::Any(name, None));
        }
        let found = match schema.symbols.get(&name) {
            Some(Symbol::Extension(index)) => Some(&schema.extensions[*index as usize]),
            // In a message set an extension goes by the name of its type.
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

    /// One value, or a list of them.
    fn values(
        &mut self,
        mut to: Option<(&'s FieldData, &mut DynamicMessage)>,
        depth: u32,
    ) -> Step<()> {
        let open = self.next;
        if !self.take_if(b'[')? {
            return self.value(to, depth);
        }
        if let Some((field, _)) = to.as_ref().filter(|to| !to.0.repeated()) {
            let message = format!("`{}` holds one value, it cannot take a list", field.name);
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

    fn value(&mut self, to: Option<(&'s FieldData, &mut DynamicMessage)>, depth: u32) -> Step<()> {
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
        self.body(Some(&mut inner), depth)?;
        if !field.map {
            let value = Value::Message(Box::new(inner));
            if field.repeated() {
                into.add(field, value);
            } else {
                into.put(field, value);
            }
            return Ok(());
        }
        let key = inner.fields.remove(&1).or_else(|| self.zero(index, 1, &inner));
        let value = inner.fields.remove(&2).or_else(|| self.zero(index, 2, &inner));
        if let (Some(key), Some(value)) = (key.and_then(Value::into_key), value) {
            into.add_entry(field.number, key, value);
        }
        Ok(())
    }

    /// What an entry of a map holds that does not say.
    fn zero(&self, entry: u32, number: u32, inner: &DynamicMessage) -> Option<Value> {
        match self.schema.numbered(entry, number)?.ty {
            Type::Message(index) => Some(Value::Message(Box::new(inner.child(index).ok()?))),
            ty => Value::zero(self.schema, ty),
        }
    }

    fn too_deep(&mut self) -> Step<()> {
        self.stop(self.next.span(), format!("more than {DEPTH_MAX} messages in each other"))
    }

    /// A message in its braces.
    fn body(&mut self, into: Option<&mut DynamicMessage>, depth: u32) -> Step<()> {
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

    /// The content of an `Any`.
    fn any(&mut self, into: &mut DynamicMessage, url: String, index: u32, depth: u32) -> Step<()> {
        let place = self.next.span();
        let mut inner = DynamicMessage::new(self.pool.message_at(index));
        self.body(Some(&mut inner), depth)?;
        let bytes = match inner.try_encode() {
            Ok(bytes) => bytes,
            Err(error) => return self.error(place, format!("{error}")),
        };
        match into.set(1, url).and_then(|()| into.set(2, bytes)) {
            Ok(()) => Ok(()),
            Err(_) => self.error(place, "this is not protobuf's own `Any`"),
        }
    }

    fn scalar(&mut self, to: Option<(&'s FieldData, &mut DynamicMessage)>) -> Step<()> {
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
            Ok(value) if field.repeated() => into.add(field, value),
            Ok(value) => into.put(field, value),
            Err(Refusal::UnknownName(_)) if self.lossy => {}
            Err(Refusal::UnknownName(message) | Refusal::Wrong(message)) => {
                self.error(span, message)?;
            }
        }
        Ok(())
    }
}
