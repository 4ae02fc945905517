//! The fields of a packet that are printed.
//!
//! They are found by their numbers and not by the messages of `protos`, because a program that prints would get the
//! code of all that a packet can have, 300 KB. Whatever is malformed ends the message that it is in.

use std::borrow::Cow;

use protozero::{Field, Reader, Value};

use super::numbers::packet;

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
        let mut out = Self::default();
        for field in fields(bytes) {
            match (field.number, field.value) {
                (packet::CLOCK_SNAPSHOT, Value::Len(message)) => out.clock_snapshot = message,
                (packet::TIMESTAMP, Value::Varint(value)) => out.timestamp = value,
                (packet::TRACK_EVENT, Value::Len(message)) => out.track_event = Some(message),
                (packet::INTERNED_DATA, Value::Len(message)) => out.interned_data = message,
                (packet::SEQUENCE_FLAGS, Value::Varint(value)) => out.sequence_flags = value,
                (packet::TIMESTAMP_CLOCK_ID, Value::Varint(value)) => {
                    out.timestamp_clock_id = Some(value)
                }
                (packet::TRACE_PACKET_DEFAULTS, Value::Len(message)) => {
                    out.defaults = Some(message)
                }
                (packet::TRACK_DESCRIPTOR, Value::Len(message)) => {
                    out.track_descriptor = Some(message)
                }
                _ => {}
            }
        }
        out
    }
}
