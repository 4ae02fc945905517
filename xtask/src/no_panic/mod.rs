//! A proof by the linker that code cannot panic, whatever its inputs and buffers are: reader, rewriter and all writers
//! of protozero that need no allocator, and the arithmetic of `abi` (frames, pages, chunks, fragments, patches).
//!
//! Each of [`PROGRAMS`] has a panic handler that calls a function which does
//! not exist. The linker drops what nothing reaches. If it still misses the function, a panic can be
//! reached, and the same program is linked once more with that function: its machine code shows which
//! function calls which, its line table where.
//!
//! To show that the proof can fail, the command also links copies of the libraries with a panic in every public
//! function ([`mutate`]); all of them must be found.
//!
//! It holds for builds as these: with link-time optimisation, at each level of optimisation, on x86-64 and on
//! a Cortex-M4 ([`BUILDS`]). The program of `abi` checks each sum for overflow, so that an overflow is a panic
//! too, and is linked as it is shipped; that of protozero does not check sums. Levels 1 and z do not show it of
//! `wire::write::Prefix`, which by its documentation panics if its array is too short.
//! `FrameReader` is not in it: it needs an allocator, and so may panic when memory ends.

mod mutate;

use crate::ctx::Ctx;
use crate::{Outcome, machine, no_std};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The function that does not exist.
const MISSING: &str = "a_panic_can_be_reached";

/// How a program is built.
#[derive(Clone, Copy)]
struct Build {
    opt_level: &'static str,
    /// For a machine without operating system.
    bare: bool,
}

/// As programs are shipped.
const SHIPPED: Build = Build { opt_level: "3", bare: false };

/// All ways in which protozero is linked. At level 0 nothing is dropped, so nothing can be proved.
const BUILDS: &[Build] = &[
    SHIPPED,
    Build { opt_level: "2", bare: false },
    Build { opt_level: "1", bare: false },
    Build { opt_level: "s", bare: false },
    Build { opt_level: "z", bare: false },
    Build { opt_level: "3", bare: true },
    Build { opt_level: "2", bare: true },
    Build { opt_level: "1", bare: true },
    Build { opt_level: "s", bare: true },
    Build { opt_level: "z", bare: true },
];

/// A program that can be linked only if it cannot panic.
struct Program {
    /// Its workspace.
    folder: &'static str,
    name: &'static str,
    /// With each of these features it is linked.
    features: &'static [&'static str],
    builds: &'static [Build],
    /// Makes a copy of it and of its library that panics everywhere.
    mutate: fn(&Ctx) -> Result<mutate::Copy, String>,
}

const PROGRAMS: [Program; 2] = [
    Program {
        folder: no_std::FOLDER,
        name: "no_panic",
        features: &["", "small"],
        builds: BUILDS,
        mutate: mutate::Copy::of_protozero,
    },
    Program {
        folder: mutate::ABI_FOLDER,
        name: "tracing-core-no-panic",
        features: &[""],
        builds: &[SHIPPED],
        mutate: mutate::Copy::of_abi,
    },
];

/// How names of our crates in these programs begin.
const OURS: [&str; 2] = ["protozero", "tracing_core_no_panic"];

/// `--short`: only as programs are shipped.
pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let is_short = match arguments {
        [] => false,
        [flag] if flag == "--short" => true,
        _ => return Err("usage: no-panic [--short]".to_owned()),
    };
    machine::need(ctx, "objdump", "binutils")?;
    if !is_short {
        no_std::need_bare(ctx)?;
    }
    let mut count = 0;
    for proof in &PROGRAMS {
        prove(ctx, proof, if is_short { &[SHIPPED] } else { proof.builds })?;
        count += inserted(ctx, proof)?;
    }
    ctx.log(format!("no panic can be reached; of {count} inserted for a test all were found"));
    Ok(())
}

fn prove(ctx: &Ctx, proof: &Program, builds: &[Build]) -> Outcome {
    let ours = ctx.root().join(proof.folder);
    let mut found = String::new();
    for (build, feature) in
        builds.iter().flat_map(|build| proof.features.iter().map(move |f| (*build, *f)))
    {
        let Some(panics) = find(ctx, &ours, proof.name, "no_std", feature, build)? else {
            continue;
        };
        let program = program(ctx, "no_std", proof.name, build)?;
        let (name, level) = (proof.name, build.opt_level);
        let machine = if build.bare { no_std::BARE } else { "this machine" };
        found += &format!("{name}, features `{feature}`, opt-level {level}, {machine}:\n");
        for (function, address) in panics {
            let lines = lines(ctx, &program, &address)?;
            found += &format!("  {function}\n{lines}");
        }
    }
    if found.is_empty() { Ok(()) } else { Err(format!("a panic can be reached\n{found}")) }
}

