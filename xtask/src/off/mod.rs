//! What the feature `off` of `tracing-sdk` leaves of call sites: nothing.
//!
//! The programs of `tracing-sdk/tests/call_sites` differ in their call sites only. With the feature, all their sections
//! have the same sizes, no symbol of ours is in them, and no argument is evaluated. Without it they differ, so that the
//! comparison is known to see call sites.

use crate::ctx::{Ctx, FEATURES};
use crate::{Outcome, machine};

const FOLDER: &str = "tracing-sdk/tests/call_sites";

/// Parts of the names of our functions and statics.
const OURS: [&str; 4] = ["tracing_sdk", "tracing_core", "protozero", "protos"];

/// What a program is made of.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// Names and bytes of its sections.
    sections: Vec<(String, u64)>,
    /// How many symbols are ours.
    ours: usize,
}

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    if !arguments.is_empty() {
        return Err("usage: off".to_owned());
    }
    machine::need(ctx, "size", "binutils")?;
    machine::need(ctx, "nm", "binutils")?;
    let plain = build(ctx, "plain", &["--features", "off"])?;
    let traced = build(ctx, "traced", &["--features", "off"])?;
    same(&plain, &traced)?;
    let printed = ctx.output(ctx.command(path(ctx, "traced")?).arg("16"))?;
    if printed != "Some(17)\n" {
        return Err(format!("with `off` a call site changed what the program does: {printed}"));
    }
    ctx.log(format_args!("call sites add no byte to {} sections", plain.sections.len()));
    if same(&plain, &build(ctx, "traced", &[])?).is_ok() {
        return Err("without `off` call sites add nothing either: the check sees none".to_owned());
    }

    // The examples, and the tests of what the API does then.
    let mut command = ctx.cargo();
    command.args(["test", "--workspace", "--examples", "--test", "off"]).args(FEATURES);
    ctx.run(command.args(["--features", "tracebox-sdk/off"]))
}

fn path(ctx: &Ctx, bin: &str) -> Result<std::path::PathBuf, String> {
    Ok(ctx.target("off")?.join("release").join(bin))
}

fn build(ctx: &Ctx, bin: &str, features: &[&str]) -> Result<Program, String> {
    let mut command = ctx.cargo();
    command
        .args(["build", "--release", "--manifest-path", &format!("{FOLDER}/Cargo.toml")])
        .args(["--bin", bin])
        .args(features)
        .env("CARGO_TARGET_DIR", ctx.target("off")?);
    ctx.output(&mut command)?;
    let program = path(ctx, bin)?;
    let sections = sections(&ctx.output(ctx.command("size").arg("-A").arg(&program))?)?;
    let symbols = ctx.output(ctx.command("nm").arg(&program))?;
    let is_ours = |line: &&str| OURS.iter().any(|name| line.contains(name));
    Ok(Program { sections, ours: symbols.lines().filter(is_ours).count() })
}

/// The sections that are loaded, in what `size -A` prints.
fn sections(table: &str) -> Result<Vec<(String, u64)>, String> {
    // The names of programs have different lengths, and notes have their hashes.
    let loaded = [".text", ".rodata", ".data.rel.ro", ".data", ".bss", ".tdata", ".tbss"];
    let section = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next().filter(|name| loaded.contains(name))?;
        Some((name.to_owned(), words.next()?.parse().ok()?))
    };
    let sections: Vec<_> = table.lines().filter_map(section).collect();
    match sections.iter().any(|(name, _)| name == ".text") {
        true => Ok(sections),
        false => Err("a program has no .text".to_owned()),
    }
}

fn same(plain: &Program, traced: &Program) -> Outcome {
    if traced.ours != 0 {
        return Err(format!("{} symbols of ours are in the program", traced.ours));
    }
    match plain.sections.iter().zip(&traced.sections).find(|(plain, traced)| plain != traced) {
        None if plain.sections.len() == traced.sections.len() => Ok(()),
        None => Err("call sites add a section".to_owned()),
        Some(((name, plain), (_, traced))) => {
            Err(format!("{name} has {traced} bytes with call sites, {plain} without"))
        }
    }
}

#[cfg(test)]
mod tests;
