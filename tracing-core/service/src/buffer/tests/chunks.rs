//! The chunks of one sequence against a tree.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use proptest::prelude::*;

use crate::buffer::chunks::{Chunks, ENTRY_BYTES};
use crate::limits::{ENTRIES_OF_OUTLIERS, ENTRIES_PER_OUTLIER, SEQUENCE_HOLES_MAX};
use abi::ids::ChunkId;

/// Ids that are close to each other, also around the highest, and some far from all.
fn id() -> impl Strategy<Value = u32> {
    let near = (0..60_u32).prop_map(|id| id.wrapping_sub(30));
    prop_oneof![8 => near, 1 => (0..40_u32).prop_map(|id| id * 10_000_000), 1 => any::<u32>()]
}

/// Bytes of a sequence without a chunk: its first places.
const BYTES: usize = 80;

proptest! {
    #[test]
    fn chunks_are_what_a_tree_is(
        operations in proptest::collection::vec((id(), 0..3_u8), 0..200),
        asked in proptest::collection::vec(id(), 20),
    ) {
        let (mut ours, mut reference) = (Chunks::default(), BTreeMap::new());
        let mut entries = 0;
        for (at, (id, kind)) in operations.into_iter().enumerate() {
            if kind == 0 {
                prop_assert_eq!(ours.remove(ChunkId::new(id), &mut entries), reference.remove(&id));
            } else if let Entry::Vacant(entry) = reference.entry(id) {
                ours.insert(ChunkId::new(id), at as u32, &mut entries);
                entry.insert(at as u32);
            }
            prop_assert_eq!(ours.is_empty(), reference.is_empty());
            prop_assert!(entries >= reference.len() && (entries == 0) == ours.is_empty(), "{entries}");
            let bytes = ours.memory_bytes();
            prop_assert!(bytes <= BYTES + ENTRY_BYTES * entries, "{bytes} for {entries}");
        }
        for id in asked.into_iter().chain(reference.keys().copied().collect::<Vec<_>>()) {
            let (chunk, expected) = (ChunkId::new(id), reference.get(&id).copied());
            prop_assert_eq!((ours.get(chunk), ours.get_to_patch(chunk)), (expected, expected));
            let from = id.wrapping_add(1);
            let next = reference.range(from..).next().or_else(|| reference.iter().next());
            let next = next.map(|(id, _)| ChunkId::new(*id));
            prop_assert_eq!(ours.first_after(chunk), next);
        }
    }
}

/// Holes are in proportion to the chunks, on both sides.
#[test]
fn a_distant_chunk_makes_no_holes() {
    for distant in [1_000_000_u32, 1_000_000_u32.wrapping_neg()] {
        let mut chunks = Chunks::default();
        chunks.insert(ChunkId::new(0), 0, &mut 0);
        chunks.insert(ChunkId::new(distant), 16, &mut 0);
        assert_eq!(chunks.get(ChunkId::new(distant)), Some(16));
        let bytes = chunks.memory_bytes();
        assert!(bytes <= 256, "{bytes} for two chunks");
    }
    let mut chunks = Chunks::default();
    for number in 0..100 {
        chunks.insert(ChunkId::new(number * 100), number, &mut 0);
    }
    let bytes = chunks.memory_bytes();
    assert!(bytes <= BYTES + 100 * 40, "{bytes} for a hundred");
}

/// There is at most one hole for two chunks, and a few more: an id behind them is in the slower map.
#[test]
fn many_chunks_allow_half_as_many_holes() {
    const CHUNKS: u32 = 1000;
    let most = CHUNKS / 2 + SEQUENCE_HOLES_MAX as u32;
    let of_outlier = ENTRIES_OF_OUTLIERS + ENTRIES_PER_OUTLIER;
    for (holes, counted) in [(most, most as usize + 1), (most + 1, of_outlier)] {
        let (mut chunks, mut entries) = (Chunks::default(), 0);
        for number in 0..CHUNKS {
            chunks.insert(ChunkId::new(number), number, &mut entries);
        }
        chunks.insert(ChunkId::new(CHUNKS + holes), CHUNKS, &mut entries);
        assert_eq!(entries, CHUNKS as usize + counted, "{holes} holes");
        // They are gone with the chunks beside them.
        for number in [CHUNKS + holes, 0].into_iter().chain(1..CHUNKS) {
            chunks.remove(ChunkId::new(number), &mut entries);
        }
        assert_eq!((entries, chunks.is_empty()), (0, true));
    }
}

/// A chunk that is close to the others has an entry beside theirs, on both sides, and none in the slower map.
#[test]
fn a_close_chunk_makes_holes() {
    let distance = SEQUENCE_HOLES_MAX as u32;
    for close in [distance, distance.wrapping_neg()] {
        let mut chunks = Chunks::default();
        chunks.insert(ChunkId::new(0), 0, &mut 0);
        chunks.insert(ChunkId::new(close), 16, &mut 0);
        let bytes = chunks.memory_bytes();
        assert!(bytes >= (SEQUENCE_HOLES_MAX + 1) * size_of::<u32>(), "{bytes} for {close}");
    }
}

/// Whatever comes and goes, there is memory for twice as many places at most: all of it is counted.
#[test]
fn a_window_that_empties_is_small() {
    let (mut chunks, mut entries) = (Chunks::default(), 0);
    for number in 0..10_000 {
        chunks.insert(ChunkId::new(number), number, &mut entries);
    }
    for number in 0..10_000 {
        chunks.remove(ChunkId::new(number), &mut entries);
        let bytes = chunks.memory_bytes();
        assert!(bytes <= BYTES + ENTRY_BYTES * entries, "{bytes} for {entries}");
    }
}
