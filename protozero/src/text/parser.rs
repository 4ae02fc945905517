//! Tokens to fields. A message is put together before its parent, since its length comes first.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::error::{ERRORS_MAX, TextError, TextErrors, nearest, quote};
use super::lexer::{self, LexError, Lexer, Token};
use super::{Options, literal};
use crate::decode::limits::DEPTH_MAX;
use crate::descriptor::{EnumDescriptor, FieldDescriptor, Kind, Label, MessageDescriptor};
use crate::wire::{tag, varint, zigzag};

/// Nothing more can be made out: the reason is among the errors.
struct Stop;

type Step<T> = Result<T, Stop>;

/// A value that is not a message.
enum Scalar {
    String(Vec<u8>),
    /// Sign and digits.
    Number(bool, Vec<u8>),
    /// Sign and letters.
    Word(bool, Vec<u8>),
}

struct Parser<'t> {
    text: &'t [u8],
    lexer: Lexer<'t>,
    /// The token not taken yet.
    next: Token,
    lossy: bool,
    errors: Vec<TextError>,
}

pub(super) fn parse(
    descriptor: &'static MessageDescriptor,
    text: &[u8],
    options: &Options<'_>,
) -> Result<Vec<u8>, TextErrors> {
    let next = Token { kind: lexer::Kind::End, start: 0, end: 0 };
    let mut parser =
        Parser { text, lexer: Lexer::new(text), next, lossy: options.lossy, errors: Vec::new() };
    let mut out = Vec::new();
    let end = parser.take().and_then(|_| parser.message(Some(descriptor), None, 0, &mut out));
    if end.is_err() || !parser.errors.is_empty() {
        return Err(TextErrors::new(options.file, parser.errors));
    }
    Ok(out)
}

impl<'t> Parser<'t> {
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

