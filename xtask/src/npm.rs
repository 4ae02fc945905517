//! Packages of the npm registry: programs and files that no package of Rust or Debian has.

use crate::ctx::{Ctx, Outcome, read};
use crate::machine;
use std::path::PathBuf;

/// A package, and the digest of what was tried.
pub struct Package {
    pub name: &'static str,
    pub version: &'static str,
    pub integrity: &'static str,
}

impl Package {
    /// The folder of the package below `target/{place}`; fetched at the first call.
    ///
    /// # Errors
    /// It cannot be fetched, or has another digest.
    pub fn folder(&self, ctx: &Ctx, place: &str) -> Result<PathBuf, String> {
        let folder = ctx.target(place)?;
        let package = folder.join("node_modules").join(self.name);
        let lock = folder.join("package-lock.json");
        if package.is_dir() && read(&lock).is_ok_and(|text| text.contains(self.integrity)) {
            return Ok(package);
        }
        self.install(ctx, &folder)?;
        if !read(&lock)?.contains(self.integrity) {
            let Self { name, version, .. } = self;
            return Err(format!("{name} {version} is not the package it was: other digest"));
        }
        Ok(package)
    }

    fn install(&self, ctx: &Ctx, folder: &std::path::Path) -> Outcome {
        machine::need(ctx, "npm", "npm")?;
        let mut npm = ctx.command("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]);
        npm.arg("--prefix").arg(folder);
        ctx.run(npm.arg(format!("{}@{}", self.name, self.version)))
    }
}
