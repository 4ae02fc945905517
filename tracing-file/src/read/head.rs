//! The fields of a packet and of an event that a reader acts on.

use protozero::{ReadError, Reader, Value};

use super::extensions;
use super::sequence::SequenceId;
use crate::limits::EXTRA_VALUES_KEPT_MAX;

/// A packet.
#[derive(Default)]
pub(super) struct Head<'p> {
    pub(super) sequence: SequenceId,
    pub(super) timestamp: Option<u64>,
    pub(super) clock: Option<u32>,
    pub(super) flags: u32,
    pub(super) is_cleared: bool,
    pub(super) dropped: u64,
    /// Its writer says that it is the first of its sequence.
    pub(super) is_first: bool,
    pub(super) defaults: Option<&'p [u8]>,
    pub(super) interned: Option<&'p [u8]>,
    pub(super) snapshot: Option<&'p [u8]>,
    pub(super) event: Option<&'p [u8]>,
    pub(super) descriptor: Option<&'p [u8]>,
    pub(super) extensions: Option<&'p [u8]>,
}

impl<'p> Head<'p> {
    pub(super) fn read(packet: &'p [u8]) -> Result<Self, ReadError> {
        let mut head = Self::default();
        let mut reader = Reader::new(packet);
        while let Some(field) = reader.next_field()? {
            match (field.number, field.value) {
                (6, Value::Len(body)) => head.snapshot = Some(body),
                (8, Value::Varint(value)) => head.timestamp = Some(value),
                (10, Value::Varint(value)) => head.sequence.id = value as u32,
                (11, Value::Len(body)) => head.event = Some(body),
                (12, Value::Len(body)) => head.interned = Some(body),
                (13, Value::Varint(value)) => head.flags = value as u32,
                (41, Value::Varint(value)) => head.is_cleared = value != 0,
                (42, Value::Varint(value)) => head.dropped |= value,
                (58, Value::Varint(value)) => head.clock = Some(value as u32),
                (59, Value::Len(body)) => head.defaults = Some(body),
                (60, Value::Len(body)) => head.descriptor = Some(body),
                (72, Value::Len(body)) => head.extensions = Some(body),
                (87, Value::Varint(value)) => head.is_first = value != 0,
                (98, Value::Varint(value)) => head.sequence.machine = value as u32,
                _ => {}
            }
        }
        head.is_cleared |= head.flags & 1 != 0;
        Ok(head)
    }
}

/// An event.
#[derive(Default)]
pub(super) struct EventHead<'p> {
    pub(super) of: u64,
    pub(super) phase: Option<u64>,
    pub(super) track: Option<u64>,
    pub(super) name: Option<&'p [u8]>,
    pub(super) name_iid: Option<u64>,
    pub(super) value: Option<i64>,
    pub(super) double: Option<f64>,
    pub(super) extra_tracks: Option<Vec<u64>>,
    pub(super) extra_double_tracks: Option<Vec<u64>>,
    pub(super) extra: Vec<i64>,
    pub(super) extra_double: Vec<f64>,
    pub(super) log: Option<&'p [u8]>,
    /// How many categories it has.
    pub(super) categories: usize,
    /// A field with packed values, where they are not understood.
    pub(super) packed: Option<u32>,
    /// A field from the range of extensions.
    pub(super) extension: Option<u32>,
    pub(super) error: Option<ReadError>,
}

impl<'p> EventHead<'p> {
    pub(super) fn read(body: &'p [u8]) -> Self {
        let mut head = Self::default();
        let mut reader = Reader::new(body);
        loop {
            let field = match reader.next_field() {
                Ok(Some(field)) => field,
                Ok(None) => return head,
                Err(error) => {
                    head.error = Some(error);
                    return head;
                }
            };
            match (field.number, field.value) {
                (3 | 12 | 31 | 36 | 42 | 45 | 46 | 47 | 48, Value::Len(_)) => {
                    head.packed = Some(field.number);
                }
                (3, Value::Varint(_)) | (22, Value::Len(_)) => head.categories += 1,
                (6, Value::Len(legacy)) => head.phase = super::interned::number(legacy, 2),
                (9, Value::Varint(value)) => head.of = value,
                (10, Value::Varint(value)) => head.name_iid = Some(value),
                (11, Value::Varint(value)) => head.track = Some(value),
                (12, Value::Varint(value)) if head.extra.len() < EXTRA_VALUES_KEPT_MAX => {
                    head.extra.push(value as i64);
                }
                (21, Value::Len(log)) => head.log = Some(log),
                (23, Value::Len(name)) => head.name = Some(name),
                (30, Value::Varint(value)) => head.value = Some(value as i64),
                (31, Value::Varint(value)) => push(&mut head.extra_tracks, value),
                (44, Value::Fixed64(bits)) => head.double = Some(f64::from_bits(bits)),
                (45, Value::Varint(value)) => push(&mut head.extra_double_tracks, value),
                (46, Value::Fixed64(bits)) if head.extra_double.len() < EXTRA_VALUES_KEPT_MAX => {
                    head.extra_double.push(f64::from_bits(bits));
                }
                (number, _) if extensions::NUMBERS.contains(&number) => {
                    head.extension = Some(number);
                }
                _ => {}
            }
        }
    }
}

fn push(tracks: &mut Option<Vec<u64>>, uuid: u64) {
    let tracks = tracks.get_or_insert_default();
    if tracks.len() < EXTRA_VALUES_KEPT_MAX {
        tracks.push(uuid);
    }
}
