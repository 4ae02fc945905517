//! Random writes: every sink contains the same message as a simple encoder.

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{AppendSink, FixedSink, RangesSink, WindowSink};
use crate::decode::{Reader, Value};
use crate::encode::props::{Op, canonical, lengths_last, naive, ops, slow_varint, write};
use crate::error::WriteError;

fn want(ops: &[Op]) -> Vec<u8> {
    naive(ops, |out, len| slow_varint(out, len as u64))
}

type Never = core::convert::Infallible;

fn into(out: &mut Vec<u8>) -> impl FnMut(&[u8]) -> Result<(), Never> {
    |bytes| {
        out.extend_from_slice(bytes);
        Ok(())
    }
}

fn has_group(ops: &[Op]) -> bool {
    ops.iter().any(|op| matches!(op, Op::Group(..)))
}

proptest! {
    #[test]
    fn uninitialised(ops in ops()) {
        let mut buffer = Vec::with_capacity(1 << 20);
        let mut stream = FixedSink::stream_uninit(buffer.spare_capacity_mut());
        write(&mut stream.root(), &ops);
        prop_assert_eq!(canonical(&ops, stream.finish().unwrap()), want(&ops));
    }

    #[test]
    fn append(roots in vec(ops(), 0..4), head in vec(any::<u8>(), 0..20), spare in 0usize..100) {
        let mut buffer = head.clone();
        buffer.reserve_exact(spare);
        let mut stream = AppendSink::stream(&mut buffer);
        roots.iter().for_each(|ops| write(&mut stream.root(), ops));
        let ops = roots.concat();
        prop_assert_eq!(canonical(&ops, stream.finish().unwrap()), want(&ops));
        prop_assert_eq!(&buffer[..head.len()], head);
    }

    #[cfg(feature = "bytes")]
    #[test]
    fn bytes_mut(roots in vec(ops(), 0..4), head in vec(any::<u8>(), 0..20), spare in 0usize..100) {
        let mut buffer = bytes::BytesMut::with_capacity(head.len() + spare);
        buffer.extend_from_slice(&head);
        // The rest of a buffer that is shared.
        let head = buffer.split_to(head.len() / 2).len();
        let before = buffer.to_vec();
        let mut stream = AppendSink::stream(&mut buffer);
        roots.iter().for_each(|ops| write(&mut stream.root(), ops));
        let ops = roots.concat();
        prop_assert_eq!(canonical(&ops, stream.finish().unwrap()), want(&ops));
        prop_assert_eq!(&buffer[..before.len()], before);
        prop_assert!(head <= 10);
    }

    #[test]
    fn pieces(ops in ops(), lens in vec(0usize..90, 1..20)) {
        let lens = lens.iter().copied().chain([500]).cycle().take(2000);
        let mut memory: Vec<Vec<u8>> = lens.map(|len| vec![0xee; len]).collect();
        let mut again = memory.clone();

        let mut stream = RangesSink::iter(memory.iter_mut().map(Vec::as_mut_slice));
        write(&mut stream.root(), &ops);
        let got = stream.finish().unwrap().concat();
        prop_assert_eq!(canonical(&ops, &got), want(&ops));

        let mut table: Vec<&mut [u8]> = again.iter_mut().map(Vec::as_mut_slice).collect();
        let mut stream = RangesSink::table(&mut table);
        write(&mut stream.root(), &ops);
        prop_assert_eq!(stream.finish().unwrap().concat(), got);
    }

    /// Too few pieces cause an error, and nothing else.
    #[test]
    fn too_few_pieces_are_an_error(ops in ops(), lens in vec(0usize..40, 0..6)) {
        let mut memory: Vec<Vec<u8>> = lens.iter().map(|&len| vec![0xee; len]).collect();
        let mut stream = RangesSink::iter(memory.iter_mut().map(Vec::as_mut_slice));
        write(&mut stream.root(), &ops);
        write(&mut stream.root(), &ops);
        let twice = [&ops[..], &ops[..]].concat();
        match stream.finish() {
            Ok(got) => prop_assert_eq!(canonical(&twice, &got.concat()), want(&twice)),
            Err(error) => prop_assert_eq!(error, WriteError::Exhausted),
        }
    }

    /// A window that is longer than the whole output loses nothing.
    #[test]
    fn a_long_window_loses_nothing(roots in vec(ops(), 0..4)) {
        let mut got = Vec::new();
        let mut stream = WindowSink::stream_with_window(1 << 20, into(&mut got));
        roots.iter().for_each(|ops| write(&mut stream.root(), ops));
        prop_assert!(stream.finish().is_ok());
        let ops = roots.concat();
        prop_assert_eq!(canonical(&ops, &got), want(&ops));
    }

    /// A small window loses only complete root messages, and reports the first one.
    #[test]
    fn framed_windows_lose_whole_messages(roots in vec(ops(), 0..8), len in 64usize..400) {
        let mut got = Vec::new();
        let mut window = vec![0xee; len];
        let mut stream = WindowSink::framed::<1>(&mut window, into(&mut got));
        let mut kept = Vec::new();
        for ops in &roots {
            write(&mut stream.root(), ops);
            match stream.error() {
                None => kept.push(ops),
                Some(error) => prop_assert_eq!(error, WriteError::WindowFull { len }),
            }
        }
        prop_assert_eq!(stream.finish().is_ok(), kept.len() == roots.len());
        let mut reader = Reader::new(&got);
        for ops in kept {
            let field = reader.next_field().unwrap().unwrap();
            prop_assert_eq!(field.number, 1);
            prop_assert_eq!(canonical(ops, field.value.bytes().unwrap()), want(ops));
        }
        prop_assert_eq!(reader.next_field(), Ok(None));
    }

    /// Without frames, a lost message has length 0, and the following bytes are correct.
    #[test]
    fn unframed_windows_stay_readable(roots in vec(ops(), 1..6), len in 64usize..300) {
        // Bytes of a group, or after an announced length, cannot be taken back after they were
        // written out.
        let roots: Vec<_> = roots.into_iter().map(lengths_last).collect();
        let mut got = Vec::new();
        let mut window = vec![0xee; len];
        let mut stream = WindowSink::stream(&mut window, into(&mut got));
        let mut ok = Vec::new();
        for ops in &roots {
            write(&mut stream.root(), ops);
            ok.push(stream.error().is_none());
        }
        prop_assert_eq!(stream.finish().is_ok(), ok.iter().all(|&ok| ok));
        if roots.iter().zip(&ok).any(|(ops, ok)| !ok && has_group(ops)) {
            // A message that is lost inside a group removes the end tag of the group.
            return Ok(());
        }
        if ok.iter().all(|&ok| ok) {
            let ops = roots.concat();
            prop_assert_eq!(canonical(&ops, &got), want(&ops));
        } else if ok == [false] {
            let mut reader = Reader::new(&got);
            let mut last = None;
            while let Some(field) = reader.next_field().unwrap() {
                last = Some(field.value);
            }
            prop_assert_eq!(last, Some(Value::Len(&[])));
        }
        if ok.last() == Some(&true) {
            // The fields of the last root are the last fields of the output.
            let last = want(roots.last().unwrap());
            let mut reader = Reader::new(&got);
            let mut fields = Vec::new();
            while let Some(field) = reader.next_field().unwrap() {
                fields.push(field.raw.to_vec());
            }
            let count = roots.last().unwrap().len();
            let tail = fields.split_off(fields.len() - count).concat();
            prop_assert_eq!(canonical(roots.last().unwrap(), &tail), last);
        }
    }
}
