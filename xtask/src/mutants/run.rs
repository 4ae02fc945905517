//! Builds the tests of the copy, and runs them with one mutant at a time.

use super::reach::Reach;
use super::switch::{MUTANT, REACHED};
use crate::ctx::Ctx;
use crate::times::cpu_of_children_s;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What cargo builds for a group of crates.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "",
        &[
            "--package=tracebox-abi",
            "--package=tracebox-os",
            "--package=tracebox-client",
            "--package=tracebox-service",
            "--package=tracebox-daemon",
            "--package=tracing-core-testing",
            "--lib",
            "--tests",
            "--features=tracebox-abi/testing,tracebox-daemon/host",
        ],
    ),
    // Tests of limits are beside the code.
    ("protozero", &["--package=pbzero", "--lib", "--features=derive,bytes,json,dynamic"]),
    ("tracing-file", &["--package=tracebox-file", "--lib", "--tests", "--features=compressed"]),
    // Its other tests change settings of this machine.
    ("tracing-probes", &["--package=tracebox-probes", "--lib"]),
];
/// Memory of a program of tests, KiB: a mutant may take all there is.
const MEMORY_KB: u64 = 8 * 1024 * 1024;
/// A program that takes this many times the processor time of all its tests without a mutant does not end. What other
/// programs do on the machine does not count.
const CPU_FACTOR: f64 = 4.0;
const CPU_MIN_S: f64 = 10.0;
/// A program that waits, for so many times as long as all its tests take without a mutant, does not end either.
const TIMEOUT_FACTOR: u32 = 10;
const TIMEOUT_MIN: Duration = Duration::from_secs(60);
/// Before that is said of a mutant, the tests run again without it, and must take a part of that time.
const AGAIN_FACTOR: u32 = 3;

/// The signal of a process that used up its processor time.
const SIGXCPU: i32 = 24;

/// A program of tests.
pub struct Program {
    pub name: String,
    path: PathBuf,
    folder: PathBuf,
    without: Reach,
}

/// What the tests say about a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A test of this program failed.
    Killed(String),
    /// The tests of this program did not end.
    Hung(String),
    /// All tests passed.
    Survived,
    /// No test reaches its code.
    NotReached,
}

/// Builds the programs of these groups and runs each without a mutant.
///
/// # Errors
/// The copy does not compile, or a test fails.
pub fn build(
    ctx: &Ctx,
    source: &Path,
    groups: &BTreeSet<&'static str>,
) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for (_, arguments) in GROUPS.iter().filter(|(group, _)| groups.contains(group)) {
        programs.extend(compile(ctx, source, arguments)?);
    }
    for program in &mut programs {
        let known = ctx.target("mutants/reach")?.join(program.name.replace('/', "-"));
        program.without = match Reach::read(&known, &program.path)? {
            Some(reach) => reach,
            None => program.learn(ctx)?,
        };
        program.without.write(&known, &program.path)?;
        let (name, reach) = (&program.name, &program.without);
        ctx.log(format_args!("{name}: {:?}, {} places", reach.time, reach.tests.len()));
    }
    // The simulator takes long where a mutant makes the service slow. Those with a service on another thread are last:
    // they wait for what a mutant may keep from happening, others fail. Of these the tests of single parts come first.
    let place = |program: &Program| match program.name.as_str() {
        "testing/tracing_core_testing" => 1,
        "daemon/tracing_core_daemon" => 2,
        "daemon/it" | "testing/in_process" => 3,
        _ => 0,
    };
    programs.sort_by_key(|program| (place(program), program.without.time));
    Ok(programs)
}

fn compile(ctx: &Ctx, source: &Path, arguments: &[&str]) -> Result<Vec<Program>, String> {
    let mut command = ctx.cargo();
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics", "--locked"]);
    command.args(arguments).current_dir(source);
    // Optimise what is tested, as it runs often; the generated schema is large and hardly runs.
    command.args(["--config", "profile.dev.opt-level=1"]);
    command.args(["--config", "profile.dev.package.tracebox-protos.opt-level=0"]);
    command.env("CARGO_TARGET_DIR", ctx.target("mutants/build")?).env("RUSTFLAGS", "-Awarnings");
    let messages = ctx.output(&mut command)?;
    let mut programs = Vec::new();
    for message in messages.lines() {
        let message: Value = serde_json::from_str(message).map_err(|e| format!("cargo: {e}"))?;
        let Some(path) = message["executable"].as_str() else { continue };
        if message["profile"]["test"] != true {
            continue;
        }
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().unwrap_or(source).to_owned();
        let package = folder.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{package}/{}", message["target"]["name"].as_str().unwrap_or_default());
        programs.push(Program { name, path: path.into(), folder, without: Reach::default() });
    }
    Ok(programs)
}

