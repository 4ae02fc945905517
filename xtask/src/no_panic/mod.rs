//! A proof by the linker that reader, rewriter and all writers without an allocator cannot panic, whatever their
//! inputs and buffers are.
//!
//! `protozero/tests/no_std/src/bin/no_panic.rs` has a panic handler that calls a function which does
//! not exist. The linker drops what nothing reaches. If it still misses the function, a panic can be
//! reached, and the same program is linked once more with that function: its machine code shows which
//! function calls which, its line table where.
//!
//! To show that the proof can fail, the command also links a copy of protozero with a panic in every public function
//! ([`mutate`]); all of them must be found.
//!
//! It holds for builds as that one: optimised, with link-time optimisation and without overflow checks.
//! `FrameReader` is not in it: it needs an allocator, and so may panic when memory ends.

mod mutate;

use crate::ctx::Ctx;
use crate::{Outcome, machine, no_std};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PROGRAM: &str = "no_panic";
/// The function that does not exist.
const MISSING: &str = "a_panic_can_be_reached";

pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    machine::need(ctx, "objdump", "binutils")?;
    let ours = ctx.root().join(no_std::FOLDER);
    for feature in ["", "small"] {
        let Some(panics) = find(ctx, &ours, "no_std", feature)? else { continue };
        let program = no_std::program(ctx, "no_std", PROGRAM)?;
        let mut text = String::new();
        for (function, address) in panics {
            let lines = lines(ctx, &program, &address)?;
            text.push_str(&format!("  {function}\n{lines}"));
        }
        return Err(format!("a panic can be reached (features `{feature}`):\n{text}"));
    }
    let inserted = inserted(ctx)?;
    ctx.log(format!("no panic can be reached; of {inserted} inserted for a test all were found"));
    Ok(())
}

/// Inserts panics, and checks that all are found. Returns how many.
fn inserted(ctx: &Ctx) -> Result<usize, String> {
    let copy = mutate::Copy::make(ctx)?;
    let panics = find(ctx, &copy.folder, "no_panic", "")?.unwrap_or_default();
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
        _ => Err(format!("{} never runs\n  {}", no_std::FOLDER, missed.join("\n  "))),
    }
}

/// Links the program of `folder` with `feature`; if a panic can be reached, gives function and
/// address of where from.
fn find(
    ctx: &Ctx,
    folder: &Path,
    target: &str,
    feature: &str,
) -> Result<Option<Vec<(String, String)>>, String> {
    let build = |features: &str| {
        let arguments = ["--bin", PROGRAM, "--features", features];
        ctx.output(&mut no_std::cargo_in(ctx, folder, target, "build", &arguments)?)
    };
    match build(feature) {
        Ok(_) => return Ok(None),
        Err(complaint) if complaint.contains(MISSING) => {}
        Err(other) => return Err(other),
    }
    build(&format!("explain,{feature}"))?;
    let program = no_std::program(ctx, target, PROGRAM)?;
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
            let is_machinery = !function.contains("protozero")
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
