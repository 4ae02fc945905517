//! Numbers and texts as JSON.

use crate::decode::Value as Wire;
use crate::dynamic::schema::Type;
use crate::json::base64;
use crate::json::output::Output;
use crate::wire::zigzag;

/// Where scalars are printed to.
pub(super) trait Target {
    /// Prints an integer, with a minus before it, and in quotes.
    fn integer(&mut self, value: u64, is_negative: bool, is_quoted: bool);

    /// Prints ASCII.
    fn put(&mut self, text: &[u8]);
}

impl Target for Output {
    #[inline]
    fn integer(&mut self, value: u64, is_negative: bool, is_quoted: bool) {
        integer(value, is_negative, is_quoted, self);
    }

    #[inline(always)]
    fn put(&mut self, text: &[u8]) {
        Self::put(self, text);
    }
}

/// Appends a number with an encoding of variable length.
#[inline]
pub(super) fn varint(ty: Type, bits: u64, out: &mut impl Target) {
    match ty {
        Type::Int32 => signed((bits as i32).into(), false, out),
        Type::Sint32 => signed(zigzag::decode32(bits as u32).into(), false, out),
        Type::Uint32 => unsigned((bits as u32).into(), false, out),
        Type::Int64 => signed(bits as i64, true, out),
        Type::Sint64 => signed(zigzag::decode64(bits), true, out),
        Type::Bool if bits == 0 => out.put(b"false"),
        Type::Bool => out.put(b"true"),
        _ => unsigned(bits, true, out),
    }
}

/// Appends a number of four bytes.
pub(super) fn fixed32(ty: Type, bits: u32, out: &mut impl Target) {
    match ty {
        Type::Float => float(f32::from_bits(bits), out),
        Type::Sfixed32 => signed((bits as i32).into(), false, out),
        _ => unsigned(bits.into(), false, out),
    }
}

/// Appends a number of eight bytes.
pub(super) fn fixed64(ty: Type, bits: u64, out: &mut impl Target) {
    match ty {
        Type::Double => float(f64::from_bits(bits), out),
        Type::Sfixed64 => signed(bits as i64, true, out),
        _ => unsigned(bits, true, out),
    }
}

/// Appends base64 in quotes.
pub(super) fn bytes(bytes: &[u8], out: &mut Output) {
    out.push(b'"');
    base64::encode(bytes, out);
    out.push(b'"');
}

#[inline(always)]
fn signed(value: i64, is_quoted: bool, out: &mut impl Target) {
    out.integer(value.unsigned_abs(), value < 0, is_quoted);
}

#[inline(always)]
fn unsigned(value: u64, is_quoted: bool, out: &mut impl Target) {
    out.integer(value, false, is_quoted);
}

/// Two digits of each number below 100.
pub(super) const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut at = 0;
    while at < 100 {
        pairs[at] = [b'0' + at as u8 / 10, b'0' + at as u8 % 10];
        at += 1;
    }
    pairs
};

/// Appends the key of an entry, which is a number or a bool, as text.
pub(super) fn key(ty: Type, wire: Wire<'_>, out: &mut impl Target) {
    match (ty, wire) {
        (Type::Bool, Wire::Varint(0)) => out.put(b"\"false\""),
        (Type::Bool, _) => out.put(b"\"true\""),
        (Type::Int32, Wire::Varint(bits)) => signed((bits as i32).into(), true, out),
        (Type::Sint32, Wire::Varint(bits)) => {
            signed(zigzag::decode32(bits as u32).into(), true, out);
        }
        (Type::Uint32, Wire::Varint(bits)) => unsigned((bits as u32).into(), true, out),
        (Type::Sfixed32, Wire::Fixed32(bits)) => signed((bits as i32).into(), true, out),
        (_, Wire::Fixed32(bits)) => unsigned(bits.into(), true, out),
        (ty, Wire::Varint(bits)) => varint(ty, bits, out),
        (ty, Wire::Fixed64(bits)) => fixed64(ty, bits, out),
        (_, Wire::Len(_) | Wire::Group(_)) => {}
    }
}

/// Appends the digits of `value`, with a minus before them, and in quotes.
fn integer(mut value: u64, is_negative: bool, is_quoted: bool, out: &mut Output) {
    if value < 10 && !is_negative && !is_quoted {
        return out.push(b'0' + value as u8);
    }
    // Twenty digits, a minus and two quotes, with as many bytes behind them as are copied at once.
    let mut text = [b'"'; 24 + 16];
    let end = 23;
    let mut at = end;
    let mut put = |digits: &[u8]| {
        at -= digits.len();
        text[at..at + digits.len()].copy_from_slice(digits);
    };
    while value >= 100 {
        put(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    let pair = &PAIRS[value as usize];
    if value < 10 {
        put(&pair[1..])
    } else {
        put(pair)
    }
    if is_negative {
        put(b"-");
    }
    match is_quoted {
        true => out.put_short(&text[at - 1..], end - at + 2),
        false => out.put_short(&text[at..], end - at),
    }
}

/// Appends the shortest digits that are the same number again.
fn float<F: zmij::Float + Into<f64>>(value: F, out: &mut impl Target) {
    let wide: f64 = value.into();
    let special: &[u8] = match wide {
        _ if wide.is_finite() => {
            let mut buffer = zmij::Buffer::new();
            let text = buffer.format_finite(value);
            return out.put(text.strip_suffix(".0").unwrap_or(text).as_bytes());
        }
        _ if wide.is_nan() => b"\"NaN\"",
        0.0.. => b"\"Infinity\"",
        _ => b"\"-Infinity\"",
    };
    out.put(special);
}
