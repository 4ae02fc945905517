//! Explicit defaults: a descriptor keeps them as text, whatever their type.

use crate::model::{Default, Kind};

/// `text` as a value of `kind`; none if it is not one.
pub(super) fn value(kind: Kind, text: &str) -> Option<Default> {
    Some(match kind {
        Kind::Float | Kind::Double => Default::Float(text.parse().ok()?),
        Kind::Bool => Default::Bool(text.parse().ok()?),
        Kind::String => Default::Text(text.to_owned()),
        Kind::Bytes => Default::Bytes(unescape(text)?),
        Kind::Enum(_) => Default::Enum(text.to_owned()),
        Kind::Message(_) => return None,
        _ => {
            let value: i128 = text.parse().ok()?;
            let fits = match kind {
                Kind::Uint32 | Kind::Fixed32 => u32::try_from(value).is_ok(),
                Kind::Uint64 | Kind::Fixed64 => u64::try_from(value).is_ok(),
                Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => i64::try_from(value).is_ok(),
                _ => i32::try_from(value).is_ok(),
            };
            Default::Int(fits.then_some(value)?)
        }
    })
}

/// The C escapes a descriptor keeps a bytes default in.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        out.push(match bytes.next()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            first @ b'0'..=b'7' => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    let digit = bytes.next().filter(|b| (b'0'..=b'7').contains(b))?;
                    value = value * 8 + u32::from(digit - b'0');
                }
                u8::try_from(value).ok()?
            }
            b'x' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(core::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    Some(out)
}
