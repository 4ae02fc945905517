//! Everything a change has to pass: cheapest first, one closing line per step.
//!
//! Target folders are shared by what has the same flags: `target/debug` serves lints, tests, simulation and
//! interoperability; sanitizers, fuzzing and models have one folder each. Steps of different folders run at the
//! same time, as one build alone seldom keeps all processors busy.
//!
//! Nothing is skipped because something is missing, with one exception: a step whose compiler, database of advisories
//! or last release is not there and cannot be fetched is reported as not run, at its place and in the summary. So are
//! the steps that only `--all` runs ([`LONG`]).

mod log;

use crate::ctx::{Ctx, FEATURES, read};
use crate::{
    Outcome, asan, codegen, conformance, corpus, deny, differential, fuzz, interop, kernels, load,
    loom, machine, manual, miri, model, msrv, mutants, no_panic, no_std, off, package, parity,
    pool, semver, sim, size, strace, tidy, toolchain, tsan, units,
};
use serde_json::Value;
use std::fs::File;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A name for the closing line and for `--only`, the folder it builds in, and what it does. Steps without a folder
/// come first, one after the other.
type Step = (&'static str, &'static str, fn(&Ctx) -> Outcome);

const STEPS: &[Step] = &[
    ("tools", "", tools),
    ("fmt", "", fmt),
    ("tidy", "", |ctx| tidy::run(ctx, &[])),
    ("parity", "", |ctx| parity::run(ctx, &[])),
    ("codegen", "", |_| codegen::run(&["--check".to_owned()])),
    ("clippy", "debug", clippy),
    ("doc", "debug", doc),
    ("test", "debug", test),
    ("restores", "debug", restores),
    ("programs", "debug", programs),
    ("kernels", "debug", |ctx| kernels::run(ctx, &[])),
    ("man", "debug", |ctx| manual::man(ctx, &[]).and_then(|()| manual::completions(ctx, &[]))),
    ("units", "debug", |ctx| units::run(ctx, &[])),
    ("sim", "debug", |ctx| {
        // As many seeds as by default: fewer are not asked whether everything happened in them.
        let arguments = ["--fresh", "20", "--fail-each", "3"];
        sim::run(ctx, &arguments.map(str::to_owned))
    }),
    ("load", "debug", |ctx| load::run(ctx, &["--short", "--seconds", "2"].map(str::to_owned))),
    ("siege", "debug", |ctx| load::siege(ctx, &["--short", "--seconds", "60"].map(str::to_owned))),
    ("strace", "debug", |ctx| strace::run(ctx, &[])),
    ("interop", "debug", |ctx| interop::run(ctx, &[])),
    ("off", "debug", |ctx| off::run(ctx, &[])),
    ("test-bare", "debug", |ctx| protozero(ctx, &["--no-default-features"])),
    ("test-alloc", "debug", |ctx| {
        protozero(ctx, &["--no-default-features", "--features", "alloc"])
    }),
    ("test-full", "debug", protozero_full),
    ("test-small", "debug", |ctx| protozero(ctx, &["--all-features"])),
    ("areas", "areas", areas),
    ("asan", "asan", |ctx| asan::run(ctx, &[])),
    ("miri", "miri", |ctx| installed(ctx, toolchain::nightly, miri::run, &["--short"])),
    ("tsan", "tsan", |ctx| installed(ctx, toolchain::nightly, tsan::run, &[])),
    ("msrv", "msrv", |ctx| installed(ctx, msrv::install, msrv::run, &[])),
    ("loom", "loom", |ctx| loom::run(ctx, &[])),
    ("model", "model", |ctx| model::run(ctx, &[])),
    ("mutants", "mutants", |ctx| mutants::of_change(ctx)),
    ("no-std", "no_std", |ctx| no_std::run(ctx, &[])),
    ("no-panic", "no_std", |ctx| no_panic::run(ctx, &["--short".to_owned()])),
    ("no-panic-levels", "no_std", |ctx| no_panic::run(ctx, &[])),
    ("size", "no_std", |ctx| size::run(ctx, &[])),
    ("outside", "outside", |ctx| outside(ctx, &[&["test", "--all-features"]])),
    ("outside-bare", "outside", |ctx| outside(ctx, &[&["test"], &["doc", "--no-deps"]])),
    ("guide", "outside", guide),
    ("corpus", "outside", |ctx| corpus::run(ctx, &[])),
    ("grpc", "outside", grpc),
    ("in-process", "in-process", in_process),
    ("conformance", "conformance", |ctx| conformance::run(ctx, &[])),
    ("differential", "conformance", |ctx| differential::run(ctx, &[])),
    ("package", "package", |ctx| package::run(ctx, &[])),
    ("semver", "package", |ctx| semver::run(ctx, &[])),
    ("deny", "deny", deny::known),
    ("advisories", "deny", deny::advisories),
    ("fuzz", "fuzz", |ctx| fuzz::run(ctx, &["--seconds", "3"].map(str::to_owned))),
];

