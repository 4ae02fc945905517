//! Generates code for a schema in all ways that the documentation names, and compares what they write: as a build
//! script, by the command, and by the plugin of `protoc`.
//!
//! The code of the build script is what is compiled. The command writes the same files. The plugin writes the same
//! code, with fewer files, because it has no code for files that are imported and not used; comments differ in the files
//! that `protoc` brings itself.

mod messages;

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use protozero_codegen::Build;

pub use messages::messages;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Files of a package.
pub struct Schema<'a> {
    /// The folder of its code, and with `_` in place of `-` its module.
    pub name: &'a str,
    /// The package that has the files.
    pub package: &'a str,
    /// Folders of the package whose files are compiled.
    pub folders: &'a [&'a str],
    /// Folders that imports start from.
    pub includes: &'a [&'a str],
    /// What is generated, if not all but descriptors.
    pub api_kinds: Option<&'a str>,
    /// More options, as the plugin takes them.
    pub options: &'a [&'a str],
}

/// A schema with the paths that it has on this machine.
struct Found {
    name: String,
    /// As the plugin takes them.
    options: Vec<String>,
    protos: Vec<PathBuf>,
    includes: Vec<PathBuf>,
    out: PathBuf,
}

/// Generates `schemas` below `OUT_DIR`, and returns a module for each. A schema is in a package of the lock file, or in
/// `folder`.
///
/// # Errors
/// A way fails, or two ways write different code.
pub fn generate(schemas: &[Schema<'_>], folder: Option<&Path>) -> Outcome<String> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CORPUS_TOOLS");
    let tools = std::env::var_os("CORPUS_TOOLS");
    let tools =
        PathBuf::from(tools.ok_or("CORPUS_TOOLS is not set: cargo xtask ci --only corpus")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let packages = packages()?;
    let mut all = String::new();
    for schema in schemas {
        let root = match folder {
            Some(folder) => folder.to_owned(),
            None => root(&packages, schema.package)?,
        };
        let found = Found::new(schema, &root, out.clone())?;
        let done = found.build().and_then(|()| found.command(&tools)).and_then(|()| {
            found.plugin(&tools)?;
            found.descriptors()
        });
        done.map_err(|error| format!("{}: {error}", schema.name))?;
        let (name, module) = (schema.name, schema.name.replace('-', "_"));
        all += &format!(
            "pub mod {module} {{ include!(concat!(env!(\"OUT_DIR\"), \"/{name}/mod.rs\")); }}\n"
        );
    }
    Ok(all)
}

/// The constants `SETS` and `MESSAGES`, with which `values::check` sends random messages through the code that
/// [`generate`] made.
///
/// # Errors
/// The descriptors cannot be read.
pub fn tables(schemas: &[Schema<'_>]) -> Outcome<String> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let (mut sets, mut rows) = (String::new(), String::new());
    for Schema { name, .. } in schemas {
        sets +=
            &format!("({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.bin\"))),");
        let module = name.replace('-', "_");
        for (full, path) in messages(&out.join(name).with_extension("bin"))? {
            rows += &format!("({name:?}, {full:?}, values::again::<{module}::{path}>),\n");
        }
    }
    Ok(format!(
        "/// Descriptors of each schema.\npub const SETS: &[(&str, &[u8])] = &[{sets}];\n\
         /// Schema, full name and struct.\n#[allow(deprecated)]\npub const MESSAGES: &[values::Row] = &[{rows}];\n"
    ))
}

impl Found {
    fn new(schema: &Schema<'_>, root: &Path, out: PathBuf) -> Outcome<Self> {
        let mut protos = Vec::new();
        for folder in schema.folders {
            find(&root.join(folder), "proto", &mut protos)?;
        }
        protos.sort();
        let includes = schema.includes.iter().map(|folder| root.join(folder)).collect();
        // More than the default, so that the corpus compiles it.
        let api_kinds = schema.api_kinds.unwrap_or("owned+writer+reader+service");
        let mut options = vec![format!("api_kinds={api_kinds}")];
        options.extend(schema.options.iter().map(|option| (*option).to_owned()));
        Ok(Self { name: schema.name.to_owned(), options, protos, includes, out })
    }

    fn build(&self) -> Outcome<()> {
        let mut build = Build::new();
        for option in &self.options {
            build = build.option(option)?;
        }
        let build = build.cargo(false).out_dir(self.out.join(&self.name));
        Ok(build.compile(&self.protos, &self.includes)?)
    }

    fn command(&self, tools: &Path) -> Outcome<()> {
        let out = self.fresh("command")?;
        let mut command = Command::new(tools.join("protozero-codegen"));
        for option in &self.options {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            command.arg(format!("--{}", name.replace('_', "-")));
            command.args((!value.is_empty()).then_some(value));
        }
        run(command.arg("-o").arg(&out).args(self.includes()).args(&self.protos))?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        find(&self.out.join(&self.name), "rs", &mut ours)?;
        find(&out, "rs", &mut theirs)?;
        if ours.len() != theirs.len() {
            return Err(format!("{} files by the command, not {}", theirs.len(), ours.len()).into());
        }
        theirs.iter().try_for_each(|file| self.compare(file, &out, |text| text.to_owned()))
    }

    fn plugin(&self, tools: &Path) -> Outcome<()> {
        let out = self.fresh("plugin")?;
        let mut option = OsString::from("--plugin=protoc-gen-protozero=");
        option.push(tools.join("protoc-gen-protozero"));
        let mut to = OsString::from("--protozero_out=");
        to.push(&out);
        let mut protoc = Command::new(protoc_bin_vendored::protoc_bin_path()?);
        protoc.arg(option).arg(to).args(self.includes());
        protoc.args(self.options.iter().map(|option| format!("--protozero_opt={option}")));
        run(protoc.args(&self.protos))?;
        let mut files = Vec::new();
        find(&out, "rs", &mut files)?;
        // `protoc` has newer files of its own.
        files.retain(|f| *f != out.join("mod.rs") && !f.starts_with(out.join("google/protobuf")));
        if files.is_empty() {
            return Err("no files by the plugin".into());
        }
        files.iter().try_for_each(|file| self.compare(file, &out, code))
    }

    /// The schema for other libraries.
    fn descriptors(&self) -> Outcome<()> {
        let mut to = OsString::from("--descriptor_set_out=");
        to.push(self.out.join(&self.name).with_extension("bin"));
        let mut protoc = Command::new(protoc_bin_vendored::protoc_bin_path()?);
        run(protoc.arg("--include_imports").arg(to).args(self.includes()).args(&self.protos))
    }

    /// Compares `file`, which is below `out`, with that of the build script.
    fn compare(&self, file: &Path, out: &Path, of: impl Fn(&str) -> String) -> Outcome<()> {
        let ours = self.out.join(&self.name).join(file.strip_prefix(out)?);
        let [one, other] = [&ours, file].map(std::fs::read_to_string);
        let (one, other) = (one.map_err(|e| format!("{}: {e}", ours.display()))?, other?);
        if of(&one) == of(&other) {
            return Ok(());
        }
        Err(format!("{} and {} differ", ours.display(), file.display()).into())
    }

    fn includes(&self) -> impl Iterator<Item = OsString> {
        self.includes.iter().flat_map(|folder| ["-I".into(), folder.clone().into_os_string()])
    }

    /// An empty folder for a way.
    fn fresh(&self, way: &str) -> Outcome<PathBuf> {
        let folder = self.out.join(way).join(&self.name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

/// Code without comments, which also decide whether a struct is on one line.
fn code(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let dense: String = lines.flat_map(str::split_whitespace).collect();
    dense.replace(",}", "}")
}

fn run(command: &mut Command) -> Outcome<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let program = command.get_program().display();
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// The packages of the lock file.
fn packages() -> Outcome<Vec<serde_json::Value>> {
    let output = Command::new(std::env::var("CARGO")?)
        .args(["metadata", "--format-version=1", "--offline"])
        .current_dir(std::env::var("CARGO_MANIFEST_DIR")?)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let mut json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    match json["packages"].take() {
        serde_json::Value::Array(packages) => Ok(packages),
        _ => Err("cargo metadata has no packages".into()),
    }
}

/// The folder of a package.
fn root(packages: &[serde_json::Value], name: &str) -> Outcome<PathBuf> {
    let package = packages.iter().find(|p| p["name"] == name);
    let package = package.ok_or_else(|| format!("no package {name}"))?;
    let manifest = Path::new(package["manifest_path"].as_str().ok_or("no path")?);
    Ok(manifest.parent().ok_or("no folder")?.to_owned())
}

/// All files below `folder` with that extension.
fn find(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) -> Outcome<()> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, extension, found)?;
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    Ok(())
}
