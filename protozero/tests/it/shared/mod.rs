//! Decoding from `bytes::Buf`: fields share the memory of the input, which has one chunk or several.

mod chunks;
mod compact;
mod errors;
mod props;

use std::collections::{BTreeMap, HashMap};

use chunks::{Chunks, lies_in};
use protozero::bytes::{Buf, Bytes, BytesMut};
use protozero::{Message, Oneof, SharedStr, UnknownFields};

/// A field of type `Bytes` in each shape.
#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Tree {
    #[pb(bytes, 1)]
    data: Bytes,
    #[pb(bytes, 2)]
    more: Option<Bytes>,
    #[pb(bytes, 3, repeated)]
    parts: Vec<Bytes>,
    #[pb(map(string, bytes), 4)]
    named: BTreeMap<String, Bytes>,
    #[pb(oneof, 5, 6)]
    body: Option<Body>,
    #[pb(message, 7, repeated)]
    children: Vec<Tree>,
    #[pb(group, 8, boxed)]
    group: Option<Box<Tree>>,
    #[pb(bytes, 9)]
    copied: Vec<u8>,
    #[pb(string, 10, repeated)]
    names: Vec<String>,
    #[pb(uint32, 11, packed)]
    numbers: Vec<u32>,
    #[pb(string, 12)]
    title: SharedStr,
    #[pb(map(string, string), 13)]
    labels: BTreeMap<SharedStr, SharedStr>,
    #[pb(string, 14, repeated, or_unknown)]
    notes: Vec<SharedStr>,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
enum Body {
    #[pb(bytes, 5)]
    Whole(Bytes),
    #[pb(message, 6, boxed)]
    Tree(Box<Tree>),
}

impl Tree {
    /// All fields of type `Bytes`.
    fn shared(&self) -> Vec<&Bytes> {
        let mut all = vec![&self.data];
        all.extend(self.more.iter().chain(&self.parts).chain(self.named.values()));
        let inner = match &self.body {
            Some(Body::Whole(whole)) => {
                all.push(whole);
                None
            }
            Some(Body::Tree(tree)) => Some(tree),
            None => None,
        };
        let boxed = inner.into_iter().chain(&self.group).map(|tree| &**tree);
        all.extend(boxed.chain(&self.children).flat_map(Tree::shared));
        all
    }
}

/// A tree with a value in each field.
fn sample() -> Tree {
    let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
    let leaf =
        Tree { data: bytes("leaf"), body: Some(Body::Whole(bytes("whole"))), ..Tree::default() };
    let mut unknown_fields = UnknownFields::new();
    unknown_fields.push_bytes(100, b"unknown");
    Tree {
        data: bytes("data"),
        more: Some(bytes("more")),
        parts: vec![bytes("first"), bytes("second")],
        named: [("a".to_owned(), bytes("value"))].into(),
        body: Some(Body::Tree(Box::new(Tree { data: bytes("in a oneof"), ..Tree::default() }))),
        children: vec![leaf.clone(), leaf.clone()],
        group: Some(Box::new(Tree { data: bytes("in a group"), ..Tree::default() })),
        copied: b"copied".to_vec(),
        names: vec!["name".to_owned()],
        numbers: vec![1, 300],
        title: "title".into(),
        labels: [("key".into(), "label".into())].into(),
        notes: vec![SharedStr::from_static("note"), "more".to_owned().into()],
        unknown_fields,
    }
}

#[test]
fn fields_share_the_input() {
    let input = Bytes::from(sample().encode_to_vec());
    let tree = Tree::decode_buf(input.clone()).unwrap();
    assert_eq!(tree, sample());
    let shared = tree.shared();
    assert_eq!(shared.iter().filter(|part| !part.is_empty()).count(), 11);
    assert!(shared.iter().all(|part| part.is_empty() || lies_in(part, &input)));
    let label = tree.labels.iter().next().unwrap();
    let texts = [&tree.title, label.0, label.1, &tree.notes[0], &tree.notes[1]];
    assert!(texts.iter().all(|text| lies_in(text.as_bytes(), &input)));
    let copies = [&tree.copied[..], tree.names[0].as_bytes(), tree.unknown_fields.as_bytes()];
    assert!(copies.iter().all(|copy| !lies_in(copy, &input)));
    assert!(!input.is_unique());
    drop(tree);
    assert!(input.is_unique());
}

#[test]
fn decoding_from_a_slice_copies() {
    let input = Bytes::from(sample().encode_to_vec());
    let tree = Tree::decode(&input).unwrap();
    assert_eq!(tree, sample());
    assert!(tree.shared().iter().all(|part| !lies_in(part, &input)));
    assert!(!lies_in(tree.title.as_bytes(), &input));
    assert!(input.is_unique());
}

