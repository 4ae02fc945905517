//! Enumerations: 32-bit numbers, some of which have names.

use core::fmt::{self, Debug};

/// An enumeration of a schema.
///
/// An *open* enumeration accepts every number, so that a value from a newer peer survives a round
/// trip. A *closed* one (proto2, and editions where the schema says so) accepts only its values; a
/// message keeps other numbers among its unknown fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a protobuf enumeration",
    note = "derive `protozero::Enumeration` for an enum without data, or a struct around an `i32`"
)]
pub trait Enumeration: Copy + Default + PartialEq + Debug + 'static {
    /// Full name, without a leading dot.
    const NAME: &'static str;

    /// Names and numbers in order of declaration. If one number has several names,
    /// [`name`](Self::name) returns the first.
    const VALUES: &'static [(&'static str, i32)];

    /// True if only the numbers in [`VALUES`](Self::VALUES) are valid.
    const CLOSED: bool = false;

    /// The value with this number. For an invalid number of a closed enumeration: the default.
    fn from_i32(number: i32) -> Self;

    /// The number of this value.
    fn to_i32(self) -> i32;

    /// The value with this number; `None` for an invalid number of a closed enumeration.
    #[must_use]
    fn try_from_i32(number: i32) -> Option<Self> {
        let known = !Self::CLOSED || Self::VALUES.iter().any(|value| value.1 == number);
        known.then(|| Self::from_i32(number))
    }

    /// The name of this value, if its number has one.
    #[must_use]
    fn name(self) -> Option<&'static str> {
        let number = self.to_i32();
        Self::VALUES.iter().find(|value| value.1 == number).map(|value| value.0)
    }

    /// The value with this name.
    #[must_use]
    fn from_name(name: &str) -> Option<Self> {
        Self::VALUES.iter().find(|value| value.0 == name).map(|value| Self::from_i32(value.1))
    }
}

/// `Debug` of every enumeration: the name, or the number if there is none.
pub fn debug_enum<E: Enumeration>(value: E, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value.name() {
        Some(name) => f.write_str(name),
        None => write!(f, "{}", value.to_i32()),
    }
}

/// Reads what [`debug_enum`] writes.
///
/// # Errors
/// The text is neither a name nor a number that the enumeration accepts.
pub fn enum_from_str<E: Enumeration>(text: &str) -> Result<E, UnknownName> {
    let by_number = || text.parse().ok().and_then(E::try_from_i32);
    E::from_name(text).or_else(by_number).ok_or(UnknownName { enumeration: E::NAME })
}

/// The value with this number, if it has a name.
///
/// # Errors
/// No value of the enumeration has this number.
pub fn enum_from_number<E: Enumeration>(number: i32) -> Result<E, UnknownNumber> {
    let known = E::VALUES.iter().any(|value| value.1 == number);
    let unknown = UnknownNumber { enumeration: E::NAME, number };
    if known { Ok(E::from_i32(number)) } else { Err(unknown) }
}

/// The value, if its number has a name: for accessors as prost has them.
pub fn known<E: Enumeration>(value: E) -> Option<E> {
    value.name().is_some().then_some(value)
}

/// A text is not a value of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownName {
    /// Full name of the enumeration.
    pub enumeration: &'static str,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the text is neither a name nor a number of {}", self.enumeration)
    }
}

impl core::error::Error for UnknownName {}

/// A number has no name in an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownNumber {
    /// Full name of the enumeration.
    pub enumeration: &'static str,
    /// The number.
    pub number: i32,
}

impl fmt::Display for UnknownNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { enumeration, number } = self;
        write!(f, "{enumeration} has no value {number}")
    }
}

impl core::error::Error for UnknownNumber {}

/// Implements the common methods of generated enums, which are newtypes over `i32`.
#[doc(hidden)]
#[macro_export]
macro_rules! __enumeration {
    ($name:ident) => {
        impl $name {
            /// Name of the value in the schema, or `None` if this build does not know the value.
            #[inline]
            #[must_use]
            pub fn name(self) -> ::core::option::Option<&'static str> {
                $crate::Enumeration::name(self)
            }

            /// The value with this name in the schema.
            #[inline]
            #[must_use]
            pub fn from_name(name: &str) -> ::core::option::Option<Self> {
                $crate::Enumeration::from_name(name)
            }
        }

        impl ::core::default::Default for $name {
            #[inline]
            fn default() -> Self {
                match <Self as $crate::Enumeration>::VALUES {
                    [first, ..] => Self(first.1),
                    [] => Self(0),
                }
            }
        }

        impl ::core::fmt::Debug for $name {
            #[inline]
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::rt::debug_enum(*self, f)
            }
        }

        $crate::__enumeration_text!($name);
    };
}

/// Implements the conversions that generated and derived enums have in common.
#[doc(hidden)]
#[macro_export]
macro_rules! __enumeration_text {
    ($name:ident) => {
        /// The name of the value in the schema, or its number if it has none.
        impl ::core::fmt::Display for $name {
            #[inline]
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::rt::debug_enum(*self, f)
            }
        }

        /// Reads what `Display` writes.
        impl ::core::str::FromStr for $name {
            type Err = $crate::UnknownName;
            #[inline]
            fn from_str(text: &str) -> ::core::result::Result<Self, $crate::UnknownName> {
                $crate::rt::enum_from_str(text)
            }
        }

        /// Refuses a number that has no name, also if the enum is open.
        impl ::core::convert::TryFrom<i32> for $name {
            type Error = $crate::UnknownNumber;
            #[inline]
            fn try_from(number: i32) -> ::core::result::Result<Self, $crate::UnknownNumber> {
                $crate::rt::enum_from_number(number)
            }
        }

        impl ::core::convert::From<$name> for i32 {
            #[inline]
            fn from(value: $name) -> Self {
                $crate::Enumeration::to_i32(value)
            }
        }
    };
}
