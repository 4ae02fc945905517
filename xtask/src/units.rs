//! The systemd units that `tracebox install-units` writes, as systemd itself judges them.

use crate::ctx::{Ctx, Outcome};
use crate::machine;

const SERVICES: [&str; 2] = ["traced.service", "traced-probes.service"];
const SOCKETS: [&str; 2] = ["traced-producer.socket", "traced-consumer.socket"];

/// The highest exposure that a service may have, in tenths: systemd calls what is below 5.0 safe or ok.
const EXPOSURE_MAX: &str = "20";
/// The same if `traced_probes` records the kernel, as root.
const KERNEL_EXPOSURE_MAX: &str = "25";

/// Installs the units into a folder, and lets `systemd-analyze` check them; with the rights to record the kernel, and
/// without.
///
/// # Errors
/// A unit is not valid or not hardened, or there is no `systemd-analyze`.
pub fn run(ctx: &Ctx, _arguments: &[String]) -> Outcome {
    machine::need(ctx, "systemd-analyze", "systemd")?;
    ctx.build_workspace()?;
    check(ctx, &["--kernel"], KERNEL_EXPOSURE_MAX)?;
    check(ctx, &[], EXPOSURE_MAX)
}

/// Installs with these options: no service may be more exposed than that.
fn check(ctx: &Ctx, options: &[&str], exposure_max: &str) -> Outcome {
    let root = ctx.target("units")?;
    let tracebox = ctx.root().join("target/debug/tracebox");
    let mut install = ctx.command(&tracebox);
    // A program that the units see, wherever this checkout is: verification looks whether it is there.
    install.arg("install-units").arg("--root").arg(&root).args(["--program", "/usr/bin/true"]);
    ctx.run(install.args(options))?;
    let folder = root.join("etc/systemd/system");
    let mut verify = ctx.command("systemd-analyze");
    // The manual pages that the units name are not installed here.
    verify.args(["verify", "--man=no"]);
    verify.args(SERVICES.iter().chain(&SOCKETS).map(|unit| folder.join(unit)));
    // What systemd ignores, such as a misspelt key, is only a line on stderr.
    let output = verify.output().map_err(|error| format!("systemd-analyze: {error}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !told.is_empty() {
        return Err(format!("systemd-analyze verify: {told}"));
    }
    for service in SERVICES {
        let mut security = ctx.command("systemd-analyze");
        security.args(["security", "--no-pager", "--offline=true", "--threshold", exposure_max]);
        ctx.run(security.arg(folder.join(service)))?;
    }
    Ok(())
}
