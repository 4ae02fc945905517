//! The pool and the handles it gives out.

use alloc::sync::Arc;
use core::fmt;

use super::kind::Kind;
use super::schema::short;
use super::schema::{EnumData, FieldAt, FieldData, Label, MessageData, OneofData, Schema, Symbol};
use super::value::Value;

/// All messages, enums and extensions of a schema. Cheap to clone; handles keep it alive.
///
/// Each pool has types of its own: those of two pools never equal each other, nor do their messages,
/// even if both were made of one schema.
#[derive(Clone)]
pub struct Pool(pub(crate) Arc<Schema>);

impl Pool {
    /// The message with this full name (no leading dot).
    #[must_use]
    pub fn message(&self, full_name: &str) -> Option<MessageDescriptor> {
        match self.0.symbols.get(full_name)? {
            Symbol::Message(index) => Some(self.message_at(*index)),
            _ => None,
        }
    }

    /// The enum with this full name.
    #[must_use]
    pub fn enumeration(&self, full_name: &str) -> Option<EnumDescriptor> {
        match self.0.symbols.get(full_name)? {
            Symbol::Enum(index) => Some(EnumDescriptor { pool: self.clone(), index: *index }),
            _ => None,
        }
    }

    /// The extension with this full name.
    #[must_use]
    pub fn extension(&self, full_name: &str) -> Option<FieldDescriptor> {
        match self.0.symbols.get(full_name)? {
            Symbol::Extension(index) => Some(self.field_at(FieldAt::Extension(*index))),
            _ => None,
        }
    }

    /// All messages, nested ones and those of map entries included.
    pub fn messages(&self) -> impl Iterator<Item = MessageDescriptor> + '_ {
        (0..self.0.messages.len() as u32).map(|index| self.message_at(index))
    }

    pub(crate) fn message_at(&self, index: u32) -> MessageDescriptor {
        MessageDescriptor { pool: self.clone(), index }
    }

    pub(crate) fn field_at(&self, at: FieldAt) -> FieldDescriptor {
        FieldDescriptor { pool: self.clone(), at }
    }
}

/// How much there is; the schema itself would fill pages.
impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (messages, enums) = (self.0.messages.len(), self.0.enums.len());
        write!(f, "Pool({messages} messages, {enums} enums)")
    }
}

macro_rules! handle {
    ($name:ident, $key:ident) => {
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.$key == other.$key && Arc::ptr_eq(&self.pool.0, &other.pool.0)
            }
        }

        impl Eq for $name {}

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.full_name())
            }
        }
    };
}

/// A message of a pool.
#[derive(Clone)]
pub struct MessageDescriptor {
    pub(crate) pool: Pool,
    pub(crate) index: u32,
}

handle!(MessageDescriptor, index);

impl MessageDescriptor {
    pub(crate) fn data(&self) -> &MessageData {
        self.pool.0.message(self.index)
    }

    /// The pool it belongs to.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// `pkg.Outer.Inner`.
    #[must_use]
    pub fn full_name(&self) -> &str {
        &self.data().full_name
    }

    /// `Inner`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.data().name()
    }

    /// True for what a map field repeats on the wire.
    #[must_use]
    pub fn is_map_entry(&self) -> bool {
        self.data().map_entry
    }

    /// Its own fields in order of declaration.
    pub fn fields(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        (0..self.data().fields.len() as u32)
            .map(|index| self.pool.field_at(FieldAt::Field(self.index, index)))
    }

    /// The extensions the pool knows for it, by number.
    pub fn extensions(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        let found = self.data().extensions.values();
        found.map(|index| self.pool.field_at(FieldAt::Extension(*index)))
    }

    /// Its choices; those that stand for proto3's `optional` are left out.
    pub fn oneofs(&self) -> impl Iterator<Item = OneofDescriptor> + '_ {
        (0..self.data().oneofs.len() as u32)
            .map(|oneof| OneofDescriptor { message: self.clone(), oneof })
    }

    /// The field called `name`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<FieldDescriptor> {
        let index = self.data().by_name(name)?;
        Some(self.pool.field_at(FieldAt::Field(self.index, index)))
    }

    /// The field or extension with this number.
    #[must_use]
    pub fn field_by_number(&self, number: u32) -> Option<FieldDescriptor> {
        self.pool.0.at_number(self.index, number).map(|at| self.pool.field_at(at))
    }
}

