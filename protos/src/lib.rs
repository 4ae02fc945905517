//! Perfetto's schema in Rust: the messages of traces, of configs, and between producers, service and consumers.
//!
//! A message `M` has up to three kinds of API:
//!
//! - `M`, an owned struct ([`protozero::Message`]), for configs and requests. It keeps unknown fields.
//! - `MWriter`, an append-only writer into shared memory or any other sink, for trace data.
//! - `MReader`, an iterator over the fields of an encoded message, and `MField`, its items (feature `readers`).
//!
//! Nested types are named by their path without separators: `TraceConfig.BufferConfig` of the schema is
//! `TraceConfigBufferConfig`. Enums are open: a newtype with a constant for each known value. Services are modules:
//! [`producer_port`], `consumer_port` (feature `consumer`), and `relay_port` (feature `full`).
//!
//! Areas of the schema are features (`consumer`, `linux`, `service`, `configs`, `ftrace`, `android`, `chrome`,
//! `gpu`, `perf`, `power`, `profiling`, `system`; `full` for all): the code of an area is compiled only with its
//! feature. A field whose message is in an area without its feature is an unknown field, which owned messages keep
//! verbatim. A writer takes it already encoded (`NAME_raw`).
//!
//! Everything is here, in one module. Feature `text` adds `M::DESCRIPTOR`
//! for the text format.
//!
//! The code is generated from `protos/perfetto/**/*.proto` and committed. README.md explains how to add a message.
//! Names, numbers and types of the schema are Perfetto's; `protos/abi` freezes them.

#![forbid(unsafe_code)]

// Names, sizes of types and missing comments are those of the schema.
#[allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    clippy::all,
    clippy::pedantic,
    rustdoc::bare_urls,
    rustdoc::invalid_html_tags,
    rustdoc::broken_intra_doc_links
)]
#[rustfmt::skip]
#[path = "gen/mod.rs"]
mod generated;

pub use generated::*;

/// The whole schema, with any features, as an encoded `google.protobuf.FileDescriptorSet`: a program with it can decode
/// and print every packet through dynamic messages.
#[cfg(feature = "descriptor-set")]
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/schema.binpb");

#[cfg(test)]
mod tests;

/// Tests the snippets of a guide, which need a schema.
#[cfg(all(doctest, feature = "readers"))]
#[doc = include_str!("../../docs/coming-from.md")]
mod coming_from {}

/// Tests the snippets of the page on the text format.
#[cfg(all(doctest, feature = "text", feature = "descriptor-set"))]
#[doc = include_str!("../../docs/text.md")]
mod text {}
