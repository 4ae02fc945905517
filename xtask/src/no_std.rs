//! `protozero/tests/no_std` is a program with its own panic handler and no allocator, on the bare C
//! entry point. It proves more than `cargo check --no-default-features` can: with std anywhere in the
//! graph, two panic handlers would clash. Then it is run.
//!
//! The same program, and the one of `no-panic`, are linked for a machine without any operating system
//! as well. Its `core` is fetched if it is not installed; a machine that can have none fails.

use crate::ctx::{Ctx, Outcome};
use protozero_codegen::{ApiKinds, Config, Source, generate};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program, a workspace of its own.
pub const FOLDER: &str = "protozero/tests/no_std";

/// A Cortex-M4 with floats: 32 bits, no operating system, no atomics of 64 bits.
pub const BARE: &str = "thumbv7em-none-eabihf";

pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    let mut command = cargo(ctx, "build", &["--bin", "protozero-no-std"])?;
    ctx.run(&mut command)?;
    ctx.run(&mut ctx.command(program(ctx, "no_std", "protozero-no-std")?))?;
    need_bare(ctx)?;
    ctx.run(&mut cargo(ctx, "build", &["--bins", "--target", BARE])?)
}

/// Fetches the `core` of [`BARE`].
///
/// # Errors
/// It is not installed, and cannot be.
pub fn need_bare(ctx: &Ctx) -> Outcome {
    if !has_bare(ctx)? {
        let added = ctx.run(ctx.command("rustup").args(["target", "add", BARE]));
        if added.is_err() || !has_bare(ctx)? {
            return Err(format!(
                "no core for {BARE}, so nothing was linked for a bare machine: with a network, \
                 `rustup target add {BARE}` in this folder"
            ));
        }
    }
    Ok(())
}

/// Is the `core` of [`BARE`] installed?
fn has_bare(ctx: &Ctx) -> Result<bool, String> {
    let sysroot = ctx.output(ctx.command("rustc").args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(sysroot.trim()).join("lib/rustlib").join(BARE).join("lib").is_dir())
}

/// `cargo SUBCOMMAND --release` in the workspace of small machines, with its schema generated.
///
/// # Errors
/// The schema cannot be read, generated or written.
pub fn cargo(ctx: &Ctx, subcommand: &str, arguments: &[&str]) -> Result<Command, String> {
    cargo_in(ctx, &ctx.root().join(FOLDER), "no_std", subcommand, arguments)
}

/// The same in a copy of that workspace, with a folder below `target` of its own.
///
/// # Errors
/// As above.
pub fn cargo_in(
    ctx: &Ctx,
    folder: &Path,
    target: &str,
    subcommand: &str,
    arguments: &[&str],
) -> Result<Command, String> {
    let schema = ctx.target("no_std/schema")?;
    let text = crate::ctx::read(&ctx.root().join(FOLDER).join("kinds.proto"))?;
    let files = generate(&Config {
        sources: vec![Source { path: "kinds.proto".to_owned(), text }],
        api_kinds: ApiKinds { writer: true, reader: true, ..ApiKinds::default() },
        command: "cargo xtask no-std".to_owned(),
        root: "crate::schema".to_owned(),
        open_enums: true,
        generate_well_known: true,
        ..Config::default()
    });
    for file in files.map_err(|e| format!("{FOLDER}/{e}"))? {
        let path = schema.join(&file.path);
        // Only when it changed, or everything would be built again.
        if std::fs::read_to_string(&path).is_ok_and(|old| old == file.text) {
            continue;
        }
        let folder = path.parent().unwrap_or(&schema);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, file.text))
            .map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let mut command = ctx.cargo();
    command
        .args([subcommand, "--release", "--manifest-path"])
        .arg(folder.join("Cargo.toml"))
        .args(arguments)
        .env("CARGO_TARGET_DIR", ctx.target(target)?)
        .env("PROTOZERO_KINDS", schema);
    Ok(command)
}

/// A program built there.
///
/// # Errors
/// There is no such folder and it cannot be made.
pub fn program(ctx: &Ctx, target: &str, name: &str) -> Result<PathBuf, String> {
    Ok(ctx.target(&format!("{target}/release"))?.join(name))
}
