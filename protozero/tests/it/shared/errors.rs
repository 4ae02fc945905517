//! Malformed input in chunks: the errors of a slice, and the limits of a slice.

use protozero::bytes::{Buf, Bytes};
use protozero::{DecodeErrorKind, DecodeOptions, Message};

use super::Tree;
use super::chunks::Chunks;

/// Decodes `bytes` as a slice and in the chunks that `cuts` makes: the same message and the same error, if any.
pub fn check(bytes: &[u8], cuts: &[usize]) {
    let (mut wanted, mut found) = (Tree::default(), Tree::default());
    let error = wanted.merge(bytes).map_err(|error| (error.kind, error.offset));
    let whole = Bytes::copy_from_slice(bytes);
    let other = found.merge_buf(Chunks::cut(&whole, cuts));
    assert_eq!(other.map_err(|error| (error.kind, error.offset)), error, "{bytes:x?} {cuts:?}");
    assert_eq!(found, wanted, "{bytes:x?} {cuts:?}");
}

#[test]
fn errors_are_those_of_a_slice() {
    let long = [&b"\x0a"[..], &[0x80; 11]].concat();
    let long_tag = [0x80; 11];
    let deep = [0x43; 101];
    let cases: [&[u8]; 20] = [
        b"\x0a",
        b"\x0a\x05abc",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01abc",
        &long,
        &long_tag,
        &deep,
        // An unknown wire type, the number 0, and one that is too high.
        b"\x07\0",
        b"\x02\0",
        b"\x82\x80\x80\x80\x80\x01\0",
        // The end of a group that is not open; one without an end, with another end, with a malformed field.
        b"\x44",
        b"\x43\x0a\x01a",
        b"\x43\x0a\x01a\x4c",
        b"\x43\x0a\x05a\x44",
        b"\x43\x13\x14\x0a\x01a\x44",
        // Numbers that end early, and text that is not UTF-8.
        b"\x0d\x01\x02",
        b"\x09\x01\x02",
        b"\x08\x80",
        b"\x52\x02\xc3\x28",
        // In a nested message.
        b"\x3a\x03\x0a\x05a",
        b"\x5a\x02\x01\x80",
    ];
    for case in cases {
        for bytes in [case.to_vec(), [&b"\x0a\x01a\x1a\x02bc"[..], case].concat()] {
            let each: Vec<usize> = (0..bytes.len()).collect();
            check(&bytes, &each);
            each.iter().for_each(|cut| check(&bytes, &[*cut]));
        }
    }
}

/// An announced length is compared with the rest of the input before anything is copied.
#[test]
fn a_length_beyond_the_input_copies_nothing() {
    for head in
        [&b"\x0a\x90\x4e"[..], b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x43\x0a\x90\x4e"]
    {
        let whole = Bytes::from([head, &[0; 9999]].concat());
        let mut input = Chunks::cut(&whole, &[1, 20]);
        let error = Tree::decode_buf(&mut input).unwrap_err();
        assert_eq!((error.kind, error.offset), (DecodeErrorKind::Truncated, 0));
        assert_eq!(input.remaining(), 9999);
    }
}

/// The limits of memory and depth hold for all chunks together.
#[test]
fn limits_are_those_of_a_slice() {
    let empty = Bytes::from(b"\x3a\0".repeat(100));
    let cuts: Vec<usize> = (0..100).map(|at| 2 * at).collect();
    let options = DecodeOptions::new().memory_max(50 * size_of::<Tree>());
    let wanted = options.decode::<Tree>(&empty).unwrap_err();
    assert_eq!((wanted.kind, wanted.offset), (DecodeErrorKind::TooMuchMemory, 100));
    for cuts in [&cuts[..], &[3], &[]] {
        let error = options.decode_buf::<Tree>(Chunks::cut(&empty, cuts)).unwrap_err();
        assert_eq!((error.kind, error.offset), (wanted.kind, wanted.offset));
    }
    let nested = Bytes::from_static(b"\x0a\x01a\x3a\x02\x3a\0");
    let options = DecodeOptions::new().depth_max(1);
    for cuts in [&[3][..], &[5], &[]] {
        let error = options.decode_buf::<Tree>(Chunks::cut(&nested, cuts)).unwrap_err();
        assert_eq!((error.kind, error.offset), (DecodeErrorKind::TooDeep, 5));
    }
}

/// The path has no index in a list of which earlier elements are gone, and all others.
#[test]
fn an_error_names_its_field() {
    let path = |bytes: &'static [u8], cuts: &[usize]| {
        let chunks = Chunks::cut(&Bytes::from_static(bytes), cuts);
        Tree::decode_buf(chunks).unwrap_err().to_string()
    };
    let names = b"\x52\x01a\x52\x01\xff";
    assert_eq!(path(names, &[]), "Tree.names[1]: string is not UTF-8 at byte 3");
    assert_eq!(path(names, &[5]), "Tree.names: string is not UTF-8 at byte 3");
    let inside = b"\x3a\0\x3a\x06\x52\x01a\x52\x01\xff";
    assert_eq!(path(inside, &[]), "Tree.children[1].names[1]: string is not UTF-8 at byte 7");
    assert_eq!(path(inside, &[2]), "Tree.children.names[1]: string is not UTF-8 at byte 7");
    let numbers = b"\x58\x01\x58\x80";
    assert_eq!(path(numbers, &[]), "Tree.numbers[1]: the input ends inside a field at byte 2");
    assert_eq!(path(numbers, &[2]), "Tree.numbers: the input ends inside a field at byte 2");
    let group = b"\x0a\0\x43\x3a\0\x3a\x03\x52\x01\xff\x44";
    assert_eq!(path(group, &[4]), "Tree.group.children[1].names[0]: string is not UTF-8 at byte 7");
}

/// A `Buf` that says that it has bytes, and never shows one.
#[test]
fn a_wrong_buf_ends() {
    struct Wrong;
    impl Buf for Wrong {
        fn remaining(&self) -> usize {
            5
        }
        fn chunk(&self) -> &[u8] {
            &[]
        }
        fn advance(&mut self, _: usize) {}
    }
    let error = Tree::decode_buf(Wrong).unwrap_err();
    assert_eq!((error.kind, error.offset), (DecodeErrorKind::Truncated, 0));
}
