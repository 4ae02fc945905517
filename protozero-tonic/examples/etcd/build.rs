//! Generates clients for the schema of etcd, which is in the package `etcd-client`.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use protozero_codegen::{Build, Grpc};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let output = Command::new(std::env::var("CARGO")?)
        .args(["metadata", "--format-version=1", "--offline"])
        .current_dir(std::env::var("CARGO_MANIFEST_DIR")?)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|p| p["name"] == "etcd-client").ok_or("no etcd-client")?;
    let manifest = Path::new(package["manifest_path"].as_str().ok_or("no path")?);
    let protos = manifest.parent().ok_or("no folder")?.join("proto");
    let rpc = protos.join("etcd/api/etcdserverpb/rpc.proto");
    Ok(Build::new()
        .option("api_kinds=owned")?
        .grpc(Grpc { server: false, ..Grpc::ALL })
        .compile(&[rpc], &[protos])?)
}
