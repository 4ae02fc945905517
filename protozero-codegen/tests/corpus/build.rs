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
    Schema { name, package: name, folders, includes, api_kinds, options: &[] }
}

/// What docs/coming-from.md proposes for a crate that used prost.
const LIKE_PROST: &[&str] =
    &["prost_names", "drop_unknown_fields=.", "hash_map=.", "plain_types", "eq_and_hash=."];

const ETCD: Schema<'_> = schema("etcd-client", &["proto/etcd"], &["proto"], None);
const QDRANT: Schema<'_> = schema("qdrant-client", &["proto"], &["proto"], None);

/// By default, and owned messages alone of large schemas.
const SCHEMAS: &[Schema<'_>] = &[
    schema(
        "containerd-client",
        &["vendor/github.com/containerd/containerd/api"],
        &["vendor"],
        None,
    ),
    ETCD,
    Schema { name: "etcd-like-prost", options: LIKE_PROST, ..ETCD },
    schema("k8s-cri", &["proto"], &["proto"], None),
    schema(
        "opentelemetry-proto",
        &["src/proto/opentelemetry-proto"],
        &["src/proto/opentelemetry-proto"],
        None,
    ),
    QDRANT,
    Schema { name: "qdrant-like-prost", options: LIKE_PROST, ..QDRANT },
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
    let all = ways::generate(SCHEMAS, None)? + &ways::tables(SCHEMAS)?;
    Ok(std::fs::write(out.join("all.rs"), all)?)
}
