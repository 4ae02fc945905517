//! What the crate takes and returns: sources, the configuration, generated files.

/// One `.proto` file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path as other files import it, `/`-separated: `perfetto/common/trace_stats.proto`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Which code is generated for each message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApiKinds {
    /// Plain structs that implement `protozero::Message`, and oneof enums; they need `protozero`'s feature
    /// `alloc` but not std. A field with an explicit default has a getter `NAME_or_default`, unless it is in a oneof.
    pub owned: bool,
    /// Structs that borrow strings and bytes from the encoded message and implement `protozero::MessageView`; they
    /// need `protozero`'s feature `alloc`. Well-known types of the crate `pbzero-types` are owned in them. Not together
    /// with [`Config::features`]. Attributes and `serde` are for owned messages alone.
    pub view: bool,
    /// Append-only writers.
    pub writer: bool,
    /// Lazy zero-copy readers.
    pub reader: bool,
    /// Method tables, request and response enums, host and client traits. Implies `owned`.
    pub service: bool,
    /// Static descriptors for JSON, the text format and reflection (`protozero::Named::SCHEMA`), behind
    /// [`Config::text_feature`]. Implies `owned`.
    pub descriptor: bool,
}

impl ApiKinds {
    /// Owned messages alone, which is what the build script, the command and the plugin generate unless they are told
    /// otherwise. `ApiKinds { writer: true, ..ApiKinds::OWNED }` adds writers.
    pub const OWNED: Self = Self {
        owned: true,
        view: false,
        writer: false,
        reader: false,
        service: false,
        descriptor: false,
    };

    /// Everything but views, which few programs need beside readers.
    pub const ALL: Self =
        Self { writer: true, reader: true, service: true, descriptor: true, ..Self::OWNED };
}

/// Which code is generated for the services of gRPC: see [gRPC](crate#grpc).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grpc {
    /// Clients: `client::GreeterClient` in the module of the service.
    pub client: bool,
    /// `GreeterClient::connect`, if there is a client. The receiving crate's `tonic` needs its feature `channel`, which
    /// is on by default.
    pub connect: bool,
    /// Servers: `server::Greeter`, a trait, and `server::GreeterServer`, which answers requests with it.
    pub server: bool,
}

impl Grpc {
    /// Everything.
    pub const ALL: Self = Self { client: true, connect: true, server: true };

    /// Whether there is code for services at all.
    pub(crate) fn any(self) -> bool {
        self.client || self.server
    }
}

