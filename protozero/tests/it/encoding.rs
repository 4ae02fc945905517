//! All ways to encode an owned message, their limits, and extensions.

use std::collections::BTreeMap;

use protozero::extension::{Enum, Int32, Nested, Packed, Repeated, Single, Sint64, Text, Unpacked};
use protozero::{
    DecodeErrorKind, Enumeration, Extendable, Extension, FixedSink, HeapSink, Message, ReadError,
    UnknownFields, WriteError,
};

#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Node {
    #[pb(uint32, 1)]
    value: Option<u32>,
    #[pb(message, 2, boxed)]
    next: Option<Box<Node>>,
    #[pb(string, 3, repeated)]
    names: Vec<String>,
    #[pb(group, 4, boxed)]
    group: Option<Box<Node>>,
    #[pb(unknown, extensions)]
    unknown_fields: UnknownFields,
}

fn chain(levels: usize, group: bool) -> Node {
    let mut node = Node::default();
    for _ in 0..levels {
        let inner = Some(Box::new(node));
        node = match group {
            true => Node { group: inner, ..Node::default() },
            false => Node { next: inner, ..Node::default() },
        };
    }
    node
}

/// A message longer than every internal buffer, with lengths of one to three bytes.
fn long() -> Node {
    let names = (0..300).map(|n| "x".repeat(n)).collect();
    let inner = Node { value: Some(u32::MAX), names, ..Node::default() };
    Node { value: Some(1), next: Some(Box::new(inner)), ..Node::default() }
}

#[test]
fn every_way_gives_the_same_bytes() {
    for node in [Node::default(), chain(3, false), chain(3, true), long()] {
        let bytes = node.encode_to_vec();
        assert_eq!(Node::decode(&bytes).as_ref(), Ok(&node));
        assert_eq!(
            (node.encoded_len(), node.try_encode_to_vec().as_ref()),
            (bytes.len(), Ok(&bytes))
        );
        let mut appended = b"before".to_vec();
        node.encode(&mut appended).unwrap();
        assert_eq!(appended, [b"before", &bytes[..]].concat());
        // A buffer of exactly the length, and one byte less.
        let mut exact = vec![0; bytes.len()];
        assert_eq!(node.encode_to_slice(&mut exact), Ok(bytes.len()));
        assert_eq!(exact, bytes);
        let mut larger = vec![7; bytes.len() + 5];
        assert_eq!(node.encode_to_slice(&mut larger), Ok(bytes.len()));
        assert_eq!(larger[..bytes.len()], bytes);
        if let Some(capacity) = bytes.len().checked_sub(1) {
            let short = node.encode_to_slice(&mut exact[..capacity]);
            assert_eq!(short, Err(WriteError::Full { capacity }));
        }
        // Encodes into an open message, and as a root message of a stream.
        let mut stream = HeapSink::stream();
        node.encode_into(&mut stream.root()).unwrap();
        assert_eq!(stream.finish().as_ref(), Ok(&bytes));
        let mut buffer = vec![0; bytes.len() + 16];
        let mut stream = FixedSink::stream(&mut buffer);
        node.encode(&mut stream).unwrap();
        assert_eq!(stream.finish().map(|out| &*out), Ok(&bytes[..]));
    }
    let mut buffer = [0; 4];
    let full = long().encode(&mut FixedSink::stream(&mut buffer));
    assert_eq!(full, Err(WriteError::Full { capacity: 4 }));
}

/// The result does not depend on the size of the buffer.
/// A message is written to the stack, then to memory of 4 KiB, and then to what it needs.
#[test]
fn messages_of_any_length() {
    for len in [
        0, 1, 500, 507, 508, 509, 510, 511, 512, 513, 600, 4095, 4096, 4100, 4595, 4605, 4610, 9000,
    ] {
        for next in [0, 1, 300, 512, 5000] {
            let inner = Node { names: vec!["n".repeat(next)], ..Node::default() };
            let names = vec!["a".repeat(len / 2), "b".repeat(len - len / 2)];
            let node =
                Node { value: Some(7), next: Some(Box::new(inner)), names, ..Node::default() };
            let bytes = node.encode_to_vec();
            assert_eq!(bytes.len(), node.encoded_len());
            assert_eq!(Node::decode(&bytes).as_ref(), Ok(&node), "{len} and {next}");
            let framed = node.encode_length_delimited_to_vec();
            assert!(framed.ends_with(&bytes), "{len} and {next}");
            assert_eq!(
                framed.len(),
                bytes.len() + (1..).find(|n| bytes.len() >> (7 * n) == 0).unwrap_or(0)
            );
        }
    }
}

