//! The macros `view!` and `view_oneof!`: as [`owned_macro`](super::owned_macro), for structs that borrow from the
//! encoded message.

/// Implements [`MessageView`](crate::MessageView) and `Debug` for a struct with a lifetime, from the same lines as
/// [`__owned`](crate::__owned). The name in the schema is for errors.
///
/// ```
/// use protozero::{MessageView, UnknownFields, rt};
///
/// #[derive(Clone, PartialEq, Default)]
/// struct PolygonBorrowed<'a> {
///     name: Option<&'a str>,
///     holes: Vec<PolygonBorrowed<'a>>,
///     paint: Option<Paint<'a>>,
///     unknown_fields: UnknownFields,
/// }
///
/// rt::view! {
///     PolygonBorrowed<'a>, "shape.Polygon";
///     oneof paint = 4 | 5;
///     repeated holes = 3 as Nested(PolygonBorrowed<'a>);
///     optional name = 1 as Utf8View(&'a str);
/// }
///
/// #[derive(Clone, PartialEq, Debug)]
/// enum Paint<'a> {
///     Color(u32),
///     Image(&'a [u8]),
/// }
///
/// rt::view_oneof! {
///     Paint<'a>;
///     Color = 4 as Fixed32;
///     Image = 5 as BytesView(&'a [u8]);
/// }
///
/// let bytes = b"\x0a\x03box\x1a\x03\x0a\x01h\x2a\x02\xff\x00\x30\x01";
/// let polygon = PolygonBorrowed::decode(bytes)?;
/// assert_eq!((polygon.name, polygon.holes[0].name), (Some("box"), Some("h")));
/// assert_eq!(polygon.paint, Some(Paint::Image(b"\xff\0")));
/// assert_eq!(polygon.encode_to_vec(), bytes);
///
/// let error = PolygonBorrowed::decode(b"\x1a\x03\x0a\x01\xff").unwrap_err();
/// assert_eq!(error.path(), "shape.Polygon.holes[0].name");
/// # Ok::<(), protozero::DecodeError>(())
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __view {
    (
        $name:ident<$life:lifetime>, $full:literal $(without $none:ident)?;
        $(
            $shape:ident $field:ident $(+ $unknown:ident)? = $number:literal
                $(| $more:literal)* $(..= $last:literal)? $(as $($kind:ident $(($of:ty))?),+)?
                $(, $schema:literal)?;
        )*
    ) => {
        impl<$life> $crate::rt::owned::Encode for $name<$life> {
            const ROWS: &'static [$crate::rt::owned::Row] = &[$(
                $crate::__view_row!($name $life $shape $field $number $($($kind $(($of))?)+)?)
                    $(.named($schema))?,
            )*];

            fn about() -> $crate::rt::owned::About {
                $crate::rt::owned::About::new(
                    ::core::stringify!($name),
                    ($full, $crate::rt::owned::None),
                    <Self as $crate::rt::owned::Encode>::ROWS,
                )
            }

            #[inline]
            fn encode_fields<__Out: $crate::rt::owned::Output>(&self, out: &mut __Out) {
                $crate::rt::unknown!(put out, self $(without $none)?);
                $(
                    $crate::rt::owned::owned_macro::$shape::put
                        $(::<$($crate::rt::owned::$kind $(::<$of>)?),+>)?
                        (out, $number, $($last,)? &self.$field);
                )*
            }
        }

        impl<$life> $crate::rt::owned::Merge<$life> for $name<$life> {
            #[inline]
            fn merge_field(
                &mut self,
                field: $crate::rt::Field<$life>,
                context: $crate::rt::DecodeContext<'_>,
            ) -> $crate::rt::owned::Merged {
                let _ = context;
                let understood = match field.number {
                    $(
                        $number $(| $more)* $(..= $last)? => $crate::rt::owned::owned_macro::$shape::merge
                            $(::<$($crate::rt::owned::$kind $(::<$of>)?),+>)?
                            (&mut self.$field, $(&mut self.$unknown,)? &field, context),
                    )*
                    _ => $crate::rt::owned::Ok(false),
                };
                $crate::rt::unknown!(keep understood, field, context, self $(without $none)?)
            }
        }

        impl<$life> $crate::MessageView<$life> for $name<$life> {}

        impl ::core::fmt::Debug for $name<'_> {
            #[inline]
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::rt::owned::debug(
                    f,
                    ::core::stringify!($name),
                    &[$(::core::concat!(::core::stringify!($shape), " ", ::core::stringify!($field)),)*],
                    &[$(&self.$field,)*],
                    $crate::rt::unknown!(show self $(without $none)?),
                )
            }
        }
    };
}

/// The name of a field in errors: as [`__row`](crate::__row).
#[doc(hidden)]
#[macro_export]
macro_rules! __view_row {
    ($name:ident $life:lifetime $shape:ident $field:ident $number:literal) => {
        $crate::rt::owned::row_oneof_of::<$name<$life>, _>(|message| &message.$field)
    };
    ($name:ident $life:lifetime $shape:ident $field:ident $number:literal $($kind:ident $(($of:ty))?)+) => {
        $crate::__row!($name $shape $field $number $($kind $(($of))?)+)
    };
}

/// As [`__oneof`](crate::__oneof), for an enum that borrows.
#[doc(hidden)]
#[macro_export]
macro_rules! __view_oneof {
    (
        $name:ident<$life:lifetime>;
        $(
            $variant:ident = $number:literal as $kind:ident $(($of:ty))? $(, $schema:literal)?;
        )*
    ) => {
        impl<$life> $crate::rt::owned::Oneof for $name<$life> {
            const NUMBERS: &'static [u32] = &[$($number,)*];
            const ROWS: &'static [$crate::rt::owned::Row] = &[$(
                $crate::__row!($name optional $variant $number $kind $(($of))?)$(.named($schema))?,
            )*];

            #[inline]
            fn number(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => $number,)*
                }
            }

            #[inline]
            fn encode_member<__Out: $crate::rt::owned::Output>(&self, out: &mut __Out) {
                match self {
                    $(Self::$variant(value) => {
                        $crate::rt::owned::put::<$crate::rt::owned::$kind $(::<$of>)?>(
                            out, $number, value,
                        )
                    })*
                }
            }
        }

        impl<$life> $crate::rt::owned::MergeOneof<$life> for $name<$life> {
            #[inline]
            fn merge_member(
                slot: &mut ::core::option::Option<Self>,
                field: &$crate::rt::Field<$life>,
                context: $crate::rt::DecodeContext<'_>,
            ) -> $crate::rt::owned::Understood {
                match field.number {
                    $($number => {
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
                    })*
                    _ => $crate::rt::owned::Ok(false),
                }
            }
        }
    };
}
