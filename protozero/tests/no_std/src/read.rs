//! Reading, with and without a schema, in one slice and in several.

use core::fmt::Write as _;

use protozero::decode::{Limits, Pieces, Repeated, ScatteredReader, ScatteredValue, Text, kind};
use protozero::descriptor::{FieldDescriptor, Kind, MessageDescriptor};
use protozero::wire::{hostile, tag, trusted, varint, write, zigzag};
use protozero::{
    CallError, DecodeContext, DecodeError, DecodeErrorKind, DecodeMemory, Enumeration, ReadError,
    Reader, Value, rt, time,
};

use crate::schema::kinds::{Colour, KindsReader, KindsReaderField};

/// A sum over all values, so that the compiler cannot remove a read.
pub type Sum = u64;

fn text(text: &[u8]) -> Sum {
    text.iter().fold(0, |sum: Sum, byte| sum.wrapping_add(Sum::from(*byte)))
}

/// Reads without a schema. Enters every field that could be a message, `depth` levels deep.
///
/// # Errors
/// The input is not a valid message.
pub fn fields(bytes: &[u8], depth: u32) -> Result<Sum, ReadError> {
    let mut sum: Sum = 0;
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        let number = match field.value {
            Value::Varint(v) => v.wrapping_add(field.value.sint64().unwrap_or(0) as u64),
            Value::Fixed64(_) => field.value.double().unwrap_or(0.0).to_bits(),
            Value::Fixed32(v) => Sum::from(v),
            Value::Len(inner) | Value::Group(inner) if depth > 0 => {
                fields(inner, depth - 1).unwrap_or_else(|_| text(inner))
            }
            _ => field.value.string().map_or(1, |s| text(s.as_bytes())),
        };
        sum = sum.wrapping_add(number).wrapping_add(field.raw.len() as Sum);
        for element in field.value.varints().into_iter().flatten().flatten() {
            sum = sum.wrapping_add(element);
        }
        for element in field.value.fixed32s().into_iter().flatten() {
            sum = sum.wrapping_add(Sum::from(element));
        }
        for element in field.value.fixed64s().into_iter().flatten() {
            sum = sum.wrapping_add(element);
        }
    }
    Ok(sum)
}

/// Reads with the generated reader.
///
/// # Errors
/// The input is not a valid message.
pub fn kinds(bytes: &[u8], depth: u32) -> Result<Sum, ReadError> {
    let mut sum: Sum = 0;
    for field in KindsReader::new(bytes) {
        let number = match field? {
            KindsReaderField::AInt32(v) => v as Sum,
            KindsReaderField::AInt64(v) => v as Sum,
            KindsReaderField::AUint32(v) => Sum::from(v),
            KindsReaderField::AUint64(v) | KindsReaderField::AFixed64(v) => v,
            KindsReaderField::PackedVarints(v) => v,
            KindsReaderField::PackedFixed(v) => Sum::from(v),
            KindsReaderField::ASint32(v) | KindsReaderField::Loose(v) => v as Sum,
            KindsReaderField::AString(v)
            | KindsReaderField::Strings(v)
            | KindsReaderField::That(v) => text(v.as_bytes()),
            KindsReaderField::ABytes(v) => text(v),
            KindsReaderField::AMessage(v) if depth > 0 => kinds(v.bytes(), depth - 1)?,
            KindsReaderField::Agroup(v) => v.into_iter().filter(Result::is_ok).count() as Sum,
            KindsReaderField::Unknown(field) => field.raw.len() as Sum,
            _ => 1,
        };
        sum = sum.wrapping_add(number);
    }
    Ok(sum)
}

/// The number of a value that is given as text or as a number.
#[must_use]
pub fn enumeration(text: &str, number: i32) -> i32 {
    let by_name = text.parse().unwrap_or(Colour::Red);
    i32::from(Colour::try_from(number).unwrap_or(by_name))
}

/// Reads with accessors and with the generated table.
///
/// # Errors
/// The input is not a valid message.
pub fn table(bytes: &[u8]) -> Result<Sum, ReadError> {
    let reader = KindsReader::new(bytes);
    let table = reader.table()?;
    let mut sum = table.a_uint64.unwrap_or(0).wrapping_add(reader.a_sint64()?.unwrap_or(0) as Sum);
    sum = sum.wrapping_add(table.a_string.map_or(0, |s| text(s.as_bytes())));
    for element in table.packed_varints {
        sum = sum.wrapping_add(element?);
    }
    for element in &reader.packed_doubles() {
        sum = sum.wrapping_add(element?.to_bits());
    }
    for field in table.unknown_fields {
        sum = sum.wrapping_add(field?.raw.len() as Sum);
    }
    if let Some(KindsReaderField::That(that)) = table.choice {
        sum = sum.wrapping_add(text(that.as_bytes()));
    }
    if let Some(group) = reader.agroup()? {
        sum = sum.wrapping_add(group.table()?.inside.map_or(0, Sum::from));
    }
    Ok(sum.wrapping_add(reader.this()?.map_or(0, Sum::from)))
}

