//! Random messages and random bytes, cut at random places.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;
use protozero::Message;
use protozero::bytes::Bytes;

use super::chunks::{Chunks, lies_in};
use super::errors::check;
use super::{Body, Tree};

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn tree() -> impl Strategy<Value = Tree> {
    let named = btree_map(".{0,3}", bytes(), 0..3);
    let texts = (vec(".{0,9}", 0..3), vec(any::<u32>(), 0..4), vec(any::<u8>(), 0..200), ".{0,40}");
    let leaf = (bytes(), option::of(bytes()), vec(bytes(), 0..3), named, texts).prop_map(
        |(data, more, parts, named, (names, numbers, copied, title))| {
            let body = more.clone().map(Body::Whole);
            let notes = names.iter().map(|name| name.as_str().into()).collect();
            let title = title.as_str().into();
            let tree = Tree { data, more, parts, named, body, names, numbers, ..Tree::default() };
            Tree { copied, title, notes, ..tree }
        },
    );
    let leaf = leaf.boxed();
    leaf.clone().prop_recursive(3, 12, 3, move |inner| {
        let boxed = || option::of(inner.clone().prop_map(Box::new));
        (leaf.clone(), vec(inner.clone(), 0..3), boxed(), boxed()).prop_map(
            |(tree, children, group, body)| {
                let body = body.map(Body::Tree).or(tree.body);
                Tree { children, group, body, ..tree }
            },
        )
    })
}

/// The bytes of a tree, some of which are changed.
fn almost_a_tree() -> impl Strategy<Value = Vec<u8>> {
    (tree(), vec((any::<Index>(), any::<u8>()), 0..4)).prop_map(|(tree, changes)| {
        let mut bytes = tree.encode_to_vec();
        for (at, byte) in changes {
            let len = bytes.len().max(1);
            if let Some(old) = bytes.get_mut(at.index(len)) {
                *old = byte;
            }
        }
        bytes
    })
}

fn places(cuts: &[Index], len: usize) -> Vec<usize> {
    cuts.iter().map(|cut| cut.index(len + 1)).collect()
}

proptest! {
    /// Any bytes in any chunks are what they are in one slice.
    #[test]
    fn chunks_are_decoded_as_a_slice(
        bytes in prop_oneof![almost_a_tree(), vec(any::<u8>(), 0..64)],
        cuts in vec(any::<Index>(), 0..8),
    ) {
        check(&bytes, &places(&cuts, bytes.len()));
        check(&bytes, &(0..bytes.len()).collect::<Vec<_>>());
    }

    /// What is decoded from one chunk lies in it, and is released with the message.
    #[test]
    fn one_chunk_is_shared(tree in tree()) {
        let input = Bytes::from(tree.encode_to_vec());
        let decoded = Tree::decode_buf(Chunks::cut(&input, &[])).unwrap();
        prop_assert_eq!(&decoded, &tree);
        prop_assert!(decoded.shared().iter().all(|part| part.is_empty() || lies_in(part, &input)));
        prop_assert!(decoded.title.is_empty() || lies_in(decoded.title.as_bytes(), &input));
        drop(decoded);
        prop_assert!(input.is_unique());
    }
}
