//! Frames, in blocks of all sizes.

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::decode::FrameReader;
use crate::error::DecodeErrorKind::{self, *};
use crate::error::ReadError;

type Read = (Vec<(u32, Vec<u8>)>, Result<(), ReadError>);

/// Reads the frames of `blocks`, at most `take` of each block, and returns them and the result of
/// `finish`.
fn read(blocks: &[&[u8]], take: usize) -> Read {
    read_of(FrameReader::with_max(1000), blocks, take)
}

fn read_of(mut stream: FrameReader, blocks: &[&[u8]], take: usize) -> Read {
    let mut out = Vec::new();
    for block in blocks {
        let mut frames = stream.read_block(block);
        for _ in 0..take {
            match frames.next_frame() {
                Ok(Some(frame)) => out.push((frame.number, frame.body.to_vec())),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(frames.next_frame(), Err(error), "the error is final");
                    drop(frames);
                    assert_eq!(stream.read_block(b"\x0a\x00").next_frame(), Err(error));
                    assert_eq!((stream.finish(), stream.pending()), (Err(error), 0));
                    return (out, Err(error));
                }
            }
        }
    }
    // The frames that were left unread.
    let mut frames = stream.read_block(&[]);
    let error = loop {
        match frames.next_frame() {
            Ok(Some(frame)) => out.push((frame.number, frame.body.to_vec())),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    drop(frames);
    (out, error.map_or_else(|| stream.finish(), Err))
}

/// Checks one block, and blocks of one byte.
fn check(bytes: &[u8], want: &[(u32, &[u8])], end: Result<(), (DecodeErrorKind, usize)>) {
    let want: Vec<_> = want.iter().map(|(number, body)| (*number, body.to_vec())).collect();
    let end = end.map_err(|(kind, offset)| kind.at(offset));
    assert_eq!(read(&[bytes], usize::MAX), (want.clone(), end), "{bytes:02x?}");
    let single: Vec<_> = bytes.chunks(1).collect();
    assert_eq!(read(&single, usize::MAX), (want, end), "{bytes:02x?}");
}

#[test]
fn frames_and_ends() {
    check(b"", &[], Ok(()));
    check(b"\x0a\x00", &[(1, b"")], Ok(()));
    check(b"\x0a\x02hi\x12\x01!", &[(1, b"hi"), (2, b"!")], Ok(()));
    // The largest number, with padded varints.
    check(b"\xfa\xff\xff\xff\x0f\x81\x80\x00x", &[((1 << 29) - 1, b"x")], Ok(()));
    check(b"\x0a\x02hi\x0a\x02h", &[(1, b"hi")], Err((Truncated, 4)));
    check(b"\x0a\x02hi\x8a", &[(1, b"hi")], Err((Truncated, 4)));
    check(b"\x0a\x02hi\x08\x01", &[(1, b"hi")], Err((WireTypeMismatch, 4)));
    check(b"\x0a\x02hi\x02\x01", &[(1, b"hi")], Err((FieldNumber, 4)));
    // A body of 1000 or 1001 bytes, none of which has arrived.
    check(b"\x0a\xe8\x07", &[], Err((Truncated, 0)));
    check(b"\x0a\x00\x0a\xe9\x07", &[(1, b"")], Err((TooLarge, 2)));
    check(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", &[], Err((TooLarge, 0)));
    // The upstream parser would wait for more bytes.
    check(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", &[], Err((VarintTooLong, 0)));
    check(&[0x80; 10], &[], Err((VarintTooLong, 0)));
    check(&[0x80; 9], &[], Err((Truncated, 0)));
}

#[test]
fn other_fields_are_skipped_or_an_error() {
    let read_both = |bytes: &[u8]| {
        let read = |blocks: &[&[u8]]| {
            let stream = FrameReader::with_max(1000).skip_other_fields();
            let (frames, end) = read_of(stream, blocks, usize::MAX);
            let frames: Vec<_> = frames.into_iter().map(|(number, _)| number).collect();
            (frames, end.map_err(|error| (error.kind, error.offset)))
        };
        let single: Vec<_> = bytes.chunks(1).collect();
        let whole = read(&[bytes]);
        assert_eq!(read(&single), whole, "{bytes:02x?}");
        whole
    };
    let numbers = b"\x0a\0\x08\x80\x01\x12\0\x0d1234\x1a\0\x0912345678\x22\0";
    assert_eq!(read_both(numbers), ([1, 2, 3, 4].into(), Ok(())));
    // A group with a field of each kind. One of them would be a frame outside of a group.
    let group = b"\x0a\0\x0b\x08\x01\x0a\x02hi\x13\x1a\0\x14\x0d1234\x0c\x12\0";
    assert_eq!(read_both(group), ([1, 2].into(), Ok(())));
    assert_eq!(read_both(&group[..18]), ([1].into(), Err((Truncated, 18))));
    assert_eq!(read_both(b"\x0a\0\x0c"), ([1].into(), Err((EndGroup, 2))));
    assert_eq!(read_both(b"\x0b\x14"), ([].into(), Err((EndGroup, 1))));
    assert_eq!(read_both(b"\x0e"), ([].into(), Err((WireType, 0))));
    assert_eq!(read_both(b"\x0b\x0a\xe9\x07"), ([].into(), Err((TooLarge, 1))));
    assert_eq!(read_both(&[0x0b; 100]).1, Err((Truncated, 100)));
    assert_eq!(read_both(&[0x0b; 101]).1, Err((TooDeep, 100)));
    let mut stream = FrameReader::new().skip_other_fields();
    assert_eq!(
        stream.read_block(&[numbers, &group[..]].concat()).next_frame().map(|f| f.is_some()),
        Ok(true)
    );
    let mut frames = stream.read_block(&[]);
    while let Ok(Some(_)) = frames.next_frame() {}
    drop(frames);
    assert_eq!(stream.skipped(), 4);
}

#[test]
fn a_complete_frame_is_borrowed_from_its_block() {
    let block = b"\x0a\x03abc\x0a\x02x";
    let mut stream = FrameReader::new();
    let mut frames = stream.read_block(block);
    let body = frames.next_frame().unwrap().unwrap().body;
    assert_eq!(body.as_ptr(), block[2..].as_ptr());
    assert_eq!(frames.next_frame(), Ok(None));
    drop(frames);
    assert_eq!(stream.pending(), 3);
    // Only the missing byte of the next block is copied.
    let block = b"y\x0a\x01z";
    let mut frames = stream.read_block(block);
    assert_eq!(frames.next_frame().unwrap().unwrap().body, b"xy");
    assert_eq!(frames.next_frame().unwrap().unwrap().body.as_ptr(), block[3..].as_ptr());
    drop(frames);
    assert_eq!((stream.pending(), stream.finish()), (0, Ok(())));
}

#[test]
fn an_announced_length_costs_no_memory() {
    let mut stream = FrameReader::new();
    drop(stream.read_block(b"\x0a\x80\x80\x80\x20"));
    assert_eq!(stream.read_block(&[7; 100]).next_frame(), Ok(None));
    assert!(stream.capacity() < 1000);
    // The memory of a large frame is freed.
    let mut stream = FrameReader::new();
    let large = vec![0; 1 << 20];
    drop(stream.read_block(b"\x0a\x80\x80\x40"));
    assert_eq!(
        stream.read_block(&large).next_frame().unwrap().map(|f| f.body.len()),
        Some(1 << 20)
    );
    assert!(stream.capacity() < 1 << 19);
}

#[test]
fn a_leaked_block_is_an_error() {
    let mut stream = FrameReader::new();
    core::mem::forget(stream.read_block(b"\x0a\x00\x0a"));
    assert_eq!(stream.read_block(b"\x00").next_frame(), Err(Truncated.at(0)));
}

proptest! {
    /// The result does not depend on the blocks and on how many frames are read from each.
    #[test]
    fn blocks_do_not_change_the_result(
        bodies in vec((1..1u32 << 29, vec(any::<u8>(), 0..300)), 0..12),
        blocks in vec(0..200usize, 0..30),
        take in 0..4usize,
    ) {
        let mut bytes = Vec::new();
        for (number, body) in &bodies {
            for mut v in [number << 3 | 2, body.len() as u32] {
                while v > 0x7f { bytes.push(v as u8 | 0x80); v >>= 7; }
                bytes.push(v as u8);
            }
            bytes.extend_from_slice(body);
        }
        let mut rest = &bytes[..];
        let mut cut = Vec::new();
        for len in blocks {
            let (block, more) = rest.split_at(len.min(rest.len()));
            cut.push(block);
            rest = more;
        }
        cut.push(rest);
        prop_assert_eq!(read(&cut, take), (bodies, Ok(())));
    }

    /// Random bytes: the result does not depend on the blocks.
    #[test]
    fn random_bytes_in_blocks(bytes in super::super::props::bytes(), len in 1..9usize) {
        let blocks: Vec<_> = bytes.chunks(len).collect();
        prop_assert_eq!(read(&blocks, usize::MAX), read(&[&bytes], usize::MAX));
        let read_skipping = |blocks: &[&[u8]]| {
            read_of(FrameReader::with_max(1000).skip_other_fields(), blocks, usize::MAX)
        };
        let glued = read_skipping(&[&bytes]);
        prop_assert_eq!(read_skipping(&blocks), glued.clone());
        // A reader of one message finds the same fields.
        let mut reader = crate::Reader::new(&bytes);
        let mut frames = Vec::new();
        let ok = loop {
            match reader.next_field() {
                Ok(Some(field)) => if let crate::Value::Len(body) = field.value {
                    frames.push((field.number, body.to_vec()));
                },
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        prop_assert_eq!((glued.0, glued.1.is_ok()), (frames, ok));
    }
}
