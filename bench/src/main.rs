//! Measures all libraries with the same payloads, called in the same way.
//!
//! ```text
//! peers list                                  names, one a line
//! peers time constant|varied|cold ROUNDS      NAME \t OP \t PAYLOAD \t ns \t bytes
//! peers loop NAME encode|decode PAYLOAD COUNT for callgrind
//! ```
//!
//! `constant` is one input over and over, `varied` 1024 inputs of random widths, both into four slots that
//! stay in the first-level cache. `cold` writes each message into another 2 KiB of a 64 MiB ring, and reads it from
//! another such ring, which is larger than the second-level cache. A round times
//! each cell once, so that noise disturbs all cells alike; the number of a cell is the median over rounds. Nothing is timed before
//! all bytes and sums agree with prost's.

#[macro_use]
mod contender;
mod input;
mod rivals;

use std::hint::black_box;
use std::process::ExitCode;

use contender::{Contender, Decode, Encode, PAYLOADS};
use input::Input;

/// Length of the buffer when bytes are compared and not timed.
pub const COMPARED: usize = 0xffff;

/// Bytes of a slot, and of an encoder's buffer.
const SLOT: usize = 2048;
const SLOT_USED: usize = SLOT - 32;
const HOT_SLOTS: usize = 4;
const COLD_SLOTS: usize = 32 * 1024;
/// Bytes of a slot of the ring that is read cold: there is a message of each payload in it.
const PAYLOAD_BYTES: usize = SLOT / PAYLOADS.len();

/// Time of one sample.
const SAMPLE_NS: f64 = 4_000_000.0;

/// Inputs to encode, and messages to decode.
struct Work {
    inputs: Vec<Input>,
    /// By payload: a message for each input.
    messages: [Vec<Vec<u8>>; 4],
    buffer: Vec<u8>,
    /// Copies of the first messages, to be read from memory that is not in a cache.
    ring: Option<Vec<u8>>,
}

impl Work {
    fn new(judge: &Contender, inputs: Vec<Input>, slots: usize) -> Self {
        let messages: [Vec<Vec<u8>>; 4] =
            [0, 1, 2, 3].map(|p| inputs.iter().map(|i| encoded(judge, p, i)).collect());
        let ring = (slots == COLD_SLOTS).then(|| {
            let mut ring = vec![0; slots * SLOT];
            for (at, part) in ring.chunks_exact_mut(PAYLOAD_BYTES).enumerate() {
                let message = &messages[at % PAYLOADS.len()][0];
                part[..message.len()].copy_from_slice(message);
            }
            ring
        });
        Self { inputs, messages, buffer: vec![1; slots * SLOT], ring }
    }

    #[inline(never)]
    fn encode(&mut self, encode: Encode, count: u64) {
        let (inputs, slots) = (self.inputs.len() - 1, self.buffer.len() / SLOT - 1);
        let buffer = self.buffer.as_mut_ptr();
        for n in 0..count as usize {
            // SAFETY: in bounds: a slot's number is masked.
            let slot = unsafe { buffer.add((n & slots) * SLOT) };
            // SAFETY: this program owns the slot, which has that many bytes.
            unsafe { black_box(encode)(black_box(&self.inputs[n & inputs]), slot, SLOT_USED) };
            black_box(slot);
        }
    }

    #[inline(never)]
    fn decode(&self, decode: Decode, payload: usize, count: u64) {
        let messages = &self.messages[payload];
        for n in 0..count as usize {
            let message = match &self.ring {
                Some(ring) => {
                    &ring[(n & (COLD_SLOTS - 1)) * SLOT + payload * PAYLOAD_BYTES..]
                        [..messages[0].len()]
                }
                None => &messages[n & (messages.len() - 1)][..],
            };
            // SAFETY: a message outlives the call.
            black_box(unsafe { black_box(decode)(black_box(message.as_ptr()), message.len()) });
        }
    }
}

fn encoded(by: &Contender, payload: usize, input: &Input) -> Vec<u8> {
    let mut buffer = vec![0xaa; COMPARED];
    let encode = by.encode.expect("an encoder")[payload];
    // SAFETY: this function owns the buffer, which has that many bytes.
    let len = unsafe { encode(input, buffer.as_mut_ptr(), COMPARED) };
    buffer.truncate(len);
    buffer
}

fn sum(by: &Contender, payload: usize, message: &[u8]) -> u64 {
    // SAFETY: a message outlives the call.
    unsafe { by.decode.expect("a decoder")[payload](message.as_ptr(), message.len()) }
}

fn find<'a>(all: &'a [Contender], name: &str) -> &'a Contender {
    all.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no library is called {name}"))
}

