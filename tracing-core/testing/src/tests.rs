//! Tests of the simulator itself.

use protozero::Message as _;

use super::rng::Rng;
use super::workload::forged_commit;
use super::{commit_data, conversation, simulate};

#[test]
fn a_few_seeds() {
    for seed in 0..20 {
        if let Err(error) = simulate(seed) {
            panic!("{error}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_run() {
    assert_eq!(simulate(42), simulate(42));
}

#[test]
fn fuzz_entry_points_take_anything() {
    commit_data(&[]);
    commit_data(&[0, 0]);
    commit_data(&[4, 0, 0x0a, 2, 8, 1, 0xff, 0xff]);
}

#[test]
fn forged_commits_over_forged_memory() {
    let mut rng = Rng::new(1);
    for _ in 0..200 {
        let request = forged_commit(&mut rng).encode_to_vec();
        let Ok(len) = u16::try_from(request.len()) else { continue };
        let mut input = len.to_le_bytes().to_vec();
        input.extend_from_slice(&request);
        // Pages that are complete in all layouts, with headers that claim anything.
        let layout = rng.within(1, 5) as u32;
        input.extend_from_slice(&(layout << 28 | 0x0fff_ffff).to_le_bytes());
        input.extend((0..rng.below(4096)).map(|_| (rng.next() & rng.next()) as u8));
        input.resize(2 + request.len() + 4096, 0);
        commit_data(&input);
    }
}

#[test]
fn random_conversations() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let bytes: Vec<u8> = (0..2000).map(|_| rng.next() as u8).collect();
        conversation(&bytes);
    }
}
