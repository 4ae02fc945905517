//! Converts tokens to values of a field's type.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::{nearest, quote};
use super::literal;
use crate::dynamic::Value;
use crate::dynamic::schema::{EnumData, FieldData, Schema, Type};

/// The text of a value that is not a message.
pub(super) enum Scalar {
    String(Vec<u8>),
    /// Sign and digits.
    Number(bool, Vec<u8>),
    /// Sign and letters.
    Word(bool, Vec<u8>),
}

/// Why a value is refused.
pub(super) enum ValueError {
    /// An enumeration has no value with this name. A newer schema might.
    UnknownName(String),
    Wrong(String),
}

/// The field of a value.
#[derive(Clone, Copy)]
pub(super) struct Target<'s> {
    pub(super) schema: &'s Schema,
    pub(super) field: &'s FieldData,
}

impl<'s> Target<'s> {
    fn name(self) -> &'s str {
        &self.field.name
    }

    pub(super) fn is(self) -> &'s str {
        self.schema.type_name(self.field.ty)
    }
}

const I32: (i128, i128) = (i32::MIN as i128, i32::MAX as i128);
const I64: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);
const U32: (i128, i128) = (0, u32::MAX as i128);
const U64: (i128, i128) = (0, u64::MAX as i128);

/// Converts `scalar` to a value of `field`.
pub(super) fn value(field: Target<'_>, scalar: &Scalar) -> Result<Value, ValueError> {
    Ok(match field.field.ty {
        Type::Int32 | Type::Sint32 | Type::Sfixed32 => {
            Value::I32(integer(field, scalar, I32)? as i32)
        }
        Type::Int64 | Type::Sint64 | Type::Sfixed64 => {
            Value::I64(integer(field, scalar, I64)? as i64)
        }
        Type::Uint32 | Type::Fixed32 => Value::U32(integer(field, scalar, U32)? as u32),
        Type::Uint64 | Type::Fixed64 => Value::U64(integer(field, scalar, U64)? as u64),
        Type::Float => Value::F32(float(field, scalar)?),
        Type::Double => Value::F64(float(field, scalar)?),
        Type::Bool => Value::Bool(boolean(field, scalar)?),
        Type::Enum(index) => {
            Value::Enum(enumeration(field, field.schema.enumeration(index), scalar)?)
        }
        Type::Bytes => match scalar {
            Scalar::String(bytes) => Value::Bytes(bytes.clone()),
            _ => return Err(mismatch(field, scalar)),
        },
        Type::String => {
            let Scalar::String(bytes) = scalar else { return Err(mismatch(field, scalar)) };
            let Ok(text) = core::str::from_utf8(bytes) else {
                let message = format!("`{}` is a string, but the value is not UTF-8", field.name());
                return Err(ValueError::Wrong(message));
            };
            Value::String(text.into())
        }
        Type::Message(_) => return Err(mismatch(field, scalar)),
    })
}

/// The error for a value of a wrong type.
fn mismatch(field: Target<'_>, scalar: &Scalar) -> ValueError {
    let name = field.name();
    let (is, found) = (field.is(), shown(scalar));
    ValueError::Wrong(match field.field.ty {
        Type::Message(_) => format!("`{name}` is a message: write `{name} {{ ... }}`, not {found}"),
        Type::String | Type::Bytes => format!("`{name}` is a {is}: put {found} in quotes"),
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
    field: Target<'_>,
    scalar: &Scalar,
    (min, max): (i128, i128),
) -> Result<i128, ValueError> {
    let Scalar::Number(negative, text) = scalar else { return Err(mismatch(field, scalar)) };
    let magnitude = literal::integer(text).map_err(|()| mismatch(field, scalar))?;
    magnitude
        .map(|value| if *negative { -i128::from(value) } else { i128::from(value) })
        .filter(|value| (min..=max).contains(value))
        .ok_or_else(|| {
            let (shown, is) = (shown(scalar), field.is());
            ValueError::Wrong(format!("{shown} does not fit a {is}: {min} to {max}"))
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

fn float<F: Float>(field: Target<'_>, scalar: &Scalar) -> Result<F, ValueError> {
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

fn boolean(field: Target<'_>, scalar: &Scalar) -> Result<bool, ValueError> {
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
    let (name, found) = (field.name(), shown(scalar));
    Err(ValueError::Wrong(format!("`{name}` is a bool: write true or false, not {found}")))
}

fn enumeration(field: Target<'_>, data: &EnumData, scalar: &Scalar) -> Result<i32, ValueError> {
    match scalar {
        Scalar::Number(..) => {
            let number = integer(field, scalar, I32)? as i32;
            if data.closed && data.name_of(number).is_none() {
                let message = format!("`{number}` is not a value of `{}`", data.full_name);
                return Err(ValueError::UnknownName(message));
            }
            Ok(number)
        }
        Scalar::Word(false, word) => {
            match core::str::from_utf8(word).ok().and_then(|word| data.number(word)) {
                Some(number) => Ok(number),
                None => Err(unknown_name(data, word)),
            }
        }
        Scalar::String(value) => {
            let name = quote(value);
            Err(ValueError::Wrong(format!("write `{}: {name}` without quotes", field.name())))
        }
        Scalar::Word(true, _) => Err(mismatch(field, scalar)),
    }
}

fn unknown_name(data: &EnumData, word: &[u8]) -> ValueError {
    let mut message = format!("`{}` is not a value of `{}`", quote(word), data.full_name);
    let names = || data.values.iter().map(|value| &*value.0);
    match nearest(word, names()) {
        Some(meant) => message.push_str(&format!(": did you mean `{meant}`?")),
        None if data.values.len() <= 12 => {
            let names = names().collect::<Vec<_>>().join(", ");
            message.push_str(&format!("; the values are {names}"));
        }
        None => {}
    }
    ValueError::UnknownName(message)
}
