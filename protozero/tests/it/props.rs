//! Properties of owned messages with random values and random bytes.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use protozero::{Enumeration, Message, Oneof, Reader, UnknownFields};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
enum Closed {
    #[default]
    Zero = 0,
    One = 1,
    Minus = -1,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
struct All {
    #[pb(int32, 1)]
    int: i32,
    #[pb(sint64, 2)]
    signed: Option<i64>,
    #[pb(fixed32, 3, packed)]
    fixed: Vec<u32>,
    #[pb(uint64, 4, repeated)]
    lone: Vec<u64>,
    #[pb(string, 5, or_unknown)]
    text: Option<String>,
    #[pb(bytes, 6, repeated)]
    blobs: Vec<Vec<u8>>,
    #[pb(enumeration, 7, packed)]
    closed: Vec<Closed>,
    #[pb(map(string, message), 8, or_unknown)]
    map: BTreeMap<String, All>,
    #[pb(group, 9, boxed)]
    group: Option<Box<All>>,
    #[pb(oneof, 10, 11)]
    pick: Option<Pick>,
    #[pb(message, 12, repeated)]
    children: Vec<All>,
    #[pb(message, 13, boxed)]
    child: Option<Box<All>>,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
enum Pick {
    #[pb(message, 10, boxed)]
    All(Box<All>),
    #[pb(double, 11)]
    Number(f64),
}

fn unknown() -> impl Strategy<Value = UnknownFields> {
    vec((100u32..200, any::<u64>()), 0..3).prop_map(|fields| {
        let mut unknown = UnknownFields::new();
        for (number, value) in fields {
            unknown.push_varint(number, value);
            unknown.push_bytes(number, &value.to_le_bytes());
        }
        unknown
    })
}

fn closed() -> impl Strategy<Value = Closed> {
    prop_oneof![Just(Closed::Zero), Just(Closed::One), Just(Closed::Minus)]
}

fn all() -> impl Strategy<Value = All> {
    let number = -1e9..1e9f64;
    let scalars = (
        any::<i32>(),
        option::of(any::<i64>()),
        vec(any::<u32>(), 0..4),
        vec(any::<u64>(), 0..4),
        option::of(".{0,9}"),
        vec(vec(any::<u8>(), 0..200), 0..3),
        vec(closed(), 0..4),
        option::of(number.prop_map(Pick::Number)),
        unknown(),
    );
    let leaf = scalars.prop_map(|scalars| {
        let (int, signed, fixed, lone, text, blobs, closed, pick, unknown_fields) = scalars;
        let all = All { int, signed, fixed, lone, text, blobs, closed, ..All::default() };
        All { pick, unknown_fields, ..all }
    });
    let leaf = leaf.boxed();
    leaf.clone().prop_recursive(3, 12, 3, move |inner| {
        let boxed = || option::of(inner.clone().prop_map(Box::new));
        let map = btree_map(".{0,3}", inner.clone(), 0..3);
        (leaf.clone(), map, boxed(), boxed(), vec(inner.clone(), 0..3)).prop_map(
            |(all, map, group, child, children)| {
                let pick = child.clone().map(Pick::All).or(all.pick);
                All { map, group, child, children, pick, ..all }
            },
        )
    })
}

/// Random bytes that are often almost a message.
fn almost_messages() -> impl Strategy<Value = Vec<u8>> {
    (all(), vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)).prop_map(|(all, changes)| {
        let mut bytes = all.encode_to_vec();
        for (at, byte) in changes {
            let len = bytes.len().max(1);
            if let Some(old) = bytes.get_mut(at.index(len)) {
                *old = byte;
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn a_round_trip_changes_nothing(all in all()) {
        let bytes = all.encode_to_vec();
        prop_assert_eq!(bytes.len(), all.encoded_len());
        let again = All::decode(&bytes).unwrap();
        prop_assert_eq!(&again, &all);
        prop_assert_eq!(again.encode_to_vec(), bytes);
    }

    /// Merging two encoded messages is equal to decoding their concatenation. This is protobuf's
    /// definition of merging.
    #[test]
    fn merging_equals_decoding_the_concatenation(first in all(), second in all()) {
        let (a, b) = (first.encode_to_vec(), second.encode_to_vec());
        let mut merged = first;
        merged.merge(&b).unwrap();
        let glued = All::decode(&[a, b].concat()).unwrap();
        prop_assert_eq!(merged, glued);
    }

    /// Random bytes never cause a panic, and the decoded fields survive a round trip.
    #[test]
    fn random_bytes(bytes in prop_oneof![almost_messages(), vec(any::<u8>(), 0..64)]) {
        let decoded = All::decode(&bytes);
        let Ok(all) = decoded else { return Ok(()) };
        let again = All::decode(&all.encode_to_vec()).unwrap();
        // Compares bytes, because NaN is not equal to itself.
        prop_assert_eq!(again.encode_to_vec(), all.encode_to_vec());
    }

    /// A struct without fields keeps all fields unchanged.
    #[test]
    fn unknown_fields_are_kept_unchanged(bytes in almost_messages()) {
        #[derive(Clone, PartialEq, Debug, Default, Message)]
        struct Nothing {
            #[pb(unknown)]
            unknown_fields: UnknownFields,
        }
        let mut reader = Reader::new(&bytes);
        let valid = std::iter::from_fn(|| reader.next_field().transpose()).all(|field| field.is_ok());
        let decoded = Nothing::decode(&bytes);
        prop_assert_eq!(decoded.is_ok(), valid);
        if let Ok(nothing) = decoded {
            prop_assert_eq!(nothing.encode_to_vec(), bytes);
        }
    }
}
