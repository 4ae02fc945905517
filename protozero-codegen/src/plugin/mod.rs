//! The plugin of `protoc`: takes a `CodeGeneratorRequest` and returns a `CodeGeneratorResponse`.
//!
//! ```text
//! protoc --protozero_out=src/schema --protozero_opt=api_kinds=writer+reader a.proto
//! ```
//!
//! Options, joined by commas:
//!
//! - `api_kinds=A+B+...` (or `api_kinds=A,B,...`) of `owned`, `view`, `writer`, `reader`, `service`,
//!   `descriptor`; `all`, which is all of them but `view`;
//! - `open_enums`, `lazy_utf8`, `prost_names`, `plain_types`, `compact`, `serde`, `generate_well_known`,
//!   `generate_default_stubs`, `use_arc_self` and `names` (on unless `names=false`), alone or with `=true` or `=false`;
//! - `grpc=A+B` of `client`, `connect`, `server`, `all`: see [`Config::grpc`];
//! - `grpc_memory_max=BYTES`: see [`Config::grpc_memory_max`];
//! - `root=crate::schema`;
//! - `flat=PACKAGE`, repeatable: see [`Config::flat`];
//! - `text_feature=NAME`, `reader_feature=NAME` and `grpc_feature=NAME`: descriptors, readers, or clients and servers
//!   are behind the cargo feature NAME;
//! - `feature=PREFIX:NAME`, repeatable: the files below PREFIX (empty: all files) are behind the cargo feature NAME
//!   (empty: always compiled); the longest matching prefix decides;
//! - `extern=PREFIX:MODULE`, `runtime=PATH`, `types=PATH`, `grpc_runtime=PATH`, `boxed=NAME`, `bytes=NAME`,
//!   `strings=NAME`, `drop_unknown_fields=NAME`, `eq_and_hash=NAME`, `hash_map=NAME`, `message_attribute=NAME:#[..]`,
//!   `enum_attribute` and `field_attribute` as in [`Config`].
//!
//! A comma always ends an option, so an attribute that contains one works only on the command line and in build
//! scripts.
//!
//! Code is generated for the named files and for the files whose types they use, except for those whose code is
//! elsewhere (`extern`).
//!
//! A run writes a `mod.rs` with the files of that run. buf and Bazel may start one run per file or folder; the last run
//! into a folder overwrites `mod.rs`. So give all files to one run (buf: `strategy: all`), or each run its own folder.

use protobuf::Message;
use protobuf::plugin::code_generator_response::File;
use protobuf::plugin::{CodeGeneratorRequest, CodeGeneratorResponse};

use crate::{ApiKinds, Config, Error, Grpc, OutputFile, attributes, emit, parse};

/// `FEATURE_PROTO3_OPTIONAL | FEATURE_SUPPORTS_EDITIONS`.
const SUPPORTED: u64 = 1 | 2;
/// `EDITION_PROTO2`, `EDITION_2024`.
const EDITIONS: (u64, u64) = (998, 1001);
/// The values of `api_kinds=`.
const API_KINDS: [&str; 7] = ["owned", "view", "writer", "reader", "service", "descriptor", "all"];

/// Answers one request of `protoc`. Errors are part of the answer.
#[must_use]
pub fn plugin(request: &[u8]) -> Vec<u8> {
    let mut response = CodeGeneratorResponse::new();
    response.set_supported_features(SUPPORTED);
    // These fields are newer than our type.
    let unknown = response.special_fields.mut_unknown_fields();
    unknown.add_varint(3, EDITIONS.0);
    unknown.add_varint(4, EDITIONS.1);
    match answer(request) {
        Ok(files) => {
            for file in files {
                let mut f = File::new();
                f.set_name(file.path);
                f.set_content(file.text);
                response.file.push(f);
            }
        }
        Err(message) => response.set_error(message),
    }
    response.write_to_bytes().unwrap_or_default()
}

