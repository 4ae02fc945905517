//! What both directions need of a message type, prepared when its pool is made.
//!
//! ```text
//!  fields, by number   tag │ type │ slot │ ... │ key
//!                                                └─▶ keys: ,"sizeKb":,"size_kb":,"fillPolicy": ...
//! ```
//!
//! Both directions expect the fields in the order of their numbers: the next field is compared first, and only another
//! one is searched.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::known::{Known, NULL_VALUE};
use super::scan;
use crate::dynamic::schema::{FieldAt, FieldData, Schema, Type};
use crate::wire::tag;

/// Most keys are not longer.
pub(crate) const SHORT_KEY_BYTES: usize = 24;

/// How a message is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// As an object of its fields.
    Fields,
    /// As an object of its items.
    MessageSet,
    /// In a form of its own.
    Known(Known),
}

/// How often a field may occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    One,
    List,
    /// A map, with its entry message.
    Map(u32),
}

/// A field or an extension of a message.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// Tag of a value.
    pub(crate) tag: u32,
    /// Tag of a packed field, if it can be packed; else that of a value.
    pub(crate) run_tag: u32,
    pub(crate) ty: Type,
    pub(crate) shape: Shape,
    /// Elements are written as one packed field.
    pub(crate) packed: bool,
    /// A missing field differs from one with the default value, and one of an oneof.
    pub(crate) presence: bool,
    /// The type is a closed enum.
    pub(crate) closed: bool,
    /// `null` is a value of the type.
    pub(crate) nullable: bool,
    /// Fields of one oneof have the same, others have one each.
    pub(crate) slot: u32,
    /// Number of the oneof in the message.
    pub(crate) oneof: Option<u32>,
    /// The key in JSON, with zeros behind it.
    pub(crate) short_key: [u8; SHORT_KEY_BYTES + 1],
    /// The same at the end, with zeros before it.
    #[cfg(feature = "std")]
    pub(crate) end_key: [u8; SHORT_KEY_BYTES],
    /// Its length; 0 if it is longer.
    pub(crate) short_key_len: u8,
    /// Where the name is in the keys: comma, quote, name, quote, colon.
    json_key: (u32, u32),
    original_key: (u32, u32),
    pub(crate) at: FieldAt,
}

/// A message type.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) form: Form,
    /// Fields and extensions, sorted by number.
    pub(crate) fields: Box<[Field]>,
    keys: Box<[u8]>,
    /// Indices into `fields`, sorted by name in JSON; without extensions.
    by_json_name: Box<[u32]>,
    /// Indices into `fields`, sorted by name in the schema; without extensions.
    by_name: Box<[u32]>,
}

/// Prepares the messages of a schema, by index.
pub(crate) fn prepare(schema: &Schema) -> Box<[Table]> {
    (0..schema.messages.len() as u32).map(|index| Table::new(schema, index)).collect()
}

impl Table {
    fn new(schema: &Schema, index: u32) -> Self {
        let message = schema.message(index);
        let known = || Known::of(&message.full_name).map_or(Form::Fields, Form::Known);
        let form = if message.message_set { Form::MessageSet } else { known() };
        let own = (0..message.fields.len() as u32).map(|field| FieldAt::Field(index, field));
        let all = own.chain(message.extensions.values().map(|at| FieldAt::Extension(*at)));
        let mut keys = Vec::new();
        let fields = all.map(|at| Field::new(schema, at, &mut keys));
        let mut fields: Vec<Field> = fields.collect();
        keys.extend_from_slice(&[0; 16]);
        fields.sort_by_key(|field| field.number);
        set_slots(&mut fields);
        let data = |at: &u32| schema.field(fields[*at as usize].at);
        let named = (0..fields.len() as u32).filter(|at| !data(at).extension);
        let mut by_name: Vec<u32> = named.collect();
        by_name.sort_by(|a, b| data(a).name.cmp(&data(b).name));
        let mut by_json_name = by_name.clone();
        // Old schemas have fields with the same name in JSON: it is that of the field with this name in the schema.
        let is_other = |at: &u32| data(at).json_name != data(at).name;
        by_json_name.sort_by(|a, b| {
            let order = data(a).json_name.cmp(&data(b).json_name);
            order.then(is_other(a).cmp(&is_other(b)))
        });
        let mut hidden = Vec::new();
        by_json_name.dedup_by(|at, first| {
            let is_hidden = data(first).json_name == data(at).json_name;
            hidden.extend(is_hidden.then_some(*at));
            is_hidden
        });
        for at in hidden {
            if let Some(field) = fields.get_mut(at as usize) {
                field.json_key = field.original_key;
                field.set_short_key(&keys);
            }
        }
        Self {
            form,
            keys: keys.into(),
            by_json_name: by_json_name.into(),
            by_name: by_name.into(),
            fields: fields.into(),
        }
    }

    /// The index of the field with a tag, which is probably `expected` or the next one.
    #[inline]
    pub(crate) fn find_tag(&self, tag: u32, expected: usize) -> Option<usize> {
        let has_tag = |at| self.fields.get(at).is_some_and(|field: &Field| field.has_tag(tag));
        match has_tag(expected) {
            true => Some(expected),
            false if has_tag(expected + 1) => Some(expected + 1),
            false => self.search(tag),
        }
    }

    fn search(&self, tag: u32) -> Option<usize> {
        let at = self.find(tag >> 3)?;
        self.fields[at].has_tag(tag).then_some(at)
    }

    /// The index of the field with a number.
    pub(crate) fn find(&self, number: u32) -> Option<usize> {
        // Many messages have numbers without gaps.
        let near = (number as usize).wrapping_sub(1);
        if self.fields.get(near).is_some_and(|field| field.number == number) {
            return Some(near);
        }
        self.fields.binary_search_by_key(&number, |field| field.number).ok()
    }

