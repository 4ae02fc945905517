//! Encoding and decoding of six messages.
//!
//! ```text
//! cargo bench -p pbzero --bench wire                    ns per message, median of 21 samples
//! target/release/deps/wire-* best                          best of many short samples: for a busy machine
//! target/release/deps/wire-* loop encode packet 2000       this number of messages, for callgrind
//! ```
//!
//! `simple` is four integers and a string, `nested` is four of them inside each other, `packet` is
//! a track event with two debug annotations, and `commit` is a CommitDataRequest of 20 chunks and 5
//! patches. The benchmarks of other libraries use the same messages. `five` is four varints, a
//! double and a string of 32 bytes; `five-nested` has the same at the root and in each of three
//! levels below.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use protozero::{FixedSink, Writer};

mod messages;
mod sums;
mod tables;

use messages::*;

const PAYLOADS: [&str; 6] = ["simple", "nested", "packet", "commit", "five", "five-nested"];
/// Decoding reads field by field, or a table.
const OPS: [&str; 3] = ["encode", "decode", "table"];
const SAMPLES: usize = 21;
const BEST_COUNT: u32 = 200;
const SAMPLE_NS: u128 = 4_000_000;

/// The values to encode. They are read through `black_box`, so that the compiler does not know
/// them.
struct Input {
    int32: i32,
    uint32: u32,
    int64: i64,
    uint64: u64,
    double: f64,
    text: String,
    text32: String,
    time: u64,
    sequence: u32,
    kind: i32,
    uuid: u64,
    iids: [u64; 4],
    value: u64,
    label: String,
    moves: Vec<[u32; 3]>,
    patches: Vec<([u32; 4], [u8; 4], bool)>,
}

impl Input {
    fn new() -> Self {
        Self {
            int32: 0x1234_5678,
            uint32: 0x90ab_cdef,
            int64: 0x1111_1111,
            uint64: 0xffff_ffff,
            double: core::f64::consts::PI,
            text: "f".repeat(31),
            text32: "s".repeat(32),
            time: 1_234_567_890_123_456,
            sequence: 3,
            kind: 1,
            uuid: 0x9e37_79b9_7f4a_7c15,
            iids: [5, 1, 2, 17],
            value: 42,
            label: "a_debug_string_16".to_owned(),
            moves: (0..20).map(|i| [100 + 37 * i, i % 14, 1]).collect(),
            patches: (0..5)
                .map(|i| {
                    (
                        [1, 7, 300_000 + i, 200 + 700 * i],
                        [0x92 + i as u8, 0x83, 0x80, 0],
                        i % 2 == 1,
                    )
                })
                .collect(),
        }
    }
}

#[inline(always)]
fn simple(m: &mut EveryFieldWriter<'_>, i: &Input) {
    m.field_int32(i.int32).field_uint32(i.uint32).field_int64(i.int64).field_uint64(i.uint64);
    m.field_string(&i.text);
}

#[inline(always)]
fn five(m: &mut EveryFieldWriter<'_>, i: &Input) {
    m.field_int32(i.int32).field_uint32(i.uint32).field_int64(i.int64).field_uint64(i.uint64);
    m.field_double(i.double).field_string(&i.text32);
}

#[inline(always)]
fn nested(m: &mut EveryFieldWriter<'_>, i: &Input) {
    simple(m, i);
    let mut m = m.field_nested();
    simple(&mut m, i);
    let mut m = m.field_nested();
    simple(&mut m, i);
    simple(&mut m.field_nested(), i);
}

#[inline(always)]
fn five_nested(m: &mut EveryFieldWriter<'_>, i: &Input) {
    five(m, i);
    let mut m = m.field_nested();
    five(&mut m, i);
    let mut m = m.field_nested();
    five(&mut m, i);
    five(&mut m.field_nested(), i);
}

#[inline(always)]
fn packet(m: &mut TracePacketWriter<'_>, i: &Input) {
    m.timestamp(i.time).trusted_packet_sequence_id(i.sequence);
    let mut event = m.track_event();
    event.category_iids(i.iids[0]);
    event.debug_annotations().name_iid(i.iids[1]).uint_value(i.value);
    event.debug_annotations().name_iid(i.iids[2]).string_value(&i.label);
    event.r#type(i.kind).name_iid(i.iids[3]).track_uuid(i.uuid);
}

#[inline(always)]
fn commit(m: &mut CommitDataRequestWriter<'_>, i: &Input) {
    for &[page, chunk, buffer] in &i.moves {
        m.chunks_to_move().page(page).chunk(chunk).target_buffer(buffer);
    }
    for (at, data, more) in &i.patches {
        let mut chunk = m.chunks_to_patch();
        chunk.target_buffer(at[0]).writer_id(at[1]).chunk_id(at[2]);
        chunk.patches().offset(at[3]).data(data);
        chunk.has_more_patches(*more);
    }
    m.flush_request_id(4242);
}