fn answer(request: &[u8]) -> Result<Vec<OutputFile>, String> {
    let request = CodeGeneratorRequest::parse_from_bytes(request)
        .map_err(|e| format!("not a request of protoc: {e}"))?;
    let mut config = Config {
        api_kinds: ApiKinds::OWNED,
        command: "protoc-gen-protozero".into(),
        names: true,
        ..Config::default()
    };
    for option in options(request.parameter()) {
        set(&mut config, &option)?;
    }
    let wanted = &request.file_to_generate;
    let there = |path: &String| request.proto_file.iter().any(|f| f.name() == path);
    if let Some(missing) = wanted.iter().find(|path| !there(path)) {
        return Err(format!("{missing}: wanted, but not in the request"));
    }
    let emitted = |path: &str| wanted.iter().any(|w| w == path);
    generate(&config, request.proto_file, emitted).map_err(|e| e.to_string())
}

/// Splits a parameter into options. Names of API kinds after a comma belong to the `api_kinds=` before them.
fn options(parameter: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for option in parameter.split(',').filter(|o| !o.is_empty()) {
        match options.last_mut() {
            Some(last) if last.starts_with("api_kinds=") && API_KINDS.contains(&option) => {
                last.push('+');
                last.push_str(option);
            }
            _ => options.push(option.to_owned()),
        }
    }
    options
}

/// Sets one option, from `protoc` or our command line.
///
/// A new option of [`Config`] is an arm here, a line in the [module's](self) documentation, and a name in a list and a
/// line of the help in `bin/protozero-codegen.rs`; and a method of `Build`, if build scripts use it often.
pub(crate) fn set(config: &mut Config, option: &str) -> Result<(), String> {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    match name {
        "api_kinds" => {
            config.api_kinds = ApiKinds::default();
            for kind in value.split(['+', ',']) {
                match kind {
                    "owned" => config.api_kinds.owned = true,
                    "view" => config.api_kinds.view = true,
                    "writer" => config.api_kinds.writer = true,
                    "reader" => config.api_kinds.reader = true,
                    "service" => config.api_kinds.service = true,
                    "descriptor" => config.api_kinds.descriptor = true,
                    "all" => config.api_kinds = ApiKinds::ALL,
                    _ => {
                        let all = API_KINDS.join(", ");
                        return Err(format!("{kind:?} is not an API kind; there are {all}"));
                    }
                }
            }
        }
        "grpc" => config.grpc = grpc(value)?,
        "grpc_memory_max" => config.grpc_memory_max = Some(bytes(name, value)?),
        "open_enums" => config.open_enums = switch(name, value)?,
        "generate_well_known" => config.generate_well_known = switch(name, value)?,
        "generate_default_stubs" => config.generate_default_stubs = switch(name, value)?,
        "use_arc_self" => config.use_arc_self = switch(name, value)?,
        "names" => config.names = switch(name, value)?,
        "compact" => config.compact = switch(name, value)?,
        "prost_names" => config.prost_names = switch(name, value)?,
        "plain_types" => config.plain_types = switch(name, value)?,
        "serde" => config.serde = switch(name, value)?,
        "lazy_utf8" => config.lazy_utf8 = switch(name, value)?,
        "root" if value.is_empty() || syn::parse_str::<syn::Path>(value).is_ok() => {
            config.root = value.to_owned();
        }
        "root" => return Err(format!("root is a module such as crate::schema, not {value:?}")),
        "text_feature" => config.text_feature = Some(cargo_feature(value)?),
        "grpc_feature" => config.grpc_feature = Some(cargo_feature(value)?),
        "reader_feature" => config.reader_feature = Some(cargo_feature(value)?),
        "feature" => match value.split_once(':') {
            Some((prefix, "")) => config.features.push((prefix.into(), String::new())),
            Some((prefix, name)) => config.features.push((prefix.into(), cargo_feature(name)?)),
            None => return Err("feature wants PREFIX:NAME".into()),
        },
        "extern" => match value.split_once(':') {
            Some((prefix, module))
                if !prefix.is_empty() && syn::parse_str::<syn::Path>(module).is_ok() =>
            {
                config.externs.push((prefix.into(), module.into()));
            }
            _ => return Err("extern wants PREFIX:MODULE, such as common/:::common::schema".into()),
        },
        "flat" => config.flat.push(package(value)?),
        "runtime" => config.runtime = path(name, value, "::sdk::protozero")?,
        "grpc_runtime" => config.grpc_runtime = path(name, value, "::sdk::tonic")?,
        "types" => config.types = path(name, value, "::sdk::types")?,
        "boxed" => config.boxed.push(declared(name, value)?),
        "bytes" => config.bytes.push(declared(name, value)?),
        "strings" => config.strings.push(declared(name, value)?),
        "eq_and_hash" => config.eq_and_hash.push(declared(name, value)?),
        "hash_map" => config.hash_map.push(declared(name, value)?),
        "drop_unknown_fields" => config.drop_unknown_fields.push(declared(name, value)?),
        "message_attribute" => config.message_attributes.push(attribute(name, value)?),
        "enum_attribute" => config.enum_attributes.push(attribute(name, value)?),
        "field_attribute" => config.field_attributes.push(attribute(name, value)?),
        _ => return Err(format!("option {name} is not known")),
    }
    Ok(())
}

