//! Against the sort of the standard library.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_order_is_that_of_a_stable_sort(times in proptest::collection::vec(0..9_u64, 0..40)) {
        let mut items: Vec<(u64, usize)> = times.into_iter().zip(0..).collect();
        let mut sorted = items.clone();
        sorted.sort_by_key(|item| item.0);
        sort_by_time(&mut items, |item| item.0);
        prop_assert_eq!(items, sorted);
    }
}
