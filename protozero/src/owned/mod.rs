//! What the derive macros and generated code call: one function for each way a field may be held, generic over a marker
//! of its kind. A schema of thousands of fields instantiates one function a kind, not one a field.
//!
//! ```text
//!  put.rs     field of a struct ──▶ Kind::put ──▶ Encoder     back to front, see encoder.rs
//!  merge.rs   Field of the wire ──▶ Read::merge ──▶ field of a struct
//!  kinds      scalar.rs  text.rs  nested.rs  map.rs
//!  owned_macro.rs  the same without a derive: a table of the fields
//! ```
//!
//! The `merge_*` functions say whether the field was understood; what was not is kept by the caller.

mod encoder;
mod map;
mod merge;
mod nested;
pub mod owned_macro;
mod put;
mod scalar;
mod text;

use core::mem::size_of;

use crate::decode::{DecodeContext, Field, Value};
use crate::error::DecodeError;

pub use core::option::Option::{None, Some};
pub use core::result::Result::Ok;

pub use encoder::Encoder;
pub(crate) use encoder::{count, encoded, to_front, to_vec};
pub use map::{Map, merge_map, put_map};
pub use merge::{
    forget, keep, merge_keeping, merge_known, merge_oneof, merge_optional, merge_packed,
    merge_repeated, merge_single, merge_variant,
};
pub use nested::{Group, Nested};
pub(crate) use nested::{frame, merge_all};
pub use put::{
    put, put_implicit, put_member, put_oneof, put_optional, put_packed, put_repeated, put_unknown,
};
pub use scalar::{
    Bool, Double, Enum, Fixed32, Fixed64, Float, Int32, Int64, Packable, ReadRun, Sfixed32,
    Sfixed64, Sint32, Sint64, Uint32, Uint64,
};
pub use text::{
    Bytes, BytesBorrow, BytesValue, BytesView, Text, TextBorrow, TextValue, TextView, Utf8,
};

/// What merging a field into a struct gives.
pub type Merged = Result<(), DecodeError>;

/// Whether a field was understood.
pub type Understood = Result<bool, DecodeError>;

/// A struct that can be written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no protobuf message",
    note = "derive `protozero::Message` for it, or `MessageView` if it borrows"
)]
pub trait Encode: Sized {
    /// Bytes a fresh one takes in memory.
    const FOOTPRINT: usize = size_of::<Self>();

    /// Evaluating it checks the oneofs, see [`check_oneof`].
    const ONEOFS: () = ();

    /// Writes all fields, from the last to the first.
    fn encode_fields(&self, out: &mut Encoder<'_>);
}

/// A struct that takes over fields out of bytes that live for `'a`.
pub trait Merge<'a>: Sized {
    /// Takes over one field, as met on the wire.
    ///
    /// # Errors
    /// [`DecodeError`] if the field holds a malformed message or packed run; its offset counts from
    /// the beginning of `field.raw`.
    fn merge_field(
        &mut self,
        field: Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<(), DecodeError>;
}

/// The members of a oneof, to be written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no oneof",
    note = "derive `protozero::Oneof` for an enum whose variants hold one value each"
)]
pub trait Oneof: Sized {
    /// The field numbers of the members, ascending.
    const NUMBERS: &'static [u32];

    /// Writes the member that is set.
    fn encode_member(&self, out: &mut Encoder<'_>);
}

/// The members of a oneof, to be read out of bytes that live for `'a`.
pub trait MergeOneof<'a>: Oneof {
    /// Takes one field over; false if it is none of the members.
    ///
    /// # Errors
    /// As [`Merge::merge_field`].
    fn merge_member(
        slot: &mut Option<Self>,
        field: &Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<bool, DecodeError>;
}

/// Checks, when it compiles, that a struct hands every member of a oneof to its enum: `listed` are
/// the numbers at the field, ascending. A listed number may lack its member, as when a feature
/// that is off takes it away: what comes in there is unknown.
///
/// # Panics
/// If a member's number is not among `listed`: it would be written, and read as another field or
/// as none.
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

/// How one value of a kind is held and written.
pub trait Kind {
    /// The Rust type.
    type Owned: Default;

    /// Bytes a fresh one takes in memory.
    const FOOTPRINT: usize = size_of::<Self::Owned>();

    /// Writes one value as field `number`.
    fn put(out: &mut Encoder<'_>, number: u32, value: &Self::Owned);
}

/// How one value of a kind is read out of bytes that live for `'a`.
pub trait Read<'a>: Kind {
    /// Takes one value over; false if the field has another wire type, or a value this kind has not.
    ///
    /// # Errors
    /// As [`Merge::merge_field`].
    fn merge(
        slot: &mut Self::Owned,
        field: &Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<bool, DecodeError>;

    /// Whether [`Read::merge`] refused `value` for what it says, rather than for its wire type.
    #[must_use]
    fn lacks(_value: &Value<'_>) -> bool {
        false
    }
}

/// Kinds that may do without presence: a field that holds the default is not written.
pub trait Implicit: Kind {
    /// Is this what an absent field reads as?
    fn is_default(value: &Self::Owned) -> bool;
}
