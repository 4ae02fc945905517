//! From `.proto` schemas to Rust that writes, reads and owns messages on `protozero`.
//!
//! ```text
//!  Source* --syntax, parse--> Schema --emit--> tokens --format--> OutputFile*
//!  FileDescriptorSet -parse-> (model) ^-names
//! ```
//!
//! Three ways in: [`compile`] for a build script; the command `protozero-codegen` (feature `cli`);
//! `protoc-gen-protozero`, a plugin of `protoc` ([`plugin()`]). All of them call [`generate`], which takes text and
//! returns text. Only protobuf-parse needs files, in a private temporary folder. The output depends only on the input,
//! follows declaration order, and contains neither version nor date.
//!
//! A message has up to three kinds of API, none of which needs the others (see [`ApiKinds`]): an *owned* struct, which
//! encodes and decodes as a derived one does, a zero-copy *writer* and a zero-copy *reader*. There are also enums,
//! services, and static descriptors for the text format. Generated code is safe, and compiles and documents without a
//! warning.
//!
//! # The schema language
//!
//! proto2, proto3 and edition 2023, all of them: presence, closed and open enums, packed and expanded
//! runs, oneofs, maps, groups and delimited messages, extensions of own and foreign messages,
//! defaults, reserved names and numbers, public imports, services that stream both ways. An invalid schema is an
//! [`Error`] with file, line, column and reason. Custom options do not change the code; a [`descriptor_set`] contains
//! them. A `required` field may be absent: no code here checks it.
//!
//! `google/protobuf/*.proto` need not be among the sources: `any`, `api`, `compiler/plugin`,
//! `cpp_features`, `descriptor`, `duration`, `empty`, `field_mask`, `java_features`, `source_context`,
//! `struct`, `timestamp`, `type` and `wrappers` are built in. Code is generated for those that are used.
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
//! Names within a package are unique: a name that is taken gets an underscore. Two packages may use the same name; then
//! the root does not re-export the second package's file.
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
//! The receiving crate includes `mod.rs` as a module, with `#[rustfmt::skip]`, because rustfmt would spread short
//! bodies. With an empty [`Config::root`] the module may be anywhere.

mod attributes;
mod build;
mod comments;
mod config;
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
pub use config::{ApiKinds, Config, OutputFile, Source};
pub use error::Error;
pub use model::dump::{EnumRow, FieldRow, MethodRow, Rows};
pub use plugin::{generate_set, plugin};

/// Generates one file per source, and `mod.rs`: the module tree with a flat re-export of everything.
///
/// # Errors
/// The first error in the schema: syntax, an unresolved name, a number used twice, an import that is not among the
/// sources.
pub fn generate(config: &Config) -> Result<Vec<OutputFile>, Error> {
    let schema = parse::parse(&config.sources, config.open_enums)?;
    emit::files(config, schema)
}

/// The schema as an encoded `google.protobuf.FileDescriptorSet`: what `protoc --include_imports
/// --descriptor_set_out` writes, with options and custom options, without comments and places. Options with
/// `retention = RETENTION_SOURCE` are left out.
///
/// # Errors
/// As [`generate`]. Also when neither `google/protobuf/descriptor.proto` nor the sources declare an option, or when its
/// value has the wrong type.
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
