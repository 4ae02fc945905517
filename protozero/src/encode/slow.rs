//! The slow path: fields that do not fit the rest of the range, or are not short. These functions
//! are not inlined, and split fields where necessary.
//!
//! Scopes pass their members by value and get the cursor back, so that no address of a scope
//! escapes and it can stay in registers. For the same reason the functions are `extern "C"`, which
//! cannot unwind, and take numbers instead of structs, which that calling convention passes in
//! memory when no registers are left. (If they could unwind, the scope might be dropped during the
//! call and would have to be up to date in memory before each field. This is why a panic in a sink
//! aborts the program.)
#![allow(improper_ctypes_definitions)]

use super::cursor::{Cursor, Frame};
use super::slot::SMALL;
use super::stream::Stream;
use crate::error::WriteError;
use crate::wire::{tag, varint};

/// Maximum length of a string or bytes field (protobuf's limit).
const BYTES_MAX: u64 = i32::MAX as u64;

/// Appends a varint without a tag.
#[cold]
#[inline(never)]
pub(super) extern "C" fn bare_varint(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    value: u64,
) -> Cursor {
    stream.write_varint(at, Frame::from_parts(body, narrow), value)
}

/// Appends a tag and a varint.
#[cold]
#[inline(never)]
pub(super) extern "C" fn varint(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    tag: u32,
    value: u64,
) -> Cursor {
    let frame = Frame::from_parts(body, narrow);
    let at = stream.write_tag(at, frame, tag);
    stream.write_varint(at, frame, value)
}

/// Appends a tag and the first `LEN` bytes of `value`.
#[cold]
#[inline(never)]
pub(super) extern "C" fn fixed<const LEN: usize>(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    tag: u32,
    value: u64,
) -> Cursor {
    let frame = Frame::from_parts(body, narrow);
    let at = stream.write_tag(at, frame, tag);
    stream.write(at, frame, value.to_le_bytes().get(..LEN).unwrap_or_default())
}

/// Appends a tag.
#[cold]
#[inline(never)]
pub(super) extern "C" fn tag(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    tag: u32,
) -> Cursor {
    stream.write_tag(at, Frame::from_parts(body, narrow), tag)
}

/// Appends a tag, the length and all `pieces`. Not `cold`, because every long string takes this
/// path.
#[inline(never)]
pub(super) extern "C" fn gather(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    tag: u32,
    pieces: &[&[u8]],
) -> Cursor {
    let frame = Frame::from_parts(body, narrow);
    let len = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.len() as u64));
    if len > BYTES_MAX {
        return stream.fail(at, WriteError::TooLong { len });
    }
    let at = stream.expect(at, frame, len);
    let at = stream.write_tag(at, frame, tag);
    let at = stream.write_varint(at, frame, len);
    pieces.iter().fold(at, |at, piece| stream.write(at, frame, piece))
}

/// [`gather`] with one piece.
#[inline(never)]
pub(super) extern "C" fn bytes(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    tag: u32,
    bytes: &[u8],
) -> Cursor {
    gather(stream, at, body, narrow, tag, &[bytes])
}

/// Appends `bytes` unchanged.
#[inline(never)]
pub(super) extern "C" fn raw(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    bytes: &[u8],
) -> Cursor {
    let frame = Frame::from_parts(body, narrow);
    let at = stream.expect(at, frame, bytes.len() as u64);
    stream.write(at, frame, bytes)
}

/// Appends `bytes`, which are a part of a longer field, split at any byte. Whether slots become
/// wide depends on the length of their message, not on the length of this part.
#[inline(never)]
pub(super) extern "C" fn piece(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    skew: u64,
    bytes: &[u8],
) -> Cursor {
    let frame = Frame::from_parts(body, narrow);
    let len = stream.body_len(&at, frame, skew).saturating_add(bytes.len() as u64);
    // An empty piece must not make slots wide.
    let at = if bytes.is_empty() { at } else { stream.expect(at, frame, len) };
    stream.write(at, frame, bytes)
}

/// Opens a message if [`Cursor::open`] cannot, or a message with a wide slot.
#[cold]
#[inline(never)]
pub(super) extern "C" fn open(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    tag: u32,
    padded: bool,
) -> (Cursor, Frame) {
    let frame = Frame::from_parts(body, narrow);
    match padded {
        true => stream.open_padded(at, frame, tag),
        false if SMALL => {
            // A wide slot. If one byte is enough, it is shortened at the end.
            let (at, frame) = stream.open_padded(at, frame, tag);
            (at, frame.compact())
        }
        false => stream.open_slow(at, frame, tag),
    }
}

/// How a message ends.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum End {
    /// A root message, which does not use this path.
    Root,
    /// With its length, which is stored now.
    Length,
    /// With an end tag.
    Group,
    /// With nothing, because its length is already written.
    Sized,
}

/// Ends a root message. Not `cold`, because every message takes this path.
#[inline(never)]
pub(super) extern "C" fn end_root(stream: &mut Stream<'_>, at: Cursor) {
    stream.end_root(at);
}

/// Ends every message except narrow ones of at most 127 bytes. `value` is the tag of a group. For a
/// message with an announced length, it is the position of the announced end, counted from the
/// start of the message of the frame.
#[inline(never)]
pub(super) extern "C" fn end(
    stream: &mut Stream<'_>,
    at: Cursor,
    body: u64,
    narrow: u32,
    skew: u64,
    end: End,
    value: u64,
) -> Cursor {
    let frame = Frame::from_parts(body, narrow);
    match end {
        End::Root => at,
        End::Length => stream.close_slow(at, frame, skew),
        End::Group => stream.write_tag(at, frame, value as u32),
        End::Sized => stream.close_sized(at, frame, skew, value),
    }
}

/// The tag as a number. The compiler computes it.
#[inline(always)]
pub(super) fn number(tag: tag::Encoded) -> u32 {
    varint::gather(tag.bytes) as u32
}
