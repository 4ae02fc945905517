//! The pool of a schema, and its descriptors.

use alloc::sync::Arc;
use core::fmt;

use super::kind::Kind;
use super::schema::short;
use super::schema::{EnumData, FieldAt, FieldData, Label, MessageData, OneofData, Schema, Symbol};
use super::value::Value;

/// All messages, enums and extensions of a schema. Cloning is cheap, and descriptors keep the pool
/// alive.
///
/// Types and messages of different pools are never equal, even if both pools are built from one
/// schema.
#[derive(Clone)]
pub struct Pool(pub(crate) Arc<Schema>);

impl Pool {
    /// The message with this full name (without a leading dot).
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

    /// All messages, including nested messages and map entries.
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

/// Shows only the number of elements.
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

    /// The pool of this message.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Full name, such as `pkg.Outer.Inner`.
    #[must_use]
    pub fn full_name(&self) -> &str {
        &self.data().full_name
    }

    /// Last part of the name, such as `Inner`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.data().name()
    }

    /// True for the entry message of a map field.
    #[must_use]
    pub fn is_map_entry(&self) -> bool {
        self.data().map_entry
    }

    /// The fields in order of declaration, without extensions.
    pub fn fields(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        (0..self.data().fields.len() as u32)
            .map(|index| self.pool.field_at(FieldAt::Field(self.index, index)))
    }

    /// The extensions of this message in the pool, in the order of numbers.
    pub fn extensions(&self) -> impl Iterator<Item = FieldDescriptor> + '_ {
        let found = self.data().extensions.values();
        found.map(|index| self.pool.field_at(FieldAt::Extension(*index)))
    }

    /// The oneofs, without those that proto3 uses for `optional`.
    pub fn oneofs(&self) -> impl Iterator<Item = OneofDescriptor> + '_ {
        (0..self.data().oneofs.len() as u32)
            .map(|oneof| OneofDescriptor { message: self.clone(), oneof })
    }

    /// The field with this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<FieldDescriptor> {
        let index = self.data().by_name(name)?;
        Some(self.pool.field_at(FieldAt::Field(self.index, index)))
    }

    /// The field or extension with this number.
    #[must_use]
    pub fn field_by_number(&self, number: u32) -> Option<FieldDescriptor> {
        self.pool.0.position_by_number(self.index, number).map(|at| self.pool.field_at(at))
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

    /// Name; for an extension the last part of its full name.
    #[must_use]
    pub fn name(&self) -> &str {
        short(&self.data().name)
    }

    /// The name in the text format: for an extension its full name, which the text format puts in
    /// brackets.
    #[must_use]
    pub fn full_name(&self) -> &str {
        &self.data().name
    }

    /// Name in JSON.
    #[must_use]
    pub fn json_name(&self) -> &str {
        &self.data().json_name
    }

    /// Field number.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.data().number
    }

    /// Type; for a map the entry message.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let enumeration = |index| EnumDescriptor { pool: self.pool.clone(), index };
        self.data().ty.map(enumeration, |index| self.pool.message_at(index))
    }

    /// The message that contains this field; for an extension the extended message.
    #[must_use]
    pub fn containing_message(&self) -> MessageDescriptor {
        self.pool.message_at(self.data().parent)
    }

    /// The oneof of this field.
    #[must_use]
    pub fn containing_oneof(&self) -> Option<OneofDescriptor> {
        let oneof = self.data().oneof?;
        Some(OneofDescriptor { message: self.containing_message(), oneof })
    }

    /// True for repeated fields and maps.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.data().repeated()
    }

    /// True for maps.
    #[must_use]
    pub fn is_map(&self) -> bool {
        self.data().map
    }

    /// True if elements are encoded as one packed field.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.data().packed
    }

    /// True if the message is encoded as a group.
    #[must_use]
    pub fn is_delimited(&self) -> bool {
        self.data().delimited
    }

    /// True for required fields.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.data().label == Label::Required
    }

    /// True for extensions.
    #[must_use]
    pub fn is_extension(&self) -> bool {
        self.data().extension
    }

    /// True if a missing field differs from one with the default value.
    #[must_use]
    pub fn has_presence(&self) -> bool {
        self.data().presence
    }

    /// The value of a missing field; `None` for messages.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        Value::default_of(&self.pool.0, self.data())
    }
}

/// A oneof of a message.
#[derive(Clone, PartialEq, Eq)]
pub struct OneofDescriptor {
    message: MessageDescriptor,
    oneof: u32,
}

impl OneofDescriptor {
    fn data(&self) -> &OneofData {
        &self.message.data().oneofs[self.oneof as usize]
    }

    /// Name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.data().name
    }

    /// The members in order of declaration.
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

    /// Full name, such as `pkg.Outer.Kind`.
    #[must_use]
    pub fn full_name(&self) -> &str {
        &self.data().full_name
    }

    /// Last part of the name, such as `Kind`.
    #[must_use]
    pub fn name(&self) -> &str {
        short(self.full_name())
    }

    /// Names and numbers in order of declaration.
    pub fn values(&self) -> impl Iterator<Item = (&str, i32)> {
        self.data().values.iter().map(|(name, number)| (&**name, *number))
    }

    /// True if only numbers with a name are valid.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.data().closed
    }

    /// The number with this name.
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
