//! A message whose type is known at run time only.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use super::pool::{FieldDescriptor, MessageDescriptor};
use super::schema::{FieldData, Schema, Type};
use super::value::{MapKey, Value};
use crate::decode::limits::DEPTH_MAX;
use crate::unknown::UnknownFields;

/// Most levels of messages below a root: what a decoder takes, nobody should be able to surpass.
pub(crate) const LEVEL_MAX: u8 = DEPTH_MAX as u8;

/// A message of a type out of a [`Pool`](super::Pool): a value per field that is present, and what
/// the type does not know.
///
/// Fields are named by number, by name (an extension by `[its.full.name]`) or by descriptor.
/// At most 100 messages stand in each other, as in everything that decodes them. Who stacks more by
/// swapping messages with `mem::swap` can clone, compare and drop them, and ask what is missing;
/// encoding them is an error, and text shows what lies deeper as `...`, which no parser takes.
/// Whatever there is, nothing that walks over a message runs out of stack.
pub struct DynamicMessage {
    pub(crate) descriptor: MessageDescriptor,
    /// Levels above it, or more if it was taken out of somewhere.
    pub(crate) level: u8,
    /// Present fields and known extensions by number. Neither empty lists nor, where absence
    /// cannot be told from it, zero.
    pub(crate) fields: BTreeMap<u32, Value>,
    pub(crate) unknown: UnknownFields,
    /// Per oneof, sorted, the number of the member that was set last.
    pub(super) chosen: Vec<(u32, u32)>,
}

/// How to name a field.
#[derive(Clone, Copy, Debug)]
pub enum FieldKey<'k> {
    /// By its number.
    Number(u32),
    /// By its name; an extension by its full name in brackets.
    Name(&'k str),
    /// By its descriptor.
    Field(&'k FieldDescriptor),
}

impl From<u32> for FieldKey<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

impl<'k> From<&'k str> for FieldKey<'k> {
    fn from(name: &'k str) -> Self {
        Self::Name(name)
    }
}

impl<'k> From<&'k FieldDescriptor> for FieldKey<'k> {
    fn from(field: &'k FieldDescriptor) -> Self {
        Self::Field(field)
    }
}

/// Why a field cannot be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SetError {
    /// The message has no such field.
    NoField,
    /// The field is of another type, holds one value instead of many, or its enum is closed and
    /// has no such number.
    WrongType,
    /// More than 100 messages would stand in each other.
    TooDeep,
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoField => "no such field",
            Self::WrongType => "the field takes no such value",
            Self::TooDeep => "messages nested too deeply",
        })
    }
}

impl core::error::Error for SetError {}

impl DynamicMessage {
    /// An empty message.
    #[must_use]
    pub fn new(descriptor: MessageDescriptor) -> Self {
        Self {
            descriptor,
            level: 0,
            fields: BTreeMap::new(),
            unknown: UnknownFields::new(),
            chosen: Vec::new(),
        }
    }

    /// An empty message below this one.
    pub(crate) fn child(&self, index: u32) -> Result<Self, SetError> {
        let level = self.level.checked_add(1).filter(|level| *level <= LEVEL_MAX);
        let level = level.ok_or(SetError::TooDeep)?;
        let mut child = Self::new(self.descriptor.pool.message_at(index));
        child.level = level;
        Ok(child)
    }

    /// Its type.
    #[must_use]
    pub fn descriptor(&self) -> &MessageDescriptor {
        &self.descriptor
    }

    /// Fields and extensions that are present, by number.
    pub fn fields(&self) -> impl Iterator<Item = (FieldDescriptor, &Value)> {
        self.fields
            .iter()
            .filter_map(|(number, value)| Some((self.descriptor.field_by_number(*number)?, value)))
    }

    /// What the type does not know, as it came.
    #[must_use]
    pub fn unknown_fields(&self) -> &UnknownFields {
        &self.unknown
    }

    /// The same, to forget or add to it.
    pub fn unknown_fields_mut(&mut self) -> &mut UnknownFields {
        &mut self.unknown
    }

