//! `cargo xtask times [--record]`: how long the generator takes for the whole schema, how long clean builds take, how
//! many crates of others a producer needs, and how many bytes the SDK adds to a program, each against its limit.
//!
//! It needs an idle machine and is asked for by name; a limit that is exceeded is an error. It is no step of `ci`: on
//! a machine under load every build is slow, and no change should fail for that. Wall time is the best of several
//! builds with two jobs. CPU time is that of compilers and build scripts together; it varies less when something else
//! runs.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use crate::ctx::{Ctx, Outcome};
use crate::report;

/// The limit of a build, in seconds.
#[derive(Clone, Copy)]
enum Limit {
    None,
    Wall(u32),
    Cpu(u32),
}

/// A clean build: what is built, arguments for cargo, its limit, and how often it is tried.
struct Build {
    what: &'static str,
    arguments: &'static [&'static str],
    limit: Limit,
    tries: u32,
}

const BUILDS: &[Build] = &[
    Build {
        what: "build of `protozero`",
        arguments: &["--package", "pbzero"],
        limit: Limit::Wall(3),
        tries: 3,
    },
    Build {
        what: "build of `protozero` with `derive`",
        arguments: &["--package", "pbzero", "--features", "derive"],
        limit: Limit::None,
        tries: 1,
    },
    Build {
        what: "build of `protos`",
        arguments: &["--package", "tracebox-protos"],
        limit: Limit::Wall(10),
        tries: 3,
    },
    Build {
        what: "build of `protos` with `readers`",
        arguments: &["--package", "tracebox-protos", "--features", "readers"],
        limit: Limit::None,
        tries: 1,
    },
    Build {
        what: "build of `protos` with `ftrace` alone",
        arguments: &["--package", "tracebox-protos", "--features", "ftrace"],
        limit: Limit::None,
        tries: 1,
    },
    Build {
        what: "build of `protos` with `full`, `readers`, `text`",
        arguments: &["--package", "tracebox-protos", "--features", "full,readers,text"],
        limit: Limit::None,
        tries: 1,
    },
    Build {
        what: "release build of a producer",
        arguments: PRODUCER,
        limit: Limit::Cpu(8),
        tries: 2,
    },
    Build {
        what: "release build of `tracebox`, README's first command",
        arguments: &["--release", "--package", "tracebox", "--bin", "tracebox"],
        limit: Limit::Cpu(150),
        tries: 1,
    },
];

/// The build of a program with the SDK, the name of the program, and the bytes that the SDK may add to it.
struct SdkBuild {
    build: Build,
    bin: &'static str,
    bytes_max: u64,
}

/// The workspace of these programs, and of `plain`, which is the same program without the SDK. Programs are stripped.
macro_rules! sdk_program {
    ($($argument:literal),*) => {
        &["--release", "--manifest-path", "tracing-sdk/tests/size/Cargo.toml", $($argument),*]
    };
}

const SDK_BUILDS: &[SdkBuild] = &[
    SdkBuild {
        build: Build {
            what: "release build of a program with the SDK",
            arguments: sdk_program!("--bin", "traced"),
            limit: Limit::Cpu(10),
            tries: 2,
        },
        bin: "traced",
        bytes_max: 400_000,
    },
    SdkBuild {
        build: Build {
            what: "release build with the SDK's `in-process`",
            arguments: sdk_program!("--features", "in-process", "--bin", "in_process"),
            limit: Limit::Cpu(20),
            tries: 2,
        },
        bin: "in_process",
        bytes_max: 1_200_000,
    },
];

/// Builds nothing new but itself, after one of the builds above.
const PLAIN: &[&str] = sdk_program!("--bin", "plain");

/// What a program needs that only writes traces.
const PRODUCER: &[&str] = &["--release", "--package", "tracebox-client"];

const PRODUCER_TREE: &[&str] = &["--edges", "normal,build", "--package", "tracebox-client"];

/// The limit of external crates that a producer needs.
const OUTSIDE_MAX: usize = 6;

/// Seconds the generator may take for the whole schema.
const GENERATE_MAX_S: u32 = 2;

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
    let mut sizes = Vec::new();
    for sdk in SDK_BUILDS {
        rows.push(clean_build(ctx, &folder, &sdk.build)?);
        sizes.push(Added { sdk, bytes: added_bytes(ctx, &folder, sdk)? });
    }
    for row in &rows {
        ctx.log(row.line());
    }
    for size in &sizes {
        ctx.log(size.line());
    }
    let tree = ctx.output(ctx.cargo().args(["tree", "--prefix", "none"]).args(PRODUCER_TREE))?;
    let outside = outside(&tree);
    let crates = format!("{}: {}", outside.len(), outside.join(", "));
    ctx.log(format_args!("crates of others in a producer: {crates}"));
    if recording {
        record(ctx, &rows, &sizes, &crates)?;
    }
    let mut missed: Vec<&str> =
        rows.iter().filter(|row| row.misses()).map(|row| row.what).collect();
    missed.extend(sizes.iter().filter(|size| size.misses()).map(|size| size.sdk.bin));
    if outside.len() > OUTSIDE_MAX {
        missed.push("crates of others in a producer");
    }
    match missed[..] {
        [] => Ok(()),
        _ => Err(format!("above the limit: {}. Is the machine idle?", missed.join(", "))),
    }
}