/// A field, or an extension.
#[derive(Clone)]
pub struct FieldDescriptor {
    pub(crate) pool: Pool,
    pub(crate) at: FieldAt,
}

handle!(FieldDescriptor, at);

impl FieldDescriptor {
    pub(crate) fn data(&self) -> &FieldData {
        self.pool.0.field(self.at)
    }

    /// Its name; of an extension the last part of the full one.
    #[must_use]
    pub fn name(&self) -> &str {
        short(&self.data().name)
    }

    /// Of a field its name, of an extension the full one, as it stands in brackets in text.
    #[must_use]
    pub fn full_name(&self) -> &str {
        &self.data().name
    }

    /// Its name in JSON.
    #[must_use]
    pub fn json_name(&self) -> &str {
        &self.data().json_name
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.data().number
    }

    /// Its type; of a map the message of an entry.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let enumeration = |index| EnumDescriptor { pool: self.pool.clone(), index };
        self.data().ty.map(enumeration, |index| self.pool.message_at(index))
    }

    /// The message it is a field of: of an extension the one that is extended.
    #[must_use]
    pub fn containing_message(&self) -> MessageDescriptor {
        self.pool.message_at(self.data().parent)
    }

    /// The choice it belongs to.
    #[must_use]
    pub fn containing_oneof(&self) -> Option<OneofDescriptor> {
        let oneof = self.data().oneof?;
        Some(OneofDescriptor { message: self.containing_message(), oneof })
    }

    /// It holds many values; maps do as well.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.data().repeated()
    }

    /// It is a map.
    #[must_use]
    pub fn is_map(&self) -> bool {
        self.data().map
    }

    /// It is written as one run.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.data().packed
    }

    /// It is framed by a pair of tags instead of a length: a group.
    #[must_use]
    pub fn is_delimited(&self) -> bool {
        self.data().delimited
    }

    /// The schema wants it always there.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.data().label == Label::Required
    }

    /// It is an extension.
    #[must_use]
    pub fn is_extension(&self) -> bool {
        self.data().extension
    }

    /// Its absence can be told from its default.
    #[must_use]
    pub fn has_presence(&self) -> bool {
        self.data().presence
    }

    /// What it reads as when it is absent: `None` for messages.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        Value::default_of(&self.pool.0, self.data())
    }
}

/// A choice of a message.
#[derive(Clone, PartialEq, Eq)]
pub struct OneofDescriptor {
    message: MessageDescriptor,
    oneof: u32,
}

impl OneofDescriptor {
    fn data(&self) -> &OneofData {
        &self.message.data().oneofs[self.oneof as usize]
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.data().name
    }

    /// Its members in order of declaration.
    pub fn fields(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        let message = &self.message;
        let at = |index: &u32| FieldAt::Field(message.index, *index);
        self.data().fields.iter().map(move |index| message.pool.field_at(at(index)))
    }
}

impl fmt::Debug for OneofDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OneofDescriptor({}.{})", self.message.full_name(), self.name())
    }
}

/// An enum of a pool.
#[derive(Clone)]
pub struct EnumDescriptor {
    pool: Pool,
    index: u32,
}

handle!(EnumDescriptor, index);

impl EnumDescriptor {
    fn data(&self) -> &EnumData {
        self.pool.0.enumeration(self.index)
    }

    /// `pkg.Outer.Kind`.
    #[must_use]
    pub fn full_name(&self) -> &str {
        &self.data().full_name
    }

    /// `Kind`.
    #[must_use]
    pub fn name(&self) -> &str {
        short(self.full_name())
    }

    /// Names and numbers in order of declaration.
    pub fn values(&self) -> impl Iterator<Item = (&str, i32)> {
        self.data().values.iter().map(|(name, number)| (&**name, *number))
    }

    /// Numbers without a name are no values.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.data().closed
    }

    /// The number called `name`.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i32> {
        self.data().number(name)
    }

    /// The first name of `number`.
    #[must_use]
    pub fn name_of(&self, number: i32) -> Option<&str> {
        self.data().name_of(number)
    }
}
