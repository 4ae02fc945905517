//! The few protobuf fields of frames, read and written without copying what they carry.

use bytes::Bytes;
pub(super) use protozero::wire::write::append_head as put_head;
use protozero::wire::{tag, write};
use protozero::{DecodeError, Reader, Value};

/// Calls `visit(number, value)` for each field of `bytes`.
///
/// # Errors
/// The first malformed field.
pub(super) fn fields<'a>(
    bytes: &'a [u8],
    mut visit: impl FnMut(u32, Value<'a>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        visit(field.number, field.value)?;
    }
    Ok(())
}

/// The text of a string field. Upstream does not insist on UTF-8, so neither do we.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `part`, which lies inside `whole`, as a share of it.
pub(super) fn share(whole: &Bytes, part: &[u8]) -> Bytes {
    // `slice_ref` wants the addresses to fit, which an empty slice of the reader need not.
    if part.is_empty() { Bytes::new() } else { whole.slice_ref(part) }
}

/// Appends a varint field.
pub(super) fn put_uint(out: &mut Vec<u8>, number: u32, value: u64) {
    write::append_tag(out, number, tag::VARINT);
    write::append_varint(out, value);
}

/// Appends a length-delimited field.
pub(super) fn put_bytes(out: &mut Vec<u8>, number: u32, value: &[u8]) {
    put_head(out, number, value.len());
    out.extend_from_slice(value);
}
