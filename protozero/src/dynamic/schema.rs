//! The tables of a [`Pool`](super::Pool). All names are resolved, and references are indices.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::Value;
pub(crate) use super::kind::Type;

/// The element with a full name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbol {
    Message(u32),
    Enum(u32),
    Extension(u32),
}

/// How often a field may occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Label {
    Optional,
    Required,
    Repeated,
}

/// A field or an extension.
#[derive(Clone, Debug)]
pub(crate) struct FieldData {
    /// For an extension the full name.
    pub(crate) name: Box<str>,
    pub(crate) json_name: Box<str>,
    pub(crate) number: u32,
    pub(crate) ty: Type,
    pub(crate) label: Label,
    /// A missing field differs from one with the default value.
    pub(crate) presence: bool,
    /// Elements are encoded as one packed field.
    pub(crate) packed: bool,
    /// Encoded as a group.
    pub(crate) delimited: bool,
    /// Text that is not UTF-8 makes the message malformed.
    pub(crate) utf8: bool,
    /// A map: its type is the entry message.
    pub(crate) map: bool,
    pub(crate) extension: bool,
    /// Index in the oneofs of its message.
    pub(crate) oneof: Option<u32>,
    /// Index of its message.
    pub(crate) parent: u32,
    /// A proto2 group, which the text format calls by the name of its type.
    pub(crate) is_proto2_group: bool,
    pub(crate) default: Option<Value>,
}

impl FieldData {
    pub(crate) fn repeated(&self) -> bool {
        self.label == Label::Repeated
    }

    /// The entry message of a map.
    pub(crate) fn entry(&self) -> Option<u32> {
        match self.ty {
            Type::Message(entry) if self.map => Some(entry),
            _ => None,
        }
    }
}

/// The members of a oneof.
#[derive(Clone, Debug)]
pub(crate) struct OneofData {
    pub(crate) name: Box<str>,
    /// Indices of the fields.
    pub(crate) fields: Vec<u32>,
}

/// Position of a field in the tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum FieldAt {
    /// Index of the message, and of the field in it.
    Field(u32, u32),
    /// Index of the extension.
    Extension(u32),
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct MessageData {
    pub(crate) full_name: Box<str>,
    /// Fields in order of declaration.
    pub(crate) fields: Vec<FieldData>,
    /// Numbers and indices of the fields, sorted.
    by_number: Vec<(u32, u32)>,
    /// Indices of the fields, sorted by name.
    by_name: Vec<u32>,
    pub(crate) oneofs: Vec<OneofData>,
    /// Indices of the extensions, by number.
    pub(crate) extensions: BTreeMap<u32, u32>,
    /// For a message set: the extension that each member type declares in itself, by type.
    pub(crate) members: BTreeMap<u32, u32>,
    /// Number ranges for extensions, sorted. The end is not part of a range.
    pub(crate) extension_ranges: Vec<(u32, u32)>,
    /// Sorted names.
    pub(crate) reserved_names: Vec<Box<str>>,
    pub(crate) map_entry: bool,
    /// Uses the old encoding in which each extension is a group of a type number and a message.
    pub(crate) message_set: bool,
}

impl MessageData {
    pub(crate) fn new(full_name: &str) -> Self {
        Self {
            full_name: full_name.into(),
            fields: Vec::new(),
            by_number: Vec::new(),
            by_name: Vec::new(),
            oneofs: Vec::new(),
            extensions: BTreeMap::new(),
            members: BTreeMap::new(),
            extension_ranges: Vec::new(),
            reserved_names: Vec::new(),
            map_entry: false,
            message_set: false,
        }
    }

    pub(crate) fn name(&self) -> &str {
        short(&self.full_name)
    }

