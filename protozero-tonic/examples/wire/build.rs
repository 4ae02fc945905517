//! Our code, and that of prost for the schema of the echo.

use std::error::Error;
use std::path::PathBuf;

use protozero_codegen::{Build, Grpc};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../echo/proto");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    Build::new()
        .grpc(Grpc::ALL)
        .compile(&["proto/awkward.proto", "proto/root.proto"], &["proto"])?;
    // Clients alone, without owned messages asked for, and through another path.
    Build::new()
        .option("api_kinds=writer")?
        .option("grpc=client")?
        .option("grpc_runtime=crate::again::tonic_of_ours")?
        .out_dir(out.join("clients"))
        .compile(&["proto/root.proto"], &["proto"])?;
    // With less memory for messages that are received.
    Build::new()
        .option("grpc=all")?
        .option("grpc_memory_max=1048576")?
        .out_dir(out.join("within"))
        .compile(&["within.proto"], &["proto"])?;
    // Servers whose methods have bodies, also for names that need care.
    let stubs = Build::new().grpc(Grpc::ALL).generate_default_stubs(true).use_arc_self(true);
    stubs
        .out_dir(out.join("stubs"))
        .compile(&["echo.proto", "awkward.proto", "root.proto"], &["../echo/proto", "proto"])?;
    // Names that those of prost are aliases of, also for schemas that need care.
    let like_prost = Build::new().prost_names(true).plain_types(true).grpc(Grpc::ALL);
    let like_prost = like_prost.file_descriptor_set_path(out.join("set.bin"));
    like_prost.out_dir(out.join("like_prost")).compile(
        &["hello.proto", "awkward.proto", "root.proto"],
        &["../hello-world/proto", "proto"],
    )?;
    let set = protox::compile(["echo.proto"], ["../echo/proto"])?;
    tonic_prost_build::configure().compile_fds(set)?;
    Ok(())
}
