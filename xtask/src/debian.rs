//! Packages of Debian's releases, from the mirror that this machine is configured with. They are unpacked below
//! `target/`: the system is not changed.

use crate::ctx::{Ctx, Outcome, read};
use crate::machine;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A private apt, with its own lists and cache, that still checks signatures.
pub struct Apt<'a> {
    ctx: &'a Ctx,
    folder: PathBuf,
}

impl<'a> Apt<'a> {
    /// Reads the lists of `suites`. Everything of it is in `folder`.
    ///
    /// # Errors
    /// No Debian tools, or no mirror.
    pub fn new(ctx: &'a Ctx, folder: &Path, suites: &[&str]) -> Result<Self, String> {
        for tool in ["apt-get", "dpkg-deb"] {
            if !machine::has(tool) {
                return Err(format!("this needs packages of Debian, but there is no {tool}"));
            }
        }
        let apt = Self { ctx, folder: folder.to_owned() };
        if !Path::new(KEYRING).exists() {
            return Err(format!("{KEYRING} is missing: install debian-archive-keyring"));
        }
        for place in ["state/lists/partial", "cache"] {
            create(&folder.join(place))?;
        }
        // In this apt nothing is installed, whatever this machine has.
        let status = apt.status();
        std::fs::write(&status, "").map_err(|e| format!("{}: {e}", status.display()))?;
        let (mirror, mut sources) = (mirror(), String::new());
        for suite in suites {
            // Writing to a string cannot fail.
            let _ = writeln!(sources, "deb [signed-by={KEYRING}] {mirror} {suite} main");
        }
        let list = apt.sources();
        std::fs::write(&list, sources).map_err(|e| format!("{}: {e}", list.display()))?;
        ctx.run(apt.command("apt-get").arg("update"))?;
        Ok(apt)
    }

    fn sources(&self) -> PathBuf {
        self.folder.join("sources.list")
    }

    fn status(&self) -> PathBuf {
        self.folder.join("state/status")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.ctx.command(program);
        // What it prints is read here.
        command.env("LC_ALL", "C");
        for (key, path) in [
            ("Dir::Etc::sourcelist", self.sources().as_path()),
            ("Dir::Etc::sourceparts", Path::new("-")),
            ("Dir::Etc::preferences", Path::new("/dev/null")),
            ("Dir::Etc::preferencesparts", Path::new("-")),
            ("Dir::State::Lists", &self.folder.join("state/lists")),
            ("Dir::State::status", &self.status()),
            ("Dir::Cache", &self.folder.join("cache")),
        ] {
            command.arg("-o").arg(format!("{key}={}", path.display()));
        }
        // As root apt would otherwise fetch as a user who may not write here.
        command.args(["-o", "APT::Sandbox::User=root", "-qq"]);
        command.args(["-o", "APT::Default-Release=", "-o", "APT::Update::Error-Mode=any"]);
        command
    }

    /// The packages that a package depends on directly.
    ///
    /// # Errors
    /// There is no such package.
    pub fn depends(&self, package: &str) -> Result<Vec<String>, String> {
        let text = self.ctx.output(self.command("apt-cache").args(["depends", package]))?;
        let depends = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(depends.map(str::to_owned).collect())
    }

    /// Fetches packages and unpacks them into `root`, which has nothing else afterwards.
    ///
    /// # Errors
    /// One of them cannot be had.
    pub fn unpack(&self, packages: &[String], root: &Path) -> Outcome {
        let debs = self.folder.join("debs");
        // What an interrupted run has left may be cut off, or of another version.
        for place in [&debs, root] {
            remove(place)?;
            create(place)?;
        }
        let mut download = self.command("apt-get");
        self.ctx.run(download.arg("download").args(packages).current_dir(&debs))?;
        let entries = std::fs::read_dir(&debs).map_err(|e| format!("{}: {e}", debs.display()))?;
        for path in entries.flatten().map(|e| e.path()) {
            if path.extension().is_some_and(|e| e == "deb") {
                self.ctx.run(self.ctx.command("dpkg-deb").arg("-x").arg(&path).arg(root))?;
            }
        }
        remove(&debs)
    }
}

fn create(folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

/// Removes a folder, if it is there.
///
/// # Errors
/// It cannot be removed.
pub fn remove(folder: &Path) -> Outcome {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The Debian mirror of this machine: from either form of apt's sources, else Debian's own.
fn mirror() -> String {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(entries) = std::fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(entries.flatten().map(|e| e.path()));
    }
    files.sort();
    for file in files {
        let Ok(text) = read(&file) else { continue };
        let lines = text.lines().map(str::trim).filter(|l| !l.starts_with('#'));
        for word in lines.flat_map(str::split_whitespace) {
            let word = word.trim_end_matches('/');
            if word.contains("://") && word.ends_with("/debian") {
                return word.to_owned();
            }
        }
    }
    "http://deb.debian.org/debian".to_owned()
}
