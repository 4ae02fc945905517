//! Packets into shared memory, hand-over of full chunks included.
//!
//! ```text
//! cargo bench -p tracebox-core --bench smb                 ns of processor time per packet
//! target/release/deps/smb-* loop event 100000             that many of one mode, for callgrind
//!                                                         (there only modes without a clock)
//! ```
//!
//! | mode | packet |
//! |---|---|
//! | `packet` | `timestamp=42, for_testing { str: "benchmark" }`: no clock (`BM_TracingDataSourceLambda`) |
//! | `event` | a track event of four fields and a delta timestamp: no clock |
//! | `instant` | the same, with a reading of the boot clock |
//! | `slice` | begin and end, two readings |
//! | `args` | `instant` and two debug annotations, a number and a 17-byte string |
//!
//! Bursts of 2000 into 4 MiB of 4 KiB pages that were written before; between them, outside the measured time, what was
//! committed is read and freed, so that nothing is ever dropped.
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use protos::TrackEventType;
use protos::producer_port::Request;
use tracing_core::abi::ids::BufferId;
use tracing_core::abi::shm::{PageSize, Region, Smb, SmbReader};
use tracing_core::abi::sync::Arc;
use tracing_core::abi::time::BootTime;
use tracing_core::client::write::{
    Arbiter, ArbiterOptions, BufferExhaustedPolicy, NoWaker, Park, TraceWriter,
};
use tracing_core::os::clock;

const MODES: [&str; 5] = ["packet", "event", "instant", "slice", "args"];
const BURST: u32 = 2000;
/// Enough to go round the shared memory, so that no page is touched for the first time later.
const WARM_UP: u32 = 200 * BURST;
const SAMPLES: usize = 9;

struct NoPark;

impl Park for NoPark {
    fn park(&self, _time: Duration) {}
}

struct Load {
    arbiter: Arbiter,
    reader: SmbReader,
    writer: TraceWriter,
    payload: Vec<u8>,
    last_ns: u64,
}

impl Load {
    fn new() -> Option<Self> {
        let smb = Smb::new(Region::heap(4 << 20), PageSize::DEFAULT).ok()?;
        let reader = smb.reader()?;
        let mut options = ArbiterOptions::default();
        options.service.direct_patching = true;
        let arbiter = Arbiter::new(smb, options, Arc::new(NoWaker), Arc::new(NoPark));
        let writer = arbiter.create_writer(BufferId::new(1), BufferExhaustedPolicy::Drop);
        Some(Self { arbiter, reader, writer, payload: Vec::new(), last_ns: 0 })
    }

    /// The service's part: read and free what was committed.
    fn drain(&mut self) {
        while let Some(outgoing) = self.arbiter.poll_request(BootTime::from_ns(0)) {
            let Request::CommitData(commit) = outgoing.request else { continue };
            for entry in &commit.chunks_to_move {
                let place = (entry.page.unwrap_or(0) as usize, entry.chunk.unwrap_or(0) as usize);
                self.payload.clear();
                black_box(self.reader.read_chunk(place.0, place.1, &mut self.payload));
            }
        }
    }

    #[inline(always)]
    fn delta_ns(&mut self) -> u64 {
        let now = clock::boot_ns();
        let delta = now - self.last_ns;
        self.last_ns = now;
        delta
    }

    #[inline(always)]
    fn event(&mut self, delta: u64, kind: TrackEventType) {
        let mut packet = self.writer.new_packet();
        packet.timestamp(delta).sequence_flags(2);
        let mut event = packet.track_event();
        event.category_iids(black_box(1)).r#type(kind).name_iid(black_box(7));
    }

    #[inline(always)]
    fn event_with_args(&mut self, delta: u64) {
        let mut packet = self.writer.new_packet();
        packet.timestamp(delta).sequence_flags(2);
        let mut event = packet.track_event();
        event.category_iids(black_box(1)).r#type(TrackEventType::TYPE_INSTANT);
        event.name_iid(black_box(7));
        event.debug_annotations().name_iid(1).uint_value(black_box(123_456));
        event.debug_annotations().name_iid(2).string_value(black_box("seventeen letters"));
    }

    /// `count` packets (slices) in a row.
    fn burst(&mut self, mode: &str, count: u32) -> bool {
        match mode {
            "packet" => {
                for _ in 0..count {
                    let mut packet = self.writer.new_packet();
                    packet.timestamp(black_box(42));
                    packet.for_testing().str(black_box("benchmark"));
                }
            }
            "event" => {
                for idx in 0..count {
                    self.event(black_box(u64::from(idx) + 1000), TrackEventType::TYPE_INSTANT);
                }
            }
            "instant" => {
                for _ in 0..count {
                    let delta = self.delta_ns();
                    self.event(delta, TrackEventType::TYPE_INSTANT);
                }
            }
            "slice" => {
                for _ in 0..count {
                    let delta = self.delta_ns();
                    self.event(delta, TrackEventType::TYPE_SLICE_BEGIN);
                    let delta = self.delta_ns();
                    let mut packet = self.writer.new_packet();
                    packet.timestamp(delta).sequence_flags(2);
                    packet.track_event().r#type(TrackEventType::TYPE_SLICE_END);
                }
            }
            "args" => {
                for _ in 0..count {
                    let delta = self.delta_ns();
                    self.event_with_args(delta);
                }
            }
            _ => return false,
        }
        true
    }
}

/// Processor time of this thread, ns: what others do to the machine stays out of it.
fn cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Runs `warm_up` and then `count` of a mode in bursts; the ns spent writing the latter, by `clock`.
fn run(mode: &str, warm_up: u32, count: u32, clock: fn() -> u64) -> Option<u64> {
    let mut load = Load::new()?;
    if !matches!(mode, "packet" | "event") {
        // Not for the others: rustix looks for the vDSO, of which valgrind takes the pages away.
        load.last_ns = clock::boot_ns();
    }
    let mut ns = 0;
    for (mut left, measured) in [(warm_up, false), (count, true)] {
        while left > 0 {
            let burst = left.min(BURST);
            let start = clock();
            if !load.burst(mode, burst) {
                return None;
            }
            ns += if measured { clock() - start } else { 0 };
            load.drain();
            left -= burst;
        }
    }
    (load.writer.drop_count() == 0).then_some(ns)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["loop", mode, count] = args[..] {
        if count.parse().ok().and_then(|count| run(mode, 0, count, || 0)).is_none() {
            eprintln!("loop takes one of {MODES:?} and a count");
            return ExitCode::FAILURE;
        }
        println!("{mode} {count}");
        return ExitCode::SUCCESS;
    }
    for mode in MODES.into_iter().filter(|mode| args.is_empty() || args.contains(mode)) {
        let count = 100 * BURST;
        let mut samples: Vec<f64> = (0..SAMPLES)
            .filter_map(|_| run(mode, WARM_UP, count, cpu_ns))
            .map(|ns| ns as f64 / f64::from(count))
            .collect();
        samples.sort_by(f64::total_cmp);
        let Some(best) = samples.first() else { return ExitCode::FAILURE };
        println!("{mode:14} {:8.1} ns   (best {best:.1})", samples[samples.len() / 2]);
    }
    ExitCode::SUCCESS
}