    /// The fields up to `close` (opened at the given place), or up to the end of the text. Without
    /// a descriptor they are read for their syntax only.
    fn message(
        &mut self,
        descriptor: Option<&'static MessageDescriptor>,
        close: Option<(u8, Token)>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Step<()> {
        // Singular fields met, and where.
        let mut seen: Vec<(u32, usize)> = Vec::new();
        loop {
            match (self.next.kind, close) {
                (lexer::Kind::End, None) => return Ok(()),
                (lexer::Kind::End, Some((sign, open))) => {
                    let message = format!("no `{}` ends what begins here", char::from(sign));
                    return self.stop(open.span(), message);
                }
                (lexer::Kind::Sign(sign), Some((expected, _))) if sign == expected => return Ok(()),
                (lexer::Kind::Word | lexer::Kind::Sign(b'['), _) => {}
                (lexer::Kind::Sign(b'}' | b'>'), None) => {
                    return self.stop(self.next.span(), "this closes nothing");
                }
                _ => return self.unexpected("a field name"),
            }
            let (field, key) = self.key(descriptor)?;
            if let Some(field) = field.filter(|field| field.label == Label::Optional) {
                match seen.iter().find(|seen| seen.0 == field.number) {
                    Some(&(_, first)) => {
                        let line = TextError::new(self.text, first..first, String::new()).line;
                        let name = field.name;
                        self.error(key, format!("`{name}` is given twice, first in line {line}"))?;
                    }
                    None => seen.push((field.number, key.start)),
                }
            }
            self.take_if(b':')?;
            self.values(field, depth, out)?;
            if !self.take_if(b';')? {
                self.take_if(b',')?;
            }
        }
    }

    /// A field name; `None` if it is not known and that is an error already, or allowed.
    fn key(
        &mut self,
        descriptor: Option<&'static MessageDescriptor>,
    ) -> Step<(Option<&'static FieldDescriptor>, Range<usize>)> {
        let first = self.take()?;
        if first.kind != lexer::Kind::Word {
            let span = self.extension(first)?;
            if descriptor.is_some() && !self.lossy {
                let name = quote(&self.text[span.clone()]);
                self.error(span.clone(), format!("unknown extension `{name}`"))?;
            }
            return Ok((None, span));
        }
        let Some(descriptor) = descriptor else { return Ok((None, first.span())) };
        let name = self.bytes(first);
        // Words are ASCII: there is no other case.
        let field = core::str::from_utf8(name).ok().and_then(|name| descriptor.field(name));
        if field.is_none() && !self.lossy {
            let names = descriptor.fields.iter().map(|field| field.name);
            let mut message = format!("no field named `{}` in `{}`", quote(name), descriptor.name);
            if let Some(meant) = nearest(name, names) {
                message.push_str(&format!(": did you mean `{meant}`?"));
            }
            self.error(first.span(), message)?;
        }
        Ok((field, first.span()))
    }

    /// `[pkg.name]` or `[host/pkg.Name]`, whose bracket is taken already.
    fn extension(&mut self, open: Token) -> Step<Range<usize>> {
        let mut names = 0;
        loop {
            match self.next.kind {
                lexer::Kind::Word | lexer::Kind::Number => names += 1,
                lexer::Kind::Sign(b'.' | b'/' | b'-') => {}
                lexer::Kind::Sign(b']') if names > 0 => break,
                _ => return self.unexpected("the name of an extension and `]`"),
            }
            self.take()?;
        }
        let close = self.take()?;
        Ok(open.start..close.end)
    }

    /// One value, or a list of them.
    fn values(
        &mut self,
        field: Option<&'static FieldDescriptor>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Step<()> {
        let open = self.next;
        if !self.take_if(b'[')? {
            return self.value(field, depth, out);
        }
        if let Some(field) = field.filter(|field| field.label == Label::Optional) {
            let name = field.name;
            self.error(open.span(), format!("`{name}` holds one value, it cannot take a list"))?;
        }
        if self.take_if(b']')? {
            return Ok(());
        }
        loop {
            self.value(field, depth, out)?;
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
        field: Option<&'static FieldDescriptor>,
        depth: u32,
        out: &mut Vec<u8>,
    ) -> Step<()> {
        let close = match self.next.kind {
            lexer::Kind::Sign(b'{') => b'}',
            lexer::Kind::Sign(b'<') => b'>',
            _ => return self.scalar(field, out),
        };
        let open = self.take()?;
        if depth >= DEPTH_MAX {
            return self.stop(open.span(), format!("more than {DEPTH_MAX} messages in each other"));
        }
        let mut inner = None;
        if let Some(field) = field {
            match field.kind {
                Kind::Message(descriptor) => inner = Some(descriptor()),
                kind => {
                    let message = format!("`{}` is a {}, not a message", field.name, kind.name());
                    self.error(open.span(), message)?;
                }
            }
        }
        let mut body = Vec::new();
        self.message(inner, Some((close, open)), depth + 1, &mut body)?;
        self.take()?;
        if let (Some(field), Some(_)) = (field, inner) {
            put_len(out, field.number, &body);
        }
        Ok(())
    }

    fn scalar(&mut self, field: Option<&'static FieldDescriptor>, out: &mut Vec<u8>) -> Step<()> {
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
        let Some(field) = field else { return Ok(()) };
        match put(out, field, &scalar) {
            Ok(()) => Ok(()),
            Err(Refusal::UnknownName(_)) if self.lossy => Ok(()),
            Err(Refusal::UnknownName(message) | Refusal::Wrong(message)) => {
                self.error(span, message)
            }
        }
    }
}

enum Refusal {
    /// An enumeration has no such name: a newer one might.
    UnknownName(String),
    Wrong(String),
}

fn put_tag(out: &mut Vec<u8>, number: u32, wire_type: u32) {
    put_varint(out, u64::from(tag::tag(number, wire_type)));
}

fn put_varint(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; varint::LEN_MAX];
    let len = varint::encode(value, &mut bytes);
    out.extend_from_slice(&bytes[..len]);
}

fn put_len(out: &mut Vec<u8>, number: u32, body: &[u8]) {
    put_tag(out, number, tag::LEN);
    put_varint(out, body.len() as u64);
    out.extend_from_slice(body);
}

/// Writes `scalar` as `field`, or says why not.
fn put(out: &mut Vec<u8>, field: &FieldDescriptor, scalar: &Scalar) -> Result<(), Refusal> {
    let number = field.number;
    let varint = |out: &mut Vec<u8>, value: u64| {
        put_tag(out, number, tag::VARINT);
        put_varint(out, value);
    };
    let fixed32 = |out: &mut Vec<u8>, value: u32| {
        put_tag(out, number, tag::FIXED32);
        out.extend_from_slice(&value.to_le_bytes());
    };
    let fixed64 = |out: &mut Vec<u8>, value: u64| {
        put_tag(out, number, tag::FIXED64);
        out.extend_from_slice(&value.to_le_bytes());
    };
    const I32: (i128, i128) = (i32::MIN as i128, i32::MAX as i128);
    const I64: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);
    const U32: (i128, i128) = (0, u32::MAX as i128);
    const U64: (i128, i128) = (0, u64::MAX as i128);
    match field.kind {
        Kind::Int32 => varint(out, integer(field, scalar, I32)? as i64 as u64),
        Kind::Int64 => varint(out, integer(field, scalar, I64)? as i64 as u64),
        Kind::Uint32 => varint(out, integer(field, scalar, U32)? as u64),
        Kind::Uint64 => varint(out, integer(field, scalar, U64)? as u64),
        Kind::Sint32 => {
            varint(out, u64::from(zigzag::encode32(integer(field, scalar, I32)? as i32)));
        }
        Kind::Sint64 => varint(out, zigzag::encode64(integer(field, scalar, I64)? as i64)),
        Kind::Fixed32 => fixed32(out, integer(field, scalar, U32)? as u32),
        Kind::Sfixed32 => fixed32(out, integer(field, scalar, I32)? as i32 as u32),
        Kind::Fixed64 => fixed64(out, integer(field, scalar, U64)? as u64),
        Kind::Sfixed64 => fixed64(out, integer(field, scalar, I64)? as i64 as u64),
        Kind::Float => fixed32(out, float::<f32>(field, scalar)?.to_bits()),
        Kind::Double => fixed64(out, float::<f64>(field, scalar)?.to_bits()),
        Kind::Bool => varint(out, u64::from(boolean(field, scalar)?)),
        Kind::Enum(_) => varint(out, i64::from(enumeration(field, scalar)?) as u64),
        Kind::String | Kind::Bytes => {
            let Scalar::String(value) = scalar else { return Err(mismatch(field, scalar)) };
            if matches!(field.kind, Kind::String) && core::str::from_utf8(value).is_err() {
                let message = format!("`{}` is a string, and this is not UTF-8", field.name);
                return Err(Refusal::Wrong(message));
            }
            put_len(out, number, value);
        }
        Kind::Message(_) => return Err(mismatch(field, scalar)),
    }
    Ok(())
}

