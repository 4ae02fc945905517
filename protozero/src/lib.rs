//! Zero-copy, append-only protobuf: written once, where the bytes belong; read where they lie.
//!
//! # A message on the wire
//!
//! A message is a row of fields, each a *tag* (field number and wire type), then a value. There is
//! no header and no end mark: whoever holds a message knows its length from outside.
//!
//! ```text
//!  message { 1: 300   2: "hi"   3: { 1: 5 } }
//!
//!   08      ac 02    12      02   68 69    1a      02   08      05
//!  +-------+--------+-------+----+--------+-------+----+-------+----+
//!  | 1, 0  |  300   | 2, 2  | 2  | h  i   | 3, 2  | 2  | 1, 0  | 5  |
//!  +-------+--------+-------+----+--------+-------+----+-------+----+
//!   number  varint   number  len  bytes    number  len  nested message
//!   & type           & type                & type
//! ```
//!
//! Wire types: 0 a varint, 1 eight bytes, 2 a length and as many bytes (strings, messages, packed
//! runs), 5 four bytes; 3 and 4 begin and end a group, a nested message without a length.
//!
//! # Quick start
//!
//! Generated writers and readers wrap [`Scope`] and [`Reader`]; by hand it looks like this:
//!
//! ```
//! use protozero::{FixedSink, Reader, field};
//!
//! let mut buffer = [0; 64];
//! let mut stream = FixedSink::stream(&mut buffer);
//! {
//!     let mut message = stream.root();
//!     field::uint32::<1>(&mut message, 300);
//!     field::string::<2>(&mut message, "hi");
//!     field::uint32::<1>(&mut message.nested::<3>(), 5); // ends where it is dropped
//! }
//! let bytes = stream.finish()?;
//! assert_eq!(bytes, b"\x08\xac\x02\x12\x02hi\x1a\x02\x08\x05");
//!
//! let mut reader = Reader::new(bytes);
//! let first = reader.next_field()?.unwrap();
//! assert_eq!((first.number, first.value.uint32()), (1, Ok(300)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! While a nested message is open its parent is borrowed; writing to the parent in between does not
//! compile:
//!
//! ```compile_fail,E0499
//! # use protozero::{FixedSink, field};
//! # let mut buffer = [0; 64];
//! # let mut stream = FixedSink::stream(&mut buffer);
//! let mut message = stream.root();
//! let mut child = message.nested::<3>();
//! field::uint32::<1>(&mut message, 300);
//! field::uint32::<1>(&mut child, 5);
//! ```
//!
//! # How a length is written before it is known
//!
//! One byte is reserved for it and filled in when the message ends. If the message turns out to be longer
//! than one byte can tell, the body moves on by up to three bytes, for which room was kept. And if by
//! then the byte lies in memory already given away (a chunk of shared memory that the service may be
//! reading), it was made four before, and the sink gets the length and sends it after: [`Sink::fill`].
//! [`encode`] draws it.
//!
//! # What it needs
//!
//! Without features: `core`. Writing into the caller's memory or through a window, rewriting and
//! reading need neither std nor an allocator. `alloc` adds sinks that grow and owned messages, `derive`
//! a derive macro for those that are not generated, `text` the text format, `dynamic` messages of any
//! schema, `bytes` that crate's buffers as places to write to and as fields, `std` files to write to.
//! `small` makes setters calls: half the code where it is built for size, and four to eight times the instructions.
//!
//! Modules in reading order: [`wire`], [`encode`], [`sink`], [`decode`], [`rewrite`].

#![cfg_attr(not(feature = "std"), no_std)]
#![deny(missing_docs)]

#[cfg(feature = "alloc")]
extern crate alloc;
/// The crate of that name: generated fields may be of its type `Bytes`.
#[cfg(feature = "bytes")]
pub extern crate bytes;
// What the derive macros write names the crate from outside.
#[cfg(feature = "dynamic")]
extern crate self as protozero;
#[cfg(all(test, not(feature = "std")))]
#[macro_use]
extern crate std;

