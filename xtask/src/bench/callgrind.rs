//! Instructions of one operation: those of a run of 2N operations minus those of N, so that the start-up does not
//! count. The result is the same on every machine with the same binary.

use crate::ctx::Ctx;
use std::path::Path;

/// Instructions of one operation, as text with one decimal.
///
/// The program is started as `program loop ARGUMENTS COUNT`; if the last word it prints is a number, it
/// did so many instead of `count`. With `inside`, a pattern, only these functions are counted.
///
/// # Errors
/// The program or valgrind fails.
pub fn instructions(
    ctx: &Ctx,
    program: &Path,
    arguments: &[&str],
    count: u32,
    inside: Option<&str>,
) -> Result<String, String> {
    let (once, done) = run(ctx, program, arguments, count, inside)?;
    let (twice, done_twice) = run(ctx, program, arguments, count * 2, inside)?;
    let more = done_twice.saturating_sub(done).max(1);
    let tenths = twice.saturating_sub(once) * 10 / more;
    Ok(format!("{}.{}", tenths / 10, tenths % 10))
}

/// Instructions of a run, and how many operations it did.
fn run(
    ctx: &Ctx,
    program: &Path,
    arguments: &[&str],
    count: u32,
    inside: Option<&str>,
) -> Result<(u64, u64), String> {
    let folder = ctx.target("bench")?;
    let log = folder.join("callgrind.log");
    let mut command = ctx.command("valgrind");
    command
        .arg("--tool=callgrind")
        // This file is not used. With /dev/null, valgrind would rename that file for root.
        .arg(format!("--callgrind-out-file={}", folder.join("callgrind.out").display()))
        .arg(format!("--log-file={}", log.display()))
        .args(inside.map(|inside| format!("--toggle-collect={inside}")))
        .arg(program)
        .arg("loop")
        .args(arguments)
        .arg(count.to_string());
    let output = ctx.output(&mut command)?;
    let text = crate::ctx::read(&log)?;
    let collected = text.lines().find_map(|line| line.split_once("Collected : "));
    let instructions = collected.and_then(|(_, n)| n.trim().parse().ok());
    let instructions =
        instructions.ok_or_else(|| format!("callgrind printed no number:\n{text}"))?;
    let done = output.split_whitespace().last().and_then(|word| word.parse().ok());
    Ok((instructions, done.unwrap_or(u64::from(count))))
}
