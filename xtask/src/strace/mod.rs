//! Whether the loop of the daemon can wait for anything but its next event: its system calls, as `strace` sees them.
//!
//! ```text
//!   tests of the programs ──┐
//!                           ├──> traced under strace ──> a log for each thread ──> the loop's ──> allowed?
//!   hostile users ──────────┘
//! ```
//!
//! The loop's thread is the one that waits in `epoll`. Between its first and its last wait each of its calls must be
//! one of [`allowed`]: calls that return at once, whatever peers and disks do. All others belong to other threads.

mod allowed;
mod check;
mod line;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::ctx::{Ctx, Outcome, read};
use crate::interop::{fresh, tests_called, wait_until};
use crate::{load, machine};
use allowed::Mapped;
use check::Report;

/// Modules of `tracebox/tests/it` with services that record, clone, wait for triggers, tell their state, and lose
/// programs.
const TESTS: [&str; 9] = [
    "daemon::",
    "ledger::",
    "outputs::",
    "processes::",
    "sessions::",
    "snapshots::",
    "strict::",
    "tools::",
    "triggers::",
];

/// How long the hostile users have, in seconds. Each call of the daemon takes long here.
const SIEGE: [&str; 4] = ["--short", "--untimed", "--seconds", "6"];

/// Runs the tests and the hostile users with a `traced` under `strace`, and checks its calls.
///
/// # Errors
/// There is no `strace`, it may not trace, a test fails, or the loop makes a call that may wait.
pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    match arguments {
        [] => {}
        [flag] if flag == "--list" => {
            allowed::list().for_each(|line| ctx.log(line));
            return Ok(());
        }
        _ => return Err("usage: strace [--list]".to_owned()),
    }
    machine::need(ctx, "strace", "strace")?;
    ctx.build_workspace()?;
    let folder = fresh(&ctx.target("strace")?)?;
    let (tests, siege) = (folder.join("tests"), folder.join("siege"));
    let traced = wrapper(ctx, &tests)?;
    let mut command = tests_called(ctx, "it");
    ctx.run(command.arg("--").args(TESTS).env("TRACED_UNDER_TEST", traced))?;
    let mut report = reports(&tests)?;

    let traced = wrapper(ctx, &siege)?;
    load::siege_of(ctx, &traced, &SIEGE.map(str::to_owned))?;
    report.add(reports(&siege)?);
    report.verdict()?;

    let missing: Vec<&str> = allowed::needed_calls().filter(|name| !report.saw(name)).collect();
    if !missing.is_empty() {
        return Err(format!("not seen, so not checked: {}", missing.join(", ")));
    }
    if report.memory_of_peers == 0 {
        return Err("no thread mapped memory of a peer: munmap was not checked".to_owned());
    }
    ctx.log(format_args!("{} calls in {} turns", report.calls, report.turns));
    Ok(())
}

/// A program that is `traced` under `strace`, with the process id of `traced`. Each thread has a log in `folder`.
fn wrapper(ctx: &Ctx, folder: &Path) -> Result<PathBuf, String> {
    let folder = fresh(folder)?;
    let failed = |e| format!("{}: {e}", folder.display());
    let traced = ctx.root().join("target/debug/traced");
    let (logs, path) = (folder.join("log"), folder.join("traced"));
    // `nohup` makes all its descendants ignore SIGHUP, and tests send it. -D: strace is no parent. -ff: a log for
    // each thread. -y: the files of descriptors.
    let script = format!(
        "#!/bin/sh\nexec env --default-signal=HUP strace -q -D -ff -y -s 16 -o '{}'.$$ '{}' --unconfined \"$@\"\n",
        logs.display(),
        traced.display()
    );
    let mut file = File::create(&path).map_err(failed)?;
    file.write_all(script.as_bytes()).map_err(failed)?;
    let executable = std::fs::Permissions::from_mode(0o755);
    file.set_permissions(executable).map_err(failed)?;
    Ok(path)
}

/// The sum of the loops whose logs are in `folder`.
fn reports(folder: &Path) -> Result<Report, String> {
    let failed = |e| format!("{}: {e}", folder.display());
    // By the process.
    let mut threads: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let process = name.strip_prefix("log.").and_then(|rest| rest.split('.').next());
        if let Some(process) = process {
            threads.entry(process.to_owned()).or_default().push(path);
        }
    }
    let mut sum = Report::default();
    for (process, logs) in threads {
        for log in &logs {
            // The process of strace may be a little later than that of traced.
            wait_until("strace", || is_whole(log))?;
        }
        let texts: Vec<String> = logs.iter().map(|log| read(log)).collect::<Result<_, _>>()?;
        let mut memory = Mapped::default();
        texts.iter().for_each(|text| memory.add(text));
        let mut loops = 0;
        for (log, text) in logs.iter().zip(&texts) {
            match check::check(text, &memory).map_err(|e| at(log, &e))? {
                Some(report) => {
                    loops += 1;
                    sum.add(report);
                }
                None => sum.memory_of_peers += Mapped::of(text).shared().len(),
            }
        }
        // A daemon that cannot start has none.
        if loops > 1 {
            return Err(format!("process {process}: {loops} threads wait for events"));
        }
    }
    if sum.turns == 0 { Err("strace saw no loop".to_owned()) } else { Ok(sum) }
}

fn at(log: &Path, error: &str) -> String {
    format!("{}: {error}", log.display())
}

/// Whether the log tells the end of its thread.
fn is_whole(log: &Path) -> Result<bool, String> {
    let failed = |e| format!("{}: {e}", log.display());
    let mut file = File::open(log).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(100))).map_err(failed)?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).map_err(failed)?;
    Ok(String::from_utf8_lossy(&end).contains("+++ "))
}