/// Names and versions in the output of `cargo tree` that are not of this workspace, whose crates have a path.
fn outside(tree: &str) -> Vec<&str> {
    let mut found: Vec<&str> = tree
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.contains("(/"))
        .map(|line| line.trim_end_matches(" (*)"))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

struct Row {
    what: &'static str,
    wall_s: f64,
    cpu_s: f64,
    limit: Limit,
}

impl Row {
    fn misses(&self) -> bool {
        match self.limit {
            Limit::None => false,
            Limit::Wall(limit_s) => self.wall_s > f64::from(limit_s),
            Limit::Cpu(limit_s) => self.cpu_s > f64::from(limit_s),
        }
    }

    fn limit(&self) -> String {
        match self.limit {
            Limit::None => String::new(),
            Limit::Wall(limit_s) => limit_s.to_string(),
            Limit::Cpu(limit_s) => format!("{limit_s} of CPU"),
        }
    }

    fn line(&self) -> String {
        let limit = match self.limit {
            Limit::None => String::new(),
            _ if self.misses() => format!("  ABOVE the limit of {} s", self.limit()),
            _ => format!("  limit {} s", self.limit()),
        };
        format!("{:<52} {:>6.2} s  {:>6.2} s of CPU{limit}", self.what, self.wall_s, self.cpu_s)
    }
}

/// The generator in release. Its own build is not measured.
fn generate(ctx: &Ctx, folder: &Path) -> Result<Row, String> {
    let mut command = ctx.cargo();
    command
        .args(["run", "--quiet", "--release", "--package", "xtask", "--"])
        .args(["codegen", "--time"])
        .env("CARGO_TARGET_DIR", folder.join("tool"));
    let output = ctx.output(&mut command)?;
    let numbers: Vec<f64> = output.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let [wall_s, cpu_s] = numbers[..] else {
        return Err(format!("codegen --time printed `{output}`"));
    };
    Ok(Row { what: "code of the whole schema", wall_s, cpu_s, limit: Limit::Wall(GENERATE_MAX_S) })
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
    Ok(Row { what: build.what, wall_s: best.0, cpu_s: best.1, limit: build.limit })
}

/// What the SDK adds to a program.
struct Added {
    sdk: &'static SdkBuild,
    bytes: u64,
}

impl Added {
    fn misses(&self) -> bool {
        self.bytes > self.sdk.bytes_max
    }

    fn line(&self) -> String {
        let SdkBuild { bin, bytes_max, .. } = self.sdk;
        let above = if self.misses() { "ABOVE the limit of" } else { "limit" };
        format!("the SDK adds {} bytes to `{bin}`, {above} {bytes_max}", self.bytes)
    }
}

/// Bytes of a program that was just built, less those of the program without the SDK.
fn added_bytes(ctx: &Ctx, folder: &Path, sdk: &SdkBuild) -> Result<u64, String> {
    let target = folder.join("build");
    let mut command = ctx.cargo();
    command.args(["build", "--quiet"]).args(PLAIN).env("CARGO_TARGET_DIR", &target);
    ctx.output(&mut command)?;
    let bytes = |bin: &str| {
        let path = target.join("release").join(bin);
        let metadata = path.metadata().map_err(|e| format!("{}: {e}", path.display()))?;
        Ok::<u64, String>(metadata.len())
    };
    Ok(bytes(sdk.bin)?.saturating_sub(bytes("plain")?))
}

/// User and system time of all children that have ended.
pub fn cpu_of_children_s() -> Result<f64, String> {
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

fn record(ctx: &Ctx, rows: &[Row], sizes: &[Added], crates: &str) -> Outcome {
    let mut body = String::from(
        "`cargo xtask times --record`. The generator is measured in release. Builds are clean, with two jobs and\n\
         in debug unless they say otherwise; dependencies count and are already downloaded.\n\n\
         | what | s | CPU, s | limit, s |\n|---|--:|--:|--:|\n",
    );
    for row in rows {
        let Row { what, wall_s, cpu_s, .. } = row;
        let _ = writeln!(body, "| {what} | {wall_s:.2} | {cpu_s:.2} | {} |", row.limit());
    }
    let _ = writeln!(
        body,
        "\nBytes of a stripped program that the SDK adds, in a release build without options:\n\n\
         | program | bytes | limit |\n|---|--:|--:|"
    );
    for Added { sdk, bytes } in sizes {
        let _ = writeln!(body, "| `{}` | {bytes} | {} |", sdk.bin, sdk.bytes_max);
    }
    let _ = writeln!(body, "\nCrates of others in a producer (limit {OUTSIDE_MAX}): {crates}.");
    report::record(ctx, "Generating and building", &body)
}

#[cfg(test)]
mod tests;