/// The program that was built.
fn program(ctx: &Ctx, target: &str, name: &str, how: Build) -> Result<PathBuf, String> {
    match how.bare {
        true => Ok(ctx.target(&format!("{target}/{}/release", no_std::BARE))?.join(name)),
        false => no_std::program(ctx, target, name),
    }
}

/// Inserts panics, and checks that all are found. Returns how many.
fn inserted(ctx: &Ctx, proof: &Program) -> Result<usize, String> {
    let copy = (proof.mutate)(ctx)?;
    let panics = find(ctx, &copy.folder, proof.name, "no_panic", "", SHIPPED)?.unwrap_or_default();
    let found: BTreeSet<&str> =
        panics.iter().filter_map(|(function, _)| function.rsplit("::at_").next()).collect();
    let places = copy.places.iter().enumerate();
    let missed: Vec<&str> = places
        .filter(|(at, _)| !found.contains(at.to_string().as_str()))
        .map(|(_, place)| place)
        .chain(&copy.unnamed)
        .map(String::as_str)
        .collect();
    match missed[..] {
        [] => Ok(copy.places.len()),
        _ => Err(format!("{} never runs\n  {}", proof.folder, missed.join("\n  "))),
    }
}

/// Links program `name` of `folder` with `feature`; if a panic can be reached, gives function and
/// address of where from.
fn find(
    ctx: &Ctx,
    folder: &Path,
    name: &str,
    target: &str,
    feature: &str,
    how: Build,
) -> Result<Option<Vec<(String, String)>>, String> {
    // They inline less, so the linker does not see that the array of a `Prefix` is long enough.
    let is_low = ["1", "z"].contains(&how.opt_level);
    let feature = if is_low { format!("no-prefix,{feature}") } else { feature.to_owned() };
    let build = |features: &str| {
        let mut arguments = vec!["--bin", name, "--features", features];
        if how.bare {
            arguments.extend(["--target", no_std::BARE]);
        }
        let mut command = no_std::cargo_in(ctx, folder, target, "build", &arguments)?;
        ctx.output(command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", how.opt_level))
    };
    match build(&feature) {
        Ok(_) => return Ok(None),
        Err(complaint) if complaint.contains(MISSING) => {}
        Err(other) => return Err(other),
    }
    build(&format!("explain,{feature}"))?;
    let program = program(ctx, target, name, how)?;
    // The objdump of a distribution reads the code of its machine alone.
    if how.bare {
        return Ok(Some(Vec::new()));
    }
    let mut command = ctx.command("objdump");
    let code = ctx.output(command.args(["-d", "-C", "--no-show-raw-insn"]).arg(&program))?;
    Ok(Some(offenders(&calls(&code))))
}

/// A call: who, the address it is made from, and whom.
type Call = (String, String, String);

/// All calls and jumps from function to function in a disassembly.
fn calls(code: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut function = "";
    for line in code.lines() {
        // 0000000000401000 <main>:
        if let Some(name) = line.strip_suffix(">:").and_then(|l| l.split_once(" <")) {
            function = name.1;
            continue;
        }
        // "  401004:\tcall   401020 <core::panicking::panic_fmt>"
        let Some((address, instruction)) = line.split_once(":\t") else { continue };
        let Some((_, target)) = instruction.split_once('<') else { continue };
        let target = target.trim_end();
        let target = target.strip_suffix('>').unwrap_or(target);
        // Jumps within the function are shown as `name+0x1f`.
        let target = target.rsplit_once("+0x").map_or(target, |(name, _)| name);
        if target != function {
            calls.push((function.to_owned(), address.trim().to_owned(), target.to_owned()));
        }
    }
    calls
}

/// The calls of our own code that lead to a panic by way of `core` alone: function and address.
fn offenders(calls: &[Call]) -> Vec<(String, String)> {
    let mut callers: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in calls {
        callers.entry(&call.2).or_default().push(call);
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut next = vec![MISSING];
    while let Some(target) = next.pop() {
        for (function, address, _) in callers.get(target).into_iter().flatten() {
            // Generic code of core over a type of ours is ours.
            let is_machinery = !OURS.iter().any(|ours| function.contains(ours))
                && ["core::", "<core::", "__rustc", MISSING]
                    .iter()
                    .any(|p| function.starts_with(p));
            if !is_machinery {
                found.push((function.clone(), address.clone()));
            } else if seen.insert(function.as_str()) {
                next.push(function);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The source lines of an address, from the innermost inlined function outwards.
fn lines(ctx: &Ctx, program: &Path, address: &str) -> Result<String, String> {
    let mut command = ctx.command("addr2line");
    let text = ctx.output(command.args(["-i", "-f", "-C", "-e"]).arg(program).arg(address))?;
    let mut shown = String::new();
    let mut rows = text.lines();
    while let (Some(function), Some(line)) = (rows.next(), rows.next()) {
        shown.push_str(&format!("    {function} at {line}\n"));
    }
    Ok(shown)
}

#[cfg(test)]
mod tests;
