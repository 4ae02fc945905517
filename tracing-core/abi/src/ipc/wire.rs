//! The few protobuf fields of frames, read and written without copying what they carry.

pub(super) use protozero::wire::write::append_head as put_head;
use protozero::wire::{tag, write};
use protozero::{ReadError, Reader, Value};

/// The next field: its number and its value.
///
/// # Errors
/// The field is malformed.
// Compiled once, not once for each message.
#[inline(never)]
pub(super) fn next<'a>(reader: &mut Reader<'a>) -> Result<Option<(u32, Value<'a>)>, ReadError> {
    Ok(reader.next_field()?.map(|field| (field.number, field.value)))
}

/// The text of a string field. Upstream does not insist on UTF-8, so neither do we.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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
