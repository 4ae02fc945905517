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
//! A message has up to four kinds of API, none of which needs the others (see [`ApiKinds`]): an *owned* struct, which
//! encodes and decodes as a derived one does, a *view*, which is such a struct and borrows its strings and bytes, a
//! zero-copy *writer* and a zero-copy *reader*. There are also enums, services, and static descriptors for the text
//! format. Generated code is safe, and compiles and documents without a warning; it allows `clippy::all`,
//! `deprecated`, `missing_docs`, `nonstandard_style` and `unused`.
//!
//! # The schema language
//!
//! proto2, proto3, edition 2023 and edition 2024, all of them: presence, closed and open enums, packed and expanded
//! runs, oneofs, maps, groups and delimited messages, extensions of own and foreign messages (those of a message set,
//! an old encoding of Google, have no constants: dynamic messages, JSON and the text format read and write them),
//! defaults, reserved names and numbers, public imports, imports of options, local and exported types, services that
//! stream both ways. An invalid schema is an [`Error`] with file, line, column and reason, with one exception: names in
//! edition 2024 need not follow `enforce_naming_style`. A local type of the schema is public in Rust. Custom options do
//! not change the code; a [`descriptor_set`] contains them. A `required` field may be absent: no code here checks it.
//!
//! `google/protobuf/*.proto` need not be among the sources: `any`, `api`, `compiler/plugin`, `cpp_features`,
//! `descriptor`, `duration`, `empty`, `field_mask`, `go_features`, `java_features`, `source_context`, `struct`,
//! `timestamp`, `type` and `wrappers` are built in.
//!
//! # Well-known types
//!
//! Code is not generated for `any`, `api`, `duration`, `empty`, `field_mask`, `source_context`, `struct`, `timestamp`,
//! `type` and `wrappers`: generated code uses the types of the crate `pbzero-types`, so a `Timestamp` is the same type
//! in all crates, and has conversions. A crate whose schema imports one of these files depends on it:
//!
//! ```toml
//! [dependencies]
//! pbzero = "0.1"
//! pbzero-types = "0.1"
//! ```
//!
//! [`Config::generate_well_known`] generates them with the schema instead, where they follow the schema's options: with
//! attributes, as `Bytes`, at the root. Code is generated for the other files of `google/protobuf` that are used.
//!
//! # Names
//!
//! Modules are the packages. An underscore in a type's name says "nested in".
//!
//! | schema, in package `shop.v1` | Rust, in module `shop::v1` |
//! |---|---|
//! | message `Order` | `Order`, `OrderWriter`, `OrderReader` |
//! | fields that a reader yields; all fields after one pass | `OrderReaderField`; `OrderReaderTable` |
//! | message `Order`, borrowed | `OrderBorrowed<'a>` |
//! | message `Order.Item` | `Order_Item`, `Order_ItemWriter`, `Order_ItemReader` |
//! | setters of a map `tags` of `Order` | `tags(key, value)`, `tags_raw(entry)` |
//! | entries of that map, which a reader yields | `Order_TagsEntryReader`, with `key()` and `value()` |
//! | oneof `paid_by` of `Order`; borrowed | `Order_PaidByOneof`; `Order_PaidByBorrowedOneof` |
//! | enum `Status`, value `STATUS_NOT_SHIPPED` | `Status::NotShipped` |
//! | service `Exchange` | module `Exchange` |
//! | extension `foo_bar` | constant `FOO_BAR`, of the message it stands in, if any |
//! | field `type` | `r#type`; `self` becomes `self_` |
//! | a type without a package | at the root |
//!
//! Names in a schema stay as they are, letter for letter, with these exceptions:
//!
//! - an underscore in the name of a type is doubled: `Order_Item` of the schema is `Order__Item`; one in front of the
//!   name of a nested type becomes a zero;
//! - a type whose name ends as a derived one (`Writer`, `Reader`, `ReaderField`, `ReaderTable`, `Borrowed`, `Oneof`)
//!   gets an underscore, unless this is its whole name: `TraceWriter_`. So does a type in lower case with an
//!   underscore, and a type or package with a name that generated code needs itself: `Option_`, `u32_`, `rt_`.
//!   So does an enum with the name of a variable in that code, which is one word in lower case: `value_`, `field_`.
//!   Underscores at the end of a package's name are doubled;
//! - a field whose name ends as a derived setter (`_raw`, `_gather`) has a setter with an underscore: `image_raw_`.
//!   So has a field with the name of a method of every writer (`append_field`, `from_scope`, `into`, `scope_mut`,
//!   `try_into`) or reader (`bytes`, `clone`, `from_bytes`, `into`, `into_iter`, `iter`, `new`, `table`, `to_owned`,
//!   `try_into`, `unknown_fields`), and so have a field `unknown_fields` and one with a keyword that cannot be a name
//!   (`self`, `Self`, `super`, `crate`). A field that has such a name and underscores behind it gets one more:
//!   `self_` is `self__`. The encoded body of a message field `append` is written by `append__raw`, as every writer
//!   has `append_raw`;
//! - values of enums lose the name of the enum, and are in camel case. `Display`, `FromStr`, `Debug` and the text
//!   format keep the names of the schema.
//!
//! **What is promised.** The name of a package, message, enum, service and what is derived from a message follows
//! from its full name in the schema, and from nothing else; the name of a setter, of a method of a reader and of a
//! field of a struct follows from the name of its field. So a message, enum, service, field, file or package that
//! is added changes no other name, and a message that moves to another file of its package keeps its names. These
//! names depend on more, because the schema language allows names there that differ in case or underscores alone:
//! of two variants for the fields of one message, two fields or oneofs with `prost_names`, two methods of a
//! service, two values of an enum, or two extensions in one package, one gets an underscore; and so does an
//! extension with the name of an enum in capitals (`at` beside `enum AT`).
//!
//! The type of a field follows from its declaration alone, too, with one exception: messages that contain each other
//! are in boxes, as otherwise they would contain themselves. A schema does not tell which field of such a cycle is the
//! newest one, so no rule can leave all others as they are; all fields of the cycle are boxed, as with prost. Name the
//! new field in [`Config::boxed`], and the others keep their types; name `.` from the beginning, and none ever changes.
//!
//! Names and types stay, and yet an addition breaks a program that counts on there being nothing else:
//!
//! - a literal or a pattern that names all fields of a struct, after a new field. `drop_unknown_fields` allows such
//!   literals. End them with `..Order::default()`, and patterns with `..`;
//! - such a literal of a message of `drop_unknown_fields`, after its first extension range: the message gains the field
//!   `unknown_fields`, which holds extensions;
//! - a `match` on the enum of a oneof, after a new member, or on `OrderReaderField`, after a new field. Give it an arm
//!   `_`. `message_attribute("pkg.Order.paid", "#[non_exhaustive]")` demands that of other crates;
//! - the type `Order_PaidByBorrowedOneof` of a view, which has a lifetime if a member borrows, after the first string,
//!   `bytes` or message in a oneof. Do not write that type;
//! - with `eq_and_hash`, a message as a key of a map, after its first `float`. Name only messages that get none;
//! - an `impl` of the trait of a service, after a new method, unless [`Config::generate_default_stubs`] is on.
//!
//! These rules are part of the crate's interface: a version that changes the name of anything for any schema is a new
//! major version (before 1.0, a new minor version), and the changelog lists the names. That includes a longer list of
//! names that generated code needs.
//!
//! [`Config::flat`] puts the types of a package at the root with names in one piece (`OrderItem`, `OrderItemWriter`,
//! `OrderPaidBy`, `OrderField`, `Status::STATUS_NOT_SHIPPED`, module `exchange`). These are shorter, but two of them
//! may be equal. If both are types of the schema, that is an error. A derived name that is taken gets an underscore,
//! so that a new message may change it. It is meant for schemas that one team keeps, such as Perfetto's.
//!
//! [`Config::prost_names`] is for code that used prost. Fields and oneofs have prost's names in snake case (`peerURLs`
//! is `peer_ur_ls`, `type_` is `r#type`), variants of oneofs and values of enums those in camel case (`HTTPServer` is
//! `HttpServer`), and types have a second name at the path of prost: `order::Item`, `order::PaidBy`, `KvPair` for
//! `KVPair`, and with gRPC `greeter_client::GreeterClient`. The names of types above stay, and are the promise: a
//! second name is left out where something else has it. Enums and optional fields have prost's accessors: `kind()`,
//! `set_kind(..)`, `note()`; of two accessors with one name, one is left out. Together with
//! [`Config::drop_unknown_fields`], [`Config::open_enums`],
//! [`Config::hash_map`] and [`Config::plain_types`] most code that used prost compiles as it is, except for fields of
//! enums, which are no `i32` here.
//!
//! # gRPC
//!
//! With the feature `grpc` of this crate, [`Build::grpc`] adds clients and servers for `tonic`. The receiving crate
//! depends on `protozero-tonic` (the codec) and on `tonic` 0.14. `service Greeter` of package `hello` becomes
//!
//! | what | Rust |
//! |---|---|
//! | the client | `hello::Greeter::client::GreeterClient` |
//! | what a server implements | the trait `hello::Greeter::server::Greeter` |
//! | the server | `hello::Greeter::server::GreeterServer` |
//! | its name, `hello.Greeter` | `hello::Greeter::server::SERVICE_NAME` |
//!
//! Methods are in snake case, in all four kinds of streaming, and call `/hello.Greeter/SayHello`. A method with the
//! name of a function that each client has, such as `connect` or `clone`, gets an underscore; so does the trait of a
//! service with a name that the code needs, such as `Context`. A service is compiled only with the features of all
//! areas that its messages lie in.
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
//! assert!(files[1].text.contains("include!(\"shape/point.rs\");"));
//! # Ok::<(), protozero_codegen::Error>(())
//! ```
//!
//! The receiving crate includes `mod.rs` as a module, with `#[rustfmt::skip]`, because rustfmt would spread short
//! bodies. With an empty [`Config::root`] the module may be anywhere.

#![cfg_attr(docsrs, feature(doc_cfg))]

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
pub use config::{ApiKinds, Config, Grpc, OutputFile, Source};
pub use error::Error;
pub use model::dump::{EnumRow, FieldRow, MethodRow, Rows};
pub use plugin::{generate_set, plugin};

/// Generates one file per source, and `mod.rs`: a module for each package, which includes the code of its files.
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
    let mut schema = parse::parse(sources, true)?;
    model::reach::mark(&mut schema);
    Ok(model::dump::rows(&schema))
}
