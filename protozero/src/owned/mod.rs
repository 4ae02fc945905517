//! The functions that derived and generated code calls: one for each shape of a field, generic over
//! the kind of its value. A schema of thousands of fields instantiates one function per kind, not
//! one per field.
//!
//! ```text
//!  put.rs     field of a struct ──▶ Kind::put ──▶ Encoder     back to front, see encoder.rs
//!                                        └─────▶ Counter     lengths only, see output.rs
//!  merge.rs   Field of the wire ──▶ Read::merge ──▶ field of a struct
//!  kinds      scalar.rs  text.rs  nested.rs  map.rs
//!  owned_macro.rs  generates the calls from a line per field, without a derive
//!  compact.rs      the same with less code
//!  view_macro.rs   the same for structs that borrow
//!  debug/          `Debug` from the same lines
//! ```
//!
//! The `merge_*` functions return whether they understood the field. The caller keeps or drops an
//! unknown field.

mod backward;
pub mod compact;
mod compact_macro;
pub mod compact_shapes;
mod debug;
mod encoder;
#[cfg(all(feature = "json", feature = "std"))]
mod from_json;
#[cfg(not(all(feature = "json", feature = "std")))]
mod from_json {
    //! No field comes from JSON, so one with a wrong type is unknown.

    use super::{Merge, Read, Understood};
    use crate::decode::{DecodeContext, Field};
    use crate::error::ReadError;

    pub(super) fn message<'a, M: Merge<'a>>(
        _: &mut M,
        _: &Field<'a>,
        _: DecodeContext<'_>,
    ) -> Understood {
        Ok(false)
    }

    pub(super) fn text(_: &Field<'_>, _: DecodeContext<'_>, _: impl FnOnce(&str)) -> Understood {
        Ok(false)
    }

    pub(super) fn bytes(_: &Field<'_>, _: DecodeContext<'_>, _: impl FnOnce(&[u8])) -> Understood {
        Ok(false)
    }

    pub(super) fn entry<'a, K: Read<'a>, V: Read<'a>>(
        _: (&mut K::Owned, &mut V::Owned),
        _: &Field<'a>,
        _: DecodeContext<'_>,
    ) -> Understood {
        Ok(false)
    }

    pub(super) fn refuse_duplicate_key(_: &Field<'_>) -> Result<(), ReadError> {
        Ok(())
    }
}
mod map;
mod merge;
mod nested;
mod output;
pub mod owned_macro;
mod put;
mod rows;
mod scalar;
#[cfg(feature = "bytes")]
mod shared;
mod text;
mod view_macro;
mod whole;
mod wrapped;

use core::mem::size_of;

use crate::decode::{DecodeContext, Field, Reader, Value};
use crate::descriptor::FieldDescriptor;
use crate::error::ReadError;
use crate::wire::tag;

use crate::path::are_flat;
pub use crate::path::{About, Holds, Key, Named, Row, Unnamed};
pub use core::option::Option::{None, Some};
pub use core::result::Result::Ok;

pub use debug::debug;
pub use encoder::Encoder;
pub use map::{Map, merge_map, put_map};
pub use merge::{
    drop_unknown, keep_unknown, merge_dropping, merge_keeping_unknown, merge_known, merge_oneof,
    merge_optional, merge_packed, merge_repeated, merge_single, merge_variant,
};
pub(crate) use nested::split_delimited;
pub use nested::{Group, Nested};
pub use output::Counter;
pub use put::{
    put, put_implicit, put_member, put_oneof, put_optional, put_packed, put_repeated, put_unknown,
    put_within,
};
pub use rows::{row_map, row_numbers, row_oneof, row_oneof_of, row_repeated, row_single};
pub use scalar::{
    Bool, Double, Enum, Fixed32, Fixed64, Float, Int32, Int64, ReadPacked, Sfixed32, Sfixed64,
    Sint32, Sint64, Uint32, Uint64,
};
#[cfg(feature = "bytes")]
pub(crate) use shared::merge_buf;
pub use text::{
    Bytes, BytesBorrow, BytesValue, BytesView, Text, TextBorrow, TextValue, TextView, Utf8, Utf8In,
    Utf8View,
};
pub(crate) use whole::{count, encoded, to_front, to_vec};
pub use wrapped::Wrapped;

/// Result of decoding a field into a struct.
pub type Merged = Result<(), ReadError>;

/// Whether a field was understood.
pub type Understood = Result<bool, ReadError>;

/// A struct that can be encoded.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a protobuf message",
    note = "derive `protozero::Message` for it, or `MessageView` if it borrows"
)]
pub trait Encode: Sized {
    /// Size of a new value in memory.
    const FOOTPRINT: usize = size_of::<Self>();

