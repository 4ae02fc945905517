//! Tracing with every combination of the C++ programs and ours.
//!
//! A cell is a service, a consumer and a source of data, each in a process of its own, with their own folder and
//! sockets. The consumer records, detaches, clones or waits for triggers. Then `interop/check.py` decodes the files
//! with the official Python schema and compares them with what the source sends. `tracebox lint` must find nothing.
//! Track events of the SDKs are read twice, by `interop/events.py` with the official schema and by our reader, and
//! compared with the lists in `interop/*.txt`; `--bless` writes these. `peer` fetches the C++ programs.
//! In addition, `tests` and `life` run our tests with the C++ service, and `scenario` compares the output of both
//! services for one script. `kernel` compares the shape of what both probes write of the kernel's events.

mod against;
mod cell;
mod kernel;
pub mod peer;
mod place;
mod play;
pub mod process;
mod trace;

use crate::ctx::{Ctx, Outcome};
use crate::machine;
pub use against::{fresh, tests_called};
use cell::Cell;
use place::{Place, Side, Source};
use play::Play;
pub use process::wait_until;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

/// The name of what [`kernel`] compares.
const KERNEL: &str = "kernel";

pub fn run(ctx: &Ctx, arguments: &[String]) -> Outcome {
    let keep = arguments.iter().any(|a| a == "--keep");
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let cells: Vec<Cell> = matrix()
        .into_iter()
        .filter(|c| names.is_empty() || names.iter().any(|n| c.matches(n)))
        .collect();
    let others: Vec<&str> = against::NAMES
        .into_iter()
        .chain([KERNEL])
        .filter(|n| names.is_empty() || names.iter().any(|name| name == n))
        .collect();
    if arguments.iter().any(|a| a == "--list") {
        cells.iter().for_each(|c| println!("{}", c.name()));
        others.iter().for_each(|name| println!("{name}"));
        return Ok(());
    }
    if cells.is_empty() && others.is_empty() {
        return Err("no such cell; --list names them".to_owned());
    }
    let mut place = prepare(ctx, &cells)?;
    place.is_blessing = arguments.iter().any(|a| a == "--bless");
    let mut failures = run_cells(ctx, &place, cells, keep);
    for name in others {
        let outcome = match name {
            KERNEL => kernel::run(ctx, &place),
            name => against::run(ctx, &place, name),
        };
        if let Err(error) = outcome {
            failures.push(format!("{name}: {error}"));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Every service with every consumer, source and play; and cells of our programs alone: one process, loss, and
/// features that only ours have.
fn matrix() -> Vec<Cell> {
    let ours = |service, source, play| Cell { service, consumer: Side::Ours, source, play };
    let mut cells = vec![
        ours(Side::Ours, Source::Alone, Play::Record),
        ours(Side::Ours, Source::Inside, Play::Pages4),
        ours(Side::Ours, Source::Layer, Play::Pages4),
        ours(Side::Ours, Source::Futures, Play::Pages4),
        ours(Side::Ours, Source::Tracks, Play::Pages4),
        ours(Side::Ours, Source::Custom, Play::Pages4),
        ours(Side::Ours, Source::Drop, Play::Record),
        ours(Side::Cpp, Source::Drop, Play::Record),
        ours(Side::Ours, Source::Example, Play::Zstd),
        ours(Side::Ours, Source::Example, Play::ZstdFile),
        ours(Side::Ours, Source::FtraceEach, Play::Record),
        ours(Side::Cpp, Source::FtraceEach, Play::Record),
        ours(Side::Ours, Source::KernelEach, Play::Record),
        ours(Side::Cpp, Source::KernelEach, Play::Record),
    ];
    let recorded = Source::ALL.map(|source| match source {
        // These do not wait for a flush: on a busy machine, a trace of fixed length may end before they have written
        // everything.
        Source::Sdk | Source::Startup => (source, Play::Pages4),
        source => (source, Play::Record),
    });
    let played = Play::ALL.map(|play| (Source::Example, play));
    // For producers of the other side.
    let noticed =
        [Play::File, Play::Deflate, Play::Pages32, Play::V2].map(|play| (Source::Sdk, play));
    let events = [Source::Events, Source::Both].map(|source| (source, Play::Pages4));
    for (source, play) in recorded.into_iter().chain(played).chain(noticed).chain(events) {
        for service in [Side::Ours, Side::Cpp] {
            for consumer in [Side::Ours, Side::Cpp] {
                cells.push(Cell { service, consumer, source, play });
            }
        }
    }
    cells
}

/// Fetches and builds what these cells need.
fn prepare(ctx: &Ctx, cells: &[Cell]) -> Result<Place, String> {
    let peer = peer::programs(ctx)?;
    let python = peer::python(ctx)?;
    let ours = ctx.root().join("target/debug");
    ctx.build_workspace()?;
    let sdk = ctx.target("interop")?;
    if cells.iter().any(|c| matches!(c.source, Source::Sdk | Source::Both)) {
        machine::need(ctx, "c++", "g++")?;
        let mut command = ctx.cargo();
        command.args(["build", "--manifest-path", "interop/Cargo.toml"]);
        ctx.run(command.env("CARGO_TARGET_DIR", &sdk))?;
    }
    if cells.iter().any(|c| c.source.is_of_kernel()) {
        machine::tracefs(ctx).map_err(|e| format!("cells with ftrace cannot run: {e}"))?;
    }
    let scripts = ctx.root().join("interop");
    Ok(Place { ours, peer, sdk: sdk.join("debug"), python, scripts, is_blessing: false })
}

/// Two at a time, but ftrace one after the other, as the kernel has one instance of it.
fn run_cells(ctx: &Ctx, place: &Place, cells: Vec<Cell>, keep: bool) -> Vec<String> {
    let (exclusive, free): (VecDeque<_>, VecDeque<_>) =
        cells.into_iter().partition(|c| c.source.is_of_kernel());
    let (exclusive, free) = (Mutex::new(exclusive), Mutex::new(free));
    let failures = Mutex::new(Vec::new());
    let next = |queue: &Mutex<VecDeque<Cell>>| queue.lock().ok().and_then(|mut q| q.pop_front());
    let work = |cell: Cell| {
        let began = Instant::now();
        let alone = cell.source.is_of_kernel().then(machine::tracefs_alone).transpose();
        let outcome = alone.and_then(|_alone| cell.run(place, keep));
        let seconds = began.elapsed().as_secs_f32();
        match outcome {
            Ok(summary) => {
                ctx.log(format_args!("ok    {:<28} {seconds:>4.1} s  {summary}", cell.name()));
            }
            Err(error) => {
                ctx.log(format_args!("FAIL  {:<28} {seconds:>4.1} s\n{error}", cell.name()));
                let first = error.lines().next().unwrap_or_default();
                if let Ok(mut failures) = failures.lock() {
                    failures.push(format!("{}: {first}", cell.name()));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while let Some(cell) = next(&exclusive).or_else(|| next(&free)) {
                work(cell);
            }
        });
        scope.spawn(|| {
            while let Some(cell) = next(&free) {
                work(cell);
            }
        });
    });
    failures.into_inner().unwrap_or_default()
}