/// Steps that take long and look at what changes seldom, or at what other steps look at, too: for `--all`, before a
/// release and when their subject changes. The others are to take half an hour on two processors.
const LONG: &[&str] = &[
    // A tenth of them runs with the other tests.
    "programs",
    "kernels",
    "mutants",
    // Loom and Miri look at the memory that threads share.
    "tsan",
    // `no-panic` proves it for programs as they are shipped.
    "no-panic-levels",
    // The code generator and the encoders of protozero.
    "size",
    "outside-bare",
    "corpus",
    "grpc",
    "differential",
    "package",
    "semver",
];

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let known = |name: &String| match STEPS.iter().position(|s| s.0 == name) {
        Some(at) => Ok(at),
        None => Err(format!("no step `{name}`; --list names them")),
    };
    // For a contributor who wants to see all failures at once.
    let keep_going = arguments.iter().any(|a| a == "--keep-going");
    let how = ["--all", "--keep-going"];
    let steps = match arguments {
        flags if flags.iter().all(|flag| how.contains(&flag.as_str())) => STEPS,
        [flag] if flag == "--list" => {
            STEPS.iter().for_each(|step| println!("{}", step.0));
            return Ok(());
        }
        [flag, name] if flag == "--from" => &STEPS[known(name)?..],
        [flag, name] if flag == "--only" => &STEPS[known(name)?..=known(name)?],
        _ => {
            let usage =
                "usage: ci [--all] [--keep-going], or ci --from STEP | --only STEP | --list";
            return Err(usage.to_owned());
        }
    };
    let is_daily = arguments.iter().all(|a| a == "--keep-going");
    let is_left_out = |step: &&Step| is_daily && LONG.contains(&step.0);
    let started = Instant::now();
    let summary = Summary::default();
    let (left_out, chosen): (Vec<&Step>, Vec<&Step>) = steps.iter().partition(is_left_out);
    let (alone, parallel): (Vec<&Step>, Vec<&Step>) =
        chosen.iter().partition(|step| step.1.is_empty());
    let run = |step: &Step| run_step(ctx, *step, &summary).is_ok() || keep_going;
    if alone.into_iter().all(&run) {
        pool::by_key(&parallel, |step| step.1, |step| run(step));
    }
    let mut summary = summary.0.into_inner().map_err(|_| "a step panicked")?;
    let for_all = |step: &&Step| format!("{}: it takes long; `--all` runs it, too", step.0);
    summary.not_run.extend(left_out.iter().map(for_all));
    for step in &summary.not_run {
        println!("NOT RUN: {step}");
    }
    for test in &summary.skipped {
        println!("SKIPPED: {test}");
    }
    if !summary.failures.is_empty() {
        return Err(summary.failures.join("\n"));
    }
    let seconds = started.elapsed().as_secs();
    let passed = steps.len() - summary.not_run.len();
    println!("ci: {passed} steps passed in {} min {} s", seconds / 60, seconds % 60);
    Ok(())
}

/// What the closing lines report.
#[derive(Default)]
struct Results {
    failures: Vec<String>,
    not_run: Vec<String>,
    /// Tests that could not run on this machine.
    skipped: Vec<String>,
}

#[derive(Default)]
struct Summary(Mutex<Results>);

