//! Reads and writes files around [`generate`], for build scripts and the command line.
//!
//! ```no_run
//! // build.rs
//! protozero_codegen::compile(&["proto/shape.proto"], &["proto"])?;
//! # Ok::<(), protozero_codegen::BuildError>(())
//! ```
//!
//! ```text
//! // src/main.rs
//! mod schema {
//!     include!(concat!(env!("OUT_DIR"), "/mod.rs"));
//! }
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{self, Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fmt, fs, io};

use crate::notes::Place;
use crate::{
    ApiKinds, Config, Error, Grpc, OutputFile, Source, generate, plugin, syntax, wellknown,
};

/// Generates code for `protos`, which are found below `includes`, into `OUT_DIR`, and tells cargo which files to watch.
/// The crate includes the `mod.rs` in `OUT_DIR`.
///
/// # Errors
/// See [`BuildError`].
pub fn compile(
    protos: &[impl AsRef<Path>],
    includes: &[impl AsRef<Path>],
) -> Result<(), BuildError> {
    Build::new().compile(protos, includes)
}

/// Why no code was written.
///
/// `Debug` prints the same text as `Display`, because cargo shows the former when a build script fails.
#[non_exhaustive]
pub enum BuildError {
    /// Something is wrong with the schema.
    Schema(Error),
    /// A file could not be read or written.
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A `.proto` file is below none of the includes.
    NotIncluded {
        /// Which.
        path: PathBuf,
    },
    /// `OUT_DIR` is not set, and no other folder was given.
    NoOutDir,
    /// [`Build::option`] was given no option of the plugin: what is wrong with it.
    Option(String),
    /// An earlier call of this build script wrote a file into the folder whose module would be missing now.
    Replaced {
        /// The folder.
        folder: PathBuf,
        /// The file in it.
        file: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema(error) => error.fmt(f),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
            Self::NotIncluded { path } => {
                write!(f, "{}: not found below the include folders", path.display())
            }
            Self::NoOutDir => f.write_str("OUT_DIR is not set"),
            Self::Option(wrong) => f.write_str(wrong),
            Self::Replaced { folder, file } => write!(
                f,
                "{}: an earlier call of `compile` wrote {file} here, and `mod.rs` would lose its module: give one \
                 call all files, or each its own `out_dir`",
                folder.display()
            ),
        }
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}

impl From<Error> for BuildError {
    fn from(error: Error) -> Self {
        Self::Schema(error)
    }
}

/// [`compile`] with options.
#[derive(Clone, Debug)]
pub struct Build {
    config: Config,
    out_dir: Option<PathBuf>,
    descriptor_set: Option<PathBuf>,
    cargo: bool,
}

impl Default for Build {
    fn default() -> Self {
        Self::new()
    }
}

impl Build {
    /// The default: owned messages; enums are open or closed as the schema says.
    #[must_use]
    pub fn new() -> Self {
        let config = Config {
            api_kinds: ApiKinds::OWNED,
            command: "protozero-codegen".into(),
            names: true,
            ..Config::default()
        };
        Self { config, out_dir: None, descriptor_set: None, cargo: true }
    }

    /// Which code to generate; owned messages unless this is called. The functions that use descriptors need
    /// protozero's feature `text` or `json`.
    #[must_use]
    pub fn api_kinds(mut self, api_kinds: ApiKinds) -> Self {
        self.config.api_kinds = api_kinds;
        self
    }

    /// Adds clients and servers for `tonic`: see [gRPC](crate#grpc). This crate needs its feature `grpc`.
    #[must_use]
    pub fn grpc(mut self, grpc: Grpc) -> Self {
        self.config.grpc = grpc;
        self
    }

    /// See [`Config::grpc_memory_max`].
    #[must_use]
    pub fn grpc_memory_max(mut self, bytes: usize) -> Self {
        self.config.grpc_memory_max = Some(bytes);
        self
    }

    /// Whether methods of a server have a body, so that a new one breaks no program: see
    /// [`Config::generate_default_stubs`].
    #[must_use]
    pub fn generate_default_stubs(mut self, enable: bool) -> Self {
        self.config.generate_default_stubs = enable;
        self
    }

    /// Whether methods of a server take `Arc<Self>`: see [`Config::use_arc_self`].
    #[must_use]
    pub fn use_arc_self(mut self, enable: bool) -> Self {
        self.config.use_arc_self = enable;
        self
    }

