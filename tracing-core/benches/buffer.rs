//! Copying chunks into a trace buffer, and reading packets from it.
//!
//! ```text
//! cargo bench -p tracebox-core --bench buffer               ns per chunk, per packet, per patch
//! target/release/deps/buffer-* loop write-1 1000           that many of one mode, for callgrind
//! target/release/deps/buffer-* turns 1024                  the longest turn of a clone of so many MiB
//! ```
//!
//! The loads are those of Perfetto's own `trace_buffer_benchmark.cc`: 100 templates of 5 to 15
//! fragments of 50 to 500 bytes, into 64 MiB, from one writer (`write-1`) or 1000 in turn
//! (`write-1000`), or into 1 MiB that fits into the caches and is overwritten all the time (`wrap`);
//! `read` and `read-1000` read 64 MiB of them, packet by packet; `patch` and `patch-absent`
//! change four bytes of a late chunk, or of one that is not in the buffer; `clone` copies 64 MiB. The prefix `v2-`
//! means a buffer of version 2.
//!
//! The cost of memory alone: `floor-write` only copies the same payloads to the same offsets;
//! `floor-read` goes from length to length. All times are processor time.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::process::ExitCode;

use tracing_core::abi::ids::{ChunkId, ProducerId, WriterId};
use tracing_core::abi::shm::ChunkFlags;
use tracing_core::service::buffer::{
    ChunkMeta, ChunkPatches, Identity, PacketRef, Patch, Policy, SequenceKey, TraceBuffer, Version,
};
use tracing_core::service::limits::CLONE_PIECE_BYTES;

const MODES: [&str; 18] = [
    "floor-write",
    "floor-read",
    "write-1",
    "write-1000",
    "wrap",
    "read",
    "read-1000",
    "patch",
    "patch-absent",
    "clone",
    "v2-write-1",
    "v2-write-1000",
    "v2-wrap",
    "v2-read",
    "v2-read-1000",
    "v2-patch",
    "v2-patch-absent",
    "v2-clone",
];
const BUFFER_BYTES: usize = 64 << 20;
const WRAP_BYTES: usize = 1 << 20;
const CHUNK_BYTES: usize = 4088;
const SAMPLES: usize = 7;

/// A chunk's payload and its number of fragments.
struct Template {
    payload: Vec<u8>,
    fragments: u16,
}

fn templates() -> Vec<Template> {
    let mut state = 42u64;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    let template = |_| {
        let fragments = 5 + random(11) as u16;
        let mut payload = Vec::new();
        for _ in 0..fragments {
            let len = 50 + random(451) as usize;
            if payload.len() + len + 4 > CHUNK_BYTES {
                break;
            }
            payload.extend([len as u8 | 0x80, (len >> 7) as u8 | 0x80, 0x80, 0]);
            payload.extend((0..len).map(|_| random(256) as u8));
        }
        Template { payload, fragments }
    };
    (0..100).map(template).collect()
}

struct Load {
    templates: Vec<Template>,
    buffer: TraceBuffer,
    sent: u32,
}

impl Load {
    fn new(bytes: usize, version: Version) -> Option<Self> {
        let buffer = TraceBuffer::new(bytes, Policy::Ring, version)?;
        Some(Self { templates: templates(), buffer, sent: 0 })
    }

    fn write(&mut self, count: u32, writers: u32) {
        for _ in 0..count {
            let template = &self.templates[self.sent as usize % self.templates.len()];
            let writer = self.sent % writers;
            let meta = ChunkMeta {
                producer: ProducerId::new((writer / 10 + 1) as u16),
                identity: Identity::default(),
                writer: WriterId::new((writer % 10 + 1) as u16),
                chunk: ChunkId::new(self.sent / writers),
                fragments: template.fragments,
                flags: ChunkFlags::default(),
                complete: true,
            };
            self.buffer.copy_chunk(black_box(&meta), black_box(&template.payload));
            self.sent = self.sent.wrapping_add(1);
        }
    }

