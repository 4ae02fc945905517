//! The macro `reader!`: declares the reader of a message from one line per field. Generated code
//! uses it, and hand-written code can.

/// Declares a reader, the enum of its fields and its table.
///
/// ```
/// use protozero::rt;
///
/// rt::reader! {
///     "shape.Polygon": PolygonReader, PolygonField, PolygonTable;
///     one {
///         /// Name on the map.
///         Name(&'a str) name = 10 as String;
///     }
///     many {
///         Corners(i32) corners = 16 | 18 as Sint32;
///         Holes(PolygonReader<'a>) holes = 26 as Message;
///     }
///     oneof paint {
///         Color(u32) color = 37 as Fixed32;
///         Texture(&'a [u8]) texture = 42 as Bytes;
///     }
/// }
///
/// let polygon = PolygonReader::new(b"\x0a\x03box\x12\x04\x01\x02\x03\x04\x10\x06\x2a\x01!");
/// assert_eq!(polygon.name()?, Some("box"));
/// let corners: Result<Vec<i32>, _> = polygon.corners().into_iter().collect();
/// assert_eq!(corners?, [-1, 1, -2, 2, 3]);
/// let table = polygon.table()?;
/// assert!(matches!(table.paint, Some(PolygonField::Texture(b"!"))));
/// assert_eq!((table.name, table.holes.iter().count()), (Some("box"), 0));
/// # Ok::<(), protozero::DecodeError>(())
/// ```
///
/// A line is `Variant(type) name = tag as Kind;` with the whole tag (`number << 3 | wire type`).
/// For a repeated field that may be packed it is `unpacked tag | packed tag`.
#[doc(hidden)]
#[macro_export]
macro_rules! __reader {
    (
        $(#[$doc:meta])*
        $full:literal: $reader:ident, $field:ident, $table:ident;
        $(one {$(
            $(#[$one_meta:meta])*
            $One:ident($one_type:ty) $one:ident = $one_tag:literal as $one_kind:ident;
        )*})?
        $(many {$(
            $(#[$many_meta:meta])*
            $Many:ident($many_type:ty) $many:ident = $many_tag:literal $(| $run:literal)?
                as $many_kind:ident;
        )*})?
        $(oneof $oneof:ident {$(
            $(#[$of_meta:meta])*
            $Of:ident($of_type:ty) $of:ident = $of_tag:literal as $of_kind:ident;
        )*})*
    ) => {
        #[doc = ::core::concat!("Reads an encoded `", $full, "`.")]
        ///
        /// `for field in reader` iterates over the fields in wire order. The method of a field
        /// finds this field only; `table()` decodes all fields in one pass. The last occurrence of
        /// a singular field counts, also if it is a message: only owned messages merge.
        $(#[$doc])*
        #[allow(dead_code, reason = "a program may use only a part of it")]
        #[derive(Clone, Copy, Debug)]
        pub struct $reader<'a> {
            bytes: &'a [u8],
        }

        #[allow(dead_code, deprecated, non_snake_case, clippy::all, reason = "as above")]
        impl<'a> $reader<'a> {
            /// Reads the message encoded in `bytes`.
            #[inline]
            #[must_use]
            pub const fn new(bytes: &'a [u8]) -> Self {
                Self { bytes }
            }

            /// The encoded message.
            #[inline]
            #[must_use]
            pub const fn bytes(&self) -> &'a [u8] {
                self.bytes
            }

            /// Iterates over the fields in wire order.
            #[inline]
            #[must_use]
            pub const fn iter(&self) -> $crate::rt::TypedFields<'a, $field<'a>> {
                $crate::rt::TypedFields::new(self.bytes)
            }

            /// Decodes all fields in one pass.
            ///
            /// # Errors
            /// If this is not a valid message, or a singular string is not UTF-8.
            #[inline]
            pub fn table(&self) -> ::core::result::Result<$table<'a>, $crate::rt::ReadError> {
                $crate::rt::table(self.bytes)
            }

            /// The fields that this build does not know.
            #[inline]
            #[must_use]
            pub const fn unknown_fields(&self) -> $crate::rt::Unknown<'a, $field<'a>> {
                $crate::rt::Unknown::new(self.bytes)
            }

            $($(
                $(#[$one_meta])*
                #[inline]
                pub fn $one(
                    &self,
                ) -> ::core::result::Result<
                    ::core::option::Option<$one_type>, $crate::rt::ReadError
                > {
                    $crate::rt::last::<$one_type, $crate::rt::kind::$one_kind>(
                        self.bytes, $one_tag,
                    )
                }
            )*)?

            $($(
                $(#[$many_meta])*
                #[inline]
                pub fn $many(
                    &self,
                ) -> $crate::rt::Repeated<'a, $many_type, $crate::rt::kind::$many_kind> {
                    $crate::rt::Repeated::new(self.bytes, $many_tag)
                }
            )*)?

            $(
                /// The last member on the wire.
                #[inline]
                pub fn $oneof(
                    &self,
                ) -> ::core::result::Result<
                    ::core::option::Option<$field<'a>>, $crate::rt::ReadError
                > {
                    $crate::rt::last_of(
                        self.bytes,
                        |tag| match tag {
                            $($(#[$of_meta])* $of_tag => true,)*
                            _ => false,
                        },
                        <$field<'a> as $crate::rt::TypedField<'a>>::read,
                    )
                }

                $(
                    $(#[$of_meta])*
                    #[inline]
                    pub fn $of(
                        &self,
                    ) -> ::core::result::Result<
                        ::core::option::Option<$of_type>, $crate::rt::ReadError
                    > {
                        ::core::result::Result::Ok(match self.$oneof()? {
                            ::core::option::Option::Some($field::$Of(value)) => {
                                ::core::option::Option::Some(value)
                            }
                            _ => ::core::option::Option::None,
                        })
                    }
                )*
            )*
        }

        impl<'a> $crate::rt::MessageReader<'a> for $reader<'a> {
            type Field = $field<'a>;

            #[inline(always)]
            fn from_bytes(bytes: &'a [u8]) -> Self {
                Self { bytes }
            }
        }

        impl<'a> ::core::iter::IntoIterator for $reader<'a> {
            type Item = ::core::result::Result<$field<'a>, $crate::rt::ReadError>;
            type IntoIter = $crate::rt::TypedFields<'a, $field<'a>>;

            #[inline]
            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }

        #[doc = ::core::concat!("A field of `", $full, "`.")]
        #[allow(dead_code, reason = "as above")]
        #[derive(Clone, Copy, Debug)]
        pub enum $field<'a> {
            $($($(#[$one_meta])* $One($one_type),)*)?
            $($($(#[$many_meta])* $Many($many_type),)*)?
            $($($(#[$of_meta])* $Of($of_type),)*)*
            /// A field that this build does not know, or with another wire type.
            Unknown($crate::rt::Field<'a>),
        }

        #[allow(deprecated, unused_doc_comments, clippy::all, reason = "as above")]
        impl<'a> $crate::rt::TypedField<'a> for $field<'a> {
            #[inline(always)]
            fn read(
                fields: &mut $crate::rt::Fields<'a>,
                tag: u32,
            ) -> ::core::result::Result<::core::option::Option<Self>, $crate::rt::Malformed> {
                // No `?` in here: it doubles the compile time.
                match tag {
                    $($(
                        $(#[$one_meta])*
                        $one_tag => $crate::rt::read_as::<_, $crate::rt::kind::$one_kind, _>(
                            fields, tag, Self::$One,
                        ),
                    )*)?
                    $($(
                        $(#[$many_meta])*
                        $many_tag => $crate::rt::read_as::<_, $crate::rt::kind::$many_kind, _>(
                            fields, tag, Self::$Many,
                        ),
                        $($run => $crate::rt::run(fields, $many_tag),)?
                    )*)?
                    $($(
                        $(#[$of_meta])*
                        $of_tag => $crate::rt::read_as::<_, $crate::rt::kind::$of_kind, _>(
                            fields, tag, Self::$Of,
                        ),
                    )*)*
                    _ => $crate::rt::read_unknown(fields, tag, Self::Unknown),
                }
            }

            #[inline]
            fn knows(tag: u32) -> bool {
                match tag {
                    $($($(#[$one_meta])* $one_tag => true,)*)?
                    $($($(#[$many_meta])* $many_tag $(| $run)? => true,)*)?
                    $($($(#[$of_meta])* $of_tag => true,)*)*
                    _ => false,
                }
            }
        }

        #[doc = ::core::concat!("A `", $full, "` as a struct that borrows from the encoded message.")]
        #[allow(dead_code, non_snake_case, reason = "as above")]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $table<'a> {
            $($(
                $(#[$one_meta])*
                pub $one: ::core::option::Option<$one_type>,
            )*)?
            $($(
                $(#[$many_meta])*
                pub $many: $crate::rt::Repeated<'a, $many_type, $crate::rt::kind::$many_kind>,
            )*)?
            $(
                /// The last member on the wire.
                pub $oneof: ::core::option::Option<$field<'a>>,
            )*
            /// The fields that this build does not know.
            pub unknown_fields: $crate::rt::Unknown<'a, $field<'a>>,
        }

        #[allow(deprecated, unused_doc_comments, clippy::all, reason = "as above")]
        impl<'a> $crate::rt::Table<'a> for $table<'a> {
            #[inline(always)]
            fn take(
                &mut self,
                fields: &mut $crate::rt::Fields<'a>,
                tag: u32,
            ) -> ::core::result::Result<(), $crate::rt::Malformed> {
                match tag {
                    $($(
                        $(#[$one_meta])*
                        $one_tag => $crate::rt::take::<_, $crate::rt::kind::$one_kind>(
                            fields, tag, &mut self.$one,
                        ),
                    )*)?
                    $($(
                        $(#[$many_meta])*
                        $many_tag $(| $run)? => self.$many.extend(fields, tag, $many_tag),
                    )*)?
                    $($(
                        $(#[$of_meta])*
                        $of_tag => $crate::rt::take_as::<_, $crate::rt::kind::$of_kind, _>(
                            fields, tag, $field::$Of, &mut self.$oneof,
                        ),
                    )*)*
                    _ => self.unknown_fields.extend(fields, tag),
                }
            }
        }
    };
}
