//! Where fields go that do not fit what is left of the range, or are not short: out of line, and split
//! as they have to be.
//!
//! Scopes call these with their parts by value and take the cursor back, so that no address of a
//! scope escapes and it can live in registers. For the same reason the functions are `extern "C"`,
//! which cannot unwind (a scope that might be dropped on the way would have to be kept in memory for
//! that, up to date before each field; hence a sink that panics aborts the program), and take numbers
//! instead of structs, which that convention passes in memory when registers run out.
#![allow(improper_ctypes_definitions)]

use super::cursor::{Cursor, Frame};
use super::scalar::SMALL;
use super::stream::Stream;
use crate::error::WriteError;
use crate::wire::{tag, varint};

/// Longest string or bytes field (protobuf's own limit).
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

/// Appends a tag, the length and all `pieces`. Not `cold`: a large payload always comes this way.
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

/// The same with one piece.
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

/// Appends `bytes` as they are.
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

/// Appends `bytes`, which are a piece of something longer, cut anywhere: slots become wide by how long
/// their message is, and not by how long a piece.
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
    // A piece of nothing is no reason for anything.
    let at = if bytes.is_empty() { at } else { stream.expect(at, frame, len) };
    stream.write(at, frame, bytes)
}

/// Opens a message, where [`Cursor::open`] cannot, or one with a wide slot.
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
            // A wide slot, of which one byte remains where that is enough.
            let (at, frame) = stream.open_padded(at, frame, tag);
            (at, frame.compact())
        }
        false => stream.open_slow(at, frame, tag),
    }
}

/// What ends a message.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum End {
    /// Nothing: it is a root, and does not come here.
    Root,
    /// Its length, stored now.
    Length,
    /// A tag.
    Group,
    /// Its length is written already.
    Sized,
}

/// Ends a root message. Not `cold` either.
#[inline(never)]
pub(super) extern "C" fn end_root(stream: &mut Stream<'_>, at: Cursor) {
    stream.end_root(at);
}

/// Ends what is no narrow message of at most 127 bytes. `value` is, of a group the tag, and of a message
/// whose length was announced, how far its end was to be from the beginning of the frame's.
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

/// Numbers of a tag that is known when it is compiled.
#[inline(always)]
pub(super) fn number(tag: tag::Encoded) -> u32 {
    varint::gather(tag.bytes) as u32
}