    /// True if nothing is present, known or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.unknown.is_empty()
    }

    fn number<'k>(&self, key: impl Into<FieldKey<'k>>) -> Option<u32> {
        let schema = &*self.descriptor.pool.0;
        match key.into() {
            FieldKey::Number(number) => Some(number),
            FieldKey::Name(name) => {
                match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                    Some(name) => {
                        let field = self.descriptor.pool.extension(name)?;
                        (field.data().parent == self.descriptor.index).then(|| field.number())
                    }
                    None => {
                        let data = self.descriptor.data();
                        Some(data.fields[data.by_name(name)? as usize].number)
                    }
                }
            }
            FieldKey::Field(field) => {
                let own = core::ptr::eq(schema, &*field.pool.0);
                (own && field.data().parent == self.descriptor.index).then(|| field.number())
            }
        }
    }

    /// The value of a field that is present.
    #[must_use]
    pub fn get<'k>(&self, key: impl Into<FieldKey<'k>>) -> Option<&Value> {
        self.fields.get(&self.number(key)?)
    }

    /// True if the field is present: set to anything at all, or, where the schema does not tell
    /// absence from the default, to something else than that.
    #[must_use]
    pub fn has<'k>(&self, key: impl Into<FieldKey<'k>>) -> bool {
        self.get(key).is_some()
    }

    /// Makes the field absent and returns what it held.
    pub fn clear<'k>(&mut self, key: impl Into<FieldKey<'k>>) -> Option<Value> {
        let number = self.number(key)?;
        self.fields.remove(&number)
    }

    /// Sets a field. Other members of its oneof become absent; so does the field itself if `value`
    /// is an empty list, or a default that cannot be told from absence.
    ///
    /// # Errors
    /// [`SetError`] if there is no such field or it does not take such a value.
    pub fn set<'k>(
        &mut self,
        key: impl Into<FieldKey<'k>>,
        value: impl Into<Value>,
    ) -> Result<(), SetError> {
        self.change(key, value.into(), accepts, Self::put)
    }

    /// Adds an element to a repeated field.
    ///
    /// # Errors
    /// [`SetError`] if there is no such field or it does not take such an element.
    pub fn push<'k>(
        &mut self,
        key: impl Into<FieldKey<'k>>,
        value: impl Into<Value>,
    ) -> Result<(), SetError> {
        let element = |schema: &Schema, field: &FieldData, value: &Value| {
            field.repeated() && !field.map && value.fits(schema, field.ty)
        };
        self.change(key, value.into(), element, Self::add)
    }

    fn change<'k>(
        &mut self,
        key: impl Into<FieldKey<'k>>,
        mut value: Value,
        fits: impl FnOnce(&Schema, &FieldData, &Value) -> bool,
        store: impl FnOnce(&mut Self, &FieldData, Value),
    ) -> Result<(), SetError> {
        let pool = self.descriptor.pool.clone();
        let field = self.find(&pool.0, key)?;
        if !fits(&pool.0, field, &value) {
            return Err(SetError::WrongType);
        }
        adopt(&mut value, self.level)?;
        store(self, field, value);
        Ok(())
    }

    /// Adds an entry to a map, or replaces it.
    ///
    /// # Errors
    /// [`SetError`] if there is no such field or it does not take such a key or value.
    pub fn insert<'k>(
        &mut self,
        key: impl Into<FieldKey<'k>>,
        map_key: MapKey,
        value: impl Into<Value>,
    ) -> Result<(), SetError> {
        let pool = self.descriptor.pool.clone();
        let (field, mut value) = (self.find(&pool.0, key)?, value.into());
        if !fits_entry(&pool.0, field, &map_key, &value) {
            return Err(SetError::WrongType);
        }
        // The entry is a message as well.
        if self.level >= LEVEL_MAX {
            return Err(SetError::TooDeep);
        }
        adopt(&mut value, self.level + 1)?;
        self.add_entry(field.number, map_key, value);
        Ok(())
    }

    /// The message in a singular field, made if it is absent.
    ///
    /// # Errors
    /// [`SetError`] if there is no such field, it holds no single message, or that would lie too
    /// deep.
    pub fn message_mut<'k>(&mut self, key: impl Into<FieldKey<'k>>) -> Result<&mut Self, SetError> {
        let pool = self.descriptor.pool.clone();
        let field = self.find(&pool.0, key)?;
        self.open(field)
    }

    fn find<'s, 'k>(
        &self,
        schema: &'s Schema,
        key: impl Into<FieldKey<'k>>,
    ) -> Result<&'s FieldData, SetError> {
        let number = self.number(key).ok_or(SetError::NoField)?;
        schema.numbered(self.descriptor.index, number).ok_or(SetError::NoField)
    }

    /// Stores a value known to fit.
    pub(crate) fn put(&mut self, field: &FieldData, value: Value) {
        self.close_oneof(field);
        if value.is_zero() && (!field.presence || field.repeated()) {
            self.fields.remove(&field.number);
        } else {
            self.fields.insert(field.number, value);
        }
    }

    /// Adds an element known to fit.
    pub(crate) fn add(&mut self, field: &FieldData, value: Value) {
        let slot = self.fields.entry(field.number).or_insert_with(|| Value::List(Vec::new()));
        if let Value::List(values) = slot {
            values.push(value);
        }
    }

    /// Adds an entry known to fit; how many there were, if it is one more.
    pub(crate) fn add_entry(&mut self, number: u32, key: MapKey, value: Value) -> Option<usize> {
        let slot = self.fields.entry(number).or_insert_with(|| Value::Map(BTreeMap::new()));
        let Value::Map(entries) = slot else { return None };
        let before = entries.len();
        entries.insert(key, value);
        (entries.len() > before).then_some(before)
    }

    /// The message in a singular field, made if it is absent.
    pub(crate) fn open(&mut self, field: &FieldData) -> Result<&mut Self, SetError> {
        let Type::Message(index) = field.ty else { return Err(SetError::WrongType) };
        if field.repeated() {
            return Err(SetError::WrongType);
        }
        if !self.fields.contains_key(&field.number) {
            let child = self.child(index)?;
            self.close_oneof(field);
            self.fields.insert(field.number, Value::Message(Box::new(child)));
        }
        match self.fields.get_mut(&field.number) {
            Some(Value::Message(message)) => Ok(message),
            _ => Err(SetError::WrongType),
        }
    }

    /// Makes the members of the oneof of `field` absent, but for `field`.
    fn close_oneof(&mut self, field: &FieldData) {
        let Some(oneof) = field.oneof else { return };
        // Of the members at most the one set last is present.
        match self.chosen.binary_search_by_key(&oneof, |chosen| chosen.0) {
            Ok(at) => {
                let last = core::mem::replace(&mut self.chosen[at].1, field.number);
                if last != field.number {
                    self.fields.remove(&last);
                }
            }
            Err(at) => self.chosen.insert(at, (oneof, field.number)),
        }
    }
}

