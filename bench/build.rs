//! Generates code for one schema with all generators, and compiles C++ protozero from the sources of the crate
//! `perfetto-sdk-sys`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=build.rs");
    generate(&root.join("proto"), &out);
    cpp(&root, &out);
}

fn generate(folder: &Path, out: &Path) {
    let proto = folder.join("bench.proto");
    let into = |name: &str| {
        let into = out.join(name);
        fs::create_dir_all(&into).unwrap();
        into
    };
    ours(&proto, &into("ours"), protozero_codegen::ApiKinds::ALL, &[]);
    ours(&proto, &into("ours_dropping"), protozero_codegen::ApiKinds::OWNED, &["."]);
    let protoc = protoc_bin_vendored::protoc_bin_path().unwrap();
    // SAFETY: this program has no other thread yet.
    unsafe { env::set_var("PROTOC", &protoc) };
    prost_build::Config::new().out_dir(into("prost")).compile_protos(&[&proto], &[folder]).unwrap();
    buffa_build::Config::new()
        .files(&[&proto])
        .includes(&[folder])
        .out_dir(into("buffa"))
        .generate_views(true)
        .compile()
        .unwrap();
    let quick = into("quick");
    let config = pb_rs::ConfigBuilder::new(
        std::slice::from_ref(&proto),
        None,
        Some(&quick),
        &[folder.to_path_buf()],
    );
    pb_rs::types::FileDescriptor::run(&config.unwrap().single_module(true).build()).unwrap();
    let mut micropb = micropb_gen::Generator::new();
    micropb.use_container_std();
    micropb.add_protoc_arg(format!("-I{}", folder.display()));
    let unboxed = micropb_gen::Config::new().boxed(false);
    micropb.configure(".bench.EveryField.field_nested", unboxed);
    micropb.compile_protos(&["bench.proto"], into("micropb").join("bench.rs")).unwrap();
    protobuf_codegen3::Codegen::new()
        .pure()
        .includes([folder])
        .input(&proto)
        .out_dir(into("rust_protobuf"))
        .run_from_script();
    protobuf_codegen::CodeGen::new()
        .protoc_path(protoc)
        .inputs(["bench.proto"])
        .include(folder)
        .output_dir(into("upb"))
        .generate_and_compile()
        .unwrap();
    // These two emit attributes of a whole file, which `include!` refuses.
    for name in ["quick", "rust_protobuf"] {
        let text = fs::read_to_string(out.join(name).join("bench.rs")).unwrap();
        let kept =
            text.lines().filter(|l| !l.trim_start().starts_with("#![") && !l.starts_with("//!"));
        let kept: String = kept.map(|line| format!("{line}\n")).collect();
        let kept = kept.replace("::protobuf::", "::protobuf3::");
        fs::write(out.join(name).join("included.rs"), kept).unwrap();
    }
}

/// Code of our generator.
fn ours(
    proto: &Path,
    out: &Path,
    api_kinds: protozero_codegen::ApiKinds,
    drop_unknown_fields: &[&str],
) {
    let config = protozero_codegen::Config {
        sources: vec![protozero_codegen::Source {
            path: "bench.proto".into(),
            text: fs::read_to_string(proto).unwrap(),
        }],
        api_kinds: protozero_codegen::ApiKinds { service: false, descriptor: false, ..api_kinds },
        drop_unknown_fields: drop_unknown_fields.iter().map(|&name| name.to_owned()).collect(),
        command: "cargo build".into(),
        source_prefix: String::new(),
        flat: vec!["bench".into()],
        ..protozero_codegen::Config::default()
    };
    for file in protozero_codegen::generate(&config).unwrap() {
        fs::write(out.join(file.path), file.text).unwrap();
    }
}

/// A shared library, because the SDK has the same symbols. It is compiled by clang, as in upstream's releases: code
/// of gcc is up to three times slower.
fn cpp(root: &Path, out: &Path) {
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-env-changed=PEERS_CXX");
    let sources = sources_of("perfetto-sdk-sys");
    let library = out.join("libpeers_protozero.so");
    let compiler = env::var("PEERS_CXX").unwrap_or_else(|_| "clang++".into());
    let done = Command::new(&compiler)
        .args(["-std=c++17", "-O3", "-DNDEBUG", "-fPIC", "-shared", "-w"])
        .args(["-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-Wl,-Bsymbolic"])
        .arg("-I")
        .arg(sources.join("libperfetto_c"))
        .arg("-I")
        .arg(sources.join("include"))
        .arg(root.join("cpp/protozero.cc"))
        .arg("-o")
        .arg(&library)
        .arg("-lpthread")
        .status();
    match done {
        Ok(status) if status.success() => {}
        other => panic!("{compiler} did not build {}: {other:?}", library.display()),
    }
    println!("cargo:rustc-env=PEERS_PROTOZERO={}", library.display());
    println!("cargo:rustc-env=PEERS_COMPILER={}", version(&compiler));
}

fn version(compiler: &str) -> String {
    let output = Command::new(compiler).arg("--version").output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
}

/// Where cargo keeps the sources of a dependency.
fn sources_of(name: &str) -> PathBuf {
    let (cargo, target) = (env::var("CARGO").unwrap(), env::var("TARGET").unwrap());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--offline", "--filter-platform", &target])
        .current_dir(env::var("CARGO_MANIFEST_DIR").unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let packages = json["packages"].as_array().unwrap();
    let package = packages.iter().find(|p| p["name"] == name).unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_path_buf()
}
