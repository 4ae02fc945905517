use crate::plugin::set;
use crate::{Config, Source, generate};

const SCHEMA: &str = r#"
    syntax = "proto3";
    package p.v1;
    import "far.proto";
    message A {}
    // The service.
    service S {
      // One for one.
      rpc One(A) returns (A);
      rpc Far(A) returns (far.B) { option deprecated = true; }
      rpc Down(A) returns (stream A);
      rpc Up(stream A) returns (A);
      rpc Both(stream A) returns (stream A);
    }
    service T { rpc T(A) returns (A); }
"#;

/// The code for [`SCHEMA`] with some options of the plugin, without line breaks.
fn check(options: &[&str]) -> String {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let far = "syntax = \"proto3\"; package far; message B {}";
    let sources = vec![source("s.proto", SCHEMA), source("far.proto", far)];
    let mut config = Config { sources, ..Config::default() };
    options.iter().for_each(|option| set(&mut config, option).unwrap());
    let files = generate(&config).unwrap();
    let text = files.into_iter().find(|file| file.path == "s.rs").unwrap().text;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn messages_that_are_received_have_a_limit() {
    let code = check(&["grpc=all", "grpc_memory_max=1048576"]);
    let code = code.replace(' ', "").replace(",>", ">");
    let within = "::protozero_tonic::CodecWithin::<_,_,1048576>::default()";
    // Five methods of one service and one of another, on both sides.
    assert_eq!(code.matches(within).count(), 12, "{code}");
    assert!(!code.contains("::Codec::default()"), "{code}");
    let refused = set(&mut Config::default(), "grpc_memory_max=much").unwrap_err();
    assert!(refused.contains("a number of bytes"), "{refused}");
}

#[test]
fn a_service_has_a_client_and_a_server() {
    let code = check(&["grpc=all"]);
    for part in [
        "/// The service. pub mod S { /// The client of `p.v1.S`. pub mod client { \
         use ::protozero_tonic::tonic; use tonic::codegen::*;",
        "pub async fn connect<D>",
        "/// One for one. pub async fn one(",
        "#[deprecated] pub async fn far(",
        "from_static(\"/p.v1.S/One\")",
        "GrpcMethod::new(\"p.v1.S\", \"One\")",
        "self.inner.unary(",
        "self.inner.server_streaming(",
        "self.inner.client_streaming(",
        "self.inner.streaming(",
        "::protozero_tonic::Codec::default()",
        "/// The server of `p.v1.S`. pub mod server {",
        "request: tonic::Request<super::super::A>",
        "tonic::Response<super::super::super::super::far::B>",
        "\"/p.v1.S/Both\" => {",
        "pub const SERVICE_NAME: &str = \"p.v1.S\";",
        // The name of a parameter of tonic's types.
        "pub trait T_:",
        "\"/p.v1.T/T\" => {",
    ] {
        assert!(code.contains(part), "no {part}");
    }
    // Structs were not asked for, and are there.
    assert!(code.contains("pub struct A"));
    assert!(!code.contains("trait Host"));
}

/// Whatever other methods there are.
#[test]
fn a_method_is_never_one_that_each_client_has() {
    let run = |prost_names, methods: &[&str]| {
        let methods = methods.iter().map(|name| format!("rpc {name}(A) returns (A);"));
        let text = format!(
            "syntax = \"proto3\"; message A {{}} service S {{ {} }}",
            methods.collect::<String>()
        );
        let sources = vec![Source { path: "s.proto".into(), text }];
        let grpc = crate::Grpc { client: true, connect: true, server: false };
        let config = Config { sources, grpc, prost_names, ..Config::default() };
        let text = generate(&config).unwrap().remove(0).text;
        let names = text.split("pub async fn ").skip(1).filter_map(|rest| rest.split('(').next());
        names.filter(|name| !name.contains('<')).map(str::to_owned).collect::<Vec<_>>()
    };
    let names = ["Clone", "Into", "TryInto", "ToOwned", "Connect", "Call"];
    let expected = ["clone_", "into_", "try_into_", "to_owned_", "connect_", "call"];
    assert_eq!(run(false, &names), expected);
    assert_eq!(run(true, &names), expected);
    assert_eq!(run(false, &["clone_"]), ["clone__"]);
    assert_eq!(run(false, &["Clone", "clone_"]), ["clone_", "clone__"]);
}

#[test]
fn parts_can_be_left_out() {
    let parts = |options: &[&str]| {
        let code = check(options);
        ["pub mod client", "fn connect", "pub mod server"].map(|part| code.contains(part))
    };
    assert_eq!(parts(&["grpc=client"]), [true, false, false]);
    assert_eq!(parts(&["grpc=connect"]), [true, true, false]);
    assert_eq!(parts(&["grpc=server"]), [false, false, true]);
    assert_eq!(parts(&["grpc=client+server"]), [true, false, true]);
    assert_eq!(parts(&["api_kinds=service"]), [false, false, false]);
}

#[test]
fn a_server_may_have_bodies_and_arcs() {
    let code = check(&["grpc=all", "generate_default_stubs", "use_arc_self"]);
    // Five methods of one service and one of another.
    assert_eq!(code.matches("Status::unimplemented(").count(), 6, "{code}");
    assert_eq!(code.matches("self: std::sync::Arc<Self>").count(), 6, "{code}");
    assert!(!code.contains("type DownStream"), "{code}");
    let code = check(&["grpc=all"]);
    assert!(!code.contains("Status::unimplemented(") && !code.contains("Arc<Self>"), "{code}");
    assert!(code.contains("type DownStream"), "{code}");
}

#[test]
fn the_codec_may_be_elsewhere() {
    let code = check(&["grpc=all", "grpc_runtime=::sdk::grpc"]);
    assert!(code.contains("use ::sdk::grpc::tonic;"));
    assert!(code.contains("::sdk::grpc::Codec::default()"));
    assert!(!code.contains("protozero_tonic"));
}

#[test]
fn a_service_needs_the_areas_of_all_its_messages() {
    let code = check(&["grpc=all", "feature=far:far"]);
    let gated = "#[cfg(feature = \"far\")] pub mod client";
    assert_eq!(code.matches(gated).count(), 1, "service `T` has no message in that area");
    assert_eq!(code.matches("#[cfg(feature = \"far\")] pub mod server").count(), 1);
    assert_eq!(code.matches("pub mod client").count(), 2);
}

#[test]
fn options_that_are_none_are_errors() {
    let error = |option| set(&mut Config::default(), option).unwrap_err();
    let parts = "there are client, connect, server, all";
    assert_eq!(error("grpc=half"), format!("\"half\" is no part of gRPC; {parts}"));
    assert_eq!(error("grpc"), format!("\"\" is no part of gRPC; {parts}"));
    assert!(error("grpc_runtime=a b").starts_with("grpc_runtime is a path"));
}

#[test]
fn clients_and_servers_can_be_behind_a_feature() {
    let code = check(&["grpc=all", "grpc_feature=net"]);
    assert_eq!(code.matches("#[cfg(feature = \"net\")] pub mod client {").count(), 2, "{code}");
    assert_eq!(code.matches("#[cfg(feature = \"net\")] pub mod server {").count(), 2, "{code}");
}
