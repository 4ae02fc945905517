//! What a package must say about itself and contain.

use std::path::PathBuf;

use crate::ctx::read;
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

/// Begins the names of libraries for every program. The README and the documentation of one say what its features are.
const LIBRARIES: &str = "pbzero";

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

    /// What is missing in the texts that readers of a library begin with: its README, and the root of its code.
    pub fn findings_in(&self, readme: &str, root: &str) -> Vec<String> {
        let mut found = Vec::new();
        if self.name.starts_with(LIBRARIES) {
            let version = self.manifest["rust_version"].as_str().unwrap_or_default();
            for text in [format!("Rust {version}"), "Licensed under".to_owned()] {
                if !readme.contains(&text) {
                    found.push(format!("README.md does not say \"{text}\""));
                }
            }
            let features = self.manifest["features"].as_object().into_iter().flatten();
            let features: Vec<&String> =
                features.map(|(name, _)| name).filter(|name| *name != "default").collect();
            for feature in &features {
                if !readme.contains(&format!("`{feature}`")) {
                    found.push(format!("README.md does not say what the feature `{feature}` adds"));
                }
            }
            let arguments = self.manifest["metadata"]["docs"]["rs"]["rustdoc-args"].as_array();
            let told = arguments.is_some_and(|all| all.iter().any(|it| it == "docsrs"));
            let shown = told && root.contains("cfg_attr(docsrs, feature(doc_cfg))");
            if !features.is_empty() && !shown {
                let what = "docs.rs does not show which feature an item needs: see `docsrs` in another package";
                found.push(what.to_owned());
            }
        }
        found.iter().map(|what| format!("package {}: {what}", self.name)).collect()
    }

    /// Its README, and the root of its library.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn texts(&self) -> Result<[String; 2], String> {
        let path = |value: &Value| PathBuf::from(value.as_str().unwrap_or_default());
        let manifest = path(&self.manifest["manifest_path"]);
        let folder = manifest.parent().unwrap_or(&manifest);
        let mut targets = self.manifest["targets"].as_array().into_iter().flatten();
        let library = |target: &&Value| {
            let kinds = target["kind"].as_array().into_iter().flatten();
            kinds.filter_map(Value::as_str).any(|kind| kind == "lib" || kind == "proc-macro")
        };
        let root = targets.find(library).map(|target| read(&path(&target["src_path"])));
        let readme = read(&folder.join(path(&self.manifest["readme"])))?;
        Ok([readme, root.transpose()?.unwrap_or_default()])
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
