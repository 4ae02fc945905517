//! The owned face of a message, made from a table of its fields: what generated code has in place of
//! a derive, whose parser of Rust takes longer to build than a schema does.

/// Implements [`Message`](crate::Message) for a struct out of a line per field, the last one first: in
/// that order they are written, so that it is the schema's when they are read. What is not understood
/// is kept in `unknown_fields`.
///
/// ```
/// use protozero::{Message, UnknownFields, rt};
///
/// #[derive(Clone, PartialEq, Debug, Default)]
/// struct Polygon {
///     name: Option<String>,
///     corners: Vec<i32>,
///     paint: Option<Paint>,
///     unknown_fields: UnknownFields,
/// }
///
/// rt::owned! {
///     Polygon;
///     oneof paint = 4 | 5;
///     packed corners = 2 as Sint32;
///     optional name = 1 as Text;
/// }
///
/// #[derive(Clone, PartialEq, Debug)]
/// enum Paint {
///     Color(u32),
///     Below(Box<Polygon>),
/// }
///
/// rt::oneof! {
///     Paint;
///     Color = 4 as Fixed32;
///     Below = 5 as Nested(Box<Polygon>);
/// }
///
/// let bytes = b"\x0a\x03box\x12\x02\x01\x02\x25\x07\x00\x00\x00\x30\x01";
/// let polygon = Polygon::decode(bytes)?;
/// assert_eq!((polygon.corners.as_slice(), &polygon.paint), (&[-1, 1][..], &Some(Paint::Color(7))));
/// assert_eq!(polygon.encode_to_vec(), bytes);
/// # Ok::<(), protozero::DecodeError>(())
/// ```
///
/// A line is `shape field = number as Kind;`, with the kind's type in parentheses where it has one, key
/// and value of a map, and nothing for a oneof, which has several numbers. Elements of an enumeration
/// say in front of the number where unknown ones go: `+ unknown_fields`.
#[doc(hidden)]
#[macro_export]
macro_rules! __owned {
    (
        $name:ident;
        $(
            $(#[$meta:meta])*
            $shape:ident $field:ident $(+ $unknown:ident)? = $number:literal $(| $more:literal)*
                $(as $($kind:ident $(($of:ty))?),+)?;
        )*
    ) => {
        impl $crate::rt::owned::Encode for $name {
            #[inline]
            fn encode_fields(&self, out: &mut $crate::rt::owned::Encoder<'_>) {
                $crate::rt::owned::put_unknown(out, &self.unknown_fields);
                $(
                    $(#[$meta])*
                    $crate::rt::owned::owned_macro::$shape::put
                        $(::<$($crate::rt::owned::$kind $(::<$of>)?),+>)?
                        (out, $number, &self.$field);
                )*
            }
        }

        impl<'a> $crate::rt::owned::Merge<'a> for $name {
            #[inline]
            fn merge_field(
                &mut self,
                field: $crate::rt::Field<'a>,
                context: $crate::rt::DecodeContext<'_>,
            ) -> $crate::rt::owned::Merged {
                let _ = context;
                let understood = match field.number {
                    $(
                        $(#[$meta])*
                        $number $(| $more)* => $crate::rt::owned::owned_macro::$shape::merge
                            $(::<$($crate::rt::owned::$kind $(::<$of>)?),+>)?
                            (&mut self.$field, $(&mut self.$unknown,)? &field, context),
                    )*
                    _ => $crate::rt::owned::Ok(false),
                };
                $crate::rt::owned::keep(understood, &mut self.unknown_fields, &field)
            }
        }

        impl $crate::Message for $name {}
    };
}

/// Makes an enum whose variants hold one value each a oneof, out of a line per variant, in the order of
/// their numbers. See [`__owned`](crate::__owned).
#[doc(hidden)]
#[macro_export]
macro_rules! __oneof {
    (
        $name:ident;
        $(
            $(#[$meta:meta])*
            $variant:ident = $number:literal as $kind:ident $(($of:ty))?;
        )*
    ) => {
        impl $crate::rt::owned::Oneof for $name {
            const NUMBERS: &'static [u32] = &[$($(#[$meta])* $number,)*];

            #[inline]
            fn encode_member(&self, out: &mut $crate::rt::owned::Encoder<'_>) {
                // By value: a reference would want an arm where no variant is left.
                match *self {
                    $(
                        $(#[$meta])*
                        Self::$variant(ref value) => {
                            $crate::rt::owned::put::<$crate::rt::owned::$kind $(::<$of>)?>(
                                out, $number, value,
                            )
                        }
                    )*
                }
            }
        }

        impl<'a> $crate::rt::owned::MergeOneof<'a> for $name {
            #[inline]
            fn merge_member(
                slot: &mut ::core::option::Option<Self>,
                field: &$crate::rt::Field<'a>,
                context: $crate::rt::DecodeContext<'_>,
            ) -> $crate::rt::owned::Understood {
                match field.number {
                    $(
                        $(#[$meta])*
                        $number => {
                            $crate::rt::owned::merge_variant::<
                                $crate::rt::owned::$kind $(::<$of>)?, Self,
                            >(
                                slot,
                                |old| match old {
                                    Self::$variant(value) => $crate::rt::owned::Some(value),
                                    #[allow(unreachable_patterns, reason = "there may be no other")]
                                    _ => $crate::rt::owned::None,
                                },
                                Self::$variant,
                                field,
                                context,
                            )
                        }
                    )*
                    _ => $crate::rt::owned::Ok(false),
                }
            }
        }
    };
}

/// Says that a message is open to extensions, which are among its `unknown_fields`.
#[doc(hidden)]
#[macro_export]
macro_rules! __extendable {
    ($name:ident) => {
        impl $crate::Extendable for $name {
            #[inline]
            fn unknown_fields(&self) -> &$crate::UnknownFields {
                &self.unknown_fields
            }
            #[inline]
            fn unknown_fields_mut(&mut self) -> &mut $crate::UnknownFields {
                &mut self.unknown_fields
            }
        }
    };
}

/// The ways a field is held, by the words of [`__owned`](crate::__owned): how each is written and read.
macro_rules! shapes {
    ($($(#[$doc:meta])* $shape:ident = $put:ident, $merge:ident;)*) => {$(
        $(#[$doc])*
        pub mod $shape {
            pub use super::super::{$put as put, $merge as merge};
        }
    )*};
}

shapes! {
    /// Always there, written unless it is the default.
    implicit = put_implicit, merge_single;
    /// There or not.
    optional = put_optional, merge_optional;
    /// A field an element.
    repeated = put_repeated, merge_repeated;
    /// One field for all elements; read alike.
    packed = put_packed, merge_packed;
    /// A field an element, of a kind that others may pack.
    unpacked = put_repeated, merge_packed;
    /// As `packed`.
    packed_enums = put_packed, merge_known;
    /// As `unpacked`.
    unpacked_enums = put_repeated, merge_known;
    /// A field an entry.
    map = put_map, merge_map;
    /// The member that is set.
    oneof = put_member, merge_oneof;
}
