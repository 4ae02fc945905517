//! Messages of types that are known only at run time.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use super::pool::{FieldDescriptor, MessageDescriptor, Pool};
use super::schema::{FieldData, Schema, Type};
use super::value::{MapKey, Value};
use crate::decode::limits::DEPTH_MAX;
use crate::decode::{DecodeContext, DecodeMemory};
use crate::unknown::UnknownFields;

/// Maximum levels below a root message, the same as for decoding.
pub(crate) const LEVEL_MAX: u8 = DEPTH_MAX as u8;

/// A message of a type of a [`Pool`]: a value for each field that is set, and the
/// unknown fields.
///
/// Fields are selected by number, by name (an extension by `[its.full.name]`) or by descriptor. A
/// message has at most 100 levels, as in all decoders. A program can exceed this with `mem::swap`:
/// such a message can be cloned, compared, dropped and searched for missing fields. Encoding it is
/// an error, and its text has `...` at the limit, which no parser accepts. No operation overflows
/// the stack.
pub struct DynamicMessage {
    pub(crate) descriptor: MessageDescriptor,
    /// Number of levels above this message. It may be too high if the message was taken out of
    /// another.
    pub(crate) level: u8,
    /// Set fields and known extensions, by number. Empty lists are not stored, nor zeros of fields
    /// without presence.
    pub(crate) fields: BTreeMap<u32, Value>,
    pub(crate) unknown: UnknownFields,
    /// The last set member of each oneof, as (oneof, number), sorted.
    pub(super) chosen: Vec<(u32, u32)>,
}

