//! `cargo xtask times [--record]`: how long the whole schema takes to generate, and how long clean
//! builds take of what it needs and of what it becomes, against their bars.
//!
//! For an idle machine, asked for by name, where a bar that is missed fails. No step of `ci`: a machine
//! under load is slow, and no change should fail for that. Wall time is the best of several builds
//! with two jobs; CPU time, that of compilers and build scripts together, says more when something
//! else runs as well.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use crate::Outcome;
use crate::ctx::Ctx;
use crate::report;

/// A clean build: what, arguments for cargo, seconds it may take, and how often it is tried.
struct Build {
    what: &'static str,
    arguments: &'static [&'static str],
    bar: Option<u32>,
    tries: u32,
}

const BUILDS: &[Build] = &[
    Build {
        what: "build of `protozero`",
        arguments: &["--package", "protozero"],
        bar: Some(3),
        tries: 3,
    },
    Build {
        what: "build of `protozero` with `derive`",
        arguments: &["--package", "protozero", "--features", "derive"],
        bar: None,
        tries: 1,
    },
    Build {
        what: "build of `protos`",
        arguments: &["--package", "protos"],
        bar: Some(10),
        tries: 3,
    },
    Build {
        what: "build of `protos` with `configs` alone",
        arguments: &["--package", "protos", "--features", "configs"],
        bar: None,
        tries: 1,
    },
    Build {
        what: "build of `protos` with `ftrace` alone",
        arguments: &["--package", "protos", "--features", "ftrace"],
        bar: None,
        tries: 1,
    },
    Build {
        what: "build of `protos` with `full` and `text`",
        arguments: &["--package", "protos", "--features", "full,text"],
        bar: None,
        tries: 1,
    },
];

/// Seconds the generator may take for the whole schema.
const GENERATE_BAR: u32 = 2;

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let recording = match arguments {
        [] => false,
        [flag] if flag == "--record" => true,
        _ => return Err("usage: times [--record]".to_owned()),
    };
    let folder = ctx.target("times")?;
    let mut rows = vec![generate(ctx, &folder)?];
    for build in BUILDS {
        rows.push(clean_build(ctx, &folder, build)?);
    }
    for row in &rows {
        ctx.log(row.line());
    }
    if recording {
        record(ctx, &rows)?;
    }
    let missed: Vec<&str> = rows.iter().filter(|row| row.misses()).map(|row| row.what).collect();
    match missed[..] {
        [] => Ok(()),
        _ => Err(format!("not below the bar: {}. Is the machine idle?", missed.join(", "))),
    }
}

struct Row {
    what: &'static str,
    wall_s: f64,
    cpu_s: f64,
    bar: Option<u32>,
}

impl Row {
    fn misses(&self) -> bool {
        self.bar.is_some_and(|bar| self.wall_s >= f64::from(bar))
    }

    fn line(&self) -> String {
        let bar = self.bar.map_or(String::new(), |bar| {
            let verdict = if self.misses() { "MISSES" } else { "below" };
            format!("  {verdict} {bar} s")
        });
        format!("{:<44} {:>6.2} s  {:>6.2} s of CPU{bar}", self.what, self.wall_s, self.cpu_s)
    }
}

/// The generator in release. Its own build is not what we measure, so it goes without the link-time
/// optimisation of the workspace.
fn generate(ctx: &Ctx, folder: &Path) -> Result<Row, String> {
    let mut command = ctx.cargo();
    command
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(["codegen", "--time"])
        .env("CARGO_TARGET_DIR", folder.join("tool"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    let said = ctx.output(&mut command)?;
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let [wall_s, cpu_s] = numbers[..] else {
        return Err(format!("codegen --time said `{said}`"));
    };
    Ok(Row { what: "code of the whole schema", wall_s, cpu_s, bar: Some(GENERATE_BAR) })
}

fn clean_build(ctx: &Ctx, folder: &Path, build: &Build) -> Result<Row, String> {
    let target = folder.join("build");
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..build.tries {
        if target.exists() {
            std::fs::remove_dir_all(&target).map_err(|e| format!("{}: {e}", target.display()))?;
        }
        let mut command = ctx.cargo();
        command
            .args(["build", "--quiet", "--jobs", "2"])
            .args(build.arguments)
            .env("CARGO_TARGET_DIR", &target);
        let (cpu, began) = (cpu_of_children_s()?, Instant::now());
        ctx.output(&mut command)?;
        let wall = began.elapsed().as_secs_f64();
        best = (best.0.min(wall), best.1.min(cpu_of_children_s()? - cpu));
    }
    Ok(Row { what: build.what, wall_s: best.0, cpu_s: best.1, bar: build.bar })
}

/// User and system time of all children that have ended.
fn cpu_of_children_s() -> Result<f64, String> {
    cpu_s(16)
}

/// User and system time of this program.
///
/// # Errors
/// The system does not tell.
pub fn cpu_of_self_s() -> Result<f64, String> {
    cpu_s(14)
}

/// Two neighbouring fields of `/proc/self/stat`, as proc(5) counts them, from 1.
fn cpu_s(user: usize) -> Result<f64, String> {
    let stat = crate::ctx::read(Path::new("/proc/self/stat"))?;
    // Behind the program's name, which may hold anything: the 3rd field and those that follow.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|t| t.parse::<f64>().ok());
    match (ticks(user), ticks(user + 1)) {
        // The kernel tells these in hundredths of a second, whatever its own clock.
        (Some(user), Some(system)) => Ok((user + system) / 100.0),
        _ => Err("/proc/self/stat has another shape than proc(5) says".to_owned()),
    }
}

fn record(ctx: &Ctx, rows: &[Row]) -> Outcome {
    let mut body = String::from(
        "`cargo xtask times --record`. The generator is measured in release, builds are clean debug\n\
         builds with two jobs, dependencies included and already downloaded.\n\n\
         | what | s | CPU, s | bar, s |\n|---|--:|--:|--:|\n",
    );
    for row in rows {
        let bar = row.bar.map_or(String::new(), |bar| bar.to_string());
        let _ = writeln!(body, "| {} | {:.2} | {:.2} | {bar} |", row.what, row.wall_s, row.cpu_s);
    }
    report::record(ctx, "Generating and building", &body)
}

#[cfg(test)]
mod tests;