/// Checks that the bytes of all libraries mean the same, and that all libraries read the same from them.
fn compare(all: &[Contender], inputs: &[Input]) {
    let judge = find(all, rivals::JUDGE);
    for (input, payload) in inputs.iter().flat_map(|i| [0, 1, 2, 3].map(|p| (i, p))) {
        let shortest = encoded(judge, payload, input);
        let right = sum(judge, payload, &shortest);
        for contender in all.iter().filter(|c| c.name != rivals::FLOOR) {
            let name = &contender.name;
            if contender.encode.is_some() {
                let read = sum(judge, payload, &encoded(contender, payload, input));
                assert_eq!(read, right, "{name} encodes {} wrong", PAYLOADS[payload]);
            }
            if contender.decode.is_some() {
                let read = sum(contender, payload, &shortest);
                assert_eq!(read, right, "{name} decodes {} wrong", PAYLOADS[payload]);
            }
        }
    }
}

/// CPU time of this thread, so that other programs disturb less.
fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a local value.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

enum Op {
    Encode(Encode),
    Decode(Decode),
}

struct Cell<'a> {
    who: &'a Contender,
    op: Op,
    payload: usize,
    count: u64,
    samples: Vec<f64>,
}

impl Cell<'_> {
    fn sample(&self, work: &mut Work) -> f64 {
        let begin = thread_ns();
        match self.op {
            Op::Encode(encode) => work.encode(encode, self.count),
            Op::Decode(decode) => work.decode(decode, self.payload, self.count),
        }
        (thread_ns() - begin) as f64 / self.count as f64
    }

    fn print(&mut self, input: &Input) {
        self.samples.sort_by(f64::total_cmp);
        let ns = self.samples[self.samples.len() / 2];
        let (op, bytes) = match self.op {
            Op::Encode(_) => ("encode", encoded(self.who, self.payload, input).len()),
            Op::Decode(_) => ("decode", 0),
        };
        println!("{}\t{op}\t{}\t{ns:.2}\t{bytes}", self.who.name, PAYLOADS[self.payload]);
    }
}

fn time(all: &[Contender], mode: &str, rounds: usize) {
    let (inputs, slots) = match mode {
        "varied" => (Input::varied(1024), HOT_SLOTS),
        "cold" => (vec![Input::new()], COLD_SLOTS),
        _ => (vec![Input::new()], HOT_SLOTS),
    };
    let mut work = Work::new(find(all, rivals::JUDGE), inputs, slots);
    let mut cells = Vec::new();
    // A copy of one finished message is no lower bound for many different ones.
    let in_time = |c: &&Contender| mode != "varied" || c.name != rivals::FLOOR;
    for who in all.iter().filter(in_time) {
        let encode = who.encode.iter().flatten().map(|e| Op::Encode(*e)).enumerate();
        let decode = who.decode.iter().flatten().map(|d| Op::Decode(*d)).enumerate();
        for (payload, op) in encode.chain(decode) {
            let mut cell = Cell { who, op, payload, count: 2000, samples: Vec::new() };
            cell.count = (SAMPLE_NS / cell.sample(&mut work).max(0.5)) as u64 + 1;
            cells.push(cell);
        }
    }
    // Writers first: the ring to read must not displace the ring to write from the cache.
    let (mut writers, mut readers): (Vec<_>, Vec<_>) =
        cells.into_iter().partition(|cell| matches!(cell.op, Op::Encode(_)));
    for half in [&mut writers, &mut readers] {
        // Frees the memory of the other half before the measurement.
        half.iter_mut().for_each(|cell| drop(cell.sample(&mut work)));
        for _ in 0..rounds {
            for cell in half.iter_mut() {
                let sample = cell.sample(&mut work);
                cell.samples.push(sample);
            }
        }
    }
    let mut cells = writers;
    cells.append(&mut readers);
    cells.iter_mut().for_each(|cell| cell.print(&Input::new()));
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let all = rivals::all();
    let judge = find(&all, rivals::JUDGE);
    rivals::remember([0, 1, 2, 3].map(|p| encoded(judge, p, &Input::new())));
    match arguments[..] {
        ["list"] => all.iter().for_each(|c| println!("{}", c.name)),
        ["time", mode @ ("constant" | "varied" | "cold"), rounds] => {
            let mut inputs = Input::varied(64);
            inputs.push(Input::new());
            compare(&all, &inputs);
            time(&all, mode, rounds.parse().unwrap_or(5));
        }
        ["loop", name, op @ ("encode" | "decode"), payload, count] => {
            let who = find(&all, name);
            let payload = PAYLOADS.iter().position(|p| *p == payload).expect("a payload");
            let count = count.parse().expect("a number");
            let mut work = Work::new(judge, vec![Input::new()], HOT_SLOTS);
            match op {
                "encode" => work.encode(who.encode.expect("an encoder")[payload], count),
                _ => work.decode(who.decode.expect("a decoder")[payload], payload, count),
            }
        }
        _ => {
            eprintln!(
                "usage: peers list | time constant|varied|cold ROUNDS | loop NAME encode|decode PAYLOAD COUNT"
            );
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