/// Selects a field.
#[derive(Clone, Copy, Debug)]
pub enum FieldKey<'k> {
    /// By its number.
    Number(u32),
    /// By name; for an extension the full name in brackets.
    Name(&'k str),
    /// By its descriptor. That of another [`Pool`] selects the field that has the same
    /// number, name and full name of the message.
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
    /// The value has another type, is one value instead of many or many instead of one, or is not
    /// in the closed enum.
    WrongType,
    /// The message would have more than 100 levels.
    TooDeep,
    /// The enum of the field has no value with this name.
    NoEnumValue,
    /// The message is of another pool, and its bytes are none of the type with the same name in this pool.
    OtherPool,
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoField => "the message has no such field",
            Self::WrongType => "the value does not fit the field",
            Self::TooDeep => "messages nested too deeply",
            Self::NoEnumValue => "the enum of the field has no value with this name",
            Self::OtherPool => "the type of the field has another schema than the message",
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

    /// An empty message one level below this one.
    pub(crate) fn child(&self, index: u32) -> Result<Self, SetError> {
        let level = self.level.checked_add(1).filter(|level| *level <= LEVEL_MAX);
        let level = level.ok_or(SetError::TooDeep)?;
        let mut child = Self::new(self.descriptor.pool.message_at(index));
        child.level = level;
        Ok(child)
    }

    /// The type of the message.
    #[must_use]
    pub fn descriptor(&self) -> &MessageDescriptor {
        &self.descriptor
    }

    /// The fields and extensions that are set, in the order of numbers.
    pub fn fields(&self) -> impl Iterator<Item = (FieldDescriptor, &Value)> {
        self.fields
            .iter()
            .filter_map(|(number, value)| Some((self.descriptor.field_by_number(*number)?, value)))
    }

    /// The unknown fields, in encoded form.
    #[must_use]
    pub fn unknown_fields(&self) -> &UnknownFields {
        &self.unknown
    }

    /// The unknown fields, for changes.
    pub fn unknown_fields_mut(&mut self) -> &mut UnknownFields {
        &mut self.unknown
    }

    /// True if there are no fields, neither known nor unknown.
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
                let theirs = field.data();
                let is_own = if core::ptr::eq(schema, &*field.pool.0) {
                    theirs.parent == self.descriptor.index
                } else {
                    self.is_namesake(field)
                };
                is_own.then_some(theirs.number)
            }
        }
    }

    /// Whether the field of another pool has the names and the number of a field of this message.
    fn is_namesake(&self, field: &FieldDescriptor) -> bool {
        let theirs = field.data();
        let ours = self.descriptor.pool.0.field_by_number(self.descriptor.index, theirs.number);
        let same =
            |ours: &FieldData| (&ours.name, ours.extension) == (&theirs.name, theirs.extension);
        field.pool.0.message(theirs.parent).full_name == self.descriptor.data().full_name
            && ours.is_some_and(same)
    }

    /// The value of a field, if it is set.
    #[must_use]
    pub fn get<'k>(&self, key: impl Into<FieldKey<'k>>) -> Option<&Value> {
        self.fields.get(&self.number(key)?)
    }

    /// True if the field is set. A field without presence is set if it differs from its default.
    #[must_use]
    pub fn has<'k>(&self, key: impl Into<FieldKey<'k>>) -> bool {
        self.get(key).is_some()
    }

    /// Removes a field and returns its value.
    pub fn clear<'k>(&mut self, key: impl Into<FieldKey<'k>>) -> Option<Value> {
        let number = self.number(key)?;
        self.fields.remove(&number)
    }

    /// Sets a field and removes the other members of its oneof. An empty list, or a default value
    /// in a field without presence, removes the field.
    ///
    /// The value of an enum is its number ([`Value::Enum`]), a value of the generated enum, or its name as text, also
    /// as an element of a list or as a value of a map.
    ///
    /// A message may be of another pool, such as that of another generated type. It then becomes one of this pool: it
    /// is encoded, and decoded as the type with the same full name.
    ///
    /// # Errors
    /// [`SetError`] if there is no such field, or the value does not fit it.
    pub fn set<'k>(
        &mut self,
        key: impl Into<FieldKey<'k>>,
        value: impl Into<Value>,
    ) -> Result<(), SetError> {
        self.checked_store(key, value.into(), accepts, Self::put)
    }

    /// Adds an element to a repeated field.
    ///
    /// # Errors
    /// [`SetError`] if there is no such field, or the element does not fit it.
    pub fn push<'k>(
        &mut self,
        key: impl Into<FieldKey<'k>>,
        value: impl Into<Value>,
    ) -> Result<(), SetError> {
        let element = |schema: &Schema, field: &FieldData, value: &Value| {
            field.repeated() && !field.map && value.fits(schema, field.ty)
        };
        self.checked_store(key, value.into(), element, Self::add)
    }

    fn checked_store<'k>(
        &mut self,
        key: impl Into<FieldKey<'k>>,
        mut value: Value,
        fits: impl FnOnce(&Schema, &FieldData, &Value) -> bool,
        store: impl FnOnce(&mut Self, &FieldData, Value),
    ) -> Result<(), SetError> {
        let pool = self.descriptor.pool.clone();
        let field = self.find(&pool.0, key)?;
        resolve_names(&pool.0, field, &mut value)?;
        take_over(&pool, field, &mut value)?;
        if !fits(&pool.0, field, &value) {
            return Err(SetError::WrongType);
        }
        set_levels(&mut value, self.level)?;
        store(self, field, value);
        Ok(())
    }

    /// Adds or replaces an entry of a map: `order.insert("tags", "colour", "red")`.
    ///
    /// # Errors
    /// [`SetError`] if there is no such field, or the key or value does not fit it.
    pub fn insert<'k>(
        &mut self,
        key: impl Into<FieldKey<'k>>,
        map_key: impl Into<MapKey>,
        value: impl Into<Value>,
    ) -> Result<(), SetError> {
        let pool = self.descriptor.pool.clone();
        let (field, mut value) = (self.find(&pool.0, key)?, value.into());
        let map_key = map_key.into();
        resolve_names(&pool.0, field, &mut value)?;
        take_over(&pool, field, &mut value)?;
        if !fits_entry(&pool.0, field, &map_key, &value) {
            return Err(SetError::WrongType);
        }
        // The entry is a level, too.
        if self.level >= LEVEL_MAX {
            return Err(SetError::TooDeep);
        }
        set_levels(&mut value, self.level + 1)?;
        self.add_entry(field.number, map_key, value);
        Ok(())
    }

    /// The message in a singular field. Adds an empty message if the field is not set.
    ///
    /// # Errors
    /// [`SetError`] if there is no such field, it is not a singular message, or the message would
    /// be too deep.
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
        schema.field_by_number(self.descriptor.index, number).ok_or(SetError::NoField)
    }

    /// Stores a value that fits the field.
    pub(crate) fn put(&mut self, field: &FieldData, value: Value) {
        self.close_oneof(field);
        if value.is_zero() && (!field.presence || field.repeated()) {
            self.fields.remove(&field.number);
        } else {
            self.fields.insert(field.number, value);
        }
    }

    /// Adds an element that fits the field.
    pub(crate) fn add(&mut self, field: &FieldData, value: Value) {
        let slot = self.fields.entry(field.number).or_insert_with(|| Value::List(Vec::new()));
        if let Value::List(values) = slot {
            values.push(value);
        }
    }

    /// Adds an entry that fits the field. Returns the previous number of entries if the key is new.
    pub(crate) fn add_entry(&mut self, number: u32, key: MapKey, value: Value) -> Option<usize> {
        let slot = self.fields.entry(number).or_insert_with(|| Value::Map(BTreeMap::new()));
        let Value::Map(entries) = slot else { return None };
        let before = entries.len();
        entries.insert(key, value);
        (entries.len() > before).then_some(before)
    }

    /// The message in a singular field. Adds an empty message if the field is not set.
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

    /// Removes the other members of the oneof of `field`.
    fn close_oneof(&mut self, field: &FieldData) {
        let Some(oneof) = field.oneof else { return };
        // Only the last set member can be present.
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

/// The type of the field, or of the values of a map.
fn type_of(schema: &Schema, field: &FieldData) -> Type {
    let of_entry = |entry| schema.field_by_number(entry, 2).map(|value| value.ty);
    field.entry().and_then(of_entry).unwrap_or(field.ty)
}

/// Replaces messages of other pools by those of this pool with the same full name.
fn take_over(pool: &Pool, field: &FieldData, value: &mut Value) -> Result<(), SetError> {
    let Type::Message(index) = type_of(&pool.0, field) else { return Ok(()) };
    let of = pool.message_at(index);
    let mut result = Ok(());
    value.for_messages(|message| {
        let from = message.descriptor();
        if core::ptr::eq(&*from.pool.0, &*pool.0) || from.full_name() != of.full_name() {
            return;
        }
        let taken = match message.try_encode() {
            Ok(bytes) => {
                // The value is in memory already.
                let memory = DecodeMemory::new(usize::MAX);
                let within = DecodeContext::with_depth(DEPTH_MAX).with_growth(&memory);
                let mut taken = DynamicMessage::new(of.clone());
                let merged = taken.merge_within(&bytes, within);
                merged.map(|()| taken).map_err(|_| SetError::OtherPool)
            }
            Err(_) => Err(SetError::TooDeep),
        };
        match taken {
            Ok(taken) => *message = taken,
            Err(error) => result = Err(error),
        }
    });
    result
}

/// Replaces names of enum values by their numbers.
fn resolve_names(schema: &Schema, field: &FieldData, value: &mut Value) -> Result<(), SetError> {
    let Type::Enum(index) = type_of(schema, field) else { return Ok(()) };
    let resolve = |value: &mut Value| {
        if let Value::String(name) = value {
            let number = schema.enumeration(index).number(name).ok_or(SetError::NoEnumValue)?;
            *value = Value::Enum(number);
        }
        Ok(())
    };
    match value {
        Value::List(values) => values.iter_mut().try_for_each(resolve),
        Value::Map(entries) => entries.values_mut().try_for_each(resolve),
        value => resolve(value),
    }
}

/// Sets the levels of all messages in `value`, which becomes part of a message at `level`.
fn set_levels(value: &mut Value, level: u8) -> Result<(), SetError> {
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
            // An entry is a level, too.
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

/// Whether `value` fits `field`.
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
    let part = |number| schema.field_by_number(entry, number);
    let fits = |number, value: &Value| part(number).is_some_and(|p| value.fits(schema, p.ty));
    fits(1, &key.clone().into()) && fits(2, value)
}