    /// Evaluating this constant checks the oneofs: see [`check_oneof`].
    const ONEOFS: () = ();

    /// A row for each field; empty if nothing is known of them.
    const ROWS: &'static [Row] = &[];

    /// No field is a message, as far as the rows say: encoding opens none.
    const IS_FLAT: bool = are_flat(Self::ROWS);

    /// The names that errors have.
    #[must_use]
    fn about() -> About {
        About::NONE
    }

    /// Writes all fields: the unknown ones first, then the others from the highest number to the lowest. The encoder
    /// fills its buffer from the end, so the bytes have the opposite order.
    fn encode_fields<O: Output>(&self, out: &mut O);
}

/// Number of the key of an entry.
const ENTRY_KEY: u32 = 1;
/// Number of the value of an entry.
const ENTRY_VALUE: u32 = 2;

/// Takes the fields of a message, from the last to the first.
pub trait Output: Sized {
    /// Whether the order of the fields matters.
    const IN_ORDER: bool;

    /// Number of bytes so far.
    fn written(&self) -> usize;

    /// Adds bytes.
    fn raw(&mut self, bytes: &[u8]);

    /// Adds a varint.
    fn bare_varint(&mut self, value: u64);

    /// Adds four bytes.
    fn bare_fixed32(&mut self, value: u32);

    /// Adds eight bytes.
    fn bare_fixed64(&mut self, value: u64);

    /// Adds a tag.
    fn tag(&mut self, number: u32, wire_type: u32);

    /// Adds a varint field.
    fn varint(&mut self, number: u32, value: u64);

    /// Adds a four-byte field.
    fn fixed32(&mut self, number: u32, value: u32);

    /// Adds an eight-byte field.
    fn fixed64(&mut self, number: u32, value: u64);

    /// Adds a field with a length.
    fn field(&mut self, number: u32, bytes: &[u8]);

    /// Opens a nested message at its end. Pass the result to [`Output::close`]. `None` if no decoder accepts this
    /// depth.
    fn open(&mut self) -> Option<usize>;

    /// [`Output::open`] for a message in which no other one is opened. [`Output::run`] closes it.
    fn open_flat(&mut self) -> Option<usize>;

    /// Adds the tag and length of the message that ends at `end`.
    fn close(&mut self, number: u32, end: usize);

    /// [`Output::close`] for a packed field, which is not a message, and for a message in which none was opened.
    fn run(&mut self, number: u32, end: usize);

    /// Adds the begin tag of a group, which [`Output::open`] opened after its end tag.
    fn close_group(&mut self, number: u32);

    /// Says that so many elements of a list come.
    #[inline(always)]
    fn expect_elements(&mut self, _count: usize) {}

    /// Adds what `put` writes to an encoder: for code that exists only once.
    fn through(&mut self, put: impl FnOnce(&mut Encoder<'_>));

    /// Adds a nested message.
    #[inline(always)]
    fn message<M: Encode>(&mut self, number: u32, value: &M) {
        self.nested(number, M::IS_FLAT, |out| value.encode_fields(out));
    }

    /// Adds a nested message with the fields that `add` adds. None of them is a message if it is flat.
    #[inline(always)]
    fn nested(&mut self, number: u32, is_flat: bool, add: impl FnOnce(&mut Self)) {
        let end = if is_flat { self.open_flat() } else { self.open() };
        let Some(end) = end else { return };
        add(self);
        if is_flat { self.run(number, end) } else { self.close(number, end) }
    }

    /// Adds a message as a group.
    #[inline(always)]
    fn group<M: Encode>(&mut self, number: u32, value: &M) {
        if self.open().is_none() {
            return;
        }
        self.tag(number, tag::END_GROUP);
        value.encode_fields(self);
        self.close_group(number);
    }

    /// Adds the entry of a map: a message of a key and a value.
    #[inline(always)]
    fn entry<K: Kind, V: Kind>(&mut self, number: u32, key: &K::Owned, value: &V::Owned) {
        let is_flat = const { matches!(V::HOLDS, Holds::Value(_)) };
        self.nested(number, is_flat, |out| {
            V::put(out, ENTRY_VALUE, value);
            K::put(out, ENTRY_KEY, key);
        });
    }

    /// Begins the entries of a map. False if they are not to be added.
    #[inline(always)]
    fn begin_map(&mut self, _number: u32) -> bool {
        true
    }

    /// Ends the entries of a map.
    #[inline(always)]
    fn end_map(&mut self, _number: u32) {}

    /// Adds a field for each element.
    #[inline(always)]
    fn list<K: Kind>(&mut self, number: u32, values: &[K::Owned]) {
        self.expect_elements(values.len());
        for value in values.iter().rev() {
            K::put(self, number, value);
        }
    }

    /// Adds one field of all elements, of which there are some.
    #[inline(always)]
    fn packed<K: Packable>(&mut self, number: u32, values: &[K::Owned]) {
        let end = self.written();
        for value in values.iter().rev() {
            K::put_bare(self, value);
        }
        self.run(number, end);
    }
}

/// A struct that decodes fields from bytes with lifetime `'a`.
pub trait Merge<'a>: Sized {
    /// Decodes one field.
    ///
    /// # Errors
    /// [`ReadError`] if the field contains a malformed message or packed field. Its offset counts
    /// from the start of `field.raw`.
    fn merge_field(
        &mut self,
        field: Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError>;

    /// Decodes all fields of `bytes`.
    ///
    /// # Errors
    /// Those of [`Merge::merge_field`]; the offset counts from the start of `bytes`.
    fn merge_fields(&mut self, bytes: &'a [u8], context: DecodeContext<'_>) -> Merged {
        let mut reader = Reader::new(bytes);
        loop {
            let start = reader.position();
            let Some(field) = reader.advance()? else { return Ok(()) };
            self.merge_field(field, context)
                .map_err(|error| error.kind.at(start + error.offset))?;
        }
    }
}

/// The encoder of a oneof.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a oneof",
    note = "derive `protozero::Oneof` for an enum whose variants hold one value each"
)]
pub trait Oneof: Sized {
    /// The field numbers of the members, ascending.
    const NUMBERS: &'static [u32];

