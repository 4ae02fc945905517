//! Generates code for the order with our generator and with prost's and pbjson's.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    let into = |name: &str| {
        let into = out.join(name);
        fs::create_dir_all(&into).unwrap();
        into
    };
    let proto = Path::new("proto/order.proto");
    ours(proto, into("ours"));
    // SAFETY: this program has no other thread yet.
    unsafe { env::set_var("PROTOC", protoc_bin_vendored::protoc_bin_path().unwrap()) };
    let theirs = into("theirs");
    let descriptors = out.join("order.binpb");
    prost_build::Config::new()
        .out_dir(&theirs)
        .file_descriptor_set_path(&descriptors)
        .compile_protos(&[proto], &[Path::new("proto")])
        .unwrap();
    pbjson_build::Builder::new()
        .register_descriptors(&fs::read(descriptors).unwrap())
        .unwrap()
        .out_dir(&theirs)
        .build(&[".shop"])
        .unwrap();
}

fn ours(proto: &Path, out: PathBuf) {
    let config = protozero_codegen::Config {
        sources: vec![protozero_codegen::Source {
            path: "order.proto".into(),
            text: fs::read_to_string(proto).unwrap(),
        }],
        api_kinds: protozero_codegen::ApiKinds {
            service: false,
            ..protozero_codegen::ApiKinds::ALL
        },
        command: "cargo build".into(),
        source_prefix: String::new(),
        ..protozero_codegen::Config::default()
    };
    for file in protozero_codegen::generate(&config).unwrap() {
        fs::write(out.join(file.path), file.text).unwrap();
    }
}
