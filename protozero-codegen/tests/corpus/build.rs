//! Generates the code of each schema in a folder of its own, by the way that the documentation names.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use protozero_codegen::Build;

/// A package, the folder in it whose files are compiled, and the folders that imports start from.
const SCHEMAS: &[(&str, &str, &[&str])] = &[
    ("containerd-client", "vendor/github.com/containerd/containerd/api", &["vendor"]),
    ("etcd-client", "proto/etcd", &["proto"]),
    ("k8s-cri", "proto", &["proto"]),
    ("opentelemetry-proto", "src/proto/opentelemetry-proto", &["src/proto/opentelemetry-proto"]),
    ("qdrant-client", "proto", &["proto"]),
    ("substrait-prost", "proto", &["proto"]),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.lock");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let packages = packages()?;
    let mut all = String::new();
    for (name, folder, includes) in SCHEMAS {
        let of = |p: &&serde_json::Value| p["name"] == *name;
        let package = packages.iter().find(of).ok_or_else(|| format!("no {name}"))?;
        let manifest = Path::new(package["manifest_path"].as_str().ok_or("no path")?);
        let root = manifest.parent().ok_or("no folder")?;
        let includes: Vec<PathBuf> = includes.iter().map(|f| root.join(f)).collect();
        let mut protos = Vec::new();
        find(&root.join(folder), &mut protos)?;
        protos.sort();
        Build::new()
            .cargo(false)
            .out_dir(out.join(name))
            .compile(&protos, &includes)
            .map_err(|error| format!("{name}: {error}"))?;
        let module = name.replace('-', "_");
        all += &format!(
            "pub mod {module} {{ include!(concat!(env!(\"OUT_DIR\"), \"/{name}/mod.rs\")); }}\n"
        );
    }
    Ok(std::fs::write(out.join("all.rs"), all)?)
}

/// The packages of the lock file.
fn packages() -> Result<Vec<serde_json::Value>, Box<dyn Error>> {
    let output = Command::new(std::env::var("CARGO")?)
        .args(["metadata", "--format-version=1", "--offline"])
        .current_dir(std::env::var("CARGO_MANIFEST_DIR")?)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let mut json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    match json["packages"].take() {
        serde_json::Value::Array(packages) => Ok(packages),
        _ => Err("cargo metadata has no packages".into()),
    }
}

/// All `.proto` files below `folder`.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "proto") {
            found.push(path);
        }
    }
    Ok(())
}
