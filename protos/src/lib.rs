//! Perfetto's schema in Rust: what goes into a trace, configures one, and travels between
//! producers, service and consumers.
//!
//! Per message `M` there are three kinds of API:
//!
//! - `M`, an owned struct ([`protozero::Message`]): configs, requests, anything one keeps. Fields it
//!   does not know survive a round trip.
//! - `MWriter`, an append-only writer into shared memory or any other sink: trace data.
//! - `MReader`, an iterator over the fields of a message where it lies, and `MField`, what it yields
//!   (feature `readers`).
//!
//! Nested types are named by their path without separators: `TraceConfig.BufferConfig` of the schema
//! is [`TraceConfigBufferConfig`]. Enums are open: a newtype with a constant per known value.
//! Services are modules: [`producer_port`], [`consumer_port`], [`relay_port`].
//!
//! Areas of the schema are features (`linux`, `service`, `configs`, `ftrace`, `android`, `chrome`, `gpu`, `power`,
//! `profiling`, `system`; `full` for all): the code of one is compiled only with its feature. A field
//! whose message is in an area that is off is an unknown field, kept verbatim by owned messages; a
//! writer takes it already encoded (`NAME_raw`).
//!
//! Everything is re-exported here; the modules follow the folders of the schema. Feature `text` adds
//! `M::DESCRIPTOR`, what the text format needs to know.
//!
//! The code is generated from `protos/perfetto/**/*.proto` and committed; see the README for how to
//! add a message. Names, numbers and types of the schema are a contract, frozen in `protos/abi`.

#![forbid(unsafe_code)]

// Schema names are kept as they are, whatever Rust's habits, a message's size is the schema's, and
// what has no comment there has none here.
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

/// The whole schema, whatever features are on, as an encoded `google.protobuf.FileDescriptorSet`: with
/// it a program decodes and prints any packet without code for it.
#[cfg(feature = "descriptor-set")]
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/schema.binpb");

#[cfg(test)]
mod tests;

/// The snippets of a guide, as tests: here, because they need a schema.
#[cfg(all(doctest, feature = "readers"))]
#[doc = include_str!("../../docs/coming-from.md")]
mod coming_from {}

/// The same of the page on text.
#[cfg(all(doctest, feature = "text", feature = "descriptor-set"))]
#[doc = include_str!("../../docs/text.md")]
mod text {}