    /// See [`Config::compact`].
    #[must_use]
    pub fn compact(mut self, compact: bool) -> Self {
        self.config.compact = compact;
        self
    }

    /// Whether messages know their full names; on by default. See [`Config::names`].
    #[must_use]
    pub fn names(mut self, names: bool) -> Self {
        self.config.names = names;
        self
    }

    /// See [`Config::open_enums`].
    #[must_use]
    pub fn open_enums(mut self, open: bool) -> Self {
        self.config.open_enums = open;
        self
    }

    /// Structs without `unknown_fields`, for these messages and packages: see [`Config::drop_unknown_fields`]. `["."]`
    /// is what prost does, together with [`Build::open_enums`].
    #[must_use]
    pub fn drop_unknown_fields(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let names = names.into_iter().map(|name| name.as_ref().to_owned());
        self.config.drop_unknown_fields.extend(names);
        self
    }

    /// `()` and plain values in place of `google.protobuf.Empty` and the wrappers: see [`Config::plain_types`].
    #[must_use]
    pub fn plain_types(mut self, plain: bool) -> Self {
        self.config.plain_types = plain;
        self
    }

    /// Derives `Eq` and `Hash` for these messages and packages, where all fields have both: see
    /// [`Config::eq_and_hash`].
    #[must_use]
    pub fn eq_and_hash(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.config.eq_and_hash.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Holds maps as `HashMap` in these fields, messages and packages: see [`Config::hash_map`]. `["."]` is what prost
    /// does.
    #[must_use]
    pub fn hash_map(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.config.hash_map.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Holds the messages of these fields, messages and packages in a `Box`: see [`Config::boxed`].
    #[must_use]
    pub fn boxed(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.config.boxed.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Fields in snake case, accessors, and aliases at the paths of prost: see [`Config::prost_names`].
    #[must_use]
    pub fn prost_names(mut self, like_prost: bool) -> Self {
        self.config.prost_names = like_prost;
        self
    }

    /// The code of the files below `prefix` is in `module` of another crate: see [`Config::externs`].
    #[must_use]
    pub fn extern_path(mut self, prefix: &str, module: &str) -> Self {
        self.config.externs.push((prefix.into(), module.into()));
        self
    }

    /// Whether to generate code for the well-known types instead of using the crate `pbzero-types`: see
    /// [`Config::generate_well_known`].
    #[must_use]
    pub fn generate_well_known(mut self, generate: bool) -> Self {
        self.config.generate_well_known = generate;
        self
    }

    /// Where generated code finds `protozero_types`: see [`Config::types`].
    #[must_use]
    pub fn types(mut self, path: &str) -> Self {
        self.config.types = path.into();
        self
    }

    /// Where generated code finds `protozero`: see [`Config::runtime`].
    #[must_use]
    pub fn runtime(mut self, path: &str) -> Self {
        self.config.runtime = path.into();
        self
    }

    /// Stores `bytes` as `bytes::Bytes` in the fields, messages and packages with these names: see [`Config::bytes`].
    #[must_use]
    pub fn bytes(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.config.bytes.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Stores `string` as `protozero::SharedStr` in the fields, messages and packages with these names: see
    /// [`Config::strings`].
    #[must_use]
    pub fn strings(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.config.strings.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Derives `Serialize` and `Deserialize` everywhere: see [`Config::serde`].
    #[must_use]
    pub fn serde(mut self) -> Self {
        self.config.serde = true;
        self
    }

    /// Attributes of messages, their oneofs and enums: [`Self::message_attribute`] and
    /// [`Self::enum_attribute`] at once.
    #[must_use]
    pub fn type_attribute(self, name: &str, attributes: &str) -> Self {
        self.message_attribute(name, attributes).enum_attribute(name, attributes)
    }

    /// Attributes of messages and oneofs: see [`Config::message_attributes`].
    #[must_use]
    pub fn message_attribute(mut self, name: &str, attributes: &str) -> Self {
        self.config.message_attributes.push((name.into(), attributes.into()));
        self
    }

    /// Attributes of enums: see [`Config::enum_attributes`].
    #[must_use]
    pub fn enum_attribute(mut self, name: &str, attributes: &str) -> Self {
        self.config.enum_attributes.push((name.into(), attributes.into()));
        self
    }

    /// Attributes of fields: see [`Config::field_attributes`].
    #[must_use]
    pub fn field_attribute(mut self, name: &str, attributes: &str) -> Self {
        self.config.field_attributes.push((name.into(), attributes.into()));
        self
    }

    /// Sets one option in the syntax of the plugin: `api_kinds=writer+reader`, `root=crate::x`, ...
    ///
    /// # Errors
    /// [`BuildError::Option`].
    pub fn option(mut self, option: &str) -> Result<Self, BuildError> {
        plugin::set(&mut self.config, option).map_err(BuildError::Option)?;
        Ok(self)
    }

    /// Changes any other part of the configuration. `sources` is overwritten later.
    #[must_use]
    pub fn config(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// The folder to write to instead of `OUT_DIR`.
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Writes the schema into this file, too, as [`descriptor_set`](crate::descriptor_set) does: for
    /// [dynamic messages](https://docs.rs/pbzero/latest/protozero/dynamic), or other tools.
    #[must_use]
    pub fn file_descriptor_set_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.descriptor_set = Some(path.into());
        self
    }

    /// Whether this is a build script, which is the default: it prints which files cargo must watch, and no call may
    /// leave out a file that an earlier one wrote into the same folder.
    #[must_use]
    pub fn cargo(mut self, tell: bool) -> Self {
        self.cargo = tell;
        self
    }

    /// Generates and writes code for `protos` and their imports, all found below `includes`.
    ///
    /// A file is written only if its text changed, so that cargo does not rebuild its users.
    ///
    /// The folder has one `mod.rs`, with the modules of this call. So a build script gives one call all files, or each
    /// call its own [`out_dir`](Self::out_dir).
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn compile(
        mut self,
        protos: &[impl AsRef<Path>],
        includes: &[impl AsRef<Path>],
    ) -> Result<(), BuildError> {
        let out = match (self.out_dir.take(), env::var_os("OUT_DIR")) {
            (Some(folder), _) => folder,
            (None, Some(folder)) => folder.into(),
            (None, None) => return Err(BuildError::NoOutDir),
        };
        let includes: Vec<&Path> = includes.iter().map(AsRef::as_ref).collect();
        let mut files = Vec::new();
        for proto in protos {
            files.push(import_path(proto.as_ref(), &includes)?);
        }
        let (sources, read) = collect(files, &includes)?;
        if self.cargo {
            for path in &read {
                println!("cargo:rerun-if-changed={}", path.display());
            }
        }
        if let Some(path) = &self.descriptor_set {
            write_changed(path, &crate::descriptor_set(&sources)?)?;
        }
        self.config.sources = sources;
        let code = generate(&self.config)?;
        let manifest = env::var_os("CARGO_MANIFEST_PATH").and_then(|path| fs::read(path).ok());
        if self.cargo && manifest.is_some_and(|text| lacks_types(&text, &code)) {
            println!("cargo:warning={LACKS_TYPES}");
        }
        if self.cargo {
            replaces_all(&out, &code)?;
        }
        write(&out, &code)
    }
}

/// Checks that `code` has all files that this process wrote into `out` before, and remembers those of `code`.
fn replaces_all(out: &Path, code: &[OutputFile]) -> Result<(), BuildError> {
    static WRITTEN: Mutex<BTreeMap<PathBuf, BTreeSet<String>>> = Mutex::new(BTreeMap::new());
    let folder = path::absolute(out).unwrap_or_else(|_| out.to_owned());
    let files: BTreeSet<String> = code.iter().map(|file| file.path.clone()).collect();
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = written.entry(folder).or_default();
    if let Some(file) = before.difference(&files).next() {
        return Err(BuildError::Replaced { folder: out.to_owned(), file: file.clone() });
    }
    *before = files;
    Ok(())
}

/// What a build script says then. The crate of the well-known types has the feature `std` by default, and needs
/// `alloc`.
const LACKS_TYPES: &str = "the schema uses well-known types of google.protobuf: run `cargo add pbzero-types`, without \
    std with `--no-default-features`; or generate them with the schema, by `generate_well_known(true)`";

/// Whether the code needs the crate of the well-known types, and the manifest of the package does not name it.
fn lacks_types(manifest: &[u8], code: &[OutputFile]) -> bool {
    let manifest = String::from_utf8_lossy(manifest);
    code.iter().any(|file| file.text.contains("::protozero_types::"))
        && !["pbzero-types", "protozero_types"].iter().any(|name| manifest.contains(name))
}

/// The path by which other files import `proto`.
///
/// As `protoc` does it: with `-I dir`, both `dir/a.proto` and `a.proto` are `a.proto`, and so is
/// every other way to the same file.
fn import_path(proto: &Path, includes: &[&Path]) -> Result<String, BuildError> {
    let plain = |path: &Path| path.components().all(|c| matches!(c, Component::Normal(_)));
    let below = |proto: &Path, include: &Path| {
        let below = proto.strip_prefix(include).ok().filter(|below| plain(below))?;
        include.join(below).is_file().then(|| below.to_owned())
    };
    let real = proto.canonicalize().ok();
    let found = includes.iter().find_map(|include| below(proto, include)).or_else(|| {
        let joined = |include: &&Path| plain(proto) && include.join(proto).is_file();
        includes.iter().find(|include| joined(include)).map(|_| proto.to_owned())
    });
    let found = found.or_else(|| {
        includes.iter().find_map(|include| below(real.as_ref()?, &include.canonicalize().ok()?))
    });
    let Some(found) = found else {
        return Err(BuildError::NotIncluded { path: proto.to_owned() });
    };
    let parts: Vec<_> = found.iter().map(|part| part.to_string_lossy()).collect();
    Ok(parts.join("/"))
}

/// Reads the files and everything they import. Returns the sources, and the paths that were read.
fn collect(
    mut open: Vec<String>,
    includes: &[&Path],
) -> Result<(Vec<Source>, Vec<PathBuf>), BuildError> {
    open.reverse();
    let mut seen = BTreeSet::new();
    let (mut sources, mut read) = (Vec::new(), Vec::new());
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let found = includes.iter().map(|include| include.join(&path)).find(|f| f.is_file());
        let Some(found) = found else {
            // The file disappeared after it was seen. The import of it reports that.
            continue;
        };
        let text = match fs::read(&found) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|e| not_text(&path, &e))?,
            Err(error) => return Err(BuildError::Io { path: found, error }),
        };
        let syntax = syntax::read(&path, &text)?;
        let mut others = Vec::new();
        for (at, import) in syntax.imports().enumerate() {
            // Well-known files are built in.
            if seen.contains(import) || wellknown::is(import) {
                continue;
            }
            if !includes.iter().any(|include| include.join(import).is_file()) {
                let place = syntax.notes.get(&format!("#import{at}")).cloned().unwrap_or_default();
                return Err(not_found(path, place.at, import, includes));
            }
            others.push(import.clone());
        }
        open.extend(others.into_iter().rev());
        sources.push(Source { path, text });
        read.push(found);
    }
    Ok((sources, read))
}

fn not_found(file: String, at: Place, import: &str, includes: &[&Path]) -> BuildError {
    let folders: Vec<_> = includes.iter().map(|i| format!("`{}`", i.display())).collect();
    let folders = if folders.is_empty() { "no folder".into() } else { folders.join(", ") };
    let message = format!("imported file {import} is not found; searched: {folders}");
    BuildError::Schema(Error { file, line: at.line, column: at.column, message })
}

fn not_text(path: &str, error: &std::string::FromUtf8Error) -> BuildError {
    let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
    let line = good.iter().filter(|b| **b == b'\n').count() + 1;
    let column = good.iter().rev().take_while(|b| **b != b'\n').count() + 1;
    BuildError::Schema(Error {
        file: path.to_owned(),
        line: u32::try_from(line).unwrap_or(0),
        column: u32::try_from(column).unwrap_or(0),
        message: "this is not UTF-8".into(),
    })
}

/// Writes new and changed files.
fn write(out: &Path, files: &[OutputFile]) -> Result<(), BuildError> {
    files.iter().try_for_each(|file| write_changed(&out.join(&file.path), file.text.as_bytes()))
}

/// Writes one file, if it is new or has changed.
fn write_changed(path: &Path, content: &[u8]) -> Result<(), BuildError> {
    let fail = |error| BuildError::Io { path: path.to_owned(), error };
    if fs::read(path).is_ok_and(|is| is == content) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(fail)?;
    }
    fs::write(path, content).map_err(fail)
}

#[cfg(test)]
mod tests;
