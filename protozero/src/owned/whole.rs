//! Whole messages: their length, and their bytes.

use alloc::vec::Vec;

use super::{Counter, Encode, Encoder, Output};
use crate::error::WriteError;

/// Length of the stack buffer for short messages.
const SCRATCH_LEN: usize = 512;

/// Length of the encoded `message`; ignores errors.
pub(crate) fn count(message: &impl Encode) -> usize {
    let mut out = Counter::default();
    message.encode_fields(&mut out);
    out.written()
}

/// Encodes a message, after its length if `framed`, into the end of `buffer`; `encode` writes its
/// fields. Returns the encoded length, which may exceed the buffer.
///
/// # Errors
/// [`WriteError::TooLong`], [`WriteError::TooDeep`].
fn fill(
    encode: impl Fn(&mut Encoder<'_>),
    framed: bool,
    buffer: &mut [u8],
) -> Result<usize, WriteError> {
    let mut out = Encoder::new(buffer);
    encode(&mut out);
    if framed {
        out.bare_varint(out.written() as u64);
    }
    out.finish()
}

/// Encodes `message` to the start of `buffer` and returns its length.
///
/// # Errors
/// Those of [`fill`], and [`WriteError::Full`].
pub(crate) fn to_front(message: &impl Encode, buffer: &mut [u8]) -> Result<usize, WriteError> {
    let mut scratch = [0; SCRATCH_LEN];
    let mut out = Encoder::new(&mut scratch);
    out.next = Some(&mut *buffer);
    message.encode_fields(&mut out);
    let tail = if out.next.is_some() { out.written() } else { out.before };
    let len = out.finish()?;
    let capacity = buffer.len();
    if len > capacity {
        return Err(WriteError::Full { capacity });
    }
    let head = len - tail;
    if head > 0 {
        buffer.copy_within(capacity - head.., 0);
    }
    buffer[head..len].copy_from_slice(&scratch[SCRATCH_LEN - tail..]);
    Ok(len)
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
    let mut scratch = [0; SCRATCH_LEN];
    let encode = |out: &mut Encoder<'_>| message.encode_fields(out);
    let len = fill(encode, framed, &mut scratch)?;
    match SCRATCH_LEN.checked_sub(len) {
        Some(at) => then(&scratch[at..]),
        None => {
            let mut bytes = alloc::vec![0; len];
            fill(encode, framed, &mut bytes)?;
            then(&bytes)
        }
    }
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
    let mut scratch = [0; SCRATCH_LEN];
    let mut spill = Vec::new();
    let mut out = Encoder::new(&mut scratch);
    out.spill = Some(&mut spill);
    message.put(&mut out);
    if framed {
        out.bare_varint(out.written() as u64);
    }
    let (is_spilled, is_counted, before) = (out.spill.is_none(), out.is_counted(), out.before);
    let len = out.finish()?;
    if is_counted {
        let mut bytes = alloc::vec![0; len];
        fill(|out| message.put(out), framed, &mut bytes)?;
        return Ok(bytes);
    }
    let tail = if is_spilled { before } else { len };
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(&spill[spill.len() - (len - tail)..]);
    bytes.extend_from_slice(&scratch[SCRATCH_LEN - tail..]);
    Ok(bytes)
}
