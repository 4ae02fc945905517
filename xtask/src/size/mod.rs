//! What writing costs in bytes of machine code: a program that writes one trace packet with a track
//! event, against the same program without; and the smallest program that writes anything.
//!
//! Bytes are those of `.text`. The programs of `protozero/tests/size` are built for size and for
//! speed, each with setters inlined (as by default) and as calls (feature `small` of protozero). The limit
//! applies to builds for size with `small`.

use crate::ctx::Ctx;
use crate::{Outcome, machine, report};
use std::fmt::Write as _;
use std::path::Path;

const FOLDER: &str = "protozero/tests/size";

/// Bytes by which the packet may make the program grow.
const GROWTH_MAX: u64 = 4096;

/// Profiles of cargo, and what they stand for.
const PROFILES: [(&str, &str); 2] = [("small", "z"), ("release", "3")];

/// What the table does not say by itself.
const NOTE: &str = "\nWhere it is missed: a setter that is inlined is a check and its stores, once more for each field \
    that\na program writes, and that is what makes writers fast. `small` makes calls of them, for four to eight\n\
    times the instructions: so there is a build for small programs and one for fast ones. The program\n\
    without a packet copies and prints the same name and time.\n";

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let record = match arguments {
        [] => false,
        [flag] if flag == "--record" => true,
        _ => return Err("usage: size [--record]".to_owned()),
    };
    machine::need(ctx, "size", "binutils")?;
    let mut table = String::from(
        "Bytes of `.text`, x86-64, fat LTO, `panic = \"abort\"`. The packet has a time, a sequence id\n\
         and an event of type, track, name and one annotation.\n\n\
         | what | opt-level | setters | bytes | must |\n|---|---|---|--:|--:|\n",
    );
    let mut missed = None;
    for (profile, level) in PROFILES {
        let without = build(ctx, profile, "without", "schema")?;
        let nothing = build(ctx, profile, "nothing", "")?;
        for (features, setters) in [("", "inlined"), ("small", "calls")] {
            let packet = build(ctx, profile, "with", &format!("schema,{features}"))?;
            let minimal = build(ctx, profile, "minimal", features)?;
            let growth = packet.saturating_sub(without);
            let is_bound = level == "z" && features == "small";
            let must = if growth < GROWTH_MAX { "" } else { ", missed" };
            let must = format!("< {GROWTH_MAX}{must}");
            let least = minimal.saturating_sub(nothing);
            // Writing to a string cannot fail.
            let _ = writeln!(
                table,
                "| a trace packet, in a program with std | {level} | {setters} | {growth} | {must} |\n\
                 | a message, in a program without std | {level} | {setters} | {least} | |"
            );
            if is_bound && growth >= GROWTH_MAX {
                missed = Some(growth);
            }
        }
    }
    table.push_str(NOTE);
    ctx.log(&table);
    if record {
        report::record(ctx, "Size of code", &table)?;
    }
    match missed {
        Some(growth) => Err(format!("a packet costs {growth} bytes, must be below {GROWTH_MAX}")),
        None => Ok(()),
    }
}

/// Builds a program and gives the bytes of its `.text`.
fn build(ctx: &Ctx, profile: &str, bin: &str, features: &str) -> Result<u64, String> {
    let target = ctx.target("size")?;
    let mut command = ctx.cargo();
    command
        .args(["build", "--manifest-path", &format!("{FOLDER}/Cargo.toml"), "--profile", profile])
        .args(["--bin", bin, "--features", features])
        .env("CARGO_TARGET_DIR", &target);
    ctx.output(&mut command)?;
    let program = target.join(profile).join(bin);
    text(&ctx.output(ctx.command("size").arg("-A").arg(&program))?, &program)
}

/// The line of `.text` in what `size -A` prints.
fn text(sections: &str, program: &Path) -> Result<u64, String> {
    sections
        .lines()
        .find_map(|line| line.strip_prefix(".text ")?.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| format!("{} has no .text", program.display()))
}

#[cfg(test)]
mod tests;