/// The value is of another kind than the field.
fn mismatch(field: &FieldDescriptor, scalar: &Scalar) -> Refusal {
    let name = field.name;
    let (is, found) = (field.kind.name(), shown(scalar));
    Refusal::Wrong(match field.kind {
        Kind::Message(_) => format!("`{name}` is a message: write `{name} {{ ... }}`, not {found}"),
        Kind::String | Kind::Bytes => format!("`{name}` is a {is}: put {found} in quotes"),
        _ => format!("`{name}` is a {is}, {found} is not"),
    })
}

fn shown(scalar: &Scalar) -> String {
    match scalar {
        Scalar::String(_) => String::from("a string"),
        Scalar::Number(negative, text) | Scalar::Word(negative, text) => {
            format!("`{}{}`", if *negative { "-" } else { "" }, quote(text))
        }
    }
}

fn integer(
    field: &FieldDescriptor,
    scalar: &Scalar,
    (min, max): (i128, i128),
) -> Result<i128, Refusal> {
    let Scalar::Number(negative, text) = scalar else { return Err(mismatch(field, scalar)) };
    let magnitude = literal::integer(text).map_err(|()| mismatch(field, scalar))?;
    magnitude
        .map(|value| if *negative { -i128::from(value) } else { i128::from(value) })
        .filter(|value| (min..=max).contains(value))
        .ok_or_else(|| {
            let (shown, is) = (shown(scalar), field.kind.name());
            Refusal::Wrong(format!("{shown} does not fit a {is}: {min} to {max}"))
        })
}

