//! Manual pages and completions for packages. They are made by `tracebox` from what it reads its command
//! line with, so they are not committed: nothing could be out of date.

use crate::ctx::{Ctx, Outcome};
use std::path::{Path, PathBuf};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Writes all manual pages.
///
/// # Errors
/// tracebox does not build, or the folder cannot be written.
pub fn man(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let folder = folder(ctx, arguments, "man")?;
    tracebox(ctx, &["man"], &folder)?;
    ctx.log(folder.display());
    Ok(())
}

/// Writes the completions of all programs, a folder for each shell.
///
/// # Errors
/// As [`man`].
pub fn completions(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let folder = folder(ctx, arguments, "completions")?;
    for shell in SHELLS {
        tracebox(ctx, &["completions", shell], &folder.join(shell))?;
    }
    ctx.log(folder.display());
    Ok(())
}

fn folder(ctx: &Ctx, arguments: &[String], name: &str) -> Result<PathBuf, String> {
    ctx.build_workspace()?;
    match arguments {
        [] => ctx.target(name),
        [folder] if !folder.starts_with('-') => {
            std::path::absolute(folder).map_err(|e| format!("{folder}: {e}"))
        }
        _ => Err(format!("usage: {name} [DIRECTORY]")),
    }
}

fn tracebox(ctx: &Ctx, words: &[&str], folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let program = ctx.root().join("target/debug/tracebox");
    ctx.run(ctx.command(program).args(words).arg("--all").arg(folder))
}
