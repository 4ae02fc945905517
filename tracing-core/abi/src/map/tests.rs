//! The map and the set against those of the standard library.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use proptest::prelude::*;

use super::{BlockMap, BlockSet, SortedMap, SortedSet};

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

/// Operations on keys up to `last`.
fn operations(last: u8) -> impl Strategy<Value = Vec<Operation>> {
    let one = prop_oneof![
        8 => (0..=last, any::<u16>()).prop_map(|(key, value)| Operation::Insert(key, value)),
        2 => (0..=last, any::<u16>()).prop_map(|(key, value)| Operation::Make(key, value)),
        2 => (0..=last, any::<u16>()).prop_map(|(key, value)| Operation::Change(key, value)),
        4 => (0..=last).prop_map(Operation::Remove),
        1 => Just(Operation::PopFirst),
        1 => (1..4_u16).prop_map(Operation::Retain),
        1 => Just(Operation::Clear),
    ];
    proptest::collection::vec(one, 0..100)
}

fn bound(last: u8) -> impl Strategy<Value = Bound<u8>> {
    prop_oneof![
        Just(Bound::Unbounded),
        (0..=last).prop_map(Bound::Included),
        (0..=last).prop_map(Bound::Excluded),
    ]
}

/// The entries in a range, which may end before it starts.
fn in_range(map: &BTreeMap<u8, u16>, from: Bound<u8>, to: Bound<u8>) -> Vec<(&u8, &u16)> {
    let is_in = |key: u8| {
        let after = match from {
            Bound::Unbounded => true,
            Bound::Included(first) => key >= first,
            Bound::Excluded(before) => key > before,
        };
        let before = match to {
            Bound::Unbounded => true,
            Bound::Included(last) => key <= last,
            Bound::Excluded(end) => key < end,
        };
        after && before
    };
    map.iter().filter(|(key, _)| is_in(**key)).collect()
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

/// So large that blocks have few entries, and are split and joined.
#[derive(Clone, Debug, PartialEq)]
struct Large(u16, [u64; 40]);

fn large(value: u16) -> Large {
    Large(value, [u64::from(value); 40])
}

fn small<'a>(entry: (&'a u8, &'a Large)) -> (&'a u8, &'a u16) {
    (entry.0, &entry.1.0)
}

fn apply_to_blocks(
    ours: &mut BlockMap<u8, Large>,
    reference: &mut BTreeMap<u8, u16>,
    operation: &Operation,
) {
    match *operation {
        Operation::Insert(key, value) => {
            let old = ours.insert(key, large(value));
            assert_eq!(old.map(|old| old.0), reference.insert(key, value));
        }
        Operation::Make(key, value) => {
            let expected = reference.entry(key).or_insert(value);
            assert_eq!(ours.get_or_insert_with(key, || large(value)), &large(*expected));
        }
        Operation::Change(key, value) => {
            let (ours, expected) = (ours.get_mut(&key), reference.get_mut(&key));
            assert_eq!(ours.is_some(), expected.is_some());
            if let (Some(ours), Some(expected)) = (ours, expected) {
                (*ours, *expected) = (large(value), value);
            }
        }
        Operation::Remove(key) => {
            assert_eq!(ours.remove(&key).map(|old| old.0), reference.remove(&key));
        }
        Operation::PopFirst => {
            let first = ours.pop_first().map(|(key, value)| (key, value.0));
            assert_eq!(first, reference.pop_first());
        }
        Operation::Retain(divisor) => {
            ours.retain(|_, value| value.0 % divisor == 0);
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
    fn blocks_are_what_a_tree_is(
        filled in proptest::collection::vec(any::<u8>(), 0..300),
        operations in operations(u8::MAX),
        from in bound(u8::MAX),
        to in bound(u8::MAX),
    ) {
        let (mut ours, mut reference) = (BlockMap::new(), BTreeMap::new());
        for key in filled {
            apply_to_blocks(&mut ours, &mut reference, &Operation::Insert(key, key.into()));
        }
        for operation in &operations {
            apply_to_blocks(&mut ours, &mut reference, operation);
            ours.check_blocks();
            prop_assert!(ours.iter().map(small).eq(reference.iter()));
            prop_assert_eq!((ours.len(), ours.is_empty()), (reference.len(), reference.is_empty()));
            prop_assert_eq!(ours.first_key_value().map(small), reference.first_key_value());
            prop_assert_eq!(ours.last_key_value().map(small), reference.last_key_value());
        }
        for key in 0..=u8::MAX {
            prop_assert_eq!(ours.get_key_value(&key).map(small), reference.get_key_value(&key));
            prop_assert_eq!(ours.contains_key(&key), reference.contains_key(&key));
        }
        prop_assert!(ours.iter().rev().map(small).eq(reference.iter().rev()));
        prop_assert!(ours.iter_mut().map(|(key, value)| (key, &value.0)).eq(reference.iter()));
        let (in_range, expected) = (ours.range((from, to)), in_range(&reference, from, to));
        prop_assert!(in_range.clone().map(small).eq(expected.iter().copied()));
        prop_assert!(in_range.rev().map(small).eq(expected.into_iter().rev()));
        let ours = ours.into_iter().map(|(key, value)| (key, value.0));
        prop_assert!(ours.eq(reference));
    }

    #[test]
    fn a_set_of_blocks_is_what_a_tree_is(keys in proptest::collection::vec(any::<(u16, bool)>(), 0..600)) {
        let (mut ours, mut reference) = (BlockSet::new(), BTreeSet::new());
        for (key, insert) in keys {
            let key = key % 512;
            if insert {
                prop_assert_eq!(ours.insert(key), reference.insert(key));
            } else {
                prop_assert_eq!(ours.remove(&key), reference.remove(&key));
            }
            prop_assert_eq!(ours.contains(&key), insert);
            prop_assert_eq!((ours.first(), ours.len()), (reference.first(), reference.len()));
        }
        prop_assert_eq!(format!("{ours:?}"), format!("{reference:?}"));
        prop_assert!(ours.clone() == reference.iter().copied().collect());
        prop_assert_eq!(ours.pop_first(), reference.pop_first());
        prop_assert!(ours.into_iter().eq(reference));
    }

    #[test]
    fn a_map_is_what_a_tree_is(operations in operations(31), from in bound(32), to in bound(32)) {
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
        prop_assert!(ours.range((from, to)).eq(in_range(&reference, from, to)));
        prop_assert_eq!(format!("{ours:?}"), format!("{reference:?}"));
        prop_assert!(ours.into_iter().eq(reference));
    }

    #[test]
    fn a_set_is_what_a_tree_is(operations in operations(31)) {
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

/// A block with few entries beside a full one: both do not fit into one.
#[test]
fn a_full_block_takes_no_other() {
    let mut map: BlockMap<u8, Large> = (0..=u8::MAX).map(|key| (key, large(key.into()))).collect();
    for key in 0..=u8::MAX {
        map.remove(&key);
        map.check_blocks();
    }
}