/// Reads with limits.
///
/// # Errors
/// The input is not a valid message, or exceeds the limits.
pub fn limited(bytes: &[u8]) -> Result<Sum, ReadError> {
    let budget = Limits { fields_max: 1000, ..Limits::default() }.budget();
    let mut reader = budget.reader(bytes)?;
    let mut sum: Sum = 0;
    while let Some(field) = reader.next_field()? {
        match reader.nested(&field) {
            Ok(inner) => reader = inner,
            Err(_) => sum = sum.wrapping_add(field.raw.len() as Sum),
        }
    }
    Ok(sum)
}

/// Reads several slices.
///
/// # Errors
/// The input is not a valid message.
pub fn scattered(slices: &[&[u8]]) -> Result<Sum, ReadError> {
    let mut sum: Sum = 0;
    let mut reader = ScatteredReader::new(slices);
    while let Some(field) = reader.next_field()? {
        let number = match field.value {
            ScatteredValue::Whole(Value::Varint(v)) => v,
            ScatteredValue::Whole(_) => 1,
            ScatteredValue::Len(pieces) | ScatteredValue::Group(pieces) => cut(pieces),
        };
        for element in field.value.varints().into_iter().flatten().flatten() {
            sum = sum.wrapping_add(element);
        }
        if let Ok(mut inner) = field.value.message() {
            sum = sum.wrapping_add(Sum::from(inner.next_field().is_ok()));
        }
        let whole = field.value.whole().is_some();
        sum = sum.wrapping_add(number + Sum::from(whole && field.value.bytes().is_ok()));
    }
    sum = sum.wrapping_add(cut(reader.remaining()));
    Ok(sum)
}

fn cut(pieces: Pieces<'_, '_>) -> Sum {
    let mut copy = [0; 16];
    let mut rest = pieces;
    let taken = rest.take(pieces.copy_to(&mut copy)).is_some_and(|taken| taken == *copy.as_slice());
    let sum = pieces.iter().fold(0, |sum: Sum, piece| sum.wrapping_add(text(piece)));
    sum.wrapping_add(Sum::from(taken)).wrapping_add(Sum::from(pieces.is_utf8()))
}

/// Uses the less common functions of readers.
///
/// # Errors
/// The input is not a valid message.
pub fn less_common(bytes: &[u8]) -> Result<Sum, CallError> {
    let reader = KindsReader::new(bytes);
    let mut sum = reader.iter().clone().count() as Sum;
    for field in &reader.unknown_fields() {
        let value = field?.value;
        let body = value.body().map_or(0, <[u8]>::len);
        sum += (body + value.group().map_or(0, <[u8]>::len)) as Sum;
    }
    let texts = Repeated::<Text<'_>, kind::String>::new(bytes, tag::tag(19, tag::LEN));
    for lazy in texts {
        let lazy = lazy?;
        let same = lazy == "text" && lazy == *"text" || lazy == Text::new(bytes);
        sum += (lazy.to_str().map_or(0, str::len) + lazy.as_bytes().len()) as Sum;
        sum += Sum::from(same);
    }
    let colour = reader.a_colour()?.unwrap_or_default();
    let name = colour.name().map_or(0, str::len) + Enumeration::name(colour).map_or(0, str::len);
    let known = Colour::from_name("RED") == <Colour as Enumeration>::from_name("BLUE");
    let first = Colour::try_from_i32(bytes.len() as i32).is_some_and(|c| known || c == colour);
    let named = rt::known(colour).map_or(0, |colour| colour.to_i32() as Sum);
    Ok(sum.wrapping_add(name as Sum).wrapping_add(named).wrapping_add(Sum::from(first)))
}

/// Uses a budget on several levels.
pub fn context(bytes: &[u8]) -> Sum {
    let left = DecodeMemory::new(bytes.len());
    let context = DecodeContext::with_depth(bytes.len() as u32).with_growth(&left);
    let entered = context.enter().and_then(|inner| inner.grow(bytes.len()));
    let fresh = DecodeContext::new() == DecodeContext::default();
    Sum::from(entered.is_ok()) + Sum::from(fresh) + left.left() as Sum
}