/// What to generate. A name in one of its lists that is not in the schema is an error.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The schema. Every import must be among them, except the files of `google/protobuf` that
    /// [are built in](crate#the-schema-language).
    pub sources: Vec<Source>,
    /// Which code to generate.
    pub api_kinds: ApiKinds,
    /// The command that generates the files; the first line of each file names it.
    pub command: String,
    /// Prefix of the `.proto` path in the first line, such as `protos/`.
    pub source_prefix: String,
    /// Module of the receiving crate that `mod.rs` is re-exported from, such as `crate` or `crate::schema`. Empty:
    /// generated code uses `super`, so `mod.rs` may be anywhere.
    pub root: String,
    /// Every enum is open: a number that this build does not know is a value like any other. Otherwise the schema
    /// decides. proto2's enums are closed: such a number becomes an unknown field of the owned message. For readers,
    /// all enums are open.
    pub open_enums: bool,
    /// Owned messages know their full names (`protozero::Named`), also without descriptors: a line for each. Needed to
    /// put messages into a `google.protobuf.Any`.
    pub names: bool,
    /// Readers return strings as `protozero`'s `Text`, which is checked on conversion to `str`, instead of as `&str`,
    /// which is checked on reading.
    pub lazy_utf8: bool,
    /// Owned messages have about half the code, and take some ten instructions more for each field that is decoded: for
    /// configs and requests.
    pub compact: bool,
    /// Full names of messages that are not compact nevertheless, with those nested in them: requests that come often.
    pub not_compact: Vec<String>,
    /// Owned messages without the field `unknown_fields`: what this build does not know is dropped when they are
    /// decoded, also numbers that a closed enum does not have, and entries of maps with such a number: see
    /// [`Config::open_enums`]. A string that is not UTF-8 is an error, also in proto2. Full names as for attributes
    /// below: `pkg.Order` with the messages inside it, `pkg` for a package, `.` for the schema. Such a message is not
    /// compact. Messages with extensions keep the field, which holds them.
    pub drop_unknown_fields: Vec<String>,
    /// Names as prost has them, for code that used prost: fields and oneofs are in snake case (`peerURLs` is
    /// `peer_ur_ls`), variants and values of enums in camel case (`HTTPServer` is `HttpServer`), oneofs are behind all
    /// other fields, and the types have aliases at the paths that prost gives them. Fields of enums have its accessors:
    /// `kind()` and `set_kind(..)`, for lists `kinds()` and `push_kinds(..)`, for maps `get_kinds(..)` and
    /// `insert_kinds(..)`. In them a number without a name reads as the default. Other optional fields have `note()`:
    /// the value, or the default. An alias or an accessor is left out where something else has its name, so a schema
    /// that grows may take one away; so is an accessor with the name of a method of every message (`clear`, `clone`).
    /// See [Names](crate#names). The names for attributes and `bytes` below are prost's, too: `.pkg.Order` also matches
    /// what is inside, `v1.Order` is the end of a full name and matches nothing else, and a member of a oneof is also
    /// `pkg.Order.paid_by.card`.
    pub prost_names: bool,
    /// Plain types of Rust in place of some well-known ones in owned messages, as prost has them: `()` for
    /// `google.protobuf.Empty`, also as request and response of gRPC, and for a wrapper the value that it holds, so a
    /// field of type `StringValue` is `Option<String>`. Such values drop unknown fields. Not for a schema that is
    /// [`compact`](Config::compact), and not in views.
    pub plain_types: bool,
    /// Fields that hold their message in a `Box`: singular ones, and members of oneofs. Names as for [`Config::bytes`].
    /// Besides them, all fields are boxed that are on a cycle of messages, as each of these messages would contain
    /// itself. A field that is named here is no part of such a cycle. So if it is the new one that closes it, the
    /// fields of the other messages keep their types. With `.` the type of such a field never changes. See
    /// [Names](crate#names).
    pub boxed: Vec<String>,
    /// Full names of fields that are `Option<Arc<M>>` in owned messages instead of `Option<M>`: large messages that are
    /// passed on as they are. The code that drops such a message is then in few places. Only singular fields of
    /// messages outside of oneofs.
    pub shared: Vec<String>,
    /// Cargo feature of the receiving crate for descriptors. `None`: they are always compiled.
    pub text_feature: Option<String>,
    /// Cargo feature of the receiving crate for readers. `None`: they are always compiled. Readers take the compiler
    /// longer than the rest of a message's code.
    pub reader_feature: Option<String>,
    /// Areas: path prefix of `.proto` files, and the Cargo feature of the receiving crate for their code. The longest
    /// prefix decides; an empty feature means always. A field whose type lies in another area is compiled only with
    /// that area's feature. Without it, readers and owned messages treat the field as unknown and keep it verbatim, and
    /// writers take it encoded (`NAME_raw`).
    pub features: Vec<(String, String)>,
    /// Files whose code is in another crate: path prefix of `.proto` files, and the module there that includes their
    /// `mod.rs`, such as `::common::schema`. The longest prefix decides. The well-known types are in the crate
    /// `pbzero-types` unless a prefix begins with `google/protobuf`: `google/` alone does not move them. No code is
    /// generated for such files here. That crate must have been generated with the same API kinds, the same
    /// [`Config::flat`] for their packages and the same [`Config::compact`]; and with the same
    /// [`Config::prost_names`], if a field has a default that is a value of an enum there.
    pub externs: Vec<(String, String)>,
    /// Generate code for the well-known types (`google.protobuf.Timestamp`, ...) that a schema uses. Otherwise the code
    /// uses the types of the crate `pbzero-types`, which the receiving crate then depends on under the name
    /// `protozero_types`: messages of all crates have the same types, with conversions. See
    /// [Well-known types](crate#well-known-types).
    pub generate_well_known: bool,
    /// Path by which generated code finds the crate of the well-known types. Empty: `::protozero_types`.
    pub types: String,
    /// Packages whose types are at the root, with names in one piece: `TraceConfig.BufferConfig` is
    /// `TraceConfigBufferConfig`, and values of enums keep their names. Full names; `.` is every package. Two names may
    /// then be equal, which is an error: only for schemas that you can change. See [Names](crate#names).
    pub flat: Vec<String>,
    /// Messages and oneofs that derive `Eq` and `Hash`, if all that they hold has both: no float, no `HashMap`, no type
    /// of another crate but the well-known ones. Names as for attributes below. A schema that grows can take the two
    /// away again: when a `float` is added to such a message, a program that has it as a key no longer compiles.
    pub eq_and_hash: Vec<String>,
    /// Maps that are `std::collections::HashMap` in owned messages instead of `BTreeMap`: the full name of a field, or
    /// of an element around it, as for [`Config::bytes`]. Encoding sorts the keys, so equal messages still have equal
    /// bytes. Maps of compact messages and of views stay `BTreeMap`. The receiving crate needs `std`.
    pub hash_map: Vec<String>,
    /// Path by which generated code finds the runtime, such as `::my_sdk::protozero`. Empty: the receiving crate
    /// depends on `protozero` under that name.
    pub runtime: String,
    /// Clients and servers for `tonic`, which imply `owned`. This crate needs its feature `grpc`, and the receiving
    /// crate depends on `protozero-tonic` and `tonic`.
    pub grpc: Grpc,
    /// Cargo feature of the receiving crate for clients and servers. `None`: they are always compiled.
    pub grpc_feature: Option<String>,
    /// Path by which generated code finds `protozero-tonic`, such as `::my_sdk::protozero_tonic`. Empty: the receiving
    /// crate depends on it under the name `protozero_tonic`.
    pub grpc_runtime: String,
    /// Bytes of memory that the structs of a message may take which a client or a server of gRPC receives, as
    /// `protozero::DecodeOptions::memory_max` counts them. None is the limit of `Message::decode`: 32 MiB and 512 bytes
    /// for each byte of the message, but at most 512 MiB, or four times the message if that is more. So a server that
    /// takes messages of 4 MiB, tonic's default, may need 512 MiB for each request that it decodes at the same time,
    /// unless a limit is set. What a `Vec` reserves to grow is not counted: at a limit of 16 MiB a message may take 64
    /// MiB of the heap. A message that takes more is `RESOURCE_EXHAUSTED`.
    pub grpc_memory_max: Option<usize>,
    /// Each method of the trait that a server implements has a body, which answers `UNIMPLEMENTED`: a method that the
    /// schema gains breaks no server. A method that answers with a stream returns a `BoxStream` of
    /// `tonic::codegen`; there is no type `ListStream` for it.
    pub generate_default_stubs: bool,
    /// Methods of a server take `self: Arc<Self>` instead of `&self`.
    pub use_arc_self: bool,
    /// Where `bytes` fields are `bytes::Bytes`, which is cloned without a copy, instead of `Vec<u8>`. Full names as for
    /// attributes below: `pkg.Blob.data` is one field (or the values of a map), `pkg.Blob` a whole message, `pkg` a
    /// package, `.` the schema. A member of the oneof `of` is `pkg.Blob.data` or `pkg.Blob.of.data`, and `pkg.Blob.of`
    /// are all of them. The receiving crate's `protozero` needs its feature `bytes`.
    /// `Message::decode_buf` shares the memory of its input, `decode` copies the bytes once. Extensions are read as
    /// `Vec<u8>`.
    pub bytes: Vec<String>,
    /// Where `string` fields are `protozero::SharedStr` instead of `String`, which shares memory as `Bytes` does. Names
    /// as for [`Config::bytes`]. Keys of maps stay `String`, and `serde` does not know the type.
    pub strings: Vec<String>,
    /// Messages, oneofs and enums derive `Serialize` and `Deserialize` of `serde`, with Rust's names of fields. An enum
    /// is its number, a missing field has its default, and **unknown fields are left out**. The crate depends on
    /// `serde` with its feature `derive`. Types of other crates need the derives there: with well-known types in the
    /// schema, set `generate_well_known`, too. This is not the JSON of protobuf: that is `protozero::json`.
    pub serde: bool,
    /// Attributes of messages: a full name in the schema, and attributes in Rust's syntax. `pkg.Order` matches the
    /// struct, the messages inside it, and the enums of its oneofs (`pkg.Order.paid` is one of them); `pkg` matches the
    /// package, `.` everything. They follow the derives that are always there: `PartialEq`, `Default` for structs,
    /// `Debug` for oneofs, and `Clone` unless the message is compact. What is not derived, the table implements.
    pub message_attributes: Vec<(String, String)>,
    /// Attributes of enums, in the same way. Enums always derive `Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash`.
    pub enum_attributes: Vec<(String, String)>,
    /// Attributes of fields of owned structs and variants of oneofs, in the same way: `pkg.Order.price` is
    /// one field, `pkg.Order.unknown_fields` the field for unknown ones. A member of the oneof `paid` is
    /// `pkg.Order.card` or `pkg.Order.paid.card`, and `pkg.Order.paid` the field that holds it.
    pub field_attributes: Vec<(String, String)>,
}

impl Config {
    /// The feature of the area that a `.proto` file belongs to.
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