/// Counts the levels of the messages in `value`, which comes into a message of `level`.
fn adopt(value: &mut Value, level: u8) -> Result<(), SetError> {
    let mut todo: Vec<(&mut Value, u8)> = Vec::new();
    todo.push((value, level));
    while let Some((value, level)) = todo.pop() {
        match value {
            Value::Message(message) => {
                message.level = level.saturating_add(1);
                if message.level > LEVEL_MAX {
                    return Err(SetError::TooDeep);
                }
                let level = message.level;
                todo.extend(message.fields.values_mut().map(|value| (value, level)));
            }
            Value::List(values) => {
                let nested = values.iter_mut().filter(|v| matches!(v, Value::Message(_)));
                todo.extend(nested.map(|value| (value, level)));
            }
            // An entry is a message as well.
            Value::Map(entries) => {
                if level >= LEVEL_MAX && !entries.is_empty() {
                    return Err(SetError::TooDeep);
                }
                let nested = entries.values_mut().filter(|v| matches!(v, Value::Message(_)));
                todo.extend(nested.map(|value| (value, level.saturating_add(1))));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a field may hold this.
fn accepts(schema: &Schema, field: &FieldData, value: &Value) -> bool {
    match value {
        Value::Map(entries) => {
            field.map && entries.iter().all(|(key, value)| fits_entry(schema, field, key, value))
        }
        Value::List(values) => {
            let list = field.repeated() && !field.map;
            list && values.iter().all(|value| value.fits(schema, field.ty))
        }
        value => !field.repeated() && value.fits(schema, field.ty),
    }
}

fn fits_entry(schema: &Schema, field: &FieldData, key: &MapKey, value: &Value) -> bool {
    let Some(entry) = field.entry() else { return false };
    let part = |number| schema.numbered(entry, number);
    let fits = |number, value: &Value| part(number).is_some_and(|p| value.fits(schema, p.ty));
    fits(1, &key.clone().into()) && fits(2, value)
}

/// In one line of the text format, unknown fields by number.
impl fmt::Debug for DynamicMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = crate::text::PrintOptions {
            single_line: !f.alternate(),
            unknown_fields: true,
            ..crate::text::PrintOptions::default()
        };
        write!(f, "{} {{", self.descriptor.full_name())?;
        f.write_str(if f.alternate() { "\n" } else { " " })?;
        crate::text::write(self, &options, f)?;
        f.write_str(if self.is_empty() || f.alternate() { "}" } else { " }" })
    }
}