/// Parses a text as a time and as a duration, and prints both; the sum of what was parsed and printed.
pub fn times(input: &str) -> Sum {
    let (seconds, nanos) = time::timestamp(input).or(time::duration(input)).unwrap_or((-1, -1));
    let date = time::date_and_time(seconds, nanos).map_or(0, |date| text(&date));
    let mut fraction = Printed(0);
    let is_printed = time::put_nanos(nanos as u32, &mut fraction).is_ok();
    let flags = Sum::from(is_printed) + Sum::from(time::is_duration(seconds, nanos));
    date.wrapping_add(fraction.0).wrapping_add(flags).wrapping_add(seconds as Sum)
}

/// The sum of the bytes of a text.
struct Printed(Sum);

impl core::fmt::Write for Printed {
    fn write_str(&mut self, printed: &str) -> core::fmt::Result {
        self.0 = self.0.wrapping_add(text(printed.as_bytes()));
        Ok(())
    }
}

/// Encodes and decodes numbers.
pub fn wire(v: u64) -> Sum {
    let mut out = [0; varint::LEN_MAX];
    let len = varint::encode(v, &mut out) as Sum + varint::len(v) as Sum;
    let (word, word_len) = varint::word(v >> 8);
    let (low, high, wide_len) = varint::wide(v);
    let sum = text(&out) + len + (word_len + wide_len) as Sum + Sum::from(high);
    let sum = sum.wrapping_add(varint::gather(word) ^ varint::spread(v) ^ low);
    let small = zigzag::encode32(zigzag::decode32(v as u32));
    let large = zigzag::encode64(zigzag::decode64(v));
    let known = tag::Encoded::checked(v as u32, tag::LEN).is_some();
    let padded = u32::from_le_bytes(varint::padded(v as u32));
    sum.wrapping_add(large ^ Sum::from(small)).wrapping_add(Sum::from(padded) + Sum::from(known))
}

/// Reads a field with a length by the functions for hand-written code.
///
/// # Errors
/// The input does not begin with such a field.
pub fn by_hand(bytes: &[u8]) -> Result<Sum, DecodeErrorKind> {
    let (tag, rest) = hostile::tag(bytes)?;
    let (body, _) = hostile::delimited(rest)?;
    let (len, rest_of_len) = hostile::varint_within::<4>(rest)?;
    let (same, _) = hostile::exactly(hostile::skip_varint(rest)?, len)?;
    let mut split = hostile::SplitVarint::new();
    let known = tag == u32::from(const { tag::one_byte(2, tag::LEN) });
    let mut sum = Sum::from(known) + rest_of_len.len() as Sum;
    for byte in body {
        sum = sum.wrapping_add(split.push(*byte)?.map_or(0, |(value, _)| value));
    }
    let usual = trusted::length(rest).map_or(0, |(len, _)| len as Sum);
    let padded = rest.first_chunk().and_then(|four| trusted::padded(*four));
    Ok(sum.wrapping_add(usual + Sum::from(padded.unwrap_or(0)))
        + Sum::from(split.is_empty())
        + same.len() as Sum)
}

/// Writes by the functions for hand-written code.
pub fn prefix(buffer: &mut [u8], v: u64) -> Sum {
    let mut prefix = write::Prefix::<24>::new();
    let empty = prefix.is_empty();
    prefix.uint(1, 7);
    prefix.head(2, 300);
    let sum = Sum::from(empty) + text(prefix.as_bytes()) + text(prefix.as_array());
    let len = write::varint(buffer, v);
    write::fill(buffer.get_mut(len..).unwrap_or_default(), v);
    sum + prefix.len() as Sum + len as Sum
}

/// What the schema says of [`path`]'s input.
const OUTER: &MessageDescriptor = &MessageDescriptor::new(
    "Outer",
    &[FieldDescriptor::optional("inner", 1, Kind::Message(|| INNER))],
);
const INNER: &MessageDescriptor =
    &MessageDescriptor::new("Inner", &[FieldDescriptor::optional("x", 1, Kind::Uint32)]);

/// The path of the field at which reading a broken message in a message stops, and the length of the path.
///
/// # Errors
/// The input is not broken, or the path does not fit.
pub fn path(bytes: &[u8]) -> Result<Sum, ReadError> {
    let mut text = Length { len: 0 };
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        let Value::Len(inner) = field.value else { continue };
        if let Err(error) = Reader::new(inner).next_field() {
            let error = ReadError::from(DecodeError::from(error));
            let _ = write!(text, "{}", error.path(INNER, inner));
            // In the outer message, behind a tag and a length.
            let outer = error.kind.at(error.offset.wrapping_add(2));
            let _ = write!(text, "{}", outer.path(OUTER, bytes));
            text.len = text.len.wrapping_add(DecodeError::from(error).path().len());
        }
    }
    Ok(text.len as Sum)
}

/// Counts the bytes of a text.
struct Length {
    len: usize,
}

impl core::fmt::Write for Length {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.len = self.len.wrapping_add(text.len());
        Ok(())
    }
}
