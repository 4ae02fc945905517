//! Which fields of the kernel become which fields of a message.
//!
//! The schema's type decides where there is one. What upstream converts is converted to the same bytes; an integer that
//! upstream drops, because the schema has a narrower type, is written where its value fits. A generic event has no type
//! in the schema, and takes the widest.

use crate::ftrace::schema;

use super::kind::{Element, Kind};
use super::plan::{Integer, Range, What};

/// The type of a field of a generic event, with its number in `FieldDescriptorProto.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GenericType {
    I64 = 3,
    U64 = 4,
    String = 9,
    Bytes = 12,
}

/// What is written in a field of the schema; `None` if the kernel's field cannot be one.
pub(super) fn known(kind: Kind, to: schema::Kind) -> Option<What> {
    match to {
        schema::Kind::String => text(kind),
        schema::Kind::Bytes => bytes(kind),
        schema::Kind::U32 => number(kind, Range::U32),
        schema::Kind::U64 => number(kind, Range::U64),
        schema::Kind::I32 => number(kind, Range::I32),
        schema::Kind::I64 => number(kind, Range::I64),
    }
}

/// What is written in a field of a generic event, and its type there.
pub(super) fn generic(kind: Kind) -> Option<(What, GenericType)> {
    Some(match kind {
        Kind::Text(_)
        | Kind::TextToEnd
        | Kind::Printk { .. }
        | Kind::Array { of: Element::Text, .. } => (text(kind)?, GenericType::String),
        Kind::Bytes { .. } | Kind::Array { .. } => (bytes(kind)?, GenericType::Bytes),
        Kind::Pid => (What::Pid, GenericType::I64),
        Kind::Integer(Integer::I8 | Integer::I16 | Integer::I32 | Integer::I64) => {
            (number(kind, Range::I64)?, GenericType::I64)
        }
        Kind::Arguments { .. } => return None,
        Kind::Integer(_)
        | Kind::Address { .. }
        | Kind::Bool
        | Kind::Inode { .. }
        | Kind::Device { .. } => (number(kind, Range::U64)?, GenericType::U64),
    })
}

fn text(kind: Kind) -> Option<What> {
    Some(match kind {
        Kind::Text(len) | Kind::Bytes { len, .. } => What::Text(len),
        Kind::TextToEnd => What::TextToEnd,
        Kind::Printk { is_wide } => {
            if is_wide {
                What::Printk64
            } else {
                What::Printk32
            }
        }
        Kind::Array { of: Element::Address, .. } => return None,
        Kind::Array { is_relative, .. } => {
            if is_relative {
                What::TextAfter
            } else {
                What::TextAt
            }
        }
        _ => return None,
    })
}

fn bytes(kind: Kind) -> Option<What> {
    Some(match kind {
        Kind::Text(len) | Kind::Bytes { len, .. } => What::Bytes(len),
        Kind::Array { of: Element::Address, .. } => return None,
        Kind::Array { is_relative, .. } => {
            if is_relative {
                What::BytesAfter
            } else {
                What::BytesAt
            }
        }
        _ => return None,
    })
}

fn number(kind: Kind, to: Range) -> Option<What> {
    let integer = match kind {
        Kind::Integer(integer) => integer,
        // Where the schema wants a number, a few bytes are one, as upstream has them.
        Kind::Bytes { len, is_signed } => Integer::new(len, is_signed)?,
        Kind::Bool => Integer::U8,
        Kind::Address { is_wide } => {
            return Some(if is_wide { What::Address64 } else { What::Address32 });
        }
        Kind::Pid if matches!(to, Range::I32 | Range::I64) => return Some(What::Pid),
        Kind::Pid => Integer::I32,
        Kind::Inode { is_wide } if to == Range::U64 => {
            return Some(if is_wide { What::Inode64 } else { What::Inode32 });
        }
        Kind::Inode { is_wide } => {
            if is_wide {
                Integer::U64
            } else {
                Integer::U32
            }
        }
        Kind::Device { is_wide } if to == Range::U64 => {
            return Some(if is_wide { What::Device64 } else { What::Device32 });
        }
        Kind::Arguments { is_wide } if to == Range::U64 => {
            return Some(if is_wide { What::Six64 } else { What::Six32 });
        }
        _ => return None,
    };
    Some(if always_fits(integer, to) { plain(integer) } else { What::Within { from: integer, to } })
}

/// Whether every value of the integer is one of the type.
const fn always_fits(from: Integer, to: Range) -> bool {
    use Integer::{I8, I16, I32, I64, U8, U16, U32, U64};
    match to {
        Range::U32 => matches!(from, U8 | U16 | U32),
        Range::U64 => matches!(from, U8 | U16 | U32 | U64),
        Range::I32 => matches!(from, U8 | U16 | I8 | I16 | I32),
        Range::I64 => matches!(from, U8 | U16 | U32 | I8 | I16 | I32 | I64),
    }
}

const fn plain(from: Integer) -> What {
    match from {
        Integer::U8 => What::U8,
        Integer::U16 => What::U16,
        Integer::U32 => What::U32,
        Integer::U64 => What::U64,
        Integer::I8 => What::I8,
        Integer::I16 => What::I16,
        Integer::I32 => What::I32,
        Integer::I64 => What::I64,
    }
}

#[cfg(test)]
mod tests;
