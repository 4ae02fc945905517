//! The macros `compact!` and `compact_oneof!`: as [`owned_macro`](super::owned_macro), with the functions of
//! [`compact`](super::compact).

/// Implements [`Message`](crate::Message) and `Debug` as [`__owned`](crate::__owned) does, from the same lines, with
/// less code. It implements `Clone`, too.
///
/// ```
/// use protozero::{Message, UnknownFields, rt};
///
/// #[derive(PartialEq, Default)]
/// struct Polygon {
///     name: Option<String>,
///     corners: Vec<i32>,
///     holes: Vec<Polygon>,
///     paint: Option<Paint>,
///     unknown_fields: UnknownFields,
/// }
///
/// rt::compact! {
///     Polygon;
///     oneof paint = 4 | 5;
///     repeated holes = 3 as Nested(Polygon);
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
/// rt::compact_oneof! {
///     Paint;
///     Color = 4 as Fixed32;
///     Below = 5 as Nested(Box<Polygon>);
/// }
///
/// let bytes = b"\x0a\x03box\x12\x02\x01\x02\x1a\x03\x0a\x01h\x25\x07\x00\x00\x00\x30\x01";
/// let polygon = Polygon::decode(bytes)?;
/// assert_eq!((polygon.corners.as_slice(), &polygon.paint), (&[-1, 1][..], &Some(Paint::Color(7))));
/// assert_eq!(polygon.holes[0].name.as_deref(), Some("h"));
/// assert_eq!(polygon.encode_to_vec(), bytes);
/// assert_eq!(polygon.clone(), polygon);
/// # Ok::<(), protozero::DecodeError>(())
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __compact {
    (
        $name:ident;
        $(
            $(#[$meta:meta])*
            $shape:ident $field:ident $(+ $unknown:ident)? = $number:literal
                $(| $more:literal)* $(..= $last:literal)? $(as $($kind:ident $(($of:ty))?),+)?;
        )*
    ) => {
        impl ::core::clone::Clone for $name {
            #[inline]
            fn clone(&self) -> Self {
                $crate::rt::owned::compact::duplicate(self)
            }
        }

        impl $crate::rt::owned::compact::Compact for $name {
            // In no crate that does not use the message.
            #[inline]
            fn copy_fields(&self, new: &mut Self) {
                $crate::rt::owned::compact::copy_value(&mut new.unknown_fields, &self.unknown_fields);
                $(
                    $(#[$meta])*
                    $crate::rt::owned::compact_shapes::$shape::copy
                        $(::<$($crate::rt::owned::$kind $(::<$of>)?),+>)?
                        (&mut new.$field, &self.$field);
                )*
            }

            #[inline]
            fn put_fields(&self, out: &mut $crate::rt::owned::Encoder<'_>) {
                $crate::rt::owned::put_unknown(out, &self.unknown_fields);
                $(
                    $(#[$meta])*
                    $crate::rt::owned::compact_shapes::$shape::put
                        $(::<$($crate::rt::owned::$kind $(::<$of>)?),+>)?
                        (out, $number, $($last,)? &self.$field);
                )*
            }

            #[inline]
            fn merge_one(
                &mut self,
                field: &$crate::rt::Field<'_>,
                context: $crate::rt::DecodeContext<'_>,
            ) -> $crate::rt::owned::Merged {
                let _ = context;
                let understood = match field.number {
                    $(
                        $(#[$meta])*
                        $number $(| $more)* $(..= $last)? => $crate::rt::owned::compact_shapes::$shape::merge
                            $(::<$($crate::rt::owned::$kind $(::<$of>)?),+>)?
                            (&mut self.$field, $(&mut self.$unknown,)? field, context),
                    )*
                    _ => $crate::rt::owned::Ok(false),
                };
                $crate::rt::owned::keep_unknown(
                    understood, &mut self.unknown_fields, field, context,
                )
            }
        }

        impl $crate::rt::owned::Encode for $name {
            // Without a table: a path has the numbers of the fields, unless there is a descriptor.
            fn about() -> $crate::rt::owned::About {
                #[allow(unused_imports, reason = "not for types that have a name")]
                use $crate::rt::owned::Unnamed as _;
                $crate::rt::owned::About::new(
                    ::core::stringify!($name),
                    $crate::rt::owned::Named::<$name>::NAMES,
                    &[],
                )
            }

            #[inline]
            fn encode_fields<__Out: $crate::rt::owned::Output>(&self, out: &mut __Out) {
                out.through(|out| $crate::rt::owned::compact::put_all(self, out));
            }
        }

        impl<'a> $crate::rt::owned::Merge<'a> for $name {
            #[inline]
            fn merge_field(
                &mut self,
                field: $crate::rt::Field<'a>,
                context: $crate::rt::DecodeContext<'_>,
            ) -> $crate::rt::owned::Merged {
                $crate::rt::owned::compact::Compact::merge_one(self, &field, context)
            }

            #[inline]
            fn merge_fields(
                &mut self,
                bytes: &'a [u8],
                context: $crate::rt::DecodeContext<'_>,
            ) -> $crate::rt::owned::Merged {
                $crate::rt::owned::compact::merge_all(self, bytes, context)
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
                    $crate::rt::owned::Some(&self.unknown_fields),
                )
            }
        }
    };
}

/// Lets messages of [`__owned`](crate::__owned) be fields of compact ones, which call the same functions.
#[doc(hidden)]
#[macro_export]
macro_rules! __inside_compact {
    ($($name:ident)*) => {$(
        impl $crate::rt::owned::compact::Compact for $name {
            #[inline]
            fn copy_fields(&self, new: &mut Self) {
                ::core::clone::Clone::clone_from(new, self);
            }

            #[inline]
            fn put_fields(&self, out: &mut $crate::rt::owned::Encoder<'_>) {
                $crate::rt::owned::Encode::encode_fields(self, out);
            }

            #[inline]
            fn merge_one(
                &mut self,
                field: &$crate::rt::Field<'_>,
                context: $crate::rt::DecodeContext<'_>,
            ) -> $crate::rt::owned::Merged {
                $crate::rt::owned::Merge::merge_field(self, *field, context)
            }
        }
    )*};
}

/// As [`__oneof`](crate::__oneof), for a message of [`__compact`](crate::__compact).
#[doc(hidden)]
#[macro_export]
macro_rules! __compact_oneof {
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
                out.through(|out| match *self {
                    $(
                        $(#[$meta])*
                        Self::$variant(ref value) => {
                            <$crate::rt::owned::$kind $(::<$of>)?
                                as $crate::rt::owned::compact::Shared>::put_one(out, $number, value)
                        }
                    )*
                });
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
                            <$crate::rt::owned::$kind $(::<$of>)?
                                as $crate::rt::owned::compact::Shared>::merge_variant::<Self>(
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
