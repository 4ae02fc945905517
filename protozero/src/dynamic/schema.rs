//! The tables behind a [`Pool`](super::Pool): everything resolved, references are indices.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::Value;
pub(crate) use super::kind::Type;

/// What a full name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbol {
    Message(u32),
    Enum(u32),
    Extension(u32),
}

/// How often a field may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Label {
    Optional,
    Required,
    Repeated,
}

/// A field or an extension.
#[derive(Clone, Debug)]
pub(crate) struct FieldData {
    /// Of an extension the full name.
    pub(crate) name: Box<str>,
    pub(crate) json_name: Box<str>,
    pub(crate) number: u32,
    pub(crate) ty: Type,
    pub(crate) label: Label,
    /// Absence can be told from the default.
    pub(crate) presence: bool,
    /// Written as one run.
    pub(crate) packed: bool,
    /// Framed by tags.
    pub(crate) delimited: bool,
    /// Must be UTF-8, or the message is malformed.
    pub(crate) utf8: bool,
    /// A map: its type is the message of an entry.
    pub(crate) map: bool,
    pub(crate) extension: bool,
    /// Index into the oneofs of its message.
    pub(crate) oneof: Option<u32>,
    /// Message it is a field of.
    pub(crate) parent: u32,
    /// A group of the old kind, which text calls by the name of its type.
    pub(crate) group_like: bool,
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

/// Members of a choice.
#[derive(Clone, Debug)]
pub(crate) struct OneofData {
    pub(crate) name: Box<str>,
    /// Indices of the fields.
    pub(crate) fields: Vec<u32>,
}

/// Where a field of a message is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum FieldAt {
    /// Message and index in it.
    Field(u32, u32),
    /// Index of the extension.
    Extension(u32),
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct MessageData {
    pub(crate) full_name: Box<str>,
    /// In order of declaration.
    pub(crate) fields: Vec<FieldData>,
    /// Numbers with the indices of their fields, sorted.
    by_number: Vec<(u32, u32)>,
    /// Indices sorted by name.
    by_name: Vec<u32>,
    pub(crate) oneofs: Vec<OneofData>,
    /// Numbers to indices of extensions.
    pub(crate) extensions: BTreeMap<u32, u32>,
    /// Of a message set: types to the extensions that they declare for themselves.
    pub(crate) members: BTreeMap<u32, u32>,
    /// Numbers for extensions, sorted; the second is past the end.
    pub(crate) extension_ranges: Vec<(u32, u32)>,
    /// Sorted.
    pub(crate) reserved_names: Vec<Box<str>>,
    pub(crate) map_entry: bool,
    /// The ancient framing in which every extension is a group of a number and a message.
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

    /// Builds the tables; says which field repeats a number or a name.
    pub(crate) fn index(&mut self) -> Result<(), Clash> {
        let indices = 0..self.fields.len() as u32;
        self.by_number = self.fields.iter().map(|f| f.number).zip(indices.clone()).collect();
        self.by_number.sort_unstable();
        let fields = &self.fields;
        let name = |index: &u32| &fields[*index as usize].name;
        self.by_name = indices.collect();
        self.by_name.sort_unstable_by(|a, b| name(a).cmp(name(b)).then(a.cmp(b)));
        if let Some(pair) = self.by_number.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Clash::Number(pair[1].1));
        }
        match self.by_name.windows(2).find(|pair| name(&pair[0]) == name(&pair[1])) {
            Some(pair) => Err(Clash::Name(pair[1])),
            None => Ok(()),
        }
    }

    pub(crate) fn by_number(&self, number: u32) -> Option<u32> {
        // Most messages number their fields without gaps.
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

/// What two fields of a message share: the index of the later one.
pub(crate) enum Clash {
    Number(u32),
    Name(u32),
}

/// An enum.
#[derive(Clone, Debug)]
pub(crate) struct EnumData {
    pub(crate) full_name: Box<str>,
    /// In order of declaration.
    pub(crate) values: Vec<(Box<str>, i32)>,
    pub(crate) closed: bool,
    by_name: Vec<u32>,
    /// Of several names of a number the first comes first.
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

    /// The name that stands twice.
    pub(crate) fn twice(&self) -> Option<&str> {
        let name = |index: u32| &*self.values[index as usize].0;
        let pair = self.by_name.windows(2).find(|pair| name(pair[0]) == name(pair[1]))?;
        Some(name(pair[0]))
    }

    /// The number that stands twice.
    pub(crate) fn alias(&self) -> Option<i32> {
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
        let at = self.by_number.partition_point(|index| value(*index).1 < number);
        let (name, found) = value(*self.by_number.get(at)?);
        (*found == number).then_some(name)
    }

    /// What an absent field reads as.
    pub(crate) fn default(&self) -> i32 {
        self.values.first().map_or(0, |value| value.1)
    }
}

/// All that a pool knows.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    pub(crate) messages: Vec<MessageData>,
    pub(crate) enums: Vec<EnumData>,
    pub(crate) extensions: Vec<FieldData>,
    pub(crate) symbols: BTreeMap<String, Symbol>,
}

impl Schema {
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

    /// The field or extension of `message` with this number.
    pub(crate) fn at_number(&self, message: u32, number: u32) -> Option<FieldAt> {
        let data = self.message(message);
        if let Some(index) = data.by_number(number) {
            return Some(FieldAt::Field(message, index));
        }
        data.extensions.get(&number).map(|index| FieldAt::Extension(*index))
    }

    /// The same, where a field known to exist is looked at.
    pub(crate) fn numbered(&self, message: u32, number: u32) -> Option<&FieldData> {
        self.at_number(message, number).map(|at| self.field(at))
    }

    /// What a `.proto` calls the type: `uint32`, or a full name.
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

/// Whether a delimited field is what proto2 writes as `group Name = 1 { ... }`: called as its type in
/// lower case, and that declared beside it.
pub(crate) fn group_like(field: &str, scope: &str, ty: &str) -> bool {
    let beside = match ty.rsplit_once('.') {
        Some((outer, _)) => outer == scope,
        None => scope.is_empty(),
    };
    beside
        && short(ty).eq_ignore_ascii_case(field)
        && !field.bytes().any(|b| b.is_ascii_uppercase())
}

/// The name of a field in JSON, unless the schema gives another: `a_b` is `aB`.
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
