//! Pages of the kernel, decoded as a slow decoder does.

use proptest::prelude::*;

use crate::pages::check;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn any_formats_and_pages_are_decoded_as_a_slow_decoder_does(
        flags in any::<u8>(),
        input in proptest::collection::vec(any::<u8>(), 0..3000),
    ) {
        check(&[&[flags][..], &input].concat());
    }
}

/// Inputs at random have many events: else nothing would be compared.
#[test]
fn what_is_compared_has_events() {
    let mut seed = 1_u64;
    let mut byte = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    let mut of_flags = |flags: u8| -> usize {
        (0..6)
            .map(|_| {
                check(&(0..2000).map(|at| if at == 0 { flags } else { byte() }).collect::<Vec<_>>())
            })
            .sum()
    };
    for flags in 0..32 {
        let events = of_flags(flags);
        assert!(events > 100, "flags {flags}: {events} events");
    }
}