    /// Builds the tables; returns a field with a repeated number or name.
    pub(crate) fn index(&mut self) -> Result<(), Duplicate> {
        let indices = 0..self.fields.len() as u32;
        self.by_number = self.fields.iter().map(|f| f.number).zip(indices.clone()).collect();
        self.by_number.sort_unstable();
        let fields = &self.fields;
        let name = |index: &u32| &fields[*index as usize].name;
        self.by_name = indices.collect();
        self.by_name.sort_unstable_by(|a, b| name(a).cmp(name(b)).then(a.cmp(b)));
        if let Some(pair) = self.by_number.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Duplicate::Number(pair[1].1));
        }
        match self.by_name.windows(2).find(|pair| name(&pair[0]) == name(&pair[1])) {
            Some(pair) => Err(Duplicate::Name(pair[1])),
            None => Ok(()),
        }
    }

    pub(crate) fn by_number(&self, number: u32) -> Option<u32> {
        // Most messages have numbers without gaps.
        let near = (number as usize).wrapping_sub(1);
        if let Some(&(found, index)) = self.by_number.get(near)
            && found == number
        {
            return Some(index);
        }
        let at = self.by_number.binary_search_by_key(&number, |entry| entry.0).ok()?;
        Some(self.by_number[at].1)
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<u32> {
        let key = |index: &u32| &*self.fields[*index as usize].name;
        let at = self.by_name.binary_search_by(|index| key(index).cmp(name)).ok()?;
        Some(self.by_name[at])
    }
}

/// What two fields have in common, with the index of the later one.
pub(crate) enum Duplicate {
    Number(u32),
    Name(u32),
}

/// An enum.
#[derive(Clone, Debug)]
pub(crate) struct EnumData {
    pub(crate) full_name: Box<str>,
    /// Names and numbers in order of declaration.
    pub(crate) values: Vec<(Box<str>, i32)>,
    pub(crate) closed: bool,
    by_name: Vec<u32>,
    /// Indices sorted by number; the first name of a number comes first.
    by_number: Vec<u32>,
}

impl EnumData {
    /// Builds the tables.
    pub(crate) fn new(full_name: &str, values: Vec<(Box<str>, i32)>, closed: bool) -> Self {
        let mut by_name: Vec<u32> = (0..values.len() as u32).collect();
        let mut by_number = by_name.clone();
        by_name.sort_by(|a, b| values[*a as usize].0.cmp(&values[*b as usize].0));
        by_number.sort_by_key(|index| values[*index as usize].1);
        let full_name = full_name.into();
        Self { full_name, values, closed, by_name, by_number }
    }

    /// A name that occurs twice.
    pub(crate) fn duplicate_name(&self) -> Option<&str> {
        let name = |index: u32| &*self.values[index as usize].0;
        let pair = self.by_name.windows(2).find(|pair| name(pair[0]) == name(pair[1]))?;
        Some(name(pair[0]))
    }

    /// A number that occurs twice.
    pub(crate) fn duplicate_number(&self) -> Option<i32> {
        let number = |index: u32| self.values[index as usize].1;
        let pair = self.by_number.windows(2).find(|pair| number(pair[0]) == number(pair[1]))?;
        Some(number(pair[0]))
    }

    pub(crate) fn number(&self, name: &str) -> Option<i32> {
        let key = |index: &u32| &*self.values[*index as usize].0;
        let at = self.by_name.binary_search_by(|index| key(index).cmp(name)).ok()?;
        Some(self.values[self.by_name[at] as usize].1)
    }

    pub(crate) fn name_of(&self, number: i32) -> Option<&str> {
        let value = |index: u32| &self.values[index as usize];
        let number_at = |at: usize| self.by_number.get(at).map(|index| value(*index).1);
        // Most enums have the numbers from 0 on, without gaps. An alias makes the one before equal.
        let near = number as usize;
        let before = near.checked_sub(1).and_then(number_at);
        let at = match number_at(near) {
            Some(found) if found == number && before != Some(number) => near,
            _ => self.by_number.partition_point(|index| value(*index).1 < number),
        };
        let (name, found) = value(*self.by_number.get(at)?);
        (*found == number).then_some(name)
    }