/// A text in shared memory is a `str` for maps, comparisons and output.
#[test]
fn a_shared_text_is_a_text() {
    let input = Bytes::from("a\u{e9}b".to_owned());
    let text = SharedStr::try_from(input.clone()).unwrap();
    assert_eq!((text.as_str(), text.len(), &text[1..3]), ("a\u{e9}b", 4, "\u{e9}"));
    assert!(SharedStr::try_from(input.slice(..2)).is_err());
    assert_eq!(
        (format!("{text}"), format!("{text:?}")),
        ("a\u{e9}b".to_owned(), "\"a\u{e9}b\"".to_owned())
    );
    let first = SharedStr::from("a");
    assert!(text == "a\u{e9}b" && text == *"a\u{e9}b" && text > first);
    let ordered = BTreeMap::from([(text.clone(), 1), (SharedStr::default(), 2)]);
    assert_eq!((ordered.get("a\u{e9}b"), ordered.get("")), (Some(&1), Some(&2)));
    let hashed = HashMap::from([(text.clone(), 1)]);
    assert_eq!(hashed.get("a\u{e9}b"), Some(&1));
    assert_eq!(text.into_bytes().as_ptr(), input.as_ptr());
}

/// An empty field keeps nothing in memory.
#[test]
fn an_empty_field_shares_nothing() {
    let input = Bytes::from(b"\x0a\0\x12\0\x1a\0".to_vec());
    let tree = Tree::decode_buf(input.clone()).unwrap();
    assert_eq!((tree.more, tree.parts.len()), (Some(Bytes::new()), 1));
    assert!(input.is_unique());
}

/// The last one counts, and shares.
#[test]
fn merging_replaces_what_was_there() {
    let input = Bytes::from(b"\x0a\x03new".to_vec());
    let mut tree = sample();
    tree.merge_buf(input.clone()).unwrap();
    assert!(lies_in(&tree.data, &input));
    assert_eq!(tree, Tree { data: input.slice(2..), ..sample() });
}

#[test]
fn all_bufs_are_inputs() {
    let bytes = sample().encode_to_vec();
    // One that is shared, too.
    let input = BytesMut::from(&bytes[..]);
    let at = input.as_ptr().addr();
    let tree = Tree::decode_buf(input).unwrap();
    assert_eq!(tree, sample());
    assert!((at..at + bytes.len()).contains(&tree.data.as_ptr().addr()));
    // Slices, and parts of a buffer that goes on.
    assert_eq!(Tree::decode_buf(&bytes[..]), Ok(sample()));
    let (front, back) = bytes.split_at(bytes.len() / 2);
    assert_eq!(Tree::decode_buf(front.chain(back)), Ok(sample()));
    let mut frames = Bytes::from([&bytes[..], b"next"].concat());
    assert_eq!(Tree::decode_buf((&mut frames).take(bytes.len())), Ok(sample()));
    assert_eq!(frames, &b"next"[..]);
    // All of it is read.
    let mut chunks = Chunks::cut(&Bytes::from(bytes), &[7, 20]);
    assert_eq!(Tree::decode_buf(&mut chunks), Ok(sample()));
    assert!(!chunks.has_remaining());
    assert_eq!(Tree::decode_buf(Bytes::new()), Ok(Tree::default()));
}

#[test]
fn only_a_field_in_several_chunks_is_copied() {
    let whole = Bytes::from(b"\x1a\x05first\x1a\x06second\x1a\x05third".to_vec());
    let shares = |cuts: &[usize]| -> Vec<bool> {
        let tree = Tree::decode_buf(Chunks::cut(&whole, cuts)).unwrap();
        assert_eq!(tree.parts, [&b"first"[..], b"second", b"third"]);
        tree.parts.iter().map(|part| lies_in(part, &whole)).collect()
    };
    assert_eq!(shares(&[]), [true; 3]);
    assert_eq!(shares(&[7, 15]), [true; 3]);
    assert_eq!(shares(&[8]), [true, false, true]);
    assert_eq!(shares(&[14, 16]), [true, false, false]);
    assert_eq!(shares(&[1, 9, 17]), [false; 3]);
}

/// A message in several chunks is copied as one, which its fields share.
#[test]
fn fields_of_a_copied_message_share_the_copy() {
    let bytes = Tree { children: vec![sample()], ..Tree::default() }.encode_to_vec();
    let mut tree = Tree::decode_buf(Chunks::cut(&Bytes::from(bytes), &[30])).unwrap();
    let child = tree.children.pop().unwrap();
    assert_eq!(child, sample());
    let spread = child.data.as_ptr().addr().abs_diff(child.parts[1].as_ptr().addr());
    assert_eq!(spread, "data".len() + 2 + "more".len() + 2 + "first".len() + 2);
}
