//! What codecs take, in memory of this process as the system counts it, against what the service charges for them.
//!
//! One test in a process of its own: what other tests need would be counted, too.

extern crate tracing_core_service as service;

use service::compress::{Codec, Job, Progress};

/// Jobs at a time: enough that an allocator's slack does not matter.
const JOBS: usize = 4;

/// The stream of a pass that a file gets.
const STREAM_BYTES: usize = service::limits::FILE_PASS_BYTES;

/// Memory of this process, bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().expect("a number") * 1024
}

/// Bytes that cannot be compressed, or can.
fn stream(is_random: bool) -> Vec<u8> {
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if is_random { (state >> 56) as u8 } else { b'a' + (state >> 62) as u8 }
    };
    (0..STREAM_BYTES).map(|_| byte()).collect()
}

/// What a job takes before its last piece, and what is charged for it, bytes. The jobs stay: what they free is used again
/// before the system counts more.
fn measure(codec: Codec, is_random: bool, kept: &mut Vec<Job>) -> (usize, usize) {
    let stream = stream(is_random);
    let mut jobs: Vec<Job> = (0..JOBS).map(|_| Job::new(codec, stream.clone())).collect();
    let charged = jobs[0].memory_bytes();
    let before = resident();
    for job in &mut jobs {
        while job.bytes_left() > service::limits::COMPRESS_PIECE_BYTES {
            assert!(matches!(job.step(service::limits::COMPRESS_PIECE_BYTES), Progress::More));
        }
    }
    let taken = resident().saturating_sub(before) / JOBS;
    kept.extend(jobs);
    (taken, charged)
}

#[test]
fn codecs_take_what_is_charged_for_them() {
    let mut kept = Vec::new();
    for codec in [-7, 0, 1, 2, 3, 4, 22].map(Codec::Zstd).into_iter().chain([Codec::Deflate]) {
        for is_random in [true, false] {
            let (taken, charged) = measure(codec, is_random, &mut kept);
            println!("{codec:?}, random {is_random}: {taken} bytes, charged {charged}");
            assert!(taken <= charged, "{codec:?} takes {taken} bytes, charged are {charged}");
            assert!(
                charged < 8 * taken,
                "{codec:?} takes {taken} bytes only, charged are {charged}"
            );
        }
    }
    // Five sessions of a user that write files fit, whatever they ask for.
    let all = 5 * Job::new(Codec::Zstd(22), vec![0; STREAM_BYTES]).memory_bytes();
    assert!(all <= service::limits::CODEC_BYTES_PER_USER_MAX, "{all}");
}
