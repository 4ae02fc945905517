//! Protocol buffers for Rust, in several ways that a program can mix: the bytes are the same.
//!
//! | you want | begin with |
//! |---|---|
//! | code for `.proto` files | the code generator, [`pbzero-codegen`](https://docs.rs/pbzero-codegen) |
//! | a struct as a message | `#[derive(Message)]`, feature `derive`: [`pbzero-derive`](https://docs.rs/pbzero-derive) |
//! | JSON, the text format | `json::to_string` and `json::from_str`, feature `json`; `text::parse`, feature `text` |
//! | messages of a schema that is loaded at run time | `dynamic::Pool`, feature `dynamic` |
//! | `Timestamp`, `Any` and the other well-known types | [`pbzero-types`](https://docs.rs/pbzero-types) |
//! | gRPC | [`pbzero-tonic`](https://docs.rs/pbzero-tonic) |
//! | to write and read fields without generated code | [quick start](#quick-start) below |
//!
//! ```
//! # #[cfg(all(feature = "derive", feature = "json", feature = "std"))] {
//! use protozero::{Message, json};
//!
//! #[derive(Message, Clone, Debug, Default, PartialEq)]
//! #[pb(name = "shop.Line", skip_unknown)]
//! struct Line {
//!     #[pb(string, 1)]
//!     name: String,
//!     #[pb(sint64, 2)]
//!     unit_price: i64,
//! }
//!
//! let line = Line { name: "apple".into(), unit_price: 10 };
//! assert_eq!(Line::decode(&line.encode_to_vec())?, line);
//! assert_eq!(json::to_string(&line)?, r#"{"name":"apple","unitPrice":"10"}"#);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The folder `docs` of the repository has the guide, `protozero.md`, and tables for those who know prost,
//! rust-protobuf or nanopb, `coming-from.md`.
//!
//! A writer stores each byte once, at its final place; a reader borrows the encoded bytes. The rest of this page is
//! about them.
//!
//! # A message on the wire
//!
//! A message is a sequence of fields. A field is a *tag* (field number and wire type) and a value.
//! There is no header and no end mark: the length of a message must be known from outside.
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
//! Wire types: 0 is a varint; 1 is eight bytes; 2 is a length and that many bytes (strings,
//! messages, packed fields); 5 is four bytes. 3 and 4 begin and end a group, which is a nested
//! message without a length.
//!
//! # Quick start
//!
//! Generated writers and readers are wrappers around [`Scope`] and [`Reader`]. Without generated
//! code:
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
//! An open nested message borrows its parent. Code that writes to the parent in between does not
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
//! The writer reserves one byte and stores the length there when the message ends. A body longer
//! than 127 bytes is moved towards the end by up to three bytes, for which the writer keeps space. If the
//! reserved byte is about to leave the writer's memory (a chunk of shared memory that goes to the
//! service), the writer first extends it to four bytes. Later it passes the length to the sink:
//! [`Sink::fill`]. [`encode`] shows this in drawings.
//!
//! # What it needs
//!
//! Without features, the crate needs only `core`: writing into the caller's memory or through a
//! window, rewriting, and reading. `alloc` adds growing sinks and owned messages, `derive` a derive
//! macro for hand-written messages, `text` the text format, `json` the JSON format, and `dynamic`
//! messages of a schema that is loaded at run time. `bytes` supports the buffers of that crate as
//! inputs, whose memory fields share, as outputs and as field types; `std` adds JSON, text and reflection
//! by the type of a message (`json::to_string`, `Named::descriptor`, `Registry`), `HashMap` for maps and
//! output to `io::Write`. Without it, `json::print_bytes`, `json::parse` and those of `text` take a
//! descriptor. `small` compiles setters as function calls: half the code in builds for size, and four to
//! eight times the instructions, in all packages that Cargo builds in one run.
//!
//! Modules in reading order: [`wire`], [`encode`], [`sink`], [`decode`], [`rewrite`].

#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]

#[cfg(feature = "alloc")]
extern crate alloc;
/// The `bytes` crate. Generated fields can have its type `Bytes`.
#[cfg(feature = "bytes")]
pub extern crate bytes;
// The derive macros emit paths that begin with `protozero`.
#[cfg(feature = "dynamic")]
extern crate self as protozero;
#[cfg(all(test, not(feature = "std")))]
#[macro_use]
extern crate std;

pub mod decode;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub mod described;
pub mod descriptor;
#[cfg(feature = "text")]
pub mod dynamic;
pub mod encode;
mod enumeration;
mod error;
#[cfg(feature = "alloc")]
pub mod extension;
pub mod field;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "alloc")]
pub mod message;
mod named;
#[cfg(feature = "alloc")]
mod options;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub mod owned;
mod path;
#[cfg(all(feature = "text", feature = "std"))]
mod reflect;
#[cfg(all(feature = "text", feature = "std"))]
mod registry;
pub mod rewrite;
#[doc(hidden)]
pub mod rt;
mod service;
#[cfg(feature = "bytes")]
mod shared_str;
pub mod sink;
mod splice;
#[cfg(feature = "text")]
pub mod text;
#[doc(hidden)]
pub mod time;
#[cfg(feature = "alloc")]
mod unknown;
pub mod wire;
mod writer;

