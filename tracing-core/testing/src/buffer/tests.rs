//! A buffer behaves as its reference buffer.

use proptest::prelude::*;

use super::play_on;
use service::buffer::{Stats, Version, loss};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn v1_agrees_with_reference(choices in proptest::collection::vec(any::<u8>(), 0..1500)) {
        play_on(Version::V1, &choices);
    }

    #[test]
    fn v2_agrees_with_reference(choices in proptest::collection::vec(any::<u8>(), 0..1500)) {
        play_on(Version::V2, &choices);
    }
}

/// Histories that wrap around many times, which short ones seldom do.
fn agrees_for_long(version: Version, seeds: u64) -> (Vec<Stats>, u32) {
    let (mut stats, mut losses) = (Vec::new(), 0);
    for seed in 1..seeds {
        let mut state = seed;
        let choices: Vec<u8> = (0..10_000)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 40) as u8
            })
            .collect();
        let (counters, bits) = play_on(version, &choices);
        stats.push(counters);
        losses |= bits;
    }
    (stats, losses)
}

type Counter = fn(&Stats) -> u64;

/// The counters that hardly moved.
fn idle(all: &[Stats]) -> String {
    let counters: [(&str, Counter); 19] = [
        ("bytes_written", |s| s.bytes_written),
        ("bytes_overwritten", |s| s.bytes_overwritten),
        ("bytes_read", |s| s.bytes_read),
        ("padding_bytes_written", |s| s.padding_bytes_written),
        ("padding_bytes_cleared", |s| s.padding_bytes_cleared),
        ("chunks_written", |s| s.chunks_written),
        ("chunks_rewritten", |s| s.chunks_rewritten),
        ("chunks_relocated", |s| s.chunks_relocated),
        ("chunks_overwritten", |s| s.chunks_overwritten),
        ("chunks_discarded", |s| s.chunks_discarded),
        ("chunks_read", |s| s.chunks_read),
        ("chunks_committed_out_of_order", |s| s.chunks_committed_out_of_order),
        ("write_wrap_count", |s| s.write_wrap_count),
        ("patches_succeeded", |s| s.patches_succeeded),
        ("patches_failed", |s| s.patches_failed),
        ("readaheads_succeeded", |s| s.readaheads_succeeded),
        ("readaheads_failed", |s| s.readaheads_failed),
        ("abi_violations", |s| s.abi_violations),
        ("trace_writer_packet_loss", |s| s.trace_writer_packet_loss),
    ];
    let moved = |counter: Counter| all.iter().map(counter).sum::<u64>() > 10;
    let idle = counters.iter().filter(|(_, counter)| !moved(*counter)).map(|(name, _)| *name);
    idle.collect::<Vec<_>>().join(" ")
}

#[test]
fn v1_agrees_with_reference_for_long() {
    let (stats, losses) = agrees_for_long(Version::V1, 40);
    assert_eq!(idle(&stats), "chunks_relocated");
    assert_eq!(losses, loss::PRESENT);
}

#[test]
fn v2_agrees_with_reference_for_long() {
    let (stats, losses) = agrees_for_long(Version::V2, 20);
    assert_eq!(idle(&stats), "");
    assert_eq!(losses, 255, "every reason that a buffer can report");
}
