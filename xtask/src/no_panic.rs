//! A proof by the linker that nothing panics: reader, rewriter and all writers without an allocator,
//! over inputs and buffers of which the compiler knows nothing.
//!
//! `protozero/tests/no_std/src/bin/no_panic.rs` has a panic handler that calls a function which does
//! not exist. The linker drops what nothing reaches. If it still misses the function, a panic can be
//! reached, and the same program is linked once more with that function: its machine code tells who
//! calls whom, its line table where.
//!
//! A proof that cannot fail is none: the command also plants a panic and wants it found.

use crate::ctx::Ctx;
use crate::{Outcome, machine, no_std};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PROGRAM: &str = "no_panic";
/// What cannot be linked.
const MISSING: &str = "a_panic_can_be_reached";
/// The function that panics on purpose.
const PLANTED: &str = "planted";

pub fn run(ctx: &Ctx, _: &[String]) -> Outcome {
    machine::need(ctx, "objdump", "binutils")?;
    for feature in ["", "small"] {
        if let Some(panics) = find(ctx, feature)? {
            return Err(format!("a panic can be reached (features `{feature}`):\n{panics}"));
        }
    }
    match find(ctx, PLANTED)? {
        Some(panics) if panics.contains(PLANTED) => {}
        Some(panics) => return Err(format!("the planted panic is not in this list:\n{panics}")),
        None => return Err("the planted panic was not found: the check is blind".to_owned()),
    }
    ctx.say("no panic can be reached; the one planted for a test was found");
    Ok(())
}

/// Links with `feature`; if a panic can be reached, says from where.
fn find(ctx: &Ctx, feature: &str) -> Result<Option<String>, String> {
    let build = |features: &str| {
        let mut command = no_std::cargo(ctx, "build", &["--bin", PROGRAM, "--features", features])?;
        ctx.output(&mut command)
    };
    match build(feature) {
        Ok(_) => return Ok(None),
        Err(complaint) if complaint.contains(MISSING) => {}
        Err(other) => return Err(other),
    }
    build(&format!("explain,{feature}"))?;
    let program = no_std::program(ctx, PROGRAM)?;
    let mut command = ctx.command("objdump");
    let code = ctx.output(command.args(["-d", "-C", "--no-show-raw-insn"]).arg(&program))?;
    let mut text = String::new();
    for (function, address) in offenders(&calls(&code)) {
        let lines = lines(ctx, &program, &address)?;
        text.push_str(&format!("  {function}\n{lines}"));
    }
    Ok(Some(text))
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
mod tests {
    use super::{MISSING, calls, offenders};

    #[test]
    fn a_panic_is_traced_back_to_our_code() {
        let code = format!(
            "0000000000001000 <main>:\n    1004:\tcall   1100 <ours::read>\n\
             \n0000000000001100 <ours::read>:\n    1104:\tjne    1110 <ours::read+0x10>\n    \
             1108:\tcall   1200 <core::panicking::panic_bounds_check>\n\
             \n0000000000001200 <core::panicking::panic_bounds_check>:\n    \
             1201:\tcall   1300 <core::panicking::panic_fmt>\n\
             \n0000000000001300 <core::panicking::panic_fmt>:\n    1301:\tcall   1400 <{MISSING}>\n"
        );
        let found = offenders(&calls(&code));
        assert_eq!(found, [("ours::read".to_owned(), "1108".to_owned())]);
    }
}
