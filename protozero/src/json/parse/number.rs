//! The value of a number, and what a number of a type must be.

use alloc::format;
use alloc::string::String;

use crate::dynamic::schema::Type;
use crate::text::error::quote;

/// The integer that `text` is, a number as JSON writes it: `12`, `1.20e1`. None if it has a fraction, or is below
/// -2^127 or above 2^127 - 1.
pub(super) fn integer(text: &str) -> Option<i128> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent),
        None => (text, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    if value == 0 {
        return Some(0);
    }
    let exponent: i64 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    for _ in 0..exponent.unsigned_abs().min(40) {
        value = match exponent {
            0.. => value.checked_mul(10)?,
            _ if value % 10 == 0 => value / 10,
            _ => return None,
        };
    }
    if exponent > 40 {
        return None;
    }
    Some(if text.starts_with('-') { -value } else { value })
}

/// What a number of this type must be.
pub(super) fn not_in_range(ty: Type, text: &str) -> String {
    let what = match ty {
        Type::Float => "a number that a `float` can be",
        Type::Double => "a number that a `double` can be",
        Type::Int32 | Type::Sint32 | Type::Sfixed32 => "an integer from -2^31 to 2^31 - 1",
        Type::Uint32 | Type::Fixed32 => "an integer from 0 to 2^32 - 1",
        Type::Uint64 | Type::Fixed64 => "an integer from 0 to 2^64 - 1",
        _ => "an integer from -2^63 to 2^63 - 1",
    };
    format!("expected {what}, found `{}`", quote(text.as_bytes()))
}
