//! The tests of `histogram_unittest.cc`, and what bounds the number of histograms.

use super::*;
use crate::buffer::Identity;
use abi::ids::{ProducerId, WriterId};

fn sequence(producer: u16, writer: u16) -> SequenceKey {
    let (producer, writer) = (ProducerId::new(producer), WriterId::new(writer));
    SequenceKey { producer, writer, identity: Identity::default() }
}

fn histogram(values: &[u64]) -> WriterStats {
    let mut stats = WriterStats::new(sequence(1, 1));
    values.iter().for_each(|value| stats.add(*value));
    stats
}

#[test]
fn single_bucket() {
    let stats = histogram(&[20, 9, 32]);
    assert_eq!((stats.counts[1], stats.sums[1]), (3, 61));
    assert_eq!(stats.counts.iter().sum::<u64>(), 3);
}

#[test]
fn three_buckets() {
    let stats = histogram(&[0, 8, 9, 16_384, 16_385, i64::MAX as u64]);
    let expected = [(0, 2, 8), (1, 1, 9), (9, 1, 16_384), (10, 2, 16_385 + i64::MAX as u64)];
    for (bucket, count, sum) in expected {
        assert_eq!((stats.counts[bucket], stats.sums[bucket]), (count, sum), "{bucket}");
    }
    assert_eq!(stats.counts.iter().sum::<u64>(), 6);
}

#[test]
fn rand() {
    let mut state = 7u64;
    let values: Vec<u64> = (0..1000)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % 20_000
        })
        .collect();
    let stats = histogram(&values);
    let mut low = None;
    for (bucket, high) in HISTOGRAM_BUCKETS.into_iter().enumerate() {
        let within: Vec<u64> = values
            .iter()
            .copied()
            .filter(|v| low.is_none_or(|low| *v > low) && *v <= high)
            .collect();
        assert_eq!(stats.counts[bucket], within.len() as u64);
        assert_eq!(stats.sums[bucket], within.iter().sum());
        low = Some(high);
    }
}

#[test]
fn histograms_in_order_of_first_sight() {
    let mut all = Histograms::of_buffer(0);
    let (mut one, mut two) = (None, None);
    all.add(sequence(2, 1), &mut two, 5);
    all.add(sequence(1, 1), &mut one, 5);
    // A sequence that forgot its place finds it again.
    let mut forgot = None;
    all.add(sequence(2, 1), &mut forgot, 5);
    assert_eq!((forgot, all.all().len(), all.all()[0].counts[0]), (two, 2, 2));
}

/// A producer chooses how many writers it has: what that takes depends on the buffer.
#[test]
fn histograms_are_bounded() {
    let cases = [(0, 1024), (4096 * 1024, 2048), (usize::MAX, 4096)];
    for (bytes, max) in cases {
        let mut all = Histograms::of_buffer(bytes);
        for number in 0..max + 10 {
            let mut index = None;
            all.add(sequence((number >> 16) as u16 + 1, number as u16), &mut index, 5);
            assert_eq!(index.is_some(), number < max);
            assert!(all.memory_bytes() <= Histograms::bytes_max(bytes));
        }
        assert_eq!((all.all().len(), all.emptied().max), (max, max));
    }
}
