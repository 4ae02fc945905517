//! From `.proto` schemas to Rust that writes, reads and owns messages on `protozero`.
//!
//! ```text
//!  Source* --syntax, parse--> Schema --emit--> tokens --format--> OutputFile*
//!  FileDescriptorSet -parse-> (model) ^-names
//! ```
//!
//! Three ways in: [`compile`] for a build script; the command `protozero-codegen` (feature `cli`);
//! `protoc-gen-protozero`, a plugin of `protoc` ([`plugin()`]). All of them end in [`generate`], where
//! text goes in and text comes out. Only protobuf-parse insists on files: it gets a private temporary
//! folder for a moment. Output depends on the input alone and follows declaration order; it carries
//! no version and no date, so a release of this crate changes nothing by itself.
//!
//! Per message up to three API kinds are made, each without need of the others (see [`ApiKinds`]): an
//! *owned* struct, which encodes and decodes as a derived one does, a zero-copy *writer* and a zero-copy
//! *reader*; beside them enums, services and static descriptors for the text format. Whatever the API kind, generated
//! code is safe, and compiles and documents without a warning.
//!
//! # The schema language
//!
//! proto2, proto3 and edition 2023, all of them: presence, closed and open enums, packed and expanded
//! runs, oneofs, maps, groups and delimited messages, extensions of own and foreign messages,
//! defaults, reserved names and numbers, public imports, services that stream both ways. What the
//! schema must not do is an [`Error`] with file, line, column and reason. Custom options change nothing
//! in the code; a [`descriptor_set`] has them. `required` is a field that may be absent: nothing here
//! fails for want of it.
//!
//! `google/protobuf/*.proto` need not be among the sources: `any`, `api`, `compiler/plugin`,
//! `cpp_features`, `descriptor`, `duration`, `empty`, `field_mask`, `java_features`, `source_context`,
//! `struct`, `timestamp`, `type` and `wrappers` come along, and code is made for those that are used.
//!
//! # Names
//!
//! | schema | Rust |
//! |---|---|
//! | message `Outer.Inner` | `OuterInner`, `OuterInnerWriter`, `OuterInnerReader` |
//! | oneof `pick` of `M` | `MPick` |
//! | enum `Kind` of `M`, value `GOOD` | `MKind::GOOD` |
//! | field `type` | `r#type`; `self` becomes `self_` |
//! | extension `foo_bar` | constant `FOO_BAR`, of the message it stands in, if any |
//! | service `Host` | module `host` |
//! | file `a/b.proto` | module `a::b`, re-exported at the root |
//!
//! Names of a package are unique: whoever comes second gets an underscore behind. Two packages may
//! use one name; then the second one's file is not re-exported at the root.
//!
//! ```
//! use protozero_codegen::{Config, ApiKinds, Source, generate};
//!
//! let point = "syntax = \"proto3\"; message Point { sint32 x = 1; sint32 y = 2; }";
//! let files = generate(&Config {
//!     sources: vec![Source { path: "shape/point.proto".into(), text: point.into() }],
//!     api_kinds: ApiKinds::ALL,
//!     command: "cargo xtask codegen".into(),
//!     source_prefix: "schema/".into(),
//!     root: "crate".into(),
//!     ..Config::default()
//! })?;
//! assert_eq!(files[0].path, "shape/point.rs");
//! assert!(files[0].text.contains("PointWriter"));
//! assert!(files[1].text.contains("pub use shape::point::*;"));
//! # Ok::<(), protozero_codegen::Error>(())
//! ```
//!
//! The receiving crate includes `mod.rs` as a module (`#[rustfmt::skip]`, since small bodies stand on
//! one line). With an empty [`Config::root`] that may be anywhere.

mod attributes;
mod build;
mod comments;
mod emit;
mod error;
mod format;
mod model;
mod names;
mod notes;
mod parse;
mod plugin;
mod syntax;
mod wellknown;

pub use build::{Build, BuildError, compile};
pub use error::Error;
pub use model::dump::{EnumRow, FieldRow, MethodRow, Rows};
pub use plugin::{generate_set, plugin};

/// One `.proto` file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path as other files import it, `/`-separated: `perfetto/common/trace_stats.proto`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Which code is made for each message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApiKinds {
    /// Plain structs that implement `protozero::Message`, and oneof enums; they need `protozero`'s feature
    /// `alloc` and no std. A field with an explicit default has a getter `NAME_or_default`, unless it is
    /// in a oneof, where a member that is not set has nothing to stand for.
    pub owned: bool,
    /// Append-only writers.
    pub writer: bool,
    /// Lazy zero-copy readers.
    pub reader: bool,
    /// Method tables, request and response enums, host and client traits; makes owned messages too.
    pub service: bool,
    /// Static descriptors for the text format, behind [`Config::text_feature`]; makes owned messages too.
    pub descriptor: bool,
}

impl ApiKinds {
    /// Everything.
    pub const ALL: Self =
        Self { owned: true, writer: true, reader: true, service: true, descriptor: true };
}

