//! Masks as sets of paths.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn mask() -> impl Strategy<Value = FieldMask> {
    // `!` sorts before the dot.
    prop::collection::vec("(a|b|a!)(\\.(a|b|a!)){0,2}", 0..6).prop_map(FieldMask::new)
}

/// All paths that there can be.
fn all() -> BTreeSet<String> {
    let mut all: BTreeSet<String> = ["a", "b", "a!"].map(String::from).into();
    for _ in 0..2 {
        let longer = all.iter().flat_map(|p| ["a", "b", "a!"].map(|part| format!("{p}.{part}")));
        let longer: Vec<_> = longer.collect();
        all.extend(longer);
    }
    all
}

/// The longest paths that a mask has.
fn fields(mask: &FieldMask) -> BTreeSet<String> {
    let is_longest = |path: &String| path.matches('.').count() == 2;
    all().into_iter().filter(is_longest).filter(|path| mask.covers(path)).collect()
}

#[test]
fn a_name_is_no_part_of_another() {
    let mask = FieldMask::new(["user", "user_id", "user.name"]);
    assert_eq!(mask.normalized().paths, ["user", "user_id"]);
    assert!(mask.covers("user.name.first") && !mask.covers("users") && !mask.covers("use"));
    assert!(!FieldMask::new(["user.name"]).covers("user"));
}

proptest! {
    #[test]
    fn masks_are_sets(a in mask(), b in mask()) {
        let (in_a, in_b) = (fields(&a), fields(&b));
        prop_assert_eq!(fields(&a.normalized()), in_a.clone());
        prop_assert_eq!(fields(&a.union(&b)), &in_a | &in_b);
        prop_assert_eq!(fields(&a.intersection(&b)), &in_a & &in_b);
        for mask in [a.normalized(), a.union(&b), a.intersection(&b)] {
            prop_assert_eq!(mask.normalized(), mask);
        }
    }
}
