//! Inserts encoded options into encoded descriptors: see [`super::options`].

use super::options::varint;
use crate::syntax::WRITTEN;

/// The kind of a message inside a descriptor, as far as options are concerned.
#[derive(Clone, Copy)]
enum Part {
    File,
    Message,
    Field,
    Enum,
    Service,
    /// A oneof, range, value or method, whose only relevant field is its options, with this number.
    Leaf(u64),
    Options,
}

impl Part {
    /// The kind of field `number`; `None` if it contains no options (numbers: `descriptor.proto`).
    fn inner(self, number: u64) -> Option<Self> {
        Some(match (self, number) {
            (Self::File, 4) | (Self::Message, 3) => Self::Message,
            (Self::File, 5) | (Self::Message, 4) => Self::Enum,
            (Self::File, 6) => Self::Service,
            (Self::File, 7) | (Self::Message, 2 | 6) => Self::Field,
            (Self::Message, 5) | (Self::Enum, 2) => Self::Leaf(3),
            (Self::Message, 8) => Self::Leaf(2),
            (Self::Service, 2) => Self::Leaf(4),
            (Self::File | Self::Field, 8) | (Self::Message, 7) => Self::Options,
            (Self::Enum | Self::Service, 3) => Self::Options,
            (Self::Leaf(at), number) if at == number => Self::Options,
            _ => return None,
        })
    }
}

/// Replaces the indices in an encoded `FileDescriptorProto` by `options`. Fields of an options message are sorted by
/// number; fields with the same number keep their order.
pub(super) fn fill(file: &[u8], options: &[Vec<u8>]) -> Vec<u8> {
    fill_part(Part::File, file, options)
}

fn fill_part(part: Part, bytes: &[u8], options: &[Vec<u8>]) -> Vec<u8> {
    let mut fields = Vec::new();
    split(bytes, |number, whole, value| match (part, part.inner(number), value) {
        (Part::Options, _, Value::Varint(at)) if number == u64::from(WRITTEN) => {
            let option = usize::try_from(at).ok().and_then(|at| options.get(at));
            let option = option.cloned().unwrap_or_default();
            let mut tag = 0;
            split(&option, |number, _, _| tag = number);
            fields.push((tag, option));
        }
        (_, Some(inner), Value::Len(body)) => {
            let filled = fill_part(inner, body, options);
            // An options message that becomes empty is left out.
            if filled.is_empty() && !body.is_empty() {
                return;
            }
            let mut field = Vec::new();
            varint(&mut field, number << 3 | 2);
            varint(&mut field, filled.len() as u64);
            field.extend(filled);
            fields.push((number, field));
        }
        _ => fields.push((number, whole.to_vec())),
    });
    if matches!(part, Part::Options) {
        fields.sort_by_key(|(number, _)| *number);
    }
    fields.into_iter().flat_map(|(_, field)| field).collect()
}

enum Value<'a> {
    Varint(u64),
    Len(&'a [u8]),
    Other,
}

/// Calls `tell` with number, bytes and value of each field. The input was encoded here, so it is well formed. A group
/// can only be the last field, and is alone in its option.
fn split<'a>(bytes: &'a [u8], mut tell: impl FnMut(u64, &'a [u8], Value<'a>)) {
    let mut rest = bytes;
    while let Some((tag, mut behind)) = read(rest) {
        let value = match tag & 7 {
            0 => read(behind).map(|(value, rest)| {
                behind = rest;
                Value::Varint(value)
            }),
            2 => read(behind).and_then(|(len, rest)| {
                let (body, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
                behind = rest;
                Some(Value::Len(body))
            }),
            1 | 5 => {
                let len = if tag & 7 == 1 { 8 } else { 4 };
                behind.split_at_checked(len).map(|(_, rest)| {
                    behind = rest;
                    Value::Other
                })
            }
            _ => None,
        };
        let Some(value) = value else { return tell(tag >> 3, rest, Value::Other) };
        tell(tag >> 3, &rest[..rest.len() - behind.len()], value);
        rest = behind;
    }
}

fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}