/// What to generate.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The schema. Every import must be among them, but for the files of `google/protobuf` that
    /// [come along](crate#the-schema-language).
    pub sources: Vec<Source>,
    /// Which code to make.
    pub api_kinds: ApiKinds,
    /// The command that made the files; named in the first line of each.
    pub command: String,
    /// What stands before the `.proto` path in the first line, such as `protos/`.
    pub source_prefix: String,
    /// Module of the receiving crate that `mod.rs` is re-exported from, as generated code may name
    /// it: `crate`, or `crate::schema`. Empty: code finds its way by `super`, wherever `mod.rs` is.
    pub root: String,
    /// Every enum is open: a number this build does not know is a value like any other. Without
    /// it the schema decides, and proto2's enums are closed: such a number is an unknown field of owned
    /// messages. Readers have open enums either way.
    pub open_enums: bool,
    /// Readers give strings as `protozero`'s `Text`, which is checked when somebody
    /// asks for a `str`, instead of as `&str`, which is checked when it is read.
    pub lazy_utf8: bool,
    /// Cargo feature of the receiving crate that descriptors hide behind; none: always there.
    pub text_feature: Option<String>,
    /// Cargo feature of the receiving crate that readers hide behind; none: always there. Of the code for a
    /// message, readers take the compiler longest.
    pub reader_feature: Option<String>,
    /// Areas: path prefix of `.proto` files to the Cargo feature of the receiving crate that their
    /// code hides behind; the longest prefix decides, an empty feature means always. A field whose
    /// type lies in another area is there with that area alone; without it the field is unknown to
    /// readers and owned messages, which keep it verbatim, and writers take it encoded (`NAME_raw`).
    pub features: Vec<(String, String)>,
    /// Files whose code another crate has: path prefix of `.proto` files to the module there that
    /// includes the `mod.rs` made with them, such as `::common::schema`; the longest prefix decides.
    /// No code is made for them here. It must have been made with the API kinds that are asked for here, and
    /// all files of a package that were made there have to be among the sources here: of names that
    /// collide the second gets an underscore, and who sees one of them alone does not know.
    pub externs: Vec<(String, String)>,
    /// Where generated code finds this crate's runtime, as a path: `::my_sdk::protozero`. Empty:
    /// `protozero` is a dependency of the receiving crate, under that name.
    pub runtime: String,
    /// What of the schema holds `bytes` as `bytes::Bytes`, which is cloned without a copy, instead of `Vec<u8>`:
    /// full names, as those of attributes below. `pkg.Blob.data` is one field (or member of a oneof, or
    /// map, whose values they are then), `pkg.Blob` all of a message, `pkg` of a package, `.` of the schema.
    /// The receiving crate's `protozero` needs its feature `bytes`. Decoding copies them, once, out of
    /// whatever it reads; extensions are read as `Vec<u8>`.
    pub bytes: Vec<String>,
    /// Attributes of messages: a full name in the schema to attributes as one writes them. `pkg.Order` is the
    /// struct, those of the messages inside it and the enums of its oneofs (one alone:
    /// `pkg.Order.paid`); `pkg` is the package, `.` all. They stand behind the derives that are there
    /// anyway: `Clone, PartialEq, Debug`, and `Default` for structs.
    pub message_attributes: Vec<(String, String)>,
    /// Attributes of enums, in the same way; theirs are `Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash`.
    pub enum_attributes: Vec<(String, String)>,
    /// Attributes of fields of owned structs and variants of oneofs, in the same way: `pkg.Order.price` is
    /// one field, `pkg.Order.unknown_fields` what keeps the unknown ones.
    ///
    /// A name that is nothing in the schema is an error, here as above.
    pub field_attributes: Vec<(String, String)>,
}

impl Config {
    /// The feature that the code of a `.proto` file hides behind.
    pub(crate) fn feature(&self, path: &str) -> Option<&str> {
        let areas = self.features.iter().filter(|(prefix, _)| path.starts_with(prefix.as_str()));
        let (_, feature) = areas.max_by_key(|(prefix, _)| prefix.len())?;
        (!feature.is_empty()).then_some(feature)
    }
}

/// One generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Path below the output folder: `perfetto/common/trace_stats.rs`, or `mod.rs`.
    pub path: String,
    /// Its whole text.
    pub text: String,
}

/// Generates one file per source, and `mod.rs`, the module tree with a flat re-export of all of it.
///
/// # Errors
/// The first thing wrong with the schema: syntax, an unresolved name, a number used twice, an import
/// that is not among the sources.
pub fn generate(config: &Config) -> Result<Vec<OutputFile>, Error> {
    let schema = parse::parse(&config.sources, config.open_enums)?;
    emit::files(config, schema)
}

/// The schema as an encoded `google.protobuf.FileDescriptorSet`: what `protoc --include_imports
/// --descriptor_set_out` writes, options and custom options included, but for comments and places. As there,
/// options with `retention = RETENTION_SOURCE` are left out.
///
/// # Errors
/// As [`generate`], and an option that `google/protobuf/descriptor.proto` and the sources do not know, or whose
/// value is none of its type.
pub fn descriptor_set(sources: &[Source]) -> Result<Vec<u8>, Error> {
    parse::descriptor_set(sources)
}

/// The schema as rows, for comparing it with a frozen table.
///
/// # Errors
/// As [`generate`].
pub fn rows(sources: &[Source]) -> Result<Rows, Error> {
    parse::parse(sources, true).map(|schema| model::dump::rows(&schema))
}
