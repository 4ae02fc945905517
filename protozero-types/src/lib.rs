//! The well-known types of protobuf, `google.protobuf.*`: one crate that all schemas share.
//!
//! Code that `protozero-codegen` generates refers to these types wherever a schema imports their files, so messages
//! of different crates have the same `Timestamp`. The crate that includes such code needs both dependencies:
//!
//! ```toml
//! [dependencies]
//! pbzero = "0.1"
//! pbzero-types = "0.1"
//! ```
//!
//! | messages | what they have besides their fields |
//! |---|---|
//! | [`Timestamp`], [`Duration`] | `Copy`, `Ord`; a range; text as in JSON; conversions with std, chrono, time, jiff |
//! | [`Any`] | packing and unpacking by full name |
//! | [`Struct`], [`Value`], [`ListValue`] | `From` for numbers, texts, lists and maps; views |
//! | [`FieldMask`] | union, normal form; with the feature `reflect` they are applied to messages |
//! | wrappers ([`Int32Value`], ...) | `From` and `Into` of their value |
//! | `Empty`, `SourceContext`, `Type`, `Api`, ... | nothing: [`google::protobuf`] has them all |
//!
//! All of them but floats, `Struct` and what has one are `Eq` and `Hash`. `Ord` of times is the order of time if both
//! are in their range. `Timestamp` and `Duration` have no field for unknown fields, which decoding drops, so
//! `Timestamp { seconds, nanos }` is a whole literal. A literal of any other message ends with `..Default::default()`.
//!
//! Each message has an owned struct, a writer and a reader, and knows its name and its fields
//! ([`Named`](protozero::Named)). With its feature `json`, `protozero` prints and parses them in the forms that
//! protobuf gives them.
//!
//! ```
//! use protozero_types::{Any, Struct, Timestamp, Value};
//!
//! let created = Timestamp::new(1_700_000_000, 500_000_000)?;
//! let packed = Any::pack(&created)?;
//! assert_eq!(packed.unpack::<Timestamp>()?, created);
//!
//! let answer = Value::from(Struct::default().with("ok", true).with("codes", [1, 2]));
//! assert_eq!(answer.get("ok").and_then(Value::as_bool), Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without the feature `std` the crate needs only `alloc`.

#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

extern crate alloc;

mod any;
#[cfg(feature = "chrono")]
mod chrono;
mod duration;
mod field_mask;
#[rustfmt::skip]
#[path = "gen/mod.rs"]
mod generated;
#[cfg(feature = "jiff")]
mod jiff;
mod range;
mod text;
#[cfg(feature = "time")]
mod time;
mod timestamp;
mod values;
mod wrappers;

pub use self::any::UnpackError;
#[cfg(feature = "reflect")]
pub use self::field_mask::{MaskError, MergeOptions};
pub use self::generated::google;
pub use self::range::OutOfRange;
pub use self::text::ParseTimeError;
#[doc(no_inline)]
pub use google::protobuf::{
    Any, BoolValue, BytesValue, DoubleValue, Duration, Empty, FieldMask, FloatValue, Int32Value,
    Int64Value, ListValue, NullValue, StringValue, Struct, Timestamp, UInt32Value, UInt64Value,
    Value, Value_KindOneof,
};

/// The content of a [`Value`], by the path that it has in `prost-types`.
pub mod value {
    #[doc(no_inline)]
    pub use crate::google::protobuf::Value_KindOneof as Kind;
}

/// Schemas with compact messages use these types, too.
mod inside_compact {
    use crate::google::protobuf::*;

    protozero::rt::inside_compact! {
        Any Api BoolValue BytesValue DoubleValue Duration Empty Enum EnumValue Field FieldMask FloatValue
        Int32Value Int64Value ListValue Method Mixin Option_ SourceContext StringValue Struct Timestamp
        Type UInt32Value UInt64Value Value
    }
}
