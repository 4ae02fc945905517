//! The buffer does what its slow twin does.

use proptest::prelude::*;

use super::testing;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn agrees_with_oracle(choices in proptest::collection::vec(any::<u8>(), 0..1500)) {
        testing::play(&choices);
    }
}

/// Long enough to go round many times, which short histories seldom do.
#[test]
fn agrees_with_oracle_for_long() {
    for seed in 1..40u64 {
        let mut state = seed;
        let choices: Vec<u8> = (0..10_000)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 40) as u8
            })
            .collect();
        testing::play(&choices);
    }
}
