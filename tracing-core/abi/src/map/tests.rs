//! The map and the set against those of the standard library.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use proptest::prelude::*;

use super::{SortedMap, SortedSet};

#[derive(Clone, Debug)]
enum Operation {
    Insert(u8, u16),
    Make(u8, u16),
    Change(u8, u16),
    Remove(u8),
    PopFirst,
    Retain(u16),
    Clear,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let one = prop_oneof![
        8 => (0..32_u8, any::<u16>()).prop_map(|(key, value)| Operation::Insert(key, value)),
        2 => (0..32_u8, any::<u16>()).prop_map(|(key, value)| Operation::Make(key, value)),
        2 => (0..32_u8, any::<u16>()).prop_map(|(key, value)| Operation::Change(key, value)),
        4 => (0..32_u8).prop_map(Operation::Remove),
        1 => Just(Operation::PopFirst),
        1 => (1..4_u16).prop_map(Operation::Retain),
        1 => Just(Operation::Clear),
    ];
    proptest::collection::vec(one, 0..100)
}

fn bound() -> impl Strategy<Value = Bound<u8>> {
    prop_oneof![
        Just(Bound::Unbounded),
        (0..33_u8).prop_map(Bound::Included),
        (0..33_u8).prop_map(Bound::Excluded),
    ]
}

/// Applies an operation to both maps and compares what they return.
fn apply(ours: &mut SortedMap<u8, u16>, reference: &mut BTreeMap<u8, u16>, operation: &Operation) {
    match *operation {
        Operation::Insert(key, value) => {
            assert_eq!(ours.insert(key, value), reference.insert(key, value));
        }
        Operation::Make(key, value) => {
            let expected = reference.entry(key).or_insert(value);
            assert_eq!(ours.get_or_insert_with(key, || value), expected);
        }
        Operation::Change(key, value) => {
            let (ours, expected) = (ours.get_mut(&key), reference.get_mut(&key));
            assert_eq!(ours.is_some(), expected.is_some());
            if let (Some(ours), Some(expected)) = (ours, expected) {
                (*ours, *expected) = (value, value);
            }
        }
        Operation::Remove(key) => assert_eq!(ours.remove(&key), reference.remove(&key)),
        Operation::PopFirst => assert_eq!(ours.pop_first(), reference.pop_first()),
        Operation::Retain(divisor) => {
            ours.retain(|_, value| *value % divisor == 0);
            reference.retain(|_, value| *value % divisor == 0);
        }
        Operation::Clear => {
            ours.clear();
            reference.clear();
        }
    }
}

proptest! {
    #[test]
    fn a_map_is_what_a_tree_is(operations in operations(), from in bound(), to in bound()) {
        let (mut ours, mut reference) = (SortedMap::new(), BTreeMap::new());
        for operation in &operations {
            apply(&mut ours, &mut reference, operation);
            prop_assert!(ours.iter().eq(reference.iter()));
            prop_assert_eq!((ours.len(), ours.is_empty()), (reference.len(), reference.is_empty()));
            prop_assert_eq!(ours.first_key_value(), reference.first_key_value());
            prop_assert_eq!(ours.last_key_value(), reference.last_key_value());
        }
        for key in 0..33 {
            prop_assert_eq!(ours.get(&key), reference.get(&key));
            prop_assert_eq!(ours.contains_key(&key), reference.contains_key(&key));
        }
        prop_assert!(ours.keys().eq(reference.keys()) && ours.values().eq(reference.values()));
        let in_range = reference.iter().filter(|(key, _)| {
            let after = match from {
                Bound::Unbounded => true,
                Bound::Included(first) => **key >= first,
                Bound::Excluded(before) => **key > before,
            };
            let before = match to {
                Bound::Unbounded => true,
                Bound::Included(last) => **key <= last,
                Bound::Excluded(end) => **key < end,
            };
            after && before
        });
        prop_assert!(ours.range((from, to)).eq(in_range));
        prop_assert_eq!(format!("{ours:?}"), format!("{reference:?}"));
        prop_assert!(ours.into_iter().eq(reference));
    }

    #[test]
    fn a_set_is_what_a_tree_is(operations in operations()) {
        let (mut ours, mut reference) = (SortedSet::new(), BTreeSet::new());
        for operation in operations {
            match operation {
                Operation::Insert(key, _) | Operation::Make(key, _) => {
                    prop_assert_eq!(ours.insert(key), reference.insert(key));
                }
                Operation::Change(key, _) => {
                    prop_assert_eq!(ours.contains(&key), reference.contains(&key));
                }
                Operation::Remove(key) => {
                    prop_assert_eq!(ours.remove(&key), reference.remove(&key));
                }
                Operation::PopFirst => prop_assert_eq!(ours.pop_first(), reference.pop_first()),
                Operation::Retain(divisor) => {
                    ours.retain(|key| u16::from(*key) % divisor == 0);
                    reference.retain(|key| u16::from(*key) % divisor == 0);
                }
                Operation::Clear => {
                    ours.clear();
                    reference.clear();
                }
            }
            prop_assert!(ours.iter().eq(reference.iter()));
            prop_assert_eq!(ours.first(), reference.first());
        }
    }

    #[test]
    fn a_collected_one_is_sorted_and_has_no_key_twice(keys in proptest::collection::vec(0..20_u8, 0..40)) {
        let values = |keys: &[u8]| keys.iter().copied().zip(0_u16..).collect::<Vec<_>>();
        let ours: SortedMap<_, _> = values(&keys).into_iter().collect();
        prop_assert!(ours.into_iter().eq(values(&keys).into_iter().collect::<BTreeMap<_, _>>()));
        let ours: SortedSet<_> = keys.iter().copied().collect();
        prop_assert!(ours.into_iter().eq(keys.into_iter().collect::<BTreeSet<_>>()));
    }
}
