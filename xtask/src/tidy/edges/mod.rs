//! Which of our crates may depend on which, and the licences of all other crates.

use super::text::Findings;
use crate::ctx::Ctx;
use serde_json::Value;

/// Our other crates that each of our crates may depend on.
const EDGES: &[(&str, &[&str])] = &[
    ("pbzero", &["pbzero-derive"]),
    ("pbzero-derive", &[]),
    ("pbzero-codegen", &[]),
    ("pbzero-tonic", &["pbzero"]),
    ("pbzero-types", &["pbzero"]),
    ("tracebox-protos", &["pbzero", "pbzero-derive"]),
    ("tracebox-abi", &["pbzero", "tracebox-protos"]),
    ("tracebox-os", &["tracebox-abi"]),
    ("tracebox-client", &["pbzero", "tracebox-protos", "tracebox-abi", "tracebox-os"]),
    ("tracebox-service", &["pbzero", "tracebox-protos", "tracebox-abi"]),
    (
        "tracebox-daemon",
        &[
            "pbzero",
            "tracebox-protos",
            "tracebox-abi",
            "tracebox-os",
            "tracebox-client",
            "tracebox-service",
        ],
    ),
    (
        "tracebox-core",
        &["tracebox-abi", "tracebox-os", "tracebox-client", "tracebox-service", "tracebox-daemon"],
    ),
    ("tracing-core-skip", &[]),
    (
        "tracing-core-testing",
        &[
            "pbzero",
            "tracebox-protos",
            "tracebox-abi",
            "tracebox-os",
            "tracebox-client",
            "tracebox-service",
            "tracebox-daemon",
        ],
    ),
    (
        "tracebox-probes",
        &["pbzero", "tracebox-protos", "tracebox-abi", "tracebox-os", "tracebox-client"],
    ),
    ("tracebox-sdk-derive", &[]),
    (
        "tracebox-sdk",
        &[
            "tracebox-sdk-derive",
            "pbzero",
            "tracebox-protos",
            "tracebox-abi",
            "tracebox-os",
            "tracebox-client",
            "tracebox-service",
            "tracebox-daemon",
        ],
    ),
    ("tracebox-file", &["pbzero", "tracebox-protos"]),
    (
        "tracebox",
        &["pbzero", "tracebox-protos", "tracebox-core", "tracebox-file", "tracebox-probes"],
    ),
    ("xtask", &["pbzero-codegen"]),
];

/// Licences under which a dependency can be shipped with either of ours.
const LICENCES: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "Zlib",
    "0BSD",
    "CC0-1.0",
    "Unlicense",
    "Unicode-3.0",
];

pub fn check(ctx: &Ctx, findings: &mut Findings) -> Result<(), String> {
    let mut command = ctx.cargo();
    command.args(["metadata", "--format-version", "1", "--locked"]);
    let text = ctx.output(&mut command)?;
    let metadata: Value = serde_json::from_str(&text).map_err(|e| format!("metadata: {e}"))?;
    let packages = metadata["packages"].as_array().ok_or("metadata without packages")?;
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        if package["source"].is_null() {
            check_edges(name, package, findings);
        } else {
            let version = package["version"].as_str().unwrap_or_default();
            let licence = package["license"].as_str().unwrap_or("none");
            if !is_accepted(licence) {
                let what = format!("{name} {version} has licence `{licence}`");
                findings.add("Cargo.lock", 1, what);
            }
        }
    }
    Ok(())
}

fn check_edges(name: &str, package: &Value, findings: &mut Findings) {
    let manifest = format!("{name}/Cargo.toml");
    let Some((_, allowed)) = EDGES.iter().find(|e| e.0 == name) else {
        findings.add(&manifest, 1, "crate is in no layer; see xtask/src/tidy/edges/mod.rs");
        return;
    };
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let other = dependency["name"].as_str().unwrap_or_default();
        let is_ours = dependency["source"].is_null();
        // Tests may use any of our libraries, but not tools and programs.
        let is_test = dependency["kind"].as_str() == Some("dev");
        let is_tool = matches!(other, "xtask" | "tracebox");
        if is_ours && (is_tool || !is_test) && !allowed.contains(&other) {
            findings.add(&manifest, 1, format!("{name} must not depend on {other}"));
        }
    }
}

/// An SPDX expression: some alternative of `OR` whose every part of `AND` we accept.
fn is_accepted(expression: &str) -> bool {
    let flat = expression.replace(['(', ')'], " ").replace('/', " OR ");
    // With parentheses an `AND` may bind an `OR`; then every part has to hold an accepted one.
    if expression.contains('(') {
        return flat.split(" AND ").all(|part| part.split(" OR ").any(is_known));
    }
    flat.split(" OR ").any(|part| part.split(" AND ").all(is_known))
}

fn is_known(licence: &str) -> bool {
    LICENCES.contains(&licence.trim())
}

#[cfg(test)]
mod tests;
