//! Our descriptor sets equal those of the official compiler, and it accepts them.
//!
//! That compiler prints both sets as text, with the options of the schema, and the texts are compared: the order of
//! fields and the form of numbers may differ in bytes. Both sides use the official well-known files.

use protozero::Reader;
use protozero_codegen::{Source, descriptor_set};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder for one schema.
struct Place {
    folder: PathBuf,
    includes: Vec<PathBuf>,
}

impl Place {
    fn new(name: &str, include: &Path) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("descriptors").join(name);
        fs::create_dir_all(&folder).unwrap();
        Self { folder, includes: vec![include.to_owned(), known()] }
    }

    fn protoc(&self) -> Command {
        let mut protoc = Command::new(protoc_bin_vendored::protoc_bin_path().unwrap());
        for include in &self.includes {
            protoc.arg("-I").arg(include);
        }
        protoc
    }

    /// The set that `protoc` writes with these arguments.
    fn compiled(&self, name: &str, mut protoc: Command, files: &[String]) -> Vec<u8> {
        let out = self.folder.join(name);
        protoc.arg("--include_imports").arg("--descriptor_set_out").arg(&out).args(files);
        run(&mut protoc, &[]);
        fs::read(out).unwrap()
    }

    /// A set as text.
    fn text(&self, set: &[u8], files: &[String]) -> String {
        let mut protoc = self.protoc();
        protoc.arg("--decode=google.protobuf.FileDescriptorSet");
        protoc.arg("google/protobuf/descriptor.proto").args(files);
        run(&mut protoc, set)
    }
}

/// Where the official well-known files are.
fn known() -> PathBuf {
    protoc_bin_vendored::include_path().unwrap()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The standard output of a program for `input`.
fn run(command: &mut Command, input: &[u8]) -> String {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", output.status);
    writer.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The `.proto` files below a folder, by their paths in it.
fn protos(folder: &Path) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "proto") {
                found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The files of a set, by name: each is a field of it, and has its name in its first field.
fn files(set: &[u8]) -> BTreeMap<String, &[u8]> {
    let mut files = BTreeMap::new();
    let mut reader = Reader::new(set);
    while let Some(file) = reader.next_field().unwrap() {
        let mut fields = Reader::new(file.value.bytes().unwrap());
        let name = std::iter::from_fn(|| fields.next_field().unwrap()).find(|f| f.number == 1);
        let name = name.unwrap().value.string().unwrap().to_owned();
        assert!(files.insert(name, file.raw).is_none());
    }
    files
}

/// All files below `include`.
fn all(name: &str, include: &Path) {
    same(name, include, &protos(include));
}

/// These files below `include`.
fn same(name: &str, include: &Path, names: &[String]) {
    assert!(!names.is_empty());
    let place = Place::new(name, include);
    let theirs = place.compiled("theirs", place.protoc(), names);
    let source = |path: &String| {
        let folder = place.includes.iter().find(|folder| folder.join(path).is_file()).unwrap();
        Source { path: path.clone(), text: fs::read_to_string(folder.join(path)).unwrap() }
    };
    let sources: Vec<Source> = files(&theirs).keys().map(source).collect();
    let ours = descriptor_set(&sources).unwrap_or_else(|e| panic!("{name}: {e}"));
    let path = place.folder.join("ours");
    fs::write(&path, &ours).unwrap();
    let mut loads = Command::new(protoc_bin_vendored::protoc_bin_path().unwrap());
    loads.arg("--descriptor_set_in").arg(&path);
    let again = place.compiled("again", loads, names);

    let [ours, theirs, again] = [&ours, &theirs, &again].map(|set| files(set));
    let known = |files: &BTreeMap<String, &[u8]>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(known(&ours), known(&theirs), "{name}");
    let whole = |files: &BTreeMap<String, &[u8]>| {
        place.text(&files.values().copied().collect::<Vec<_>>().concat(), names)
    };
    let texts = [&ours, &theirs, &again].map(whole);
    for (other, who) in [(1, "protoc's"), (2, "what protoc makes of it")] {
        let mut lines = texts[0].lines().zip(texts[other].lines()).enumerate();
        if let Some((at, _)) = lines.find(|(_, (ours, theirs))| ours != theirs) {
            let near = |text: &str| {
                text.lines().skip(at.saturating_sub(12)).take(18).collect::<Vec<_>>().join("\n")
            };
            let (ours, theirs) = (near(&texts[0]), near(&texts[other]));
            panic!("{name}, line {at}:\nours\n{ours}\n\n{who}\n{theirs}");
        }
        assert_eq!(texts[0].len(), texts[other].len(), "{name}: {who}");
    }
}

#[test]
fn options_of_all_kinds() {
    let folder = repository().join("conformance/differential/protos");
    let options: Vec<String> =
        protos(&folder.join("options")).iter().map(|file| format!("options/{file}")).collect();
    assert_eq!(options.len(), 3);
    same("options", &folder, &options);
}

#[test]
fn constructs_of_all_kinds() {
    let folder = repository().join("conformance/differential/protos");
    // They share names.
    for file in protos(&folder).into_iter().filter(|file| !file.contains('/')) {
        same(&format!("constructs-{file}"), &folder, &[file]);
    }
}

#[test]
fn schemas_of_the_generators_tests() {
    let tests = repository().join("protozero-codegen/tests");
    all("cases", &tests.join("cases"));
    all("outside", &tests.join("outside/proto"));
}

#[test]
fn perfetto() {
    all("perfetto", &repository().join("protos"));
}
