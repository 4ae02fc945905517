//! Compiles the C++ SDK and its contender from the sources of the crate `perfetto-sdk-sys`, by clang, as in upstream's
//! releases. It is a shared library, because the crate `perfetto-sdk` has the same symbols.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=PEERS_CXX");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    let sources = sources_of("perfetto-sdk-sys");
    let compiler = env::var("PEERS_CXX").unwrap_or_else(|_| "clang++".into());
    let done = Command::new(&compiler)
        .args(["-std=c++17", "-O3", "-DNDEBUG", "-fPIC", "-shared", "-w"])
        .args(["-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-Wl,-Bsymbolic"])
        .arg("-I")
        .arg(sources.join("libperfetto_c"))
        .arg("-I")
        .arg(sources.join("include"))
        .arg("cpp/track_event.cc")
        .arg("-o")
        .arg(out.join("libevents_cpp.so"))
        .arg("-lpthread")
        .status();
    match done {
        Ok(status) if status.success() => {}
        other => panic!("{compiler} did not build the C++ SDK: {other:?}"),
    }
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=dylib=events_cpp");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", out.display());
}

/// Where cargo keeps the sources of a dependency.
fn sources_of(name: &str) -> PathBuf {
    let (cargo, target) = (env::var("CARGO").unwrap(), env::var("TARGET").unwrap());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--offline", "--filter-platform", &target])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let packages = json["packages"].as_array().unwrap();
    let package = packages.iter().find(|p| p["name"] == name).unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_path_buf()
}