impl Summary {
    /// Prints while it is locked, so that the output of two steps does not mix.
    fn add(&self, report: impl FnOnce(&mut Results)) {
        report(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn run_step(ctx: &Ctx, (name, _, step): Step, summary: &Summary) -> Outcome {
    let path = ctx.target("ci")?.join(format!("{name}.log"));
    let log = File::options().create(true).truncate(true).read(true).write(true).open(&path);
    let mut log = log.map_err(|e| format!("{}: {e}", path.display()))?;
    let ctx = ctx.logged(log.try_clone().map_err(|e| format!("{}: {e}", path.display()))?);
    let began = Instant::now();
    let outcome = step(&ctx);
    let seconds = began.elapsed().as_secs_f32();
    summary.add(|results| match (&outcome, ctx.not_run()) {
        (Err(error), _) => {
            log::print_tail(&mut log);
            println!("FAIL  {name:<12} {seconds:>7.1} s");
            let whole = path.display();
            results.failures.push(format!("step {name}: {error}\nwhole log: {whole}"));
            results.failures.extend(log::failed(&log::text(&mut log)));
        }
        (Ok(()), Some(reason)) => {
            println!("NOT RUN {name}: {reason}");
            results.not_run.push(format!("{name}: {reason}"));
        }
        (Ok(()), None) => {
            println!("ok    {name:<12} {seconds:>7.1} s");
            let skipped = log::skipped(&log::text(&mut log));
            results.skipped.extend(skipped.map(|test| format!("{name}: {test}")));
        }
    });
    outcome
}

/// Runs a step that needs another compiler than ours, if `install` finds or installs it.
fn installed(
    ctx: &Ctx,
    install: fn(&Ctx) -> Outcome,
    step: fn(&Ctx, &[String]) -> Outcome,
    arguments: &[&str],
) -> Outcome {
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    match install(ctx) {
        Ok(()) => step(ctx, &arguments),
        Err(reason) => {
            ctx.set_not_run(reason);
            Ok(())
        }
    }
}

/// Installs what later steps need, so that a missing tool is reported early.
fn tools(ctx: &Ctx) -> Outcome {
    machine::need(ctx, "git", "git")?;
    machine::need(ctx, "c++", "g++")?;
    for component in ["rustfmt", "clippy"] {
        let program = format!("cargo-{}", component.trim_start_matches("rust"));
        if !machine::has(&program) {
            ctx.run(ctx.command("rustup").args(["component", "add", component]))?;
        }
    }
    Ok(())
}

/// This workspace, and each workspace that it excludes.
fn fmt(ctx: &Ctx) -> Outcome {
    ctx.run(ctx.cargo().args(["fmt", "--all", "--check"]))?;
    let manifest = read(&ctx.root().join("Cargo.toml"))?;
    let (_, excluded) = manifest.split_once("exclude = [").ok_or("Cargo.toml excludes nothing")?;
    let excluded = excluded.split(']').next().unwrap_or_default();
    for folder in excluded.split('"').skip(1).step_by(2) {
        let mut command = ctx.cargo();
        command.args(["fmt", "--all", "--check", "--manifest-path"]);
        ctx.run(command.arg(format!("{folder}/Cargo.toml")))?;
    }
    Ok(())
}

/// A project outside this workspace, whose build script runs our code generator. Neither code nor documentation may
/// have warnings.
fn outside(ctx: &Ctx, commands: &[&[&str]]) -> Outcome {
    let target = ctx.target("outside")?;
    for command in commands {
        let mut cargo = ctx.cargo();
        cargo
            .args(*command)
            .arg("--workspace")
            .args(["--manifest-path", "protozero-codegen/tests/outside/Cargo.toml"])
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_ENCODED_RUSTFLAGS", "-Dwarnings")
            .env("RUSTDOCFLAGS", "-Dwarnings");
        ctx.run(&mut cargo)?;
    }
    Ok(())
}

/// The project of the guide, whose tests are its examples.
fn guide(ctx: &Ctx) -> Outcome {
    let mut command = ctx.cargo();
    command.args(["test", "--manifest-path", "examples/shop/Cargo.toml", "--locked"]);
    ctx.run(command.env("CARGO_TARGET_DIR", ctx.target("outside")?))
}

/// Programs with gRPC, and what goes over the wire: also between our code and that of prost, and to a real etcd. No
/// code may have warnings.
fn grpc(ctx: &Ctx) -> Outcome {
    machine::need(ctx, "etcd", "etcd-server")?;
    let manifest = ["--manifest-path", "protozero-tonic/examples/Cargo.toml", "--locked"];
    // The schema of etcd is in a package that is not built.
    ctx.run(ctx.cargo().arg("fetch").args(manifest))?;
    let mut test = ctx.cargo();
    test.args(["test", "--workspace"]).args(manifest);
    test.env("CARGO_TARGET_DIR", ctx.target("outside")?);
    ctx.run(test.env("CARGO_ENCODED_RUSTFLAGS", "-Dwarnings"))
}

/// A service inside a program alone: in the workspace, other members switch on what other processes need.
fn in_process(ctx: &Ctx) -> Outcome {
    let mut command = ctx.cargo();
    command
        .args(["test", "--manifest-path", "tracing-sdk/tests/in_process/Cargo.toml"])
        .env("CARGO_TARGET_DIR", ctx.target("in-process")?)
        .env("CARGO_ENCODED_RUSTFLAGS", "-Dwarnings");
    ctx.run(&mut command)
}

fn clippy(ctx: &Ctx) -> Outcome {
    let mut command = ctx.cargo();
    command.args(["clippy", "--workspace", "--all-targets"]).args(FEATURES);
    ctx.run(command.args(["--", "-D", "warnings"]))
}

fn test(ctx: &Ctx) -> Outcome {
    // Tests of the kernel's events tell that they are skipped where there is none.
    if let Err(reason) = machine::tracefs(ctx) {
        ctx.log(reason);
    }
    let mut command = ctx.cargo();
    ctx.run(command.args(["test", "--workspace", "--no-fail-fast"]).args(FEATURES))
}

/// The kernel's events, set up 200 times, with failures and kills: each time every setting is as found. The tests do it
/// a tenth as often. The flags are theirs, so that nothing is built twice.
fn restores(ctx: &Ctx) -> Outcome {
    if let Err(reason) = machine::tracefs(ctx) {
        ctx.log(reason);
    }
    let mut command = ctx.cargo();
    command
        .args(["test", "--workspace", "--test", "it"])
        .args(FEATURES)
        .env("FTRACE_SETUPS", "200");
    ctx.run(command.args(["--", "--exact", "restores::every_setting_of_this_machine_is_as_found"]))
}

/// Ten thousand random programs of the SDK that lose nothing, and as many that do. The tests run fewer. The flags are
/// theirs, so that nothing is built twice.
fn programs(ctx: &Ctx) -> Outcome {
    let tests = |arguments: &[&str]| {
        let mut command = ctx.cargo();
        command.args(["test", "--workspace", "--test", "it"]).args(FEATURES);
        command.arg("--").args(arguments).arg("programs::").env("SDK_CASES", "10000");
        command
    };
    let names = ctx.output(&mut tests(&["--list"]))?;
    let count = names.lines().filter(|line| line.starts_with("programs::")).count();
    if count != 2 {
        return Err(format!("{count} tests are called `programs::`, and two run random programs"));
    }
    ctx.run(&mut tests(&[]))
}

fn doc(ctx: &Ctx) -> Outcome {
    let mut command = ctx.cargo();
    command.args(["doc", "--workspace", "--no-deps", "--document-private-items"]).args(FEATURES);
    // Private items are documented here, so links to them lead somewhere.
    ctx.run(command.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links"))
}

/// No area of the schema, each of them alone, some together, and all at once. The schema is one crate, and to check
/// it takes one processor: as many are checked at a time as there are, each in a folder of its own.
fn areas(ctx: &Ctx) -> Outcome {
    without_events_of_ftrace(ctx)?;
    let manifest = read(&ctx.root().join("protos/Cargo.toml"))?;
    let all = manifest.split_once("\nfull = [").and_then(|(_, rest)| rest.split_once(']'));
    let (all, _) = all.ok_or("protos/Cargo.toml has no feature `full`")?;
    let alone = all.split('"').skip(1).step_by(2);
    let some = ["", "readers", "text", "chrome,readers,text", "android,power"];
    let checks = some.into_iter().chain(alone).map(|features| ("check", features));
    let jobs: Vec<_> =
        [("test", "full,readers,text,descriptor-set")].into_iter().chain(checks).collect();
    pool::all(jobs, |number, (command, features)| {
        let target = ctx.target(&format!("areas/{number}"))?;
        let mut cargo = ctx.cargo();
        cargo.args([command, "--package", "tracebox-protos", "--features", features]);
        ctx.run(cargo.env("CARGO_TARGET_DIR", target))
    })
}

/// The messages of single events of the kernel take longer to compile than all others together. The programs need
/// none: the data source has a table of them.
fn without_events_of_ftrace(ctx: &Ctx) -> Outcome {
    let mut command = ctx.cargo();
    command.args(["tree", "--package", "tracebox", "--edges", "normal", "--prefix", "none"]);
    let tree = ctx.output(command.args(["--format", "{p}: {f}"]))?;
    let schema = tree.lines().find(|line| line.starts_with("tracebox-protos "));
    let (_, features) = schema
        .and_then(|line| line.rsplit_once(": "))
        .ok_or("cargo tree: tracebox without tracebox-protos")?;
    let features = features.trim_end_matches(" (*)");
    if features.split(',').any(|feature| matches!(feature, "ftrace" | "full")) {
        return Err(format!(
            "tracebox compiles the events of ftrace, with {features}: see `tracing-probes`"
        ));
    }
    Ok(())
}

/// All features but `small`, which replaces code instead of adding some. The names are read from the manifest, so
/// that a new feature cannot be forgotten.
fn protozero_full(ctx: &Ctx) -> Outcome {
    let mut command = ctx.cargo();
    let text = ctx.output(command.args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|e| format!("metadata: {e}"))?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == "pbzero");
    let features = package.and_then(|package| package["features"].as_object());
    let names = features.ok_or("metadata without features of pbzero")?.keys();
    let names: Vec<&str> = names.map(String::as_str).filter(|name| *name != "small").collect();
    protozero(ctx, &["--features", &names.join(",")])
}

fn protozero(ctx: &Ctx, features: &[&str]) -> Outcome {
    let mut command = ctx.cargo();
    ctx.run(command.args(["test", "--package", "pbzero"]).args(features))
}

#[cfg(test)]
mod tests;