    /// The value of a missing field.
    pub(crate) fn default(&self) -> i32 {
        self.values.first().map_or(0, |value| value.1)
    }
}

/// All elements of a pool.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) messages: Vec<MessageData>,
    pub(crate) enums: Vec<EnumData>,
    pub(crate) extensions: Vec<FieldData>,
    pub(crate) symbols: BTreeMap<String, Symbol>,
    /// The messages, prepared for JSON, by index.
    #[cfg(feature = "json")]
    pub(crate) json: Box<[crate::json::Table]>,
}

impl Schema {
    /// Prepares the complete tables for those who read them.
    pub(crate) fn prepared(self) -> Self {
        #[cfg(feature = "json")]
        return Self { json: crate::json::prepare(&self), ..self };
        #[cfg(not(feature = "json"))]
        self
    }

    pub(crate) fn message(&self, index: u32) -> &MessageData {
        &self.messages[index as usize]
    }

    pub(crate) fn enumeration(&self, index: u32) -> &EnumData {
        &self.enums[index as usize]
    }

    pub(crate) fn field(&self, at: FieldAt) -> &FieldData {
        match at {
            FieldAt::Field(message, index) => &self.message(message).fields[index as usize],
            FieldAt::Extension(index) => &self.extensions[index as usize],
        }
    }

    /// The position of the field or extension of `message` with this number.
    pub(crate) fn position_by_number(&self, message: u32, number: u32) -> Option<FieldAt> {
        let data = self.message(message);
        if let Some(index) = data.by_number(number) {
            return Some(FieldAt::Field(message, index));
        }
        data.extensions.get(&number).map(|index| FieldAt::Extension(*index))
    }

    /// The field or extension of `message` with this number.
    pub(crate) fn field_by_number(&self, message: u32, number: u32) -> Option<&FieldData> {
        self.position_by_number(message, number).map(|at| self.field(at))
    }

    /// The name of the type in a `.proto` file: `uint32`, or a full name.
    pub(crate) fn type_name(&self, ty: Type) -> &str {
        match ty {
            Type::Int32 => "int32",
            Type::Int64 => "int64",
            Type::Uint32 => "uint32",
            Type::Uint64 => "uint64",
            Type::Sint32 => "sint32",
            Type::Sint64 => "sint64",
            Type::Fixed32 => "fixed32",
            Type::Fixed64 => "fixed64",
            Type::Sfixed32 => "sfixed32",
            Type::Sfixed64 => "sfixed64",
            Type::Float => "float",
            Type::Double => "double",
            Type::Bool => "bool",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Enum(index) => &self.enumeration(index).full_name,
            Type::Message(index) => &self.message(index).full_name,
        }
    }
}

/// Whether a delimited field has the form of a proto2 `group Name = 1 { ... }`: its name is that of
/// its type in lower case, and the type is declared in the same scope.
pub(crate) fn is_proto2_group(field: &str, scope: &str, ty: &str) -> bool {
    let beside = match ty.rsplit_once('.') {
        Some((outer, _)) => outer == scope,
        None => scope.is_empty(),
    };
    beside
        && short(ty).eq_ignore_ascii_case(field)
        && !field.bytes().any(|b| b.is_ascii_uppercase())
}

/// The default JSON name of a field: `a_b` becomes `aB`.
pub(crate) fn json_name(name: &str) -> Box<str> {
    let mut json = String::new();
    let mut upper = false;
    for letter in name.chars() {
        match letter {
            '_' => upper = true,
            _ if core::mem::take(&mut upper) => json.push(letter.to_ascii_uppercase()),
            _ => json.push(letter),
        }
    }
    json.into_boxed_str()
}

/// The last part of a full name.
pub(crate) fn short(full: &str) -> &str {
    full.rsplit('.').next().unwrap_or(full)
}
