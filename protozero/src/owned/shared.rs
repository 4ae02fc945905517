//! Decoding from a `Buf`, whose memory fields of type `Bytes` share: see
//! [Sharing the input](crate::message#sharing-the-input).

use bytes::{Buf, Bytes};

use super::{About, Encode, Merge};
use crate::decode::limits::growth_of;
use crate::decode::{DecodeContext, DecodeMemory, take_fields};
use crate::error::{DecodeError, DecodeErrorKind, ReadError};
use crate::path::{path_in_rest, path_of};

/// Merges all fields of `input` into `message`, with at most `depth` levels below it and `memory` bytes for structs;
/// without `memory`, as many as for a slice of the same length.
///
/// # Errors
/// Those of [`Message::merge`](crate::Message::merge).
pub(crate) fn merge_buf<M: Encode + for<'a> Merge<'a>>(
    message: &mut M,
    input: &mut dyn Buf,
    depth: u32,
    memory: Option<usize>,
) -> Result<(), DecodeError> {
    // One limit for all parts of the input.
    let mut left = memory.unwrap_or_else(|| growth_of(input.remaining()));
    let mut start = 0usize;
    while input.has_remaining() {
        let fields = take_fields(input);
        let memory = DecodeMemory::sharing(left, &fields);
        let context = DecodeContext::with_depth(depth).with_growth(&memory);
        let merged = if fields.is_empty() {
            // A wrong `Buf`: it has more bytes, and no chunk with them.
            Err(DecodeErrorKind::Truncated.at(0))
        } else {
            message.merge_fields(&fields, context)
        };
        merged.map_err(|error| failed(M::about(), error, &fields, start))?;
        left = memory.left();
        start = start.saturating_add(fields.len());
    }
    Ok(())
}

/// Adds the path to an error in `fields`, before which `start` bytes were decoded.
#[cold]
#[inline(never)]
fn failed(about: About, error: ReadError, fields: &Bytes, start: usize) -> DecodeError {
    let path = match start {
        0 => path_of(about, fields, error.offset),
        _ => path_in_rest(about, fields, error.offset),
    };
    DecodeError::new(error, path).after(start)
}
