//! Events of the kernel on the kernels of Debian's releases, each in a virtual machine.
//!
//! ```text
//! package of the release ── vmlinuz ─┐
//!                                    ├─ qemu ── init.sh: starts once more, then runs the tests ── its console: our log
//! tests, tracebox, busybox ── image ─┘          the first start leaves a ring in memory
//! ```
//!
//! The kernel of the machine that runs the tests may have no function graph, no kprobes and no ring that survives a
//! reboot, and it is one version of many. The processors of a guest are emulated, so this needs no rights and no
//! special hardware. One thread emulates all of them in turn: with a thread for each, a processor may run code in the
//! form that it had before another processor patched it.

mod image;

use crate::ctx::{Ctx, Outcome};
use crate::debian::{self, Apt};
use crate::machine;
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// A release of Debian, and what its kernel cannot do.
struct Release {
    suite: &'static str,
    /// Tests that tell that they cannot run there.
    skips: &'static [&'static str],
    /// What the kernel is started with beside the rest.
    parameters: &'static str,
}

const REBOOT: &str = "a_ring_that_survived_a_reboot_is_recorded_once";

/// A ring at an address that the next start finds again.
const RING: &str = "nokaslr reserve_mem=20M:4096:trace trace_instance=boot_map^traceoff@trace";

/// Linux 6.1 and 6.12.
const RELEASES: &[Release] = &[
    Release { suite: "bookworm", skips: &["a_ring_is_read_when_it_fills", REBOOT], parameters: "" },
    Release { suite: "trixie", skips: &[], parameters: RING },
];

/// The one that is being made. Its kernel changes, so it is tested if somebody asks for it.
const NEXT: Release = Release { suite: "sid", skips: &[], parameters: RING };

/// What the guest prints at the end, if all was well.
const PASSED: &str = "kernels: passed";

/// A guest that hangs is ended. It needs one to three minutes.
const TIMEOUT: Duration = Duration::from_secs(1200);

/// # Errors
/// A test fails in one of the kernels, or cannot run where it should; or what is needed cannot be had.
pub fn run(ctx: &Ctx, suites: &[String]) -> Outcome {
    let known = || RELEASES.iter().chain([&NEXT]);
    let named = |suite: &String| {
        let names = || known().map(|r| r.suite).collect::<Vec<_>>().join(", ");
        let found = known().find(|release| release.suite == suite.as_str());
        found.ok_or_else(|| format!("no release `{suite}`; there are {}", names()))
    };
    let releases: Vec<&'static Release> = match suites {
        [] => RELEASES.iter().collect(),
        _ => suites.iter().map(named).collect::<Result<_, _>>()?,
    };
    if std::env::consts::ARCH != "x86_64" {
        return Err(
            "guests are x86-64, and run programs of this machine: this needs such a one".to_owned()
        );
    }
    machine::need(ctx, "qemu-system-x86_64", "qemu-system-x86")?;
    machine::need(ctx, "cpio", "cpio")?;
    machine::need(ctx, "busybox", "busybox-static")?;
    let image = image::make(ctx)?;
    // Each guest takes one thread of this machine.
    let consoles: Vec<Result<String, String>> = std::thread::scope(|scope| {
        let start = |release: &&'static Release| {
            let (release, image) = (*release, &image);
            scope.spawn(move || test(ctx, release, image))
        };
        let running: Vec<_> = releases.iter().map(start).collect();
        let end =
            |guest: ScopedJoinHandle<'_, _>| guest.join().map_err(|_| "a panic".to_owned())?;
        running.into_iter().map(end).collect()
    });
    let mut failures = Vec::new();
    for (release, console) in releases.iter().zip(consoles) {
        let judged = console.and_then(|console| judge(release, &console));
        failures.extend(judged.err().map(|error| format!("{}: {error}", release.suite)));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// What the console of a guest shows, from its start to its end.
fn test(ctx: &Ctx, release: &Release, image: &Path) -> Result<String, String> {
    let kernel = kernel(ctx, release.suite)?;
    let console = kernel.with_file_name("console");
    // With a process group of its own it would outlive Ctrl-C.
    let mut command = ctx.command("timeout");
    command.args(["--foreground", "--kill-after=10", &TIMEOUT.as_secs().to_string()]);
    command.args(["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", "2"]);
    command.args(["-m", "3072", "-display", "none", "-monitor", "none"]);
    command.arg("-serial").arg(format!("file:{}", console.display()));
    command.arg("-kernel").arg(kernel).arg("-initrd").arg(image);
    let parameters = format!("console=ttyS0 quiet panic=1 {}", release.parameters);
    let ended = ctx.run(command.arg("-append").arg(parameters));
    let text = std::fs::read(&console).map_err(|e| format!("{}: {e}", console.display()))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    // What is skipped in a guest is not skipped on this machine.
    text.lines().for_each(|line| ctx.log(format_args!("{}| {line}", release.suite)));
    ended.map(|()| text)
}

/// # Errors
/// What is missing on the console, or too much.
fn judge(release: &Release, console: &str) -> Outcome {
    let skipped = console.lines().filter_map(|line| line.strip_prefix("SKIPPED "));
    let mut skipped: Vec<&str> = skipped.filter_map(|line| line.split([':', ' ']).next()).collect();
    skipped.sort_unstable();
    if !console.lines().any(|line| line.trim_end() == PASSED) {
        return Err("tests fail; see its console".to_owned());
    }
    let mut expected = release.skips.to_vec();
    expected.sort_unstable();
    if skipped != expected {
        return Err(format!("{skipped:?} are skipped, and not {expected:?}"));
    }
    Ok(())
}

/// The kernel of a release. It is fetched at the first call; that of the next release each time.
fn kernel(ctx: &Ctx, suite: &str) -> Result<PathBuf, String> {
    let folder = ctx.target(&format!("kernels/{suite}"))?;
    let kernel = folder.join("vmlinuz");
    if kernel.exists() && suite != NEXT.suite {
        return Ok(kernel);
    }
    let apt = Apt::new(ctx, &folder, &[suite])?;
    // `linux-image-amd64` depends on the package of the newest kernel. In older releases that has `vmlinuz`; in newer
    // ones it depends on `linux-binary-*`, which has it.
    let of = |packages: Vec<String>, prefix: &str| {
        packages.into_iter().find(|name| name.starts_with(prefix) && name.ends_with("-amd64"))
    };
    let image = of(apt.depends("linux-image-amd64")?, "linux-image-");
    let image = image.ok_or_else(|| format!("{suite} has no package linux-image-amd64"))?;
    let program = of(apt.depends(&image)?, "linux-binary-").unwrap_or(image);
    let root = folder.join("root");
    apt.unpack(&[program], &root)?;
    let found = find(&root.join("boot")).or_else(|| {
        let modules = std::fs::read_dir(root.join("usr/lib/modules")).ok()?;
        modules.flatten().find_map(|version| find(&version.path()))
    });
    let found = found.ok_or_else(|| format!("the package of {suite} has no vmlinuz"))?;
    std::fs::rename(&found, &kernel).map_err(|e| format!("{}: {e}", found.display()))?;
    // Modules are hundreds of megabytes.
    debian::remove(&root)?;
    Ok(kernel)
}

fn find(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let is_kernel = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz"))
    };
    files.into_iter().find(is_kernel)
}
