//! Generates the code of each schema in a folder of its own.

use std::error::Error;
use std::path::PathBuf;

use ways::Schema;

const ENVOY: Schema<'_> = Schema {
    name: "envoy-types",
    package: "envoy-types",
    folders: &["proto/data-plane-api"],
    includes: &[
        "proto/data-plane-api",
        "proto/xds",
        "proto/protoc-gen-validate",
        "proto/googleapis",
        "proto/cel-spec/proto",
        "proto/client_model",
        "proto/opentelemetry-proto",
        "proto/ratelimit/api",
    ],
    api_kinds: Some("owned"),
    options: &[],
};

/// Schemas of services, with all that they import.
const GOOGLE: Schema<'_> = Schema {
    name: "googleapis",
    package: "googleapis",
    folders: &[
        "google/bigtable/v2",
        "google/firestore/v1",
        "google/iam/v1",
        "google/logging/v2",
        "google/longrunning",
        "google/monitoring/v3",
        "google/pubsub",
        "google/rpc",
        "google/spanner/v1",
        "google/storage/v2",
        "google/type",
    ],
    includes: &["."],
    api_kinds: Some("owned"),
    options: &[],
};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=CORPUS_GOOGLEAPIS");
    let google = std::env::var_os("CORPUS_GOOGLEAPIS");
    let google = google.ok_or("CORPUS_GOOGLEAPIS is not set: cargo xtask ci --only corpus")?;
    let all = ways::generate(&[ENVOY], None)?;
    let all = all + &ways::generate(&[GOOGLE], Some(google.as_ref()))?;
    let all = all + &ways::tables(&[ENVOY, GOOGLE])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    Ok(std::fs::write(out.join("all.rs"), all)?)
}
