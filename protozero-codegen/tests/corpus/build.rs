//! Generates the code of each schema in a folder of its own, and a table of messages.

use std::error::Error;
use std::path::PathBuf;

use ways::Schema;

const fn schema<'a>(
    name: &'a str,
    folders: &'a [&'a str],
    includes: &'a [&'a str],
    api_kinds: Option<&'a str>,
) -> Schema<'a> {
    Schema { name, folders, includes, api_kinds }
}

/// By default, and owned messages alone of large schemas.
const SCHEMAS: &[Schema<'_>] = &[
    schema(
        "containerd-client",
        &["vendor/github.com/containerd/containerd/api"],
        &["vendor"],
        None,
    ),
    schema("etcd-client", &["proto/etcd"], &["proto"], None),
    schema("k8s-cri", &["proto"], &["proto"], None),
    schema(
        "opentelemetry-proto",
        &["src/proto/opentelemetry-proto"],
        &["src/proto/opentelemetry-proto"],
        None,
    ),
    schema("qdrant-client", &["proto"], &["proto"], None),
    schema("substrait-prost", &["proto"], &["proto"], None),
    schema(
        "temporal-sdk-core-protos",
        &[
            "protos/api_upstream/temporal",
            "protos/api_cloud_upstream/temporal",
            "protos/local",
            "protos/testsrv_upstream",
        ],
        &[
            "protos/api_upstream",
            "protos/api_cloud_upstream",
            "protos/local",
            "protos/testsrv_upstream",
            "protos/grpc",
            "protos",
        ],
        Some("owned"),
    ),
    schema("tensorflow_proto", &["proto"], &["proto"], Some("owned")),
];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut all = ways::generate(SCHEMAS, None)?;
    let (mut sets, mut rows) = (String::new(), String::new());
    for Schema { name, .. } in SCHEMAS {
        sets +=
            &format!("({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.bin\"))),");
        let module = name.replace('-', "_");
        for (full, path) in ways::messages(&out.join(name).with_extension("bin"))? {
            rows += &format!("({name:?}, {full:?}, again::<{module}::{path}>),\n");
        }
    }
    all += &format!(
        "/// Descriptors of each schema.\npub const SETS: &[(&str, &[u8])] = &[{sets}];\n"
    );
    all += &format!("/// Schema, full name and struct.\npub const MESSAGES: &[Row] = &[{rows}];\n");
    Ok(std::fs::write(out.join("all.rs"), all)?)
}
