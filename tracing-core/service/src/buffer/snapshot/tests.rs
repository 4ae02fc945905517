use proptest::prelude::*;

use super::*;

/// Small ones, to meet the bounds with little data.
const LIMITS: SnapshotLimits = SnapshotLimits {
    block_bytes: 64,
    clone_saved_bytes_max: 512,
    clone_copy_per_change_bytes: 1024,
};
const BLOCK: usize = LIMITS.block_bytes;

fn filled(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 7) as u8).collect()
}

#[test]
fn bytes_that_change_before_they_are_copied_are_saved() {
    let mut data = filled(5 * BLOCK + 9);
    let before = data.clone();
    let mut snapshot = Snapshot::new(1, data.len(), LIMITS, None).expect("memory");
    snapshot.copy_more(&data, 1);
    assert_eq!(snapshot.left(), 4 * BLOCK + 9, "whole blocks");
    // In what is copied, over the border of two blocks, at the very end, and beyond it.
    for (start, end) in [(0, 5), (3 * BLOCK - 1, 3 * BLOCK + 1), (5 * BLOCK + 8, 5 * BLOCK + 20)] {
        snapshot.save(&data, start, end);
        let end = end.min(data.len());
        data[start..end].fill(0xff);
    }
    assert_eq!(snapshot.saved.keys().copied().collect::<Vec<_>>(), [2, 3, 5].map(|b| b * BLOCK));
    snapshot.copy_more(&data, 2 * BLOCK);
    assert_eq!(snapshot.left(), 2 * BLOCK + 9);
    assert_eq!(snapshot.saved.len(), 2);
    snapshot.copy_more(&data, usize::MAX);
    assert_eq!((snapshot.left(), snapshot.saved.len()), (0, 0));
    snapshot.save(&data, 0, data.len());
    assert_eq!(snapshot.saved.len(), 0, "all is copied");
    assert_eq!(snapshot.into_bytes(), Some(before));
}

#[test]
fn a_new_copy_is_empty_and_an_unfinished_one_is_no_copy() {
    let snapshot = Snapshot::new(1, 0, LIMITS, None).expect("memory");
    assert_eq!((snapshot.left(), snapshot.into_bytes()), (0, Some(Vec::new())));
    let snapshot = Snapshot::new(1, 1, LIMITS, None).expect("memory");
    assert_eq!((snapshot.left(), snapshot.into_bytes()), (1, None));
    assert!(Snapshot::new(1, usize::MAX, LIMITS, None).is_none());
}

/// Saved blocks are bounded. Otherwise a producer that overwrites everything while it is copied would double the memory
/// of a clone.
#[test]
fn saved_blocks_are_bounded() {
    let mut data = filled(64 * LIMITS.clone_saved_bytes_max);
    let before = data.clone();
    let mut snapshot = Snapshot::new(1, data.len(), LIMITS, None).expect("memory");
    let most =
        LIMITS.clone_saved_bytes_max / BLOCK + data.len() / LIMITS.clone_copy_per_change_bytes + 1;
    for at in (0..data.len()).rev() {
        let left = snapshot.left();
        snapshot.save(&data, at, at + 1);
        assert!(left - snapshot.left() <= LIMITS.clone_copy_per_change_bytes + BLOCK);
        data[at] = !data[at];
        assert!(snapshot.saved.len() <= most, "{} of {most} blocks", snapshot.saved.len());
    }
    assert!(snapshot.left() < before.len() / 4, "{} are left", snapshot.left());
    snapshot.copy_more(&data, usize::MAX);
    assert_eq!(snapshot.into_bytes(), Some(before));
}

#[test]
fn memory_of_the_copy_is_mapped_before_it_is_written() {
    fn filled_in(memory: &mut [core::mem::MaybeUninit<u8>]) {
        memory.fill(core::mem::MaybeUninit::new(3));
    }
    let data = filled(3 * BLOCK + 1);
    let mut snapshot = Snapshot::new(1, data.len(), LIMITS, Some(filled_in)).expect("memory");
    for _ in 0..4 {
        snapshot.copy_more(&data, BLOCK);
    }
    assert_eq!(snapshot.into_bytes(), Some(data));
}

proptest! {
    #[test]
    fn any_changes_while_it_is_copied(
        len in 0..40 * BLOCK,
        steps in proptest::collection::vec((any::<bool>(), 0..45 * BLOCK, 0..3 * BLOCK), 0..60),
    ) {
        let mut data = filled(len);
        let before = data.clone();
        let mut snapshot = Snapshot::new(1, len, LIMITS, None).expect("memory");
        for (goes_on, start, count) in steps {
            let end = start + count;
            if goes_on {
                snapshot.copy_more(&data, count);
                continue;
            }
            snapshot.save(&data, start, end);
            if data.len() < end {
                data.resize(end, 0);
            }
            data[start..end].iter_mut().for_each(|byte| *byte = !*byte);
        }
        snapshot.copy_more(&data, usize::MAX);
        prop_assert_eq!(snapshot.into_bytes(), Some(before));
    }
}
