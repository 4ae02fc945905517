//! Whole messages: their length, and their bytes.

use alloc::vec::Vec;

use super::backward::{Backward, Scratch};
use super::encoder::Written;
use super::{Counter, Encode, Encoder, Output};
use crate::error::WriteError;

/// Length of the encoded `message`; ignores errors.
pub(crate) fn count(message: &impl Encode) -> usize {
    let mut out = Counter::default();
    message.encode_fields(&mut out);
    out.written()
}

/// Encodes a message, after its length if `framed`, into the end of `buffer`; `encode` writes its
/// fields. The message may not fit the buffer.
///
/// # Errors
/// [`WriteError::TooLong`], [`WriteError::TooDeep`].
fn fill<'b>(
    encode: impl Fn(&mut Encoder<'_>),
    framed: bool,
    buffer: Backward<'b>,
) -> Result<Written<'b>, WriteError> {
    let mut out = Encoder::new(buffer);
    encode(&mut out);
    if framed {
        out.bare_varint(out.written() as u64);
    }
    out.finish()
}

/// Writes the fields. As a function of its own it knows that no byte that it writes is part of `out`, whose place then
/// stays in a register.
#[inline(never)]
fn put_fields(message: &impl Encode, out: &mut Encoder<'_>) {
    message.encode_fields(out);
}

/// Encodes `message` to the start of `buffer` and returns its length.
///
/// # Errors
/// Those of [`fill`], and [`WriteError::Full`].
pub(crate) fn to_front(message: &impl Encode, buffer: &mut [u8]) -> Result<usize, WriteError> {
    let capacity = buffer.len();
    let buffer = Backward::of(buffer);
    buffer.prefetch();
    let mut scratch = Scratch::new();
    let mut out = Encoder::new(scratch.memory());
    out.next = Some(buffer);
    put_fields(message, &mut out);
    let written = out.finish()?;
    let is_whole = written.is_whole();
    let head = written.head.filter(|_| is_whole);
    let len = head.and_then(|head| head.move_to_front(written.tail.filled()));
    len.ok_or(WriteError::Full { capacity })
}

/// Passes the encoded `message` to `then`.
///
/// # Errors
/// Those of [`fill`] and of `then`.
pub(crate) fn encoded<T>(
    message: &impl Encode,
    framed: bool,
    then: impl FnOnce(&[u8]) -> Result<T, WriteError>,
) -> Result<T, WriteError> {
    let mut scratch = Scratch::new();
    let encode = |out: &mut Encoder<'_>| message.encode_fields(out);
    let written = fill(encode, framed, scratch.memory())?;
    if written.is_whole() {
        return then(written.tail.filled());
    }
    let mut bytes = alloc::vec![0; written.len];
    fill(encode, framed, Backward::of(&mut bytes))?;
    then(&bytes)
}

/// The encoded `message`, in a vector of exactly its length.
///
/// # Errors
/// Those of [`fill`].
pub(crate) fn to_vec(message: &impl Encode, framed: bool) -> Result<Vec<u8>, WriteError> {
    filled(&message, framed)
}

/// A reference to a message. A trait object of the message itself would bring its destructor along.
trait Fields {
    fn put(&self, out: &mut Encoder<'_>);
}

impl<M: Encode> Fields for &M {
    fn put(&self, out: &mut Encoder<'_>) {
        self.encode_fields(out);
    }
}

/// [`to_vec`] for all messages. It is compiled once, not for each of them.
fn filled(message: &dyn Fields, framed: bool) -> Result<Vec<u8>, WriteError> {
    let mut scratch = Scratch::new();
    let mut spill = Vec::new();
    let mut out = Encoder::new(scratch.memory());
    out.spill = Some(&mut spill);
    message.put(&mut out);
    if framed {
        out.bare_varint(out.written() as u64);
    }
    let written = out.finish()?;
    if !written.is_whole() {
        let mut bytes = alloc::vec![0; written.len];
        fill(|out| message.put(out), framed, Backward::of(&mut bytes))?;
        return Ok(bytes);
    }
    let mut bytes = Vec::with_capacity(written.len);
    bytes.extend_from_slice(written.head.as_ref().map_or(&[], Backward::filled));
    bytes.extend_from_slice(written.tail.filled());
    Ok(bytes)
}

#[cfg(test)]
mod tests;