#[test]
fn encoding_to_a_slice_begins_at_its_front() {
    for len in (0..40).chain(440..560).chain([4000]) {
        let names = vec!["y".repeat(len % 37), "x".repeat(len)];
        let node = Node { value: Some(len as u32), names, ..chain(2, len % 2 == 0) };
        let bytes = node.encode_to_vec();
        for spare in [0, 1, 2, 7, 8, 9, 15, 16, 17, 100, 600] {
            let mut buffer = vec![7; bytes.len() + spare];
            assert_eq!(node.encode_to_slice(&mut buffer), Ok(bytes.len()));
            assert_eq!(buffer[..bytes.len()], bytes);
        }
        for capacity in (0..bytes.len()).rev().step_by(7) {
            let short = node.encode_to_slice(&mut vec![0; capacity]);
            assert_eq!(short, Err(WriteError::Full { capacity }));
        }
    }
}

#[test]
fn lengths_in_front() {
    let mut bytes = Vec::new();
    for node in [Node::default(), long(), chain(1, false)] {
        node.encode_length_delimited(&mut bytes).unwrap();
        assert_eq!(bytes[bytes.len() - node.encoded_len()..], node.encode_to_vec());
    }
    assert_eq!(chain(1, false).encode_length_delimited_to_vec(), b"\x02\x12\0");
    let mut rest = &bytes[..];
    assert_eq!(Node::decode_length_delimited(&mut rest), Ok(Node::default()));
    assert_eq!(Node::decode_length_delimited(&mut rest), Ok(long()));
    assert_eq!(Node::decode_length_delimited(&mut rest), Ok(chain(1, false)));
    assert!(rest.is_empty());
    for (mut bytes, error) in [
        (&b""[..], DecodeErrorKind::Truncated.at(0)),
        (b"\x80", DecodeErrorKind::Truncated.at(0)),
        (b"\x02\x08", DecodeErrorKind::Truncated.at(0)),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", DecodeErrorKind::VarintTooLong.at(0)),
        (b"\x03\x12\x01\x08\x01", DecodeErrorKind::Truncated.at(3)),
    ] {
        let before = bytes;
        let decoded = Node::decode_length_delimited(&mut bytes);
        assert_eq!(decoded.map_err(ReadError::from), Err(error));
        assert_eq!(bytes, before);
    }
}

#[test]
fn what_is_written_can_be_read() {
    for group in [false, true] {
        let deepest = chain(100, group);
        let len = deepest.encoded_len();
        assert_eq!(Node::decode(&deepest.encode_to_vec()), Ok(deepest));
        let error = Err(WriteError::TooDeep { depth: 100 });
        assert_eq!(chain(101, group).try_encode_to_vec(), error);
        let mut deeper = chain(20_000, group);
        assert_eq!(deeper.try_encode_to_vec(), error);
        let mut untouched = b"x".to_vec();
        assert_eq!(deeper.encode(&mut untouched), error.map(drop));
        assert_eq!(untouched, b"x");
        // Counting ends at the same depth, and not in an overflow of the stack.
        assert_eq!(deeper.encoded_len(), len);
        // Takes the message apart in a loop, because its drop would recurse.
        while let Some(next) = deeper.next.take().or(deeper.group.take()) {
            deeper = *next;
        }
    }
}

/// A message without messages in it.
#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Leaf {
    #[pb(uint32, 1)]
    value: Option<u32>,
}

/// Constants of a struct have any names.
impl Leaf {
    const ROWS: u8 = 1;
    const IS_FLAT: u8 = 2;
    const FOOTPRINT: u8 = 3;
}

#[test]
fn a_struct_may_have_constants_of_its_own() {
    assert_eq!([Leaf::ROWS, Leaf::IS_FLAT, Leaf::FOOTPRINT], [1, 2, 3]);
    let error = Leaf::decode(&[0x08]).unwrap_err();
    assert_eq!(error.path(), "Leaf.value");
}

/// A message with all that counts as one more level.
#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(skip_unknown)]
struct Branch {
    #[pb(message, 1, boxed)]
    next: Option<Box<Branch>>,
    #[pb(message, 2, repeated)]
    leaves: Vec<Leaf>,
    #[pb(map(uint32, uint32), 3)]
    numbers: BTreeMap<u32, u32>,
    #[pb(map(uint32, message), 4)]
    messages: BTreeMap<u32, Leaf>,
}

