//! The other side: C++ programs from Debian, the official schema from the Python index.
//!
//! Both come from the mirrors that this machine is configured with and are stored below `target/`; the system is
//! not changed. Debian has Perfetto only in its newest suite, so the programs get
//! the C library of a matching suite and are started through that library's own loader.

use crate::ctx::{Ctx, Outcome, read};
use crate::machine;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The suite with the programs, the suite with the libraries they run on, and what to take of each.
const SUITES: &[(&str, &[&str])] =
    &[("sid", &["perfetto"]), ("trixie", &["libc6", "libstdc++6", "libgcc-s1", "zlib1g"])];

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Name of the program, where the package has it.
const PROGRAMS: &[(&str, &str)] = &[
    ("perfetto", "usr/bin/perfetto"),
    ("traced", "usr/sbin/traced"),
    ("traced_probes", "usr/sbin/traced_probes"),
];

/// The folder with `traced`, `traced_probes` and `perfetto`; fetched at the first call.
///
/// # Errors
/// No Debian tools, no mirror, or a package that cannot be had.
pub fn programs(ctx: &Ctx) -> Result<PathBuf, String> {
    // Two steps of `ci` need them, and may run at the same time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = ctx.target("peer")?;
    let bin = folder.join("bin");
    // Written last, so that a run that was interrupted starts again.
    let done = folder.join("complete");
    if done.exists() {
        return Ok(bin);
    }
    for tool in ["apt-get", "dpkg-deb"] {
        if !machine::has(tool) {
            return Err(format!("the C++ peer comes from Debian packages, but there is no {tool}"));
        }
    }
    let debs = folder.join("debs");
    for place in [&bin, &debs, &folder.join("state/lists/partial"), &folder.join("cache")] {
        std::fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
    }
    download(ctx, &folder, &debs)?;
    unpack(ctx, &folder, &debs)?;
    for (name, path) in PROGRAMS {
        launcher(&bin.join(name), path)?;
    }
    ctx.run(ctx.command(bin.join("perfetto")).arg("--version"))?;
    std::fs::write(&done, "").map_err(|e| format!("{}: {e}", done.display()))?;
    Ok(bin)
}

/// A private apt, with its own lists and cache, that still checks signatures.
fn download(ctx: &Ctx, folder: &Path, debs: &Path) -> Outcome {
    let mirror = mirror();
    let mut sources = String::new();
    let mut wanted = Vec::new();
    for (suite, packages) in SUITES {
        // Writing to a string cannot fail.
        let _ = writeln!(sources, "deb [signed-by={KEYRING}] {mirror} {suite} main");
        wanted.extend(packages.iter().map(|package| format!("{package}/{suite}")));
    }
    let list = folder.join("sources.list");
    std::fs::write(&list, sources).map_err(|e| format!("{}: {e}", list.display()))?;
    let apt = || {
        let mut command = ctx.command("apt-get");
        for (key, path) in [
            ("Dir::Etc::sourcelist", list.as_path()),
            ("Dir::Etc::sourceparts", Path::new("-")),
            ("Dir::State::Lists", &folder.join("state/lists")),
            ("Dir::Cache", &folder.join("cache")),
        ] {
            command.arg("-o").arg(format!("{key}={}", path.display()));
        }
        // As root apt would otherwise fetch as a user who may not write here.
        command.args(["-o", "APT::Sandbox::User=root", "-qq"]);
        command
    };
    ctx.run(apt().arg("update"))?;
    ctx.run(apt().arg("download").args(&wanted).current_dir(debs))
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

fn unpack(ctx: &Ctx, folder: &Path, debs: &Path) -> Outcome {
    let entries = std::fs::read_dir(debs).map_err(|e| format!("{}: {e}", debs.display()))?;
    for path in entries.flatten().map(|e| e.path()) {
        if path.extension().is_some_and(|e| e == "deb") {
            ctx.run(ctx.command("dpkg-deb").arg("-x").arg(&path).arg(folder.join("root")))?;
        }
    }
    Ok(())
}

/// A script beside the tree that starts `path` of it with its own loader and libraries.
fn launcher(script: &Path, path: &str) -> Outcome {
    use std::os::unix::fs::PermissionsExt as _;
    let text = format!(
        "#!/bin/sh\nroot=$(dirname \"$0\")/../root\nlib=$root/usr/lib/x86_64-linux-gnu\n\
         exec \"$lib/ld-linux-x86-64.so.2\" --library-path \"$lib:$root/usr/lib/perfetto\" \
         \"$root/{path}\" \"$@\"\n"
    );
    let failed = |e| format!("{}: {e}", script.display());
    std::fs::write(script, text).map_err(failed)?;
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).map_err(failed)
}

/// A foreign program, to be started with the loader and the libraries of the peer.
///
/// # Errors
/// As [`programs`].
pub fn with_libraries(ctx: &Ctx, program: &Path) -> Result<Command, String> {
    let libraries = programs(ctx)?.with_file_name("root").join("usr/lib/x86_64-linux-gnu");
    let mut command = ctx.command(libraries.join("ld-linux-x86-64.so.2"));
    command.arg("--library-path").arg(&libraries).arg(program);
    Ok(command)
}

/// A Python that has the official schema; made at the first call.
///
/// # Errors
/// No Python, or no package.
pub fn python(ctx: &Ctx) -> Result<PathBuf, String> {
    let folder = ctx.target("venv")?;
    let python = folder.join("bin/python");
    let done = folder.join("complete with zstandard");
    if done.exists() {
        return Ok(python);
    }
    machine::need(ctx, "python3", "python3")?;
    let make =
        |ctx: &Ctx| ctx.run(ctx.command("python3").args(["-m", "venv", "--clear"]).arg(&folder));
    // Debian splits venv from Python.
    if make(ctx).is_err() {
        machine::install(ctx, &["python3-venv"])?;
        make(ctx)?;
    }
    let mut pip = ctx.command(&python);
    ctx.run(pip.args(["-m", "pip", "install", "--quiet", "perfetto", "protobuf", "zstandard"]))?;
    ctx.run(ctx.command(&python).args([
        "-c",
        "import perfetto.protos.perfetto.trace.perfetto_trace_pb2 as schema; schema.Trace()",
    ]))?;
    std::fs::write(&done, "").map_err(|e| format!("{}: {e}", done.display()))?;
    Ok(python)
}