    /// The index of the field with a name in JSON or in the schema; no extension.
    pub(crate) fn find_name(&self, schema: &Schema, name: &str) -> Option<usize> {
        let data = |at: &u32| schema.field(self.fields[*at as usize].at);
        let json = self.by_json_name.binary_search_by(|at| (*data(at).json_name).cmp(name));
        let found = json.ok().map(|at| self.by_json_name[at]).or_else(|| {
            let original = self.by_name.binary_search_by(|at| (*data(at).name).cmp(name));
            original.ok().map(|at| self.by_name[at])
        });
        found.map(|at| at as usize)
    }

    /// A comma, the name of the field in quotes, and a colon, with at least 16 bytes behind it; and its length.
    #[inline]
    pub(crate) fn padded_key(&self, field: &Field, original: bool) -> (&[u8], usize) {
        let (begin, end) = if original { field.original_key } else { field.json_key };
        let key = self.keys.get(begin as usize..).unwrap_or_default();
        (key, (end - begin) as usize)
    }
}

/// Numbers the fields; those of a oneof all have the number of the first.
fn set_slots(fields: &mut [Field]) {
    let mut oneofs = Vec::new();
    for (at, field) in fields.iter_mut().enumerate() {
        field.slot = at as u32;
        let Some(oneof) = field.oneof.map(|oneof| oneof as usize) else { continue };
        if oneofs.len() <= oneof {
            oneofs.resize(oneof + 1, None);
        }
        field.slot = *oneofs[oneof].get_or_insert(field.slot);
    }
}

impl Field {
    /// Whether a field with this tag is one of these; else it is unknown.
    #[inline]
    pub(crate) fn has_tag(&self, tag: u32) -> bool {
        self.tag == tag || self.run_tag == tag
    }

    /// Whether elements can be in one packed field.
    pub(crate) fn is_packable(&self) -> bool {
        self.tag != self.run_tag
    }

    pub(crate) fn wire_type(&self) -> u32 {
        self.tag & 7
    }

    pub(crate) fn is_extension(&self) -> bool {
        matches!(self.at, FieldAt::Extension(_))
    }

    fn new(schema: &Schema, at: FieldAt, keys: &mut Vec<u8>) -> Self {
        let data = schema.field(at);
        let shape = match data.entry() {
            Some(entry) => Shape::Map(entry),
            None if data.repeated() => Shape::List,
            None => Shape::One,
        };
        let mut key = |name: &str| {
            let begin = keys.len() as u32;
            let [open, close] = if data.extension { ["[", "]"] } else { ["", ""] };
            keys.extend_from_slice(b",\"");
            keys.extend_from_slice(open.as_bytes());
            scan::escape(name.as_bytes(), |part| keys.extend_from_slice(part));
            keys.extend_from_slice(close.as_bytes());
            keys.extend_from_slice(b"\":");
            (begin, keys.len() as u32)
        };
        let json_key = key(if data.extension { &data.name } else { &data.json_name });
        let original_key = if data.extension { json_key } else { key(&data.name) };
        let is_packable = data.repeated() && data.ty.packable();
        let run_type = if is_packable { tag::LEN } else { wire_type(data) };
        let mut field = Self {
            number: data.number,
            tag: tag::tag(data.number, wire_type(data)),
            run_tag: tag::tag(data.number, run_type),
            ty: data.ty,
            shape,
            packed: data.packed && data.ty.packable(),
            presence: data.presence || data.oneof.is_some(),
            closed: matches!(data.ty, Type::Enum(index) if schema.enumeration(index).closed),
            nullable: is_nullable(schema, data.ty),
            slot: 0,
            oneof: data.oneof,
            short_key: [0; SHORT_KEY_BYTES + 1],
            #[cfg(feature = "std")]
            end_key: [0; SHORT_KEY_BYTES],
            short_key_len: 0,
            json_key,
            original_key,
            at,
        };
        field.set_short_key(keys);
        field
    }

    /// Copies the key from `keys`, if it is short.
    fn set_short_key(&mut self, keys: &[u8]) {
        let (begin, end) = self.json_key;
        let key = keys.get(begin as usize..end as usize).unwrap_or_default();
        self.short_key = [0; SHORT_KEY_BYTES + 1];
        self.short_key_len = 0;
        if key.len() > SHORT_KEY_BYTES {
            return;
        }
        if let Some(short) = self.short_key.get_mut(..key.len()) {
            short.copy_from_slice(key);
            self.short_key_len = key.len() as u8;
        }
        #[cfg(feature = "std")]
        {
            self.end_key = [0; SHORT_KEY_BYTES];
            if let Some(end) = self.end_key.get_mut(SHORT_KEY_BYTES - key.len()..) {
                end.copy_from_slice(key);
            }
        }
    }
}

/// Wire type of one value.
fn wire_type(data: &FieldData) -> u32 {
    match data.ty {
        Type::Fixed32 | Type::Sfixed32 | Type::Float => tag::FIXED32,
        Type::Fixed64 | Type::Sfixed64 | Type::Double => tag::FIXED64,
        Type::Message(_) if data.delimited => tag::BEGIN_GROUP,
        Type::String | Type::Bytes | Type::Message(_) => tag::LEN,
        _ => tag::VARINT,
    }
}

/// Whether `null` is a value of this type.
fn is_nullable(schema: &Schema, ty: Type) -> bool {
    match ty {
        Type::Enum(index) => &*schema.enumeration(index).full_name == NULL_VALUE,
        Type::Message(index) => Known::of(&schema.message(index).full_name) == Some(Known::Value),
        _ => false,
    }
}