#[test]
fn the_depth_ends_with_messages_that_have_none_inside() {
    let in_levels = |levels: usize, inner: &Branch| {
        let around = |inner, _| Branch { next: Some(Box::new(inner)), ..Branch::default() };
        (0..levels).fold(inner.clone(), around)
    };
    // How many levels are below the branch itself.
    for (inner, own) in [
        (Branch { leaves: vec![Leaf::default(), Leaf { value: Some(7) }], ..Branch::default() }, 1),
        (Branch { numbers: [(1, 2), (3, 4)].into(), ..Branch::default() }, 1),
        (Branch { messages: [(1, Leaf { value: Some(7) })].into(), ..Branch::default() }, 2),
    ] {
        let deepest = in_levels(100 - own, &inner);
        let bytes = deepest.encode_to_vec();
        assert_eq!((deepest.encoded_len(), Branch::decode(&bytes)), (bytes.len(), Ok(deepest)));
        let deeper = in_levels(101 - own, &inner);
        let error = Err(WriteError::TooDeep { depth: 100 });
        assert_eq!(deeper.try_encode_to_vec(), error, "{inner:?}");
        // What does not fit is not counted.
        assert!(deeper.encoded_len() < bytes.len() + 3, "{inner:?}");
    }
}

#[test]
fn clearing() {
    let mut node = long();
    node.clear();
    assert_eq!(node, Node::default());
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
enum Closed {
    #[default]
    Zero = 0,
    One = 1,
}

const NUMBER: Extension<Node, Single<Int32>> = Extension::new("test.number", 100);
const NODE: Extension<Node, Single<Nested<Node>>> = Extension::new("test.node", 101);
const NAMES: Extension<Node, Repeated<Text>> = Extension::new("test.names", 102);
const RUN: Extension<Node, Packed<Sint64>> = Extension::new("test.run", 103);
const LONE: Extension<Node, Unpacked<Enum<Closed>>> = Extension::new("test.lone", 104);

#[test]
fn extensions() {
    let mut node = Node::default();
    assert!(!node.has_extension(&NUMBER));
    assert_eq!((node.extension(&NUMBER), node.extension(&RUN)), (Ok(None), Ok(vec![])));
    node.set_extension(&NUMBER, &1);
    node.set_extension(&NAMES, &["a".to_owned(), String::new()]);
    node.set_extension(&NUMBER, &-1);
    node.set_extension(&RUN, &[-1, 1]);
    node.set_extension(&LONE, &[Closed::One, Closed::Zero]);
    node.set_extension(&NODE, &chain(1, false));
    assert_eq!(
        node.encode_to_vec(),
        b"\xb2\x06\x01a\xb2\x06\0\xa0\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xba\x06\x02\x01\x02\
          \xc0\x06\x01\xc0\x06\0\xaa\x06\x02\x12\0"
    );
    let again = Node::decode(&node.encode_to_vec()).unwrap();
    assert_eq!(again, node);
    assert_eq!(again.extension(&NUMBER), Ok(Some(-1)));
    assert_eq!(again.extension(&NAMES), Ok(vec!["a".to_owned(), String::new()]));
    assert_eq!(again.extension(&RUN), Ok(vec![-1, 1]));
    assert_eq!(again.extension(&LONE), Ok(vec![Closed::One, Closed::Zero]));
    assert_eq!(again.extension(&NODE), Ok(Some(chain(1, false))));
    node.clear_extension(&NAMES);
    assert!(!node.has_extension(&NAMES) && node.has_extension(&RUN));
    assert_eq!(format!("{NUMBER:?}"), "[test.number] = 100");
}

#[test]
fn extensions_follow_the_rules_of_fields() {
    // The last singular value counts, messages are merged, packed and unpacked are equivalent, and
    // other fields are ignored.
    let node = Node::decode(
        b"\xa0\x06\x01\xa0\x06\x02\xaa\x06\x02\x08\x01\xaa\x06\x02\x12\0\xb8\x06\x01\xba\x06\x01\x02\
          \xc2\x06\x02\x01\x09\xa5\x06\0\0\0\0",
    )
    .unwrap();
    assert_eq!(node.extension(&NUMBER), Ok(Some(2)));
    assert_eq!(node.extension(&NODE), Ok(Some(Node { value: Some(1), ..chain(1, false) })));
    assert_eq!(node.extension(&RUN), Ok(vec![-1, 1]));
    assert_eq!(node.extension(&LONE), Ok(vec![Closed::One]));
    let broken = Node::decode(b"\xaa\x06\x01\x08").unwrap();
    assert_eq!(broken.extension(&NODE), Err(DecodeErrorKind::Truncated.at(3)));
    // Extensions in writers and readers.
    let mut stream = HeapSink::stream();
    NUMBER.append(&mut stream.root(), &7).unwrap();
    let bytes = stream.finish().unwrap();
    let mut reader = protozero::Reader::new(&bytes);
    let fields = core::iter::from_fn(|| reader.next_field().unwrap());
    assert_eq!(NUMBER.read(fields), Ok(Some(7)));
}
