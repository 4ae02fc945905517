//! The fields of a packet that are printed, by their numbers (track-event.md, section 1).
//!
//! Not by the messages of `protos`: a program that prints would get the code of all that a packet can have, 300 KB.
//! Whatever is malformed ends the message that it is in.

use std::borrow::Cow;

use protozero::{Field, Reader, Value};

/// The fields of a message.
pub(super) fn fields(message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut reader = Reader::new(message);
    std::iter::from_fn(move || reader.next_field().ok().flatten())
}

/// A number, of which the last one counts.
pub(super) fn number(message: &[u8], field: u32) -> Option<u64> {
    let number = |of: Field<'_>| match of.value {
        Value::Varint(value) if of.number == field => Some(value),
        _ => None,
    };
    fields(message).filter_map(number).last()
}

/// Bytes, texts or messages.
pub(super) fn all(message: &[u8], field: u32) -> impl Iterator<Item = &[u8]> {
    fields(message).filter_map(move |of| match of.value {
        Value::Len(bytes) if of.number == field => Some(bytes),
        _ => None,
    })
}

pub(super) fn text(message: &[u8], field: u32) -> Option<Cow<'_, str>> {
    all(message, field).last().map(String::from_utf8_lossy)
}

/// A packet; messages in it are encoded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet<'p> {
    pub(super) clock_snapshot: &'p [u8],
    pub(super) timestamp: u64,
    pub(super) track_event: Option<&'p [u8]>,
    pub(super) interned_data: &'p [u8],
    pub(super) sequence_flags: u64,
    pub(super) timestamp_clock_id: Option<u64>,
    pub(super) defaults: Option<&'p [u8]>,
    pub(super) track_descriptor: Option<&'p [u8]>,
}

impl<'p> Packet<'p> {
    pub(super) fn read(bytes: &'p [u8]) -> Self {
        let mut packet = Self::default();
        for field in fields(bytes) {
            match (field.number, field.value) {
                (6, Value::Len(message)) => packet.clock_snapshot = message,
                (8, Value::Varint(value)) => packet.timestamp = value,
                (11, Value::Len(message)) => packet.track_event = Some(message),
                (12, Value::Len(message)) => packet.interned_data = message,
                (13, Value::Varint(value)) => packet.sequence_flags = value,
                (58, Value::Varint(value)) => packet.timestamp_clock_id = Some(value),
                (59, Value::Len(message)) => packet.defaults = Some(message),
                (60, Value::Len(message)) => packet.track_descriptor = Some(message),
                _ => {}
            }
        }
        packet
    }
}
