//! The other side: C++ programs from Debian, the official schema from the Python index.
//!
//! Both come from the mirrors that this machine is configured with and are stored below `target/`; the system is
//! not changed. Debian has Perfetto only in its newest suite, so the programs get
//! the C library of a matching suite and are started through that library's own loader.

use crate::ctx::{Ctx, Outcome};
use crate::debian::Apt;
use crate::machine;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The suite with the programs, the suite with the libraries they run on, and what to take of each.
const SUITES: [(&str, &[&str]); 2] =
    [("sid", &["perfetto"]), ("trixie", &["libc6", "libstdc++6", "libgcc-s1", "zlib1g"])];

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
    std::fs::create_dir_all(&bin).map_err(|e| format!("{}: {e}", bin.display()))?;
    let apt = Apt::new(ctx, &folder, &SUITES.map(|(suite, _)| suite))?;
    let packages = SUITES
        .iter()
        .flat_map(|(suite, names)| names.iter().map(move |name| format!("{name}/{suite}")));
    apt.unpack(&packages.collect::<Vec<_>>(), &folder.join("root"))?;
    for (name, path) in PROGRAMS {
        launcher(&bin.join(name), path)?;
    }
    ctx.run(ctx.command(bin.join("perfetto")).arg("--version"))?;
    std::fs::write(&done, "").map_err(|e| format!("{}: {e}", done.display()))?;
    Ok(bin)
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