/// One function per message, called through its address: as in a program, and as in the benchmarks
/// of other libraries.
type Encode = fn(&Input, &mut [u8]) -> usize;

macro_rules! encoder {
    ($writer:ident, $fill:ident) => {
        |i, buffer| {
            let mut stream = FixedSink::stream(buffer);
            $fill(&mut $writer::from_scope(stream.root()), i);
            stream.finish().map_or(0, |written| written.len())
        }
    };
}

const ENCODERS: [Encode; 6] = [
    encoder!(EveryFieldWriter, simple),
    encoder!(EveryFieldWriter, nested),
    encoder!(TracePacketWriter, packet),
    encoder!(CommitDataRequestWriter, commit),
    encoder!(EveryFieldWriter, five),
    encoder!(EveryFieldWriter, five_nested),
];

#[inline(never)]
fn decode(payload: usize, bytes: &[u8]) -> u64 {
    match payload {
        0 | 1 | 4 | 5 => sums::every_field(EveryFieldReader::new(bytes)),
        2 => sums::packet(TracePacketReader::new(bytes)),
        _ => sums::commit(CommitDataRequestReader::new(bytes)),
    }
    .expect("a valid message")
}

/// The same sums, read from tables.
#[inline(never)]
fn table(payload: usize, bytes: &[u8]) -> u64 {
    match payload {
        0 | 1 | 4 | 5 => tables::every_field(EveryFieldReader::new(bytes)),
        2 => tables::packet(TracePacketReader::new(bytes)),
        _ => tables::commit(CommitDataRequestReader::new(bytes)),
    }
    .expect("a valid message")
}

/// Runs one operation `iterations` times.
fn run(op: &str, payload: usize, iterations: u64) {
    let input = Input::new();
    let mut buffer = vec![0; 2048];
    if op == "encode" {
        let encode = black_box(ENCODERS[payload]);
        for _ in 0..iterations {
            let len = encode(black_box(&input), black_box(&mut buffer));
            assert_ne!(black_box(len), 0, "the buffer is too small");
        }
    } else {
        let len = ENCODERS[payload](&input, &mut buffer);
        let read = if op == "decode" { decode } else { table };
        assert_eq!(read(payload, &buffer[..len]), decode(payload, &buffer[..len]));
        for _ in 0..iterations {
            black_box(read(payload, black_box(&buffer[..len])));
        }
    }
}

fn median_ns(op: &str, payload: usize) -> f64 {
    let time = |iterations| {
        let begin = Instant::now();
        run(op, payload, iterations);
        begin.elapsed().as_nanos()
    };
    let probe = 10_000;
    let iterations = (SAMPLE_NS * u128::from(probe) / time(probe).max(1)) as u64 + 1;
    let mut samples: Vec<f64> =
        (0..SAMPLES).map(|_| time(iterations) as f64 / iterations as f64).collect();
    samples.sort_by(f64::total_cmp);
    samples[SAMPLES / 2]
}

/// Encoding: the best of many samples of a few microseconds, some of which run without
/// interruption.
fn best_ns(payload: usize) -> f64 {
    let input = Input::new();
    let mut buffer = vec![0; 2048];
    let encode = black_box(ENCODERS[payload]);
    let mut best = f64::MAX;
    for _ in 0..20_000 {
        let begin = Instant::now();
        for _ in 0..BEST_COUNT {
            black_box(encode(black_box(&input), black_box(&mut buffer)));
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(BEST_COUNT));
    }
    best
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        // `cargo test --benches` runs each operation once.
        [] => (0..PAYLOADS.len()).for_each(|p| OPS.iter().for_each(|op| run(op, p, 1))),
        ["best"] => {
            for (payload, name) in PAYLOADS.iter().enumerate() {
                println!("encode {name} {:.1} ns", best_ns(payload));
            }
        }
        ["--bench"] => {
            for op in OPS {
                for (payload, name) in PAYLOADS.iter().enumerate() {
                    println!("{op} {name} {:.1} ns", median_ns(op, payload));
                }
            }
        }
        ["loop", op @ ("encode" | "decode" | "table"), payload, iterations] => {
            let payload = PAYLOADS.iter().position(|p| *p == payload);
            let (Some(payload), Ok(iterations)) = (payload, iterations.parse()) else {
                eprintln!("loop encode|decode|table {} ITERATIONS", PAYLOADS.join("|"));
                return ExitCode::FAILURE;
            };
            run(op, payload, iterations);
        }
        _ => {
            eprintln!(
                "usage: wire --bench | best | loop encode|decode|table {} ITERATIONS",
                PAYLOADS.join("|")
            );
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