pub mod decode;
#[cfg(feature = "text")]
pub mod descriptor;
#[cfg(feature = "text")]
pub mod dynamic;
pub mod encode;
mod enumeration;
mod error;
#[cfg(feature = "alloc")]
pub mod extension;
pub mod field;
#[cfg(feature = "alloc")]
pub mod message;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub mod owned;
pub mod rewrite;
#[doc(hidden)]
pub mod rt;
mod service;
pub mod sink;
mod splice;
#[cfg(feature = "text")]
pub mod text;
#[cfg(feature = "alloc")]
mod unknown;
pub mod wire;

#[cfg(feature = "alloc")]
pub use decode::FrameReader;
pub use decode::{DecodeContext, Field, Reader, ScatteredReader, Value};
pub use encode::{OpenSlots, Range, Scope, Sink, Slot, Stream, StreamOf};
pub use enumeration::Enumeration;
pub use error::{DecodeError, DecodeErrorKind, WriteError};
#[cfg(feature = "alloc")]
pub use extension::{Extendable, Extension};
#[cfg(feature = "alloc")]
pub use message::{Append, Message, MessageView};
#[cfg(feature = "derive")]
pub use protozero_derive::{Enumeration, Message, MessageView, Oneof};
pub use rt::Writer;
pub use service::CallError;
#[cfg(feature = "alloc")]
pub use sink::{AppendSink, HeapSink};
pub use sink::{FixedSink, RangesSink, WindowSink};
#[cfg(feature = "alloc")]
pub use unknown::UnknownFields;

/// The snippets of the guide and of the page on lengths, as tests.
#[cfg(all(doctest, feature = "std", feature = "derive"))]
mod guide {
    #[doc = include_str!("../../docs/protozero.md")]
    mod quick_start {}
    #[doc = include_str!("../../docs/lengths.md")]
    mod lengths {}

    /// A struct lists every number its oneof has.
    ///
    /// ```
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice {
    ///     #[pb(int32, 2)] Two(i32),
    ///     #[pb(int32, 1)] One(i32),
    /// }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// struct Told { #[pb(oneof, 1, 3, 2)] choice: Option<Choice> }
    /// ```
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice {
    ///     #[pb(int32, 2)] Two(i32),
    ///     #[pb(int32, 1)] One(i32),
    /// }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// struct Told { #[pb(oneof, 1, 3)] choice: Option<Choice> }
    /// ```
    ///
    /// So does one that borrows, and one with a parameter as soon as it is used.
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice<'a> {
    ///     #[pb(string, 2)] Two(&'a str),
    /// }
    /// #[derive(protozero::MessageView, Clone, Debug, Default, PartialEq)]
    /// struct Told<'a> { #[pb(oneof, 1, 3)] choice: Option<Choice<'a>> }
    /// ```
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice {
    ///     #[pb(int32, 2)] Two(i32),
    /// }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// struct Told<T: protozero::Message> {
    ///     #[pb(oneof, 1)] choice: Option<Choice>,
    ///     #[pb(message, 3)] nested: Option<T>,
    /// }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// struct Empty {}
    /// let _ = protozero::Message::encode_to_vec(&Told::<Empty>::default());
    /// ```
    mod oneofs {}

    /// A value of a closed enumeration that is more than 32 bits.
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Enumeration, Clone, Copy, Debug, Default, PartialEq)]
    /// #[repr(i64)]
    /// enum Large { #[default] One = 1, Two = 1 << 32 }
    /// ```
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Enumeration, Clone, Copy, Debug, Default, PartialEq)]
    /// #[repr(i64)]
    /// enum Next { #[default] Last = 0x7fff_ffff, NoMore }
    /// ```
    ///
    /// ```
    /// #[derive(protozero::Enumeration, Clone, Copy, Debug, Default, PartialEq)]
    /// #[repr(i64)]
    /// enum Last { #[default] Last = i32::MAX as i64, First = -0x8000_0000 }
    /// ```
    mod enumerations {}
}
