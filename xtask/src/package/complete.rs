//! What a package must say about itself and contain.

use serde_json::Value;

/// A package that is published, as `cargo metadata` describes it.
pub struct Package {
    pub name: String,
    manifest: Value,
}

/// Names on crates.io that are taken for this project.
const NAMES: [&str; 2] = ["pbzero", "tracebox"];

/// What readers of a package look for.
const FILES: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Of crates.io, as far as they fit: it refuses others, and only while a package is uploaded.
const CATEGORIES: [&str; 12] = [
    "asynchronous",
    "command-line-utilities",
    "development-tools::build-utils",
    "development-tools::debugging",
    "development-tools::profiling",
    "encoding",
    "network-programming",
    "no-std",
    "no-std::no-alloc",
    "os::linux-apis",
    "parser-implementations",
    "web-programming",
];

/// A top-level domain that belongs to nobody.
const NOBODY: &str = ".example/";

/// The packages in the output of `cargo metadata` that may be published.
///
/// # Errors
/// The text is not such an output.
pub fn published(metadata: &str) -> Result<Vec<Package>, String> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|e| format!("metadata: {e}"))?;
    let packages = metadata["packages"].as_array().ok_or("metadata without packages")?;
    // `publish = false` is an empty list of registries.
    let may = |package: &&Value| package["publish"].as_array().is_none_or(|list| !list.is_empty());
    let named = |package: &Value| Package {
        name: package["name"].as_str().unwrap_or_default().to_owned(),
        manifest: package.clone(),
    };
    Ok(packages.iter().filter(may).map(named).collect())
}

impl Package {
    /// What is missing or wrong, one line each. `files` are the paths inside the package.
    pub fn findings(&self, files: &[&str], for_release: bool) -> Vec<String> {
        let mut found = Vec::new();
        let starts = |name: &str| {
            let rest = self.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        if !NAMES.iter().any(|name| starts(name)) {
            found.push(format!("the name is to begin with one of {NAMES:?}, or `publish = false`"));
        }
        for key in ["description", "license", "readme", "repository", "rust_version"] {
            if self.manifest[key].as_str().unwrap_or_default().is_empty() {
                found.push(format!("`{}` is missing", key.replace('_', "-")));
            }
        }
        for key in ["keywords", "categories"] {
            let count = self.list(key).count();
            if !(1..=5).contains(&count) {
                found.push(format!("`{key}` has {count} entries; crates.io takes 1 to 5"));
            }
        }
        for category in self.list("categories").filter(|name| !CATEGORIES.contains(name)) {
            found.push(format!(
                "category `{category}` is not in xtask/src/package/complete.rs; is it one of crates.io?"
            ));
        }
        if self.manifest["metadata"]["docs"]["rs"].is_null() {
            found.push("`[package.metadata.docs.rs]` is missing".to_owned());
        }
        for file in FILES.iter().filter(|file| !files.contains(file)) {
            found.push(format!("{file} is not in the package"));
        }
        let repository = self.manifest["repository"].as_str().unwrap_or_default();
        if for_release && repository.contains(NOBODY) {
            found.push(format!("`repository` is {repository}, which nobody can visit"));
        }
        found.iter().map(|what| format!("package {}: {what}", self.name)).collect()
    }

    /// Whether other crates can use it.
    pub fn is_library(&self) -> bool {
        let targets = self.manifest["targets"].as_array().into_iter().flatten();
        targets.flat_map(|target| target["kind"].as_array()).flatten().any(|kind| kind == "lib")
    }

    fn list(&self, key: &str) -> impl Iterator<Item = &str> {
        self.manifest[key].as_array().into_iter().flatten().filter_map(Value::as_str)
    }
}
