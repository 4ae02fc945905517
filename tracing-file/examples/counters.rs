//! Counters, a state and the slices that explain them, of a machine that is made up: `counters out.pftrace`.

use std::error::Error;
use std::fs::File;

use tracing_file::write::{CounterSpec, TraceFile, TrackSpec, Unit};

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::args_os().nth(1).ok_or("usage: counters TRACE")?;
    let mut trace = TraceFile::create(File::create(out)?)?;
    let oven = trace.track(TrackSpec::new("oven").children_by_rank());
    let heat = TrackSpec::new("heat").under(&oven).rank(1);
    let heat = trace.counter_track(CounterSpec::new(heat).unit(Unit::Named("°C")));
    let door = trace.state_track(TrackSpec::new("door").under(&oven).rank(2));
    trace.state(&door, 0, "open");
    trace.state(&door, 2_000_000, "closed");
    trace.slice(&oven, 2_000_000, 60_000_000, "bake").arg("bread", 12);
    for step in 0..60_u32 {
        trace.counter(&heat, u64::from(step) * 1_000_000, 20.0 + f64::from(step) * 3.5);
    }
    trace.no_state(&door, 62_000_000);
    Ok(trace.finish()?)
}