/// Runs the tests that reach the mutant until one fails.
///
/// # Errors
/// A program does not start.
pub fn run(programs: &[Program], number: usize) -> Result<Fate, String> {
    let mut fate = Fate::NotReached;
    for program in programs {
        let Some(tests) = program.without.tests.get(&number) else { continue };
        match program.passes(number, tests)? {
            Some(true) => fate = Fate::Survived,
            Some(false) => return Ok(Fate::Killed(program.name.clone())),
            None => return Ok(Fate::Hung(program.name.clone())),
        }
    }
    Ok(fate)
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        // A group of processes, so that what the tests start ends with them.
        command.process_group(0).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        let cpu_s = match self.without.cpu {
            Duration::ZERO => "unlimited".to_owned(),
            cpu => (cpu.as_secs_f64() * CPU_FACTOR + CPU_MIN_S).ceil().to_string(),
        };
        let script = format!("ulimit -v {MEMORY_KB} -t {cpu_s}; exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(&self.path);
        // No files, and the same random numbers each time.
        command.env("INSTA_UPDATE", "no").env("PROPTEST_RNG_SEED", "1");
        command.env_remove(MUTANT).env_remove(REACHED);
        command
    }

    /// Whether tests pass with a mutant; `None` if they do not end, although without it they do.
    fn passes(&self, mutant: usize, tests: &BTreeSet<String>) -> Result<Option<bool>, String> {
        let run = |mutant: Option<usize>, limit| {
            let mut command = self.command();
            command.envs(mutant.map(|number| (MUTANT, number.to_string())));
            passes(command.arg("--exact").args(tests), limit)
        };
        let mut limit = TIMEOUT_MIN + self.without.time * TIMEOUT_FACTOR;
        loop {
            let passed = run(Some(mutant), limit)?;
            if passed.is_some() {
                return Ok(passed);
            }
            // The machine may have more to do than before.
            let began = Instant::now();
            let ended = run(None, limit)?.is_some();
            let needed = began.elapsed() * AGAIN_FACTOR;
            if ended && needed <= limit {
                return Ok(None);
            }
            limit = needed.max(limit * 2);
        }
    }

    /// Runs without a mutant: how long it takes, and which mutants it reaches.
    fn learn(&self, ctx: &Ctx) -> Result<Reach, String> {
        let tests = ctx.output(self.command().arg("--list"))?;
        let tests = tests.lines().filter_map(|line| line.strip_suffix(": test"));
        let tests: BTreeSet<String> = tests.map(str::to_owned).collect();
        let (began, cpu_s) = (Instant::now(), cpu_of_children_s()?);
        let reached = self.reached_by(ctx, &[])?;
        let time = began.elapsed();
        // What takes none at all has a limit, too.
        let cpu = Duration::from_secs_f64((cpu_of_children_s()? - cpu_s).max(0.1));
        let mut by_mutant: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        let has_other_threads = reached.iter().any(|(_, thread)| !tests.contains(thread));
        if has_other_threads {
            // Threads that tests start have other names: which test it was is known if it runs alone.
            for test in tests {
                for (number, _) in self.reached_by(ctx, &["--exact", &test])? {
                    by_mutant.entry(number).or_default().insert(test.clone());
                }
            }
        } else {
            for (number, test) in reached {
                by_mutant.entry(number).or_default().insert(test);
            }
        }
        Ok(Reach { time, cpu, tests: by_mutant })
    }

    /// Runs tests without a mutant: the mutants that they reach, and the names of the threads that do.
    fn reached_by(
        &self,
        ctx: &Ctx,
        arguments: &[&str],
    ) -> Result<BTreeSet<(usize, String)>, String> {
        let list = ctx.target("mutants")?.join("reached.txt");
        // There may be none.
        let _ = std::fs::remove_file(&list);
        let mut command = self.command();
        command.env(REACHED, &list).args(arguments);
        if passes(&mut command, Duration::MAX)? != Some(true) {
            return Err(format!(
                "{}: a test fails without a mutant: {} {}",
                self.name,
                self.path.display(),
                arguments.join(" ")
            ));
        }
        let text = std::fs::read_to_string(&list).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines
            .map(|(number, thread)| {
                let number = number.parse().map_err(|e| format!("{}: {e}", list.display()))?;
                Ok((number, thread.to_owned()))
            })
            .collect()
    }
}

/// Whether a program of tests passes; `None` if it does not end within `limit`. The first failure ends it.
fn passes(command: &mut Command, limit: Duration) -> Result<Option<bool>, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| format!("cannot start tests: {e}"))?;
    let stdout = child.stdout.take().ok_or("no stdout")?;
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if line.ends_with(b"... FAILED") && sender.send(()).is_err() {
                return;
            }
        }
    });
    // The channel closes with standard output, that is, with the last process that holds it.
    let found = match lines.recv_timeout(limit) {
        Ok(()) => Some(false),
        Err(RecvTimeoutError::Disconnected) => Some(true),
        Err(RecvTimeoutError::Timeout) => None,
    };
    if found != Some(true) {
        let group = format!("-{}", child.id());
        let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
        killed.map_err(|e| format!("cannot end tests: {e}"))?;
    }
    let status = child.wait().map_err(|e| format!("tests: {e}"))?;
    if status.signal() == Some(SIGXCPU) {
        return Ok(None);
    }
    Ok(found.map(|passed| passed && status.success()))
}