trait Float: core::str::FromStr + core::ops::Neg<Output = Self> {
    const INFINITY: Self;
    const NAN: Self;
}

impl Float for f32 {
    const INFINITY: Self = f32::INFINITY;
    const NAN: Self = f32::NAN;
}

impl Float for f64 {
    const INFINITY: Self = f64::INFINITY;
    const NAN: Self = f64::NAN;
}

fn float<F: Float>(field: &FieldDescriptor, scalar: &Scalar) -> Result<F, Refusal> {
    let (negative, value) = match scalar {
        Scalar::Number(negative, text) => {
            (*negative, literal::float(text).and_then(|text| text.parse().ok()))
        }
        Scalar::Word(negative, word) => {
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            let infinite = is("inf") || is("infinity") || is("inff");
            let value = if infinite { Some(F::INFINITY) } else { is("nan").then_some(F::NAN) };
            (*negative, value)
        }
        Scalar::String(_) => (false, None),
    };
    match value {
        Some(value) => Ok(if negative { -value } else { value }),
        None => Err(mismatch(field, scalar)),
    }
}

fn boolean(field: &FieldDescriptor, scalar: &Scalar) -> Result<bool, Refusal> {
    match scalar {
        Scalar::Word(false, word) => match word.as_slice() {
            b"true" | b"True" | b"t" => return Ok(true),
            b"false" | b"False" | b"f" => return Ok(false),
            _ => {}
        },
        Scalar::Number(false, text) => match literal::integer(text) {
            Ok(Some(0)) => return Ok(false),
            Ok(Some(1)) => return Ok(true),
            _ => {}
        },
        _ => {}
    }
    let (name, found) = (field.name, shown(scalar));
    Err(Refusal::Wrong(format!("`{name}` is a bool: write true or false, not {found}")))
}

fn enumeration(field: &FieldDescriptor, scalar: &Scalar) -> Result<i32, Refusal> {
    let Kind::Enum(descriptor) = field.kind else { return Err(mismatch(field, scalar)) };
    match scalar {
        Scalar::Number(..) => {
            let range = (i128::from(i32::MIN), i128::from(i32::MAX));
            integer(field, scalar, range).map(|value| value as i32)
        }
        Scalar::Word(false, word) => {
            match core::str::from_utf8(word).ok().and_then(|word| descriptor.number(word)) {
                Some(number) => Ok(number),
                None => Err(unknown_name(descriptor, word)),
            }
        }
        Scalar::String(value) => {
            let name = quote(value);
            Err(Refusal::Wrong(format!("write `{}: {name}` without quotes", field.name)))
        }
        Scalar::Word(true, _) => Err(mismatch(field, scalar)),
    }
}

fn unknown_name(descriptor: &EnumDescriptor, word: &[u8]) -> Refusal {
    let mut message = format!("`{}` is no value of `{}`", quote(word), descriptor.name);
    let names = || descriptor.values.iter().map(|value| value.0);
    match nearest(word, names()) {
        Some(meant) => message.push_str(&format!(": did you mean `{meant}`?")),
        None if descriptor.values.len() <= 12 => {
            let names = names().collect::<Vec<_>>().join(", ");
            message.push_str(&format!("; the values are {names}"));
        }
        None => {}
    }
    Refusal::UnknownName(message)
}
