//! Explicit defaults. A descriptor stores them as text.

use protobuf::descriptor::field_descriptor_proto::Type;
use protobuf::descriptor::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto};

use crate::model::{Default, Kind};

/// `text` as a value of `kind`; `None` if it does not fit.
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

/// Decodes the C escapes of a bytes default in a descriptor.
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

/// Rewrites all defaults of a file in `protoc`'s form, because its readers accept no other.
pub(super) fn rewrite(d: &mut FileDescriptorProto) {
    d.extension.iter_mut().for_each(rewrite_field);
    let mut todo: Vec<&mut DescriptorProto> = d.message_type.iter_mut().collect();
    while let Some(message) = todo.pop() {
        message.field.iter_mut().chain(&mut message.extension).for_each(rewrite_field);
        todo.extend(&mut message.nested_type);
    }
}

fn rewrite_field(d: &mut FieldDescriptorProto) {
    let Some(text) = &d.default_value else { return };
    let new = match d.type_() {
        Type::TYPE_BYTES => unescape(text).map(|bytes| escape(&bytes)),
        Type::TYPE_FLOAT => text.parse().ok().map(|x: f32| {
            // `protoc` cannot read subnormal numbers back (`ERANGE`).
            let is = |text: &str| !x.is_subnormal() && text.parse() == Ok(x);
            shortest(x.into(), [6, 9], is)
        }),
        Type::TYPE_DOUBLE => {
            text.parse().ok().map(|x: f64| shortest(x, [15, 17], |text| text.parse() == Ok(x)))
        }
        _ => None,
    };
    if new.is_some() {
        d.default_value = new;
    }
}

/// Escapes as in C, with three octal digits where there is no letter. Hex escapes have no fixed length (`escaping.cc`,
/// `CEscape`).
fn escape(bytes: &[u8]) -> String {
    let one = |b: &u8| match b {
        b'\t' | b'\r' | b'\n' | b' '..=b'~' => core::ascii::escape_default(*b).to_string(),
        other => format!("\\{other:03o}"),
    };
    bytes.iter().map(one).collect()
}

/// As C's `%.15g`, or `%.17g` if the former is not exact; for a float, 6 or 9 digits (`strtod.cc`, `SimpleDtoa` and
/// `SimpleFtoa`).
fn shortest(x: f64, [few, many]: [usize; 2], is: impl Fn(&str) -> bool) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return x.to_string();
    }
    let written = |digits: usize| format!("{x:.*e}", digits - 1);
    let (text, digits) = match is(&written(few)) {
        true => (written(few), few),
        false => (written(many), many),
    };
    let digits = i32::try_from(digits).unwrap_or(0);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let cut = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if !(-4..digits).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", cut(mantissa), exponent.abs());
    }
    let places = usize::try_from(digits - 1 - exponent).unwrap_or(0);
    cut(&format!("{x:.places$}"))
}
