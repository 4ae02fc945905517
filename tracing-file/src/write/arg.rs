//! Values of annotations: scalars, lists and dictionaries.

use protos::DebugAnnotationWriter;

/// A value without parts. `From` makes one of numbers, truth values and texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg<'a> {
    /// True or false.
    Bool(bool),
    /// A number with a sign.
    Int(i64),
    /// A number without one.
    Uint(u64),
    /// A real number.
    Double(f64),
    /// A text.
    Text(&'a str),
    /// An address, shown in hex.
    Pointer(u64),
}

macro_rules! from {
    ($($kind:ident: $($type:ty)*;)*) => {
        $($(impl From<$type> for Arg<'_> {
            fn from(value: $type) -> Self {
                Self::$kind(value.into())
            }
        })*)*
    };
}

from! {
    Bool: bool;
    Int: i8 i16 i32 i64;
    Uint: u8 u16 u32 u64;
    Double: f32 f64;
}

impl From<usize> for Arg<'_> {
    fn from(value: usize) -> Self {
        Self::Uint(value as u64)
    }
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Arg<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl Arg<'_> {
    pub(super) fn write(self, annotation: &mut DebugAnnotationWriter<'_>) {
        match self {
            Self::Bool(value) => annotation.bool_value(value),
            Self::Int(value) => annotation.int_value(value),
            Self::Uint(value) => annotation.uint_value(value),
            Self::Double(value) => annotation.double_value(value),
            Self::Text(value) => annotation.string_value(value),
            Self::Pointer(value) => annotation.pointer_value(value),
        };
    }
}

/// The elements of a list, in order.
pub struct ArgList<'a, 'w>(pub(super) &'a mut DebugAnnotationWriter<'w>);

impl ArgList<'_, '_> {
    /// Adds a value.
    pub fn push<'v>(&mut self, value: impl Into<Arg<'v>>) -> &mut Self {
        value.into().write(&mut self.0.array_values());
        self
    }

    /// Adds a list.
    pub fn list(&mut self, fill: impl FnOnce(&mut ArgList<'_, '_>)) -> &mut Self {
        fill(&mut ArgList(&mut self.0.array_values()));
        self
    }

    /// Adds a dictionary.
    pub fn dict(&mut self, fill: impl FnOnce(&mut ArgDict<'_, '_>)) -> &mut Self {
        fill(&mut ArgDict(&mut self.0.array_values()));
        self
    }
}

/// The entries of a dictionary.
pub struct ArgDict<'a, 'w>(pub(super) &'a mut DebugAnnotationWriter<'w>);

impl ArgDict<'_, '_> {
    /// Adds a value.
    pub fn arg<'v>(&mut self, name: &str, value: impl Into<Arg<'v>>) -> &mut Self {
        value.into().write(self.0.dict_entries().name(name));
        self
    }

    /// Adds a list.
    pub fn list(&mut self, name: &str, fill: impl FnOnce(&mut ArgList<'_, '_>)) -> &mut Self {
        fill(&mut ArgList(self.0.dict_entries().name(name)));
        self
    }

    /// Adds a dictionary.
    pub fn dict(&mut self, name: &str, fill: impl FnOnce(&mut ArgDict<'_, '_>)) -> &mut Self {
        fill(&mut ArgDict(self.0.dict_entries().name(name)));
        self
    }
}
