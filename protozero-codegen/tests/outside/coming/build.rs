//! Rows of docs/coming-from.md that are options of the build step: see src/rows.rs.

use std::path::PathBuf;

use protozero_codegen::{ApiKinds, Build, BuildError, Grpc};

fn main() -> Result<(), BuildError> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let protos = ["proto/otel.proto", "proto/pkg.proto"];
    let with_known = ["proto/otel.proto", "proto/pkg.proto", "proto/well.proto"];
    // row: `prost-build` with `protoc`
    protozero_codegen::compile(&protos, &["proto"])?;
    // row: several calls of `compile_protos`
    protozero_codegen::Build::new().out_dir(out.join("alone")).compile(&protos, &["proto"])?;
    // Writers and readers, too, which other rows need.
    let more = ApiKinds { descriptor: false, ..ApiKinds::ALL };
    Build::new().api_kinds(more).compile(&with_known, &["proto"])?;
    // row: structs always own their `String`s
    // The API kind `view`.
    let _ = ApiKinds { view: true, ..ApiKinds::OWNED };
    // row: `pbjson` and `serde_json`
    let json = Build::new().api_kinds(ApiKinds::ALL);
    // row: `order.kind()`, `order.set_kind(..)`, `order.note()`
    let like_prost = json.clone().prost_names(true);
    // row: unknown fields are dropped
    let like_prost = like_prost.drop_unknown_fields(["."]);
    // row: an `i32` for each enum, which holds any number
    let like_prost = like_prost.open_enums(true);
    // row: `HashMap` for a map
    let like_prost = like_prost.hash_map(["."]);
    // row: `()` for `google.protobuf.Empty`
    let like_prost = like_prost.plain_types(true);
    // row: messages and oneofs derive `Eq` and `Hash`, where they can
    let like_prost = like_prost.eq_and_hash(["."]);
    // row: `file_descriptor_set_path`, `prost-reflect`
    let like_prost = like_prost.file_descriptor_set_path(out.join("set.bin"));
    let all = [&with_known[..], &["proto/old.proto"]].concat();
    like_prost.out_dir(out.join("like_prost")).compile(&all, &["proto"])?;
    // row: `prost_path("::sdk::prost")`, `#[prost(prost_path = "..")]`
    let elsewhere = json.runtime("::sdk::protozero");
    // row: `type_attribute`, `message_attribute`, `enum_attribute`, `field_attribute`
    // Beside `drop_unknown_fields` and `prost_names(true)`.
    let with_serde = protozero_codegen::Build::new()
        .type_attribute("pkg", "#[derive(serde::Serialize)]")
        .message_attribute("pkg.Blob", "#[derive(Eq)]")
        .enum_attribute("pkg.Kind", "#[must_use]")
        .field_attribute("pkg.Order.unknown_fields", "#[serde(skip)]")
        .field_attribute("pkg.Kinds.unknown_fields", "#[serde(skip)]")
        .field_attribute("pkg.Blob.unknown_fields", "#[serde(skip)]");
    with_serde.out_dir(out.join("with_serde")).compile(&protos, &["proto"])?;
    let by_option = protozero_codegen::Build::new().serde();
    by_option.out_dir(out.join("by_option")).compile(&protos, &["proto"])?;
    // row: `boxed("pkg.Order.inner")`
    let elsewhere = elsewhere.boxed(["pkg.Order.inner"]);
    // row: `bytes(["."])`
    let elsewhere = elsewhere.bytes(["pkg.Blob.data"]);
    // row: `extern_path(".google.protobuf", "::common")`
    let elsewhere = elsewhere.extern_path("google/protobuf/", "::common::schema");
    let elsewhere = elsewhere.extern_path("google/", "::common::schema");
    // row: `compile_well_known_types()`
    let elsewhere = elsewhere.generate_well_known(true);
    // row: `tonic-prost`, `tonic-prost-build`
    let _ = Build::grpc;
    // row: `build_server(false)`
    let _ = Grpc { client: true, connect: true, ..Grpc::default() };
    // row: `client_mod_attribute` and `server_mod_attribute` with a Cargo feature
    let elsewhere = elsewhere.option("grpc_feature=net")?;
    // row: `generate_default_stubs(true)`, `use_arc_self(true)`
    let elsewhere = elsewhere.generate_default_stubs(true).use_arc_self(true);
    let _: &Build = &elsewhere;
    // row: `client_attribute`, `server_attribute`, `disable_comments`, `emit_package(false)`, `codec_path`
    // Nothing.
    // row: end
    elsewhere.out_dir(out.join("elsewhere")).compile(&protos, &["proto"])?;
    // What src/derived.rs derives.
    let described = Build::new().api_kinds(ApiKinds { descriptor: true, ..ApiKinds::OWNED });
    described.out_dir(out.join("described")).compile(&["proto/described.proto"], &["proto"])
}