    /// Packets and bytes.
    #[inline(never)]
    fn read(&mut self) -> (u64, usize) {
        let mut sum = (0, 0);
        self.buffer.begin_read();
        self.buffer.read_while(&mut |packet: PacketRef<'_>| {
            sum = (sum.0 + 1, sum.1 + packet.slices.iter().map(|s| s.len()).sum::<usize>());
            true
        });
        sum
    }

    fn patch(&mut self, count: u32, chunk: u32) {
        let patches = ChunkPatches {
            sequence: SequenceKey {
                producer: ProducerId::new(1),
                writer: WriterId::new(1),
                identity: Identity::default(),
            },
            chunk: ChunkId::new(chunk),
            patches: &[Patch { offset: 16, data: [1, 2, 3, 4] }],
            more: false,
        };
        for _ in 0..count {
            black_box(self.buffer.patch(black_box(&patches)));
        }
    }
}

/// The same payloads in plain memory.
struct Floor {
    templates: Vec<Template>,
    memory: Vec<u8>,
    at: usize,
}

impl Floor {
    fn new() -> Self {
        Self { templates: templates(), memory: vec![1; BUFFER_BYTES], at: 0 }
    }

    fn write(&mut self, count: u32) {
        for idx in 0..count as usize {
            let payload = &black_box(&self.templates)[idx % self.templates.len()].payload;
            let record_len = (payload.len() + 16).next_multiple_of(16);
            if self.at + record_len > self.memory.len() {
                self.at = 0;
            }
            self.memory[self.at..][..payload.len()].copy_from_slice(payload);
            self.memory[self.at + payload.len()..][..16].fill(0);
            self.at += record_len;
        }
    }

    /// Packets and bytes up to where it was written last.
    #[inline(never)]
    fn read(&self) -> (u64, usize) {
        let (mut at, mut sum) = (0, (0, 0));
        while let Some([a, b, _, _]) =
            self.memory[..self.at].get(at..).and_then(|m| m.first_chunk())
        {
            let len = usize::from(a & 0x7f) | usize::from(b & 0x7f) << 7;
            if len == 0 {
                // The end of a chunk: zeros up to the next one.
                at = (at + 1).next_multiple_of(16);
                continue;
            }
            at += 4 + len;
            sum = (sum.0 + 1, sum.1 + len);
        }
        sum
    }
}

/// Processor time of this thread, ns, which other processes do not change.
fn cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Runs a floor; how many things were done, and the ns they took.
fn run_floor(mode: &str, count: u32, clock: fn() -> u64) -> Option<(u64, u64)> {
    let mut floor = Floor::new();
    let chunks = (BUFFER_BYTES / CHUNK_BYTES) as u32;
    match mode {
        "floor-write" => {
            floor.write(chunks * 2);
            let start = clock();
            floor.write(count);
            Some((count.into(), clock() - start))
        }
        "floor-read" => {
            floor.write(chunks);
            let start = clock();
            let packets = (0..count).map(|_| black_box(&floor).read().0).sum();
            Some((packets, clock() - start))
        }
        _ => None,
    }
}

/// Runs a mode with `count` chunks (patches, clones, or fillings of the buffer to read); returns how
/// many things were done, and the ns they took.
fn run(mode: &str, count: u32, clock: fn() -> u64) -> Option<(u64, u64)> {
    if mode.starts_with("floor-") {
        return run_floor(mode, count, clock);
    }
    let (mode, version) = match mode.strip_prefix("v2-") {
        Some(mode) => (mode, Version::V2),
        None => (mode, Version::V1),
    };
    let bytes = if mode == "wrap" { WRAP_BYTES } else { BUFFER_BYTES };
    let writers = if mode.ends_with("-1000") { 1000 } else { 1 };
    let chunks = (BUFFER_BYTES / CHUNK_BYTES) as u32;
    let mut load = Load::new(bytes, version)?;
    match mode {
        "write-1" | "write-1000" | "wrap" => {
            // The first round causes the page faults of new memory.
            load.write(chunks * 2, writers);
            let start = clock();
            load.write(count, writers);
            Some((count.into(), clock() - start))
        }
        "read" | "read-1000" => {
            let (mut packets, mut ns) = (0, 0);
            for _ in 0..count {
                load.write(chunks, writers);
                let start = clock();
                packets += load.read().0;
                ns += clock() - start;
            }
            Some((packets, ns))
        }
        "patch" | "patch-absent" => {
            load.write(chunks, 1);
            let start = clock();
            load.patch(count, if mode == "patch" { chunks - 10 } else { chunks + 1 });
            Some((count.into(), clock() - start))
        }
        "clone" => {
            load.write(chunks * 2, 1000);
            let start = clock();
            for _ in 0..count {
                black_box(load.buffer.clone_read_only()?);
            }
            Some((count.into(), clock() - start))
        }
        _ => None,
    }
}