#[cfg(feature = "alloc")]
pub use decode::FrameReader;
pub use decode::{DecodeContext, DecodeMemory, Field, Reader, ScatteredReader, Value};
pub use encode::{OpenSlots, Range, Scope, Sink, Slot, Stream, StreamOf};
pub use enumeration::{Enumeration, UnknownName, UnknownNumber};
pub use error::{DecodeError, DecodeErrorKind, ReadError, WriteError};
#[cfg(feature = "alloc")]
pub use extension::{Extendable, Extension};
#[cfg(feature = "alloc")]
pub use message::{Append, Message, MessageView};
pub use named::Named;
#[cfg(feature = "alloc")]
pub use options::DecodeOptions;
pub use path::FieldPath;
#[cfg(feature = "derive")]
pub use protozero_derive::{Enumeration, Message, MessageView, Oneof};
#[cfg(all(feature = "text", feature = "std"))]
pub use reflect::{Reflect, ReflectError};
#[cfg(all(feature = "text", feature = "std"))]
pub use registry::{NameTaken, Registry};
pub use service::CallError;
#[cfg(feature = "bytes")]
pub use shared_str::SharedStr;
#[cfg(feature = "alloc")]
pub use sink::{AppendSink, HeapSink};
pub use sink::{FixedSink, RangesSink, WindowSink};
#[cfg(feature = "alloc")]
pub use unknown::UnknownFields;
pub use writer::Writer;

/// Compiles and runs the examples of README.md and docs/lengths.md.
#[cfg(all(doctest, feature = "std", feature = "derive"))]
mod guide {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/lengths.md")]
    mod lengths {}

    /// A struct must list every field number of its oneof.
    ///
    /// ```
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice {
    ///     #[pb(int32, 2)] Two(i32),
    ///     #[pb(int32, 1)] One(i32),
    /// }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown)]
    /// struct Listed { #[pb(oneof, 1, 3, 2)] choice: Option<Choice> }
    /// ```
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice {
    ///     #[pb(int32, 2)] Two(i32),
    ///     #[pb(int32, 1)] One(i32),
    /// }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown)]
    /// struct Listed { #[pb(oneof, 1, 3)] choice: Option<Choice> }
    /// ```
    ///
    /// The same check exists for structs that borrow. A generic struct is checked when it is used.
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice<'a> {
    ///     #[pb(string, 2)] Two(&'a str),
    /// }
    /// #[derive(protozero::MessageView, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown)]
    /// struct Listed<'a> { #[pb(oneof, 1, 3)] choice: Option<Choice<'a>> }
    /// ```
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice {
    ///     #[pb(int32, 2)] Two(i32),
    /// }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown)]
    /// struct Listed<T: protozero::Message> {
    ///     #[pb(oneof, 1)] choice: Option<Choice>,
    ///     #[pb(message, 3)] nested: Option<T>,
    /// }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown)]
    /// struct Empty {}
    /// let _ = protozero::Message::encode_to_vec(&Listed::<Empty>::default());
    /// ```
    mod oneofs {}

    /// All messages in a struct with a name have one, also those in its oneofs.
    ///
    /// ```
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown, name = "Inner")]
    /// struct Inner;
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice { #[pb(message, 1)] One(Inner) }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown, name = "Outer")]
    /// struct Outer {
    ///     #[pb(oneof, 1)] choice: Option<Choice>,
    ///     #[pb(message, 2)] inner: Option<Inner>,
    /// }
    /// ```
    ///
    /// ```compile_fail,E0277
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown)]
    /// struct Inner;
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown, name = "Outer")]
    /// struct Outer { #[pb(message, 2)] inner: Option<Inner> }
    /// ```
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown)]
    /// struct Inner;
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice { #[pb(message, 1)] Inner(Inner) }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown, name = "Outer")]
    /// struct Outer { #[pb(oneof, 1)] choice: Option<Choice> }
    /// ```
    ///
    /// A member of a oneof and another field must have different names.
    ///
    /// ```compile_fail,E0080
    /// #[derive(protozero::Oneof, Clone, Debug, PartialEq)]
    /// enum Choice { #[pb(int32, 1)] FooBar(i32) }
    /// #[derive(protozero::Message, Clone, Debug, Default, PartialEq)]
    /// #[pb(skip_unknown, name = "Outer")]
    /// struct Outer {
    ///     #[pb(oneof, 1)] choice: Option<Choice>,
    ///     #[pb(int32, 2, name = "fooBar")] other: i32,
    /// }
    /// ```
    mod names {}

    /// A value of a closed enumeration must fit 32 bits.
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
