//! What a guest starts with: the tests and `tracebox`, the libraries they need, and a shell.

use crate::ctx::{Ctx, FEATURES, Outcome};
use crate::debian;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The first program of the guest.
const INIT: &str = include_str!("init.sh");

/// Makes the image.
///
/// # Errors
/// The programs do not compile, or the image cannot be written.
pub fn make(ctx: &Ctx) -> Result<PathBuf, String> {
    let programs = build(ctx)?;
    let folder = ctx.target("kernels")?;
    let root = folder.join("root");
    debian::remove(&root)?;
    for place in ["bin", "dev", "proc", "run", "sys", "tmp"] {
        let place = root.join(place);
        std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    }
    let busybox = ctx.output(ctx.command("sh").args(["-c", "command -v busybox"]))?;
    let busybox = Path::new(busybox.trim());
    // It says so of a program that loads nothing.
    if ctx.output(ctx.command("ldd").arg(busybox)).is_ok() {
        return Err("busybox loads libraries here: install busybox-static".to_owned());
    }
    copy(busybox, &root.join("bin/busybox"))?;
    let init = root.join("init");
    std::fs::write(&init, INIT).map_err(|e| format!("{}: {e}", init.display()))?;
    ctx.run(ctx.command("chmod").arg("755").arg(&init))?;
    for (name, program) in &programs {
        let target = root.join("bin").join(name);
        copy(program, &target)?;
        ctx.run(ctx.command("strip").arg("--strip-debug").arg(&target))?;
    }
    for library in libraries(ctx, &programs)? {
        let target = root.join(library.strip_prefix("/").unwrap_or(&library));
        if let Some(place) = target.parent() {
            std::fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
        }
        copy(&library, &target)?;
    }
    let image = folder.join("image");
    let pack =
        "cd \"$1\" && find . > ../list && cpio --create --format=newc --quiet < ../list > \"$2\"";
    ctx.run(ctx.command("sh").args(["-c", pack, "sh"]).arg(&root).arg(&image))?;
    Ok(image)
}

/// The tests of the probes, as `it`, and `tracebox`.
fn build(ctx: &Ctx) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let built = |arguments: &[&str], target: &str| {
        let mut command = ctx.cargo();
        // The selection is that of the tests, so that nothing is built twice.
        command.args(arguments).arg("--workspace").args(FEATURES);
        let messages = ctx.output(command.arg("--message-format=json-render-diagnostics"))?;
        let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let program = messages.filter(|message| {
            let manifest = message["manifest_path"].as_str().unwrap_or_default();
            message["target"]["name"] == target
                && (target != "it" || manifest.ends_with("/tracing-probes/Cargo.toml"))
        });
        let mut paths = program.filter_map(|m| m["executable"].as_str().map(PathBuf::from));
        paths.next().ok_or_else(|| format!("cargo built no {target}"))
    };
    Ok(vec![
        ("it", built(&["test", "--no-run", "--test", "it"], "it")?),
        ("tracebox", built(&["build", "--bins"], "tracebox")?),
    ])
}

/// What the programs load.
fn libraries(ctx: &Ctx, programs: &[(&str, PathBuf)]) -> Result<BTreeSet<PathBuf>, String> {
    let mut libraries = BTreeSet::new();
    for (_, program) in programs {
        let text = ctx.output(ctx.command("ldd").arg(program))?;
        let paths = text.split_whitespace().filter(|word| word.starts_with('/'));
        libraries.extend(paths.map(PathBuf::from));
    }
    Ok(libraries)
}

fn copy(from: &Path, to: &Path) -> Outcome {
    std::fs::copy(from, to).map(drop).map_err(|e| format!("{}: {e}", from.display()))
}
