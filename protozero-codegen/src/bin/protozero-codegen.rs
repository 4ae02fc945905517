//! The code generator as a command.

use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::{Arg, Parser, ValueExt};
use protozero_codegen::{Build, BuildError};

const HELP: &str = "\
Writes protozero code for .proto files (proto2, proto3, editions 2023 and 2024), and a mod.rs with all of it.

usage: protozero-codegen [options] FILE.proto...

  -I, --include DIR       where files and their imports are found; repeatable [.]
  -o, --out DIR           where to write [.]
      --api-kinds A+B     of owned, view, writer, reader, service, descriptor; or all,
                          which is all of them but view [owned]
      --grpc A+B          code for tonic: of client, connect, server; or all (this program
                          needs the feature grpc)
      --grpc-memory-max N bytes of memory for the structs of a message that it receives
      --generate-default-stubs
                          methods of a server have a body, which answers UNIMPLEMENTED
      --use-arc-self      methods of a server take Arc<Self>
      --grpc-runtime PATH where that code finds protozero_tonic
      --open-enums        make all enums open, whatever the schema says
      --compact           owned messages have half the code, and are decoded slower
      --prost-names       fields in snake case, accessors, and aliases of types at the paths
                          of prost
      --plain-types       plain types in place of Empty and the wrappers (StringValue, ...)
                          of google.protobuf, in owned messages
      --drop-unknown-fields NAME
                          structs without unknown_fields: in the message or package NAME
                          (. is everything); repeatable
      --eq-and-hash NAME  derive Eq and Hash where all fields have both, in the message or
                          package NAME; repeatable
      --hash-map NAME     use HashMap for maps, in the field, message or package NAME;
                          repeatable
      --boxed NAME        hold messages in a Box, in the field, message or package NAME;
                          repeatable
      --serde             derive Serialize and Deserialize
      --lazy-utf8         readers check strings on conversion to str, not on reading
      --flat PACKAGE      put the types of a package at the root, with nested names in
                          one piece (. is every package); repeatable
      --root PATH         module that mod.rs becomes, such as crate::schema;
                          without it the code may be anywhere
      --text-feature F    compile descriptors only with the cargo feature F
      --grpc-feature F    compile clients and servers only with F
      --reader-feature F  compile readers only with the cargo feature F
      --feature PREFIX:F  compile the code of files below PREFIX only with F; repeatable
      --extern PREFIX:M   the code of files below PREFIX is in module M of another
                          crate, such as ::common::schema; repeatable
      --runtime PATH      where code finds protozero, such as ::my_sdk::protozero
      --types PATH        where code finds protozero_types, such as ::my_sdk::types
      --generate-well-known
                          generate google.protobuf.* as well, and do not use
                          protozero_types
      --no-names          owned messages do not know their full names
      --bytes NAME        use bytes::Bytes instead of Vec<u8> in the field, message or
                          package NAME (. is everything); repeatable
      --strings NAME      use protozero::SharedStr instead of String there; repeatable
      --message-attribute NAME:#[..], --enum-attribute, --field-attribute
                          add attributes to a declaration, or all in a package;
                          repeatable
  -h, --help              this text
  -V, --version           the version
";

/// Options without a value. With `_` in place of `-` they are those of the plugin.
const SWITCHES: [&str; 9] = [
    "compact",
    "generate-default-stubs",
    "generate-well-known",
    "lazy-utf8",
    "open-enums",
    "plain-types",
    "prost-names",
    "serde",
    "use-arc-self",
];

/// Options with a value.
const WITH_VALUE: [&str; 22] = [
    "api-kinds",
    "boxed",
    "bytes",
    "drop-unknown-fields",
    "enum-attribute",
    "eq-and-hash",
    "extern",
    "feature",
    "field-attribute",
    "flat",
    "grpc",
    "grpc-feature",
    "grpc-memory-max",
    "grpc-runtime",
    "hash-map",
    "message-attribute",
    "reader-feature",
    "root",
    "runtime",
    "strings",
    "text-feature",
    "types",
];

fn main() -> ExitCode {
    match run(Parser::from_env()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: Parser) -> Result<(), Box<dyn std::error::Error>> {
    let mut build = Build::new().cargo(false);
    let (mut includes, mut protos) = (Vec::new(), Vec::new());
    let mut out = PathBuf::from(".");
    while let Some(arg) = args.next()? {
        let option = match arg {
            Arg::Short('I') | Arg::Long("include") => {
                includes.push(PathBuf::from(args.value()?));
                continue;
            }
            Arg::Short('o') | Arg::Long("out") => {
                out = args.value()?.into();
                continue;
            }
            Arg::Value(file) => {
                protos.push(PathBuf::from(file));
                continue;
            }
            Arg::Long("no-names") => "names=false".into(),
            Arg::Long(name) if SWITCHES.contains(&name) => name.replace('-', "_"),
            Arg::Long(name) if WITH_VALUE.contains(&name) => {
                let name = name.replace('-', "_");
                format!("{name}={}", args.value()?.string()?)
            }
            Arg::Short('h') | Arg::Long("help") => {
                print!("{HELP}");
                return Ok(());
            }
            Arg::Short('V') | Arg::Long("version") => {
                println!("protozero-codegen {}", env!("CARGO_PKG_VERSION"));
                return Ok(());
            }
            other => return Err(other.unexpected().into()),
        };
        build = build.option(&option)?;
    }
    if protos.is_empty() {
        return Err(format!("no .proto given\n\n{HELP}").into());
    }
    if includes.is_empty() {
        includes.push(".".into());
    }
    build.out_dir(out).compile(&protos, &includes).map_err(|e: BuildError| e.into())
}
