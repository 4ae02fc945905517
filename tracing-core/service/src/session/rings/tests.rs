use super::Rings;
use abi::ids::BufferId;

const RING: BufferId = BufferId::new(7);
const MS: u64 = 1_000_000;

/// One commit may fill half of a ring, or all of it.
#[test]
fn a_file_that_is_late_by_one_commit() {
    let mut rings = Rings::default();
    assert!(!rings.note_quarters(RING, 1, 0, true));
    rings.note_drain();
    assert!(!rings.note_quarters(RING, 1, 100 * MS, true), "the file got the quarter before");
    rings.note_drain();
    assert!(rings.note_quarters(RING, 2, 200 * MS, true));
    assert!(!rings.note_quarters(RING, 1, 205 * MS, true), "a pause of 10 ms");
    assert!(rings.note_quarters(RING, 1, 210 * MS, true), "until the file gets it");
    rings.note_drain();
    assert!(rings.note_quarters(RING, u64::MAX, 300 * MS, true));
}

#[test]
fn a_ring_without_a_file_asks_for_each_quarter() {
    let mut rings = Rings::default();
    assert!(rings.note_quarters(RING, 1, 0, false));
    assert!(rings.note_quarters(BufferId::new(8), 1, 5 * MS, false), "each ring has its pause");
    assert!(rings.note_quarters(RING, 1, 10 * MS, false));
}
