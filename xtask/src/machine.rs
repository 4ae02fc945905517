//! Tools other than Rust. As root on Debian they are installed; otherwise the error says what to install.

use crate::ctx::{Ctx, Outcome};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Is there a program of that name in PATH?
pub fn has(program: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else { return false };
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// # Errors
/// The user's id cannot be read.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

/// Makes sure of `program`, from the Debian package `package`.
///
/// # Errors
/// It is missing and cannot be installed.
pub fn need(ctx: &Ctx, program: &str, package: &str) -> Outcome {
    if has(program) {
        return Ok(());
    }
    install(ctx, &[package])?;
    if has(program) { Ok(()) } else { Err(format!("package {package} brought no `{program}`")) }
}

/// Installs Debian packages.
///
/// # Errors
/// Not root, not Debian, or apt failed.
pub fn install(ctx: &Ctx, packages: &[&str]) -> Outcome {
    // apt refuses to run twice at a time, and steps of `ci` do.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let list = packages.join(" ");
    if !is_root() || !has("apt-get") {
        return Err(format!("missing on this machine: {list} (apt-get install {list})"));
    }
    let apt = |arguments: &[&str]| {
        let mut command = ctx.command("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq").args(arguments);
        ctx.run(&mut command)
    };
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(packages);
    // Fresh images have no package lists, old ones have stale lists: one retry after an update.
    if apt(&arguments).is_ok() {
        return Ok(());
    }
    apt(&["update"])?;
    apt(&arguments)
}

pub const TRACEFS: &str = "/sys/kernel/tracing";

/// The folder of tracefs, mounted when missing.
///
/// # Errors
/// There is none and we cannot mount it.
pub fn tracefs(ctx: &Ctx) -> Outcome {
    let folder = Path::new(TRACEFS);
    if folder.join("trace_marker").exists() {
        return Ok(());
    }
    if !is_root() {
        return Err(format!("ftrace needs root and tracefs at {TRACEFS}"));
    }
    ctx.run(ctx.command("mount").args(["-t", "tracefs", "tracefs"]).arg(folder))
        .map_err(|e| format!("no tracefs on this machine: {e}"))
}

/// Waits until no other test on this machine uses tracefs, and keeps others away until the file is dropped. Tests of
/// `tracing-probes` take the same lock.
///
/// # Errors
/// The folder cannot be opened or locked.
pub fn tracefs_alone() -> Result<std::fs::File, String> {
    let failed = |e| format!("tracefs at {TRACEFS} cannot be locked: {e}");
    let folder = std::fs::File::open(TRACEFS).map_err(failed)?;
    folder.lock().map_err(failed)?;
    Ok(folder)
}
