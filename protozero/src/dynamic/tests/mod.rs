//! Schemas and messages in the text format, and invalid schemas.

mod hostile;
mod messages;
mod pool;
mod print;
pub(crate) mod props;
mod schema;

use std::string::{String, ToString};
use std::vec::Vec;

use super::{DynamicMessage, Pool, PoolError};
use crate::text;

/// Encodes the `FileDescriptorSet` in `text`.
#[track_caller]
fn set(text: &str) -> Vec<u8> {
    text::parse(&schema::SET, text.as_bytes(), &text::Options::default())
        .unwrap_or_else(|errors| panic!("{errors}"))
}

#[track_caller]
fn try_pool(text: &str) -> Result<Pool, PoolError> {
    Pool::decode(&set(text))
}

#[track_caller]
pub(crate) fn pool(text: &str) -> Pool {
    try_pool(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The error of the set in `text`.
#[track_caller]
fn refused(text: &str) -> String {
    try_pool(text).expect_err(text).to_string()
}

/// An empty `pkg.M`.
#[track_caller]
fn new(pool: &Pool, name: &str) -> DynamicMessage {
    DynamicMessage::new(pool.message(name).expect(name))
}

#[track_caller]
fn decode(pool: &Pool, name: &str, bytes: &[u8]) -> DynamicMessage {
    DynamicMessage::decode(pool.message(name).expect(name), bytes).expect("a message")
}

#[track_caller]
fn read(pool: &Pool, name: &str, text: &str) -> DynamicMessage {
    DynamicMessage::from_text(pool.message(name).expect(name), text)
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// A proto2 file with every kind of element, and extensions.
pub(crate) const EVERYTHING: &str = r#"
file { name: 'e' package: 'e' syntax: 'proto2'
  message_type { name: 'All'
    field { name: 'i32' number: 1 type: TYPE_INT32 default_value: '-7' }
    field { name: 'i64' number: 2 type: TYPE_INT64 }
    field { name: 'u32' number: 3 type: TYPE_UINT32 }
    field { name: 'u64' number: 4 type: TYPE_UINT64 }
    field { name: 's32' number: 5 type: TYPE_SINT32 }
    field { name: 's64' number: 6 type: TYPE_SINT64 }
    field { name: 'f32' number: 7 type: TYPE_FIXED32 }
    field { name: 'f64' number: 8 type: TYPE_FIXED64 }
    field { name: 'sf32' number: 9 type: TYPE_SFIXED32 }
    field { name: 'sf64' number: 10 type: TYPE_SFIXED64 }
    field { name: 'float' number: 11 type: TYPE_FLOAT default_value: '-inf' }
    field { name: 'double' number: 12 type: TYPE_DOUBLE }
    field { name: 'flag' number: 13 type: TYPE_BOOL }
    field { name: 'text' number: 14 type: TYPE_STRING }
    field { name: 'blob' number: 15 type: TYPE_BYTES default_value: '\\001x' }
    field { name: 'color' number: 16 type: TYPE_ENUM type_name: '.e.Color' default_value: 'BLUE' }
    field { name: 'child' number: 17 type: TYPE_MESSAGE type_name: '.e.All' }
    field { name: 'part' number: 18 type: TYPE_GROUP type_name: 'Part' }
    field { name: 'one_number' number: 19 type: TYPE_INT32 oneof_index: 0 }
    field { name: 'one_child' number: 20 type: TYPE_MESSAGE type_name: 'All' oneof_index: 0 }
    field { name: 'numbers' number: 31 label: LABEL_REPEATED type: TYPE_SINT32 }
    field { name: 'packed' number: 32 label: LABEL_REPEATED type: TYPE_FIXED32 options { packed: true } }
    field { name: 'texts' number: 33 label: LABEL_REPEATED type: TYPE_STRING }
    field { name: 'colors' number: 34 label: LABEL_REPEATED type: TYPE_ENUM type_name: '.e.Color' options { packed: true } }
    field { name: 'children' number: 35 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: '.e.All' }
    field { name: 'parts' number: 36 label: LABEL_REPEATED type: TYPE_GROUP type_name: '.e.All.Parts' }
    field { name: 'names' number: 41 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: '.e.All.NamesEntry' }
    field { name: 'by_id' number: 42 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: '.e.All.ByIdEntry' }
    field { name: 'any' number: 43 type: TYPE_MESSAGE type_name: '.google.protobuf.Any' }
    oneof_decl { name: 'choice' }
    nested_type { name: 'Part' field { name: 'x' number: 1 type: TYPE_INT32 } }
    nested_type { name: 'Parts' field { name: 'x' number: 1 type: TYPE_INT32 } }
    nested_type { name: 'NamesEntry' options { map_entry: true }
      field { name: 'key' number: 1 type: TYPE_STRING }
      field { name: 'value' number: 2 type: TYPE_ENUM type_name: 'Color' } }
    nested_type { name: 'ByIdEntry' options { map_entry: true }
      field { name: 'key' number: 1 type: TYPE_SINT64 }
      field { name: 'value' number: 2 type: TYPE_MESSAGE type_name: 'All' } }
    extension_range { start: 100 end: 200 }
    reserved_name: 'gone'
  }
  message_type { name: 'Set' options { message_set_wire_format: true }
    extension_range { start: 1 end: 2147483647 } }
  message_type { name: 'Member' field { name: 'n' number: 1 type: TYPE_INT32 }
    extension { name: 'of_set' extendee: '.e.Set' number: 1000000000 type: TYPE_MESSAGE type_name: 'Member' } }
  enum_type { name: 'Color' value { name: 'RED' number: 0 } value { name: 'BLUE' number: 7 } value { name: 'DARK' number: -1 } }
  extension { name: 'ext' extendee: '.e.All' number: 100 type: TYPE_INT32 }
  extension { name: 'exts' extendee: 'All' number: 101 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: 'Member' }
}
file { name: 'any' package: 'google.protobuf' syntax: 'proto3'
  message_type { name: 'Any'
    field { name: 'type_url' number: 1 type: TYPE_STRING }
    field { name: 'value' number: 2 type: TYPE_BYTES } } }
"#;