    /// The field number of the current member.
    fn number(&self) -> u32;

    /// The names of the members.
    const ROWS: &'static [Row] = &[];

    /// The descriptors of the members, if the oneof was derived.
    const FIELDS: &'static [FieldDescriptor] = &[];

    /// Writes the current member.
    fn encode_member<O: Output>(&self, out: &mut O);
}

/// The decoder of a oneof, from bytes with lifetime `'a`.
pub trait MergeOneof<'a>: Oneof {
    /// Decodes one field; returns false if it is not a member.
    ///
    /// # Errors
    /// Those of [`Merge::merge_field`].
    fn merge_member(
        slot: &mut Option<Self>,
        field: &Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError>;
}

/// Checks at compile time that a struct lists every member of its oneof. `listed` are the numbers
/// in the attribute of the struct's field, ascending. A listed number may have no member, for
/// example because a feature is off: then its field is unknown.
///
/// # Panics
/// If `listed` does not contain the number of a member: it would be encoded, but not decoded as
/// this oneof.
#[track_caller]
pub const fn check_oneof<O: Oneof>(listed: &[u32]) {
    let (mut at, mut member) = (0, 0);
    while member < O::NUMBERS.len() {
        while at < listed.len() && listed[at] < O::NUMBERS[member] {
            at += 1;
        }
        assert!(
            at < listed.len() && listed[at] == O::NUMBERS[member],
            "the enum of this oneof has a number that #[pb(oneof, ...)] does not list"
        );
        member += 1;
    }
}

/// How a value of a kind is stored and encoded.
pub trait Kind {
    /// The Rust type.
    type Owned: Default;

    /// Size of a new value in memory.
    const FOOTPRINT: usize = size_of::<Self::Owned>();

    /// What a path says of it.
    const HOLDS: Holds = Holds::Value(Key::Other);

    /// Writes one value as field `number`.
    fn put<O: Output>(out: &mut O, number: u32, value: &Self::Owned);
}

/// Kinds that can be packed.
pub trait Packable: Kind {
    /// Writes one value without a tag.
    fn put_bare<O: Output>(out: &mut O, value: &Self::Owned);
}

/// How a value of a kind is decoded from bytes with lifetime `'a`.
pub trait Read<'a>: Kind {
    /// Decodes one value; returns false if the field has another wire type or an invalid value.
    ///
    /// # Errors
    /// Those of [`Merge::merge_field`].
    fn merge(
        slot: &mut Self::Owned,
        field: &Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError>;

    /// Whether [`Read::merge`] refused `value` because of its content, not its wire type.
    #[must_use]
    fn is_invalid(_value: &Value<'_>) -> bool {
        false
    }
}

/// Kinds without presence: a field with the default value is not encoded.
pub trait Implicit: Kind {
    /// Whether `value` equals the value of a missing field.
    fn is_default(value: &Self::Owned) -> bool;
}