/// A number of bytes.
fn bytes(option: &str, value: &str) -> Result<usize, String> {
    value.parse().map_err(|_| format!("{option} wants a number of bytes, not {value:?}"))
}

/// The full name of a package that is flat.
fn package(value: &str) -> Result<String, String> {
    match value {
        "" => Err("flat wants the full name of a package, or `.`".into()),
        name => Ok(name.into()),
    }
}

/// The parts of the code for gRPC.
fn grpc(value: &str) -> Result<Grpc, String> {
    let mut grpc = Grpc::default();
    for part in value.split('+') {
        match part {
            "all" => grpc = Grpc::ALL,
            "client" => grpc.client = true,
            "connect" => (grpc.client, grpc.connect) = (true, true),
            "server" => grpc.server = true,
            _ => {
                return Err(format!(
                    "{part:?} is no part of gRPC; there are client, connect, server, all"
                ));
            }
        }
    }
    Ok(grpc)
}

/// A name of the schema.
fn declared(option: &str, value: &str) -> Result<String, String> {
    match value {
        "" => Err(format!("{option} wants a name of the schema, or `.`")),
        _ => Ok(value.to_owned()),
    }
}

/// The path of a crate, as generated code names it.
fn path(option: &str, value: &str, example: &str) -> Result<String, String> {
    match syn::parse_str::<syn::Path>(value) {
        Ok(_) => Ok(value.to_owned()),
        Err(_) => Err(format!("{option} is a path such as {example}, not {value:?}")),
    }
}

/// A name of the schema, and its attributes.
fn attribute(option: &str, value: &str) -> Result<(String, String), String> {
    match value.split_once(':') {
        Some((name, text)) if attributes::parse(text).is_ok() => Ok((name.into(), text.into())),
        _ => Err(format!("{option} wants NAME:#[...], with NAME of the schema, not {value:?}")),
    }
}

/// A name that cargo accepts for a feature.
fn cargo_feature(name: &str) -> Result<String, String> {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let starts = name.starts_with(letter);
    if starts && name.chars().all(|c| letter(c) || matches!(c, '-' | '+' | '.')) {
        Ok(name.to_owned())
    } else {
        Err(format!("{name:?} is not a name of a cargo feature"))
    }
}

/// An option that is true when it has no value.
fn switch(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{name} is true or false, not {value:?}")),
    }
}

fn generate(
    config: &Config,
    files: Vec<protobuf::descriptor::FileDescriptorProto>,
    emitted: impl Fn(&str) -> bool,
) -> Result<Vec<OutputFile>, Error> {
    let schema = parse::descriptors(files, emitted, config.open_enums)?;
    emit::files(config, schema)
}

/// As [`crate::generate`], for an encoded `FileDescriptorSet` instead of [`Config::sources`]. Code is generated for all
/// of its files; for well-known files only if they are used.
///
/// # Errors
/// As [`crate::generate`]. Errors have places if the set has source info.
pub fn generate_set(config: &Config, set: &[u8]) -> Result<Vec<OutputFile>, Error> {
    let set = protobuf::descriptor::FileDescriptorSet::parse_from_bytes(set);
    let set = set.map_err(|e| Error {
        file: "descriptor set".into(),
        line: 0,
        column: 0,
        message: format!("not a descriptor set: {e}"),
    })?;
    generate(config, set.file, |path| !crate::wellknown::is(path))
}

#[cfg(test)]
mod tests;
