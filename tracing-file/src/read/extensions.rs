//! Which fields of `TrackEvent` the schemas in a trace describe (`extension_descriptor.proto`).

use std::collections::BTreeSet;

use protozero::{Field, Reader, Value};

use super::interned::{number, string};
use crate::limits::SCHEMA_LEVELS_MAX;

/// Numbers of extensions of `TrackEvent` (`track_event.proto`).
pub(super) const NUMBERS: std::ops::RangeInclusive<u32> = 1000..=9999;
const EXTENDED: &str = "perfetto.protos.TrackEvent";

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Extensions {
    known: BTreeSet<u32>,
    /// A set is compressed, so any field may be in it.
    has_compressed: bool,
}

impl Extensions {
    /// Whether a reader can show the field.
    pub(super) fn has(&self, field: u32) -> bool {
        self.has_compressed || self.known.contains(&field)
    }

    /// Reads an `ExtensionDescriptor`.
    pub(super) fn read(&mut self, descriptor: &[u8]) {
        for field in fields(descriptor) {
            match (field.number, field.value) {
                (1, Value::Len(set)) => self.read_set(set),
                (2, Value::Len(_)) => self.has_compressed = true,
                _ => {}
            }
        }
    }

    /// Reads a `FileDescriptorSet`.
    fn read_set(&mut self, set: &[u8]) {
        let files = fields(set).filter(|field| field.number == 1);
        for field in files.filter_map(|file| file.value.bytes().ok()).flat_map(fields) {
            match (field.number, field.value) {
                (4, Value::Len(message)) => self.read_message(message, SCHEMA_LEVELS_MAX),
                (7, Value::Len(extension)) => self.add(extension),
                _ => {}
            }
        }
    }

    /// Reads a `DescriptorProto`, and so many levels of messages inside it.
    fn read_message(&mut self, message: &[u8], levels: usize) {
        for field in fields(message) {
            match (field.number, field.value, levels.checked_sub(1)) {
                (3, Value::Len(nested), Some(levels)) => self.read_message(nested, levels),
                (6, Value::Len(extension), _) => self.add(extension),
                _ => {}
            }
        }
    }

    /// Adds the field of a `FieldDescriptorProto`.
    fn add(&mut self, extension: &[u8]) {
        let extended = string(extension, 2).unwrap_or_default();
        let is_of_event = extended.strip_prefix('.').unwrap_or(&extended) == EXTENDED;
        let number = number(extension, 3).and_then(|number| u32::try_from(number).ok());
        self.known.extend(number.filter(|number| is_of_event && NUMBERS.contains(number)));
    }
}

/// The fields of a message, up to one that is malformed.
fn fields(message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut reader = Reader::new(message);
    std::iter::from_fn(move || reader.next_field().ok().flatten())
}
