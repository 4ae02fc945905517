//! The simulator on itself: a few lives, and the same life twice.

use super::{commit_data, simulate};

#[test]
fn a_few_lives() {
    for seed in 0..20 {
        if let Err(error) = simulate(seed) {
            panic!("{error}");
        }
    }
}

#[test]
fn a_seed_is_a_life() {
    assert_eq!(simulate(42), simulate(42));
}

#[test]
fn fuzz_entry_points_take_anything() {
    commit_data(&[]);
    commit_data(&[0, 0]);
    commit_data(&[4, 0, 0x0a, 2, 8, 1, 0xff, 0xff]);
}