/// Small chunks of many writers: a large index for each byte.
const SMALL_BYTES: usize = 256 - 16;

/// Copies a buffer full of small chunks, at once and in pieces as a service does, and prints the
/// longest turn of each.
fn turns(mib: usize, version: Version) -> Option<()> {
    let mut buffer = TraceBuffer::new(mib << 20, Policy::Ring, version)?;
    buffer.set_fault_in(tracing_core::daemon::system::memory::fault_in);
    let payload = [[100; 1].as_slice(), &[7; 100], &[138, 1], &[7; SMALL_BYTES - 103]].concat();
    let chunks = (mib << 20) / (SMALL_BYTES + 16);
    let mut sent = 0;
    let mut write = |buffer: &mut TraceBuffer, count: usize| {
        for _ in 0..count {
            let meta = ChunkMeta {
                producer: ProducerId::new((sent % 100 + 1) as u16),
                identity: Identity::default(),
                writer: WriterId::new(1),
                chunk: ChunkId::new(sent / 100),
                fragments: 2,
                flags: ChunkFlags::default(),
                complete: true,
            };
            buffer.copy_chunk(&meta, &payload);
            sent += 1;
        }
    };
    write(&mut buffer, chunks + chunks / 2);
    let ms = |ns: u64| ns as f64 / 1e6;
    let since = |start: u64| cpu_ns() - start;
    let start = cpu_ns();
    drop(black_box(buffer.clone_read_only()?));
    println!("{version:?} {mib} MiB at once: {:.1} ms", ms(since(start)));
    // Without chunks between the pieces, and with as many bytes of chunks as a piece has.
    for between in [0, CLONE_PIECE_BYTES / (SMALL_BYTES + 16)] {
        let start = cpu_ns();
        let clone = buffer.begin_clone()?;
        let begun = since(start);
        let (mut pieces, mut longest, mut all, mut writing) = (0, 0, begun, 0);
        loop {
            let start = cpu_ns();
            let left = buffer.continue_clone(&clone, CLONE_PIECE_BYTES);
            let took = since(start);
            (pieces, longest, all) = (pieces + 1, took.max(longest), all + took);
            if left == 0 {
                break;
            }
            let start = cpu_ns();
            write(&mut buffer, between);
            writing = since(start).max(writing);
        }
        let start = cpu_ns();
        let clone = black_box(buffer.finish_clone(clone)?);
        let end = since(start);
        drop(clone);
        println!(
            "  begin {:.1} ms, {pieces} pieces of at most {:.2} ms, end {:.3} ms: {:.1} ms; \
             {between} chunks between: at most {:.2} ms",
            ms(begun),
            ms(longest),
            ms(end),
            ms(all + end),
            ms(writing),
        );
    }
    Some(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["loop", mode, count] = args[..] {
        let done = count.parse().ok().and_then(|count| run(mode, count, || 0));
        let Some((done, _)) = done else {
            eprintln!("loop takes one of {MODES:?} and a count");
            return ExitCode::FAILURE;
        };
        println!("{mode} {done}");
        return ExitCode::SUCCESS;
    }
    if let ["turns", mib] = args[..] {
        let mib = mib.parse().unwrap_or(0);
        let done = turns(mib, Version::V1).and_then(|()| turns(mib, Version::V2));
        return if done.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    for mode in MODES.into_iter().filter(|mode| args.is_empty() || args.contains(mode)) {
        let count = match mode {
            mode if mode.contains("read") => 1,
            mode if mode.contains("patch") => 200_000,
            mode if mode.contains("clone") => 3,
            _ => 4 * (BUFFER_BYTES / CHUNK_BYTES) as u32,
        };
        let mut samples: Vec<f64> = (0..SAMPLES)
            .filter_map(|_| run(mode, count, cpu_ns))
            .map(|(done, ns)| ns as f64 / done.max(1) as f64)
            .collect();
        samples.sort_by(f64::total_cmp);
        println!("{mode:16} {:10.1} ns", samples[samples.len() / 2]);
    }
    ExitCode::SUCCESS
}
