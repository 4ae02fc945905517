//! The macro `owned!`: implements an owned message from one line per field. Generated code uses it
//! instead of a derive, because building the derive's Rust parser takes longer than building a
//! schema.

/// Implements [`Message`](crate::Message) and `Debug` for a struct, from one line per field. The field with the
/// highest number comes first, because encoding runs from the last field to the first. Unknown fields are kept in
/// `unknown_fields`, which `Debug` shows only if there are some.
///
/// ```
/// use protozero::{Message, UnknownFields, rt};
///
/// #[derive(Clone, PartialEq, Default)]
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
/// let shown = r#"Polygon { name: Some("box"), corners: [-1, 1], paint: Some(Color(7)), unknown_fields: [#6: 2 B] }"#;
/// assert_eq!(format!("{polygon:?}"), shown);
/// # Ok::<(), protozero::DecodeError>(())
/// ```
///
/// A struct without the field drops what it does not know:
///
/// ```
/// use protozero::{Message, rt};
///
/// #[derive(Clone, PartialEq, Default)]
/// struct Point {
///     x: i32,
/// }
///
/// rt::owned! {
///     Point without unknown_fields;
///     implicit x = 1 as Int32;
/// }
///
/// let point = Point::decode(b"\x08\x07\x10\x09")?;
/// assert_eq!((point.x, point.encode_to_vec().as_slice()), (7, &b"\x08\x07"[..]));
/// # Ok::<(), protozero::DecodeError>(())
/// ```
///
/// A line is `shape field = number as Kind;`. The type of the kind, if it has one, is in
/// parentheses; a map has two kinds, and a oneof has several numbers and no kind. For a closed
/// enumeration, `+ unknown_fields` before the number is the place for invalid elements. At the end may be
/// the name in the schema, as in `optional self_ = 7 as Int32, "self";`: errors have it. A oneof has
/// a line per range, as in `oneof_low paint = 4..=5; oneof_high paint = 8..=8;`, if numbers of other
/// fields are between those of its members. No other field has a number in such a range. After
/// `Polygon without unknown_fields;` the struct has no such field: what it does not know is dropped.
#[doc(hidden)]
#[macro_export]
macro_rules! __owned {
    (
        $name:ident $(without $none:ident)?;
        $(
            $(#[$meta:meta])*
            $shape:ident $field:ident $(+ $unknown:ident)? = $number:literal
                $(| $more:literal)* $(..= $last:literal)? $(as $($kind:ident $(($of:ty))?),+)?
                $(, $schema:literal)?;
        )*
    ) => {
        impl $crate::rt::owned::Encode for $name {
            const ROWS: &'static [$crate::rt::owned::Row] = &[$(
                $(#[$meta])*
                $crate::__row!($name $shape $field $number $($($kind $(($of))?)+)?)$(.named($schema))?,
            )*];

            fn about() -> $crate::rt::owned::About {
                #[allow(unused_imports, reason = "not for types that have a name")]
                use $crate::rt::owned::Unnamed as _;
                $crate::rt::owned::About::new(
                    ::core::stringify!($name),
                    $crate::rt::owned::Named::<$name>::NAMES,
                    <Self as $crate::rt::owned::Encode>::ROWS,
                )
            }

            #[inline]
            fn encode_fields<__Out: $crate::rt::owned::Output>(&self, out: &mut __Out) {
                $crate::rt::unknown!(put out, self $(without $none)?);
                $(
                    $(#[$meta])*
                    $crate::rt::owned::owned_macro::$shape::put
                        $(::<$($crate::rt::owned::$kind $(::<$of>)?),+>)?
                        (out, $number, $($last,)? &self.$field);
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
                        $number $(| $more)* $(..= $last)? => $crate::rt::owned::owned_macro::$shape::merge
                            $(::<$($crate::rt::owned::$kind $(::<$of>)?),+>)?
                            (&mut self.$field, $(&mut self.$unknown,)? &field, context),
                    )*
                    _ => $crate::rt::owned::Ok(false),
                };
                $crate::rt::unknown!(keep understood, field, context, self $(without $none)?)
            }
        }

        impl $crate::Message for $name {}

        impl ::core::fmt::Debug for $name {
            #[inline]
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::rt::owned::debug(
                    f,
                    ::core::stringify!($name),
                    &[$(
                        $(#[$meta])*
                        ::core::concat!(::core::stringify!($shape), " ", ::core::stringify!($field)),
                    )*],
                    &[$($(#[$meta])* &self.$field,)*],
                    $crate::rt::unknown!(show self $(without $none)?),
                )
            }
        }
    };
}

/// What a message does with unknown fields: it writes, keeps or shows them, or has none.
#[doc(hidden)]
#[macro_export]
macro_rules! __unknown {
    (put $out:ident, $message:ident) => {
        $crate::rt::owned::put_unknown($out, &$message.unknown_fields)
    };
    (put $out:ident, $message:ident without $none:ident) => {
        let _ = &$out;
    };
    (show $message:ident) => {
        $crate::rt::owned::Some(&$message.unknown_fields)
    };
    (show $message:ident without $none:ident) => {
        $crate::rt::owned::None
    };
    (keep $understood:ident, $field:ident, $context:ident, $message:ident) => {
        $crate::rt::owned::keep_unknown(
            $understood,
            &mut $message.unknown_fields,
            &$field,
            $context,
        )
    };
    (keep $understood:ident, $field:ident, $context:ident, $message:ident without $none:ident) => {
        $crate::rt::owned::drop_unknown($understood)
    };
}

/// Implements a oneof for an enum whose variants hold one value each, from one line per variant, in
/// ascending order of numbers. See [`__owned`](crate::__owned).
#[doc(hidden)]
#[macro_export]
macro_rules! __oneof {
    (
        $name:ident;
        $(
            $(#[$meta:meta])*
            $variant:ident = $number:literal as $kind:ident $(($of:ty))? $(, $schema:literal)?;
        )*
    ) => {
        impl $crate::rt::owned::Oneof for $name {
            const NUMBERS: &'static [u32] = &[$($(#[$meta])* $number,)*];
            const ROWS: &'static [$crate::rt::owned::Row] = &[$(
                $(#[$meta])*
                $crate::__row!($name optional $variant $number $kind $(($of))?)$(.named($schema))?,
            )*];

            #[inline]
            fn number(&self) -> u32 {
                match *self {
                    $(
                        $(#[$meta])*
                        Self::$variant(_) => $number,
                    )*
                }
            }

            #[inline]
            fn encode_member<__Out: $crate::rt::owned::Output>(&self, out: &mut __Out) {
                // By value, because a match on a reference must have an arm even if no variant is
                // left.
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
                                    #[allow(unreachable_patterns, reason = "an enum may have only one variant")]
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

/// The name of a field in errors.
#[doc(hidden)]
#[macro_export]
macro_rules! __row {
    // A oneof: all others have kinds.
    ($name:ident $shape:ident $field:ident $number:literal) => {
        $crate::rt::owned::row_oneof_of(|message: &$name| &message.$field)
    };
    ($name:ident $shape:ident $field:ident $number:literal $($kind:ident $(($of:ty))?)+) => {
        $crate::rt::owned::owned_macro::$shape::row::<
            $($crate::rt::owned::$kind $(::<$of>)?),+
        >($number, ::core::stringify!($field))
    };
}

/// Declares that a message can have extensions, in its `unknown_fields`.
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

/// One module per shape in [`__owned`](crate::__owned), with the functions that encode and decode
/// it.
macro_rules! shapes {
    ($($(#[$doc:meta])* $shape:ident = $put:ident, $merge:ident, $row:ident;)*) => {$(
        $(#[$doc])*
        pub mod $shape {
            pub use super::super::{$merge as merge, $put as put, $row as row};
        }
    )*};
}

shapes! {
    /// Always has a value; the default is not encoded.
    implicit = put_implicit, merge_single, row_single;
    /// May be missing.
    optional = put_optional, merge_optional, row_single;
    /// One field per element.
    repeated = put_repeated, merge_repeated, row_repeated;
    /// One packed field for all elements. Decoding accepts both encodings.
    packed = put_packed, merge_packed, row_numbers;
    /// One field per element, of a kind that can be packed. Decoding accepts both encodings.
    unpacked = put_repeated, merge_packed, row_numbers;
    /// `packed`, for enumerations.
    packed_enums = put_packed, merge_known, row_numbers;
    /// `unpacked`, for enumerations.
    unpacked_enums = put_repeated, merge_known, row_numbers;
    /// `packed_enums`; unknown numbers are dropped.
    packed_enums_dropping = put_packed, merge_dropping, row_numbers;
    /// `unpacked_enums`; unknown numbers are dropped.
    unpacked_enums_dropping = put_repeated, merge_dropping, row_numbers;
    /// One field per entry.
    map = put_map, merge_map, row_map;
    /// The member that is set.
    oneof = put_member, merge_oneof, row_oneof;
    /// The member that is set, if its number is in the lowest of several ranges.
    oneof_low = put_within, merge_oneof, row_oneof;
    /// The member that is set, if its number is in one of the other ranges.
    oneof_high = put_within, merge_oneof, row_oneof;
}
