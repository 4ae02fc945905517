//! What JSON can say, as messages: `From` builds them, and views read them.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::google::protobuf::{ListValue, NullValue, Struct, Value, Value_KindOneof as Kind};

impl Value {
    /// JSON's `null`. A value without any kind is not valid in JSON.
    #[must_use]
    pub fn null() -> Self {
        Kind::NullValue(NullValue::default()).into()
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Some(Kind::NullValue(_)))
    }

    /// A number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self.kind {
            Some(Kind::NumberValue(number)) => Some(number),
            _ => None,
        }
    }

    /// `true` or `false`.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Some(Kind::BoolValue(value)) => Some(value),
            _ => None,
        }
    }

    /// A text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Some(Kind::StringValue(text)) => Some(text),
            _ => None,
        }
    }

    /// The elements of a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.kind {
            Some(Kind::ListValue(list)) => Some(&list.values),
            _ => None,
        }
    }

    /// An object.
    #[must_use]
    pub fn as_struct(&self) -> Option<&Struct> {
        match &self.kind {
            Some(Kind::StructValue(object)) => Some(object),
            _ => None,
        }
    }

    /// The member of an object. `None` if this is no object, or has no such member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_struct()?.get(name)
    }
}

impl Struct {
    /// The member with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// Adds or replaces a member; returns the value that it had.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        self.fields.insert(name.into(), value.into())
    }

    /// Adds or replaces a member.
    ///
    /// ```
    /// use protozero_types::Struct;
    ///
    /// let order = Struct::default().with("id", 7).with("tags", ["new", "paid"]);
    /// assert_eq!(order.get("id").and_then(|id| id.as_f64()), Some(7.0));
    /// ```
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.insert(name, value);
        self
    }
}

impl From<Kind> for Value {
    fn from(kind: Kind) -> Self {
        Self { kind: Some(kind), ..Self::default() }
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl From<$type> for Value {
            fn from(number: $type) -> Self {
                Kind::NumberValue(number.into()).into()
            }
        }
    )*};
}

// Integers of 64 bits do not fit: a number of JSON is an `f64`.
numbers! { i8 i16 i32 u8 u16 u32 f32 f64 }

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Kind::BoolValue(value).into()
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Kind::StringValue(text).into()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::null()
    }
}

/// `None` is `null`.
impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::null, Into::into)
    }
}

impl From<Struct> for Value {
    fn from(object: Struct) -> Self {
        Kind::StructValue(object).into()
    }
}

impl From<ListValue> for Value {
    fn from(list: ListValue) -> Self {
        Kind::ListValue(list).into()
    }
}

/// A list.
impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect::<ListValue>().into()
    }
}

/// A list.
impl<T: Into<Self>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect::<ListValue>().into()
    }
}

/// An object.
impl<K: Into<String>, V: Into<Self>> From<BTreeMap<K, V>> for Value {
    fn from(members: BTreeMap<K, V>) -> Self {
        members.into_iter().collect::<Struct>().into()
    }
}

impl<T: Into<Value>> FromIterator<T> for ListValue {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self { values, ..Self::default() }
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Struct {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let fields = members.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { fields, ..Self::default() }
    }
}

impl<K: Into<String>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Struct {
    fn from(members: [(K, V); N]) -> Self {
        members.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
