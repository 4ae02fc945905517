//! Numbers and texts as JSON.

use alloc::vec::Vec;
use core::fmt;

use crate::decode::Value as Wire;
use crate::dynamic::schema::Type;
use crate::json::base64;
use crate::json::error::PrintError;
use crate::json::output;
use crate::wire::zigzag;

/// Appends a value that is neither an enum nor a message.
pub(super) fn put(ty: Type, wire: Wire<'_>, out: &mut Vec<u8>) -> Result<(), PrintError> {
    match (ty, wire) {
        (Type::Int32, Wire::Varint(bits)) => signed((bits as i32).into(), out),
        (Type::Sint32, Wire::Varint(bits)) => signed(zigzag::decode32(bits as u32).into(), out),
        (Type::Uint32, Wire::Varint(bits)) => unsigned((bits as u32).into(), out),
        (Type::Int64, Wire::Varint(bits)) => in_quotes(out, |out| signed(bits as i64, out)),
        (Type::Sint64, Wire::Varint(bits)) => {
            in_quotes(out, |out| signed(zigzag::decode64(bits), out));
        }
        (Type::Uint64, Wire::Varint(bits)) => in_quotes(out, |out| unsigned(bits, out)),
        (Type::Bool, Wire::Varint(bits)) => {
            out.extend_from_slice(if bits == 0 { b"false" } else { b"true" });
        }
        (Type::Fixed32, Wire::Fixed32(bits)) => unsigned(bits.into(), out),
        (Type::Sfixed32, Wire::Fixed32(bits)) => signed((bits as i32).into(), out),
        (Type::Fixed64, Wire::Fixed64(bits)) => in_quotes(out, |out| unsigned(bits, out)),
        (Type::Sfixed64, Wire::Fixed64(bits)) => in_quotes(out, |out| signed(bits as i64, out)),
        (Type::Float, Wire::Fixed32(bits)) => {
            let value = f32::from_bits(bits);
            float(value.into(), &value, &value, out);
        }
        (Type::Double, Wire::Fixed64(bits)) => {
            let value = f64::from_bits(bits);
            float(value, &value, &value, out);
        }
        (Type::String, Wire::Len(bytes)) => match core::str::from_utf8(bytes) {
            Ok(text) => quoted(text, out),
            Err(_) => return Err(PrintError::Value("is not UTF-8".into())),
        },
        (Type::Bytes, Wire::Len(bytes)) => in_quotes(out, |out| base64::encode(bytes, out)),
        // The caller has compared type and encoding.
        _ => {}
    }
    Ok(())
}

fn in_quotes(out: &mut Vec<u8>, inside: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    inside(out);
    out.push(b'"');
}

pub(super) fn signed(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(value.unsigned_abs(), out);
}

fn unsigned(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The shortest digits that are the same number again.
fn float(value: f64, plain: &dyn fmt::Display, exponent: &dyn fmt::LowerExp, out: &mut Vec<u8>) {
    let special = match value {
        _ if value.is_nan() => "\"NaN\"",
        f64::INFINITY => "\"Infinity\"",
        f64::NEG_INFINITY => "\"-Infinity\"",
        _ => "",
    };
    out.extend_from_slice(special.as_bytes());
    match value.abs() {
        _ if !special.is_empty() => {}
        0.0 | 1e-5..1e16 => output::put(out, format_args!("{plain}")),
        _ => output::put(out, format_args!("{exponent:e}")),
    }
}

/// Appends `text` in quotes.
pub(super) fn quoted(text: &str, out: &mut Vec<u8>) {
    in_quotes(out, |out| escaped(text, out));
}

/// Appends `text` with escapes for quotes, backslashes and control characters.
pub(super) fn escaped(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain..at]);
        plain = at + 1;
        out.push(b'\\');
        match byte {
            b'"' | b'\\' => out.push(byte),
            b'\n' => out.push(b'n'),
            b'\r' => out.push(b'r'),
            b'\t' => out.push(b't'),
            _ => {
                let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit & 15)];
                out.extend_from_slice(&[b'u', b'0', b'0', hex(byte >> 4), hex(byte)]);
            }
        }
    }
    out.extend_from_slice(&bytes[plain..]);
}
