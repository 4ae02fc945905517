//! Random writes into random ranges: a reader decodes what a simple encoder encodes.

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::Scope;
use super::tests::Ranges;
use crate::rt;
use crate::sink::{FixedSink, HeapSink};

/// Field numbers with tags of one to five bytes.
const NUMBERS: [u32; 6] = [1, 15, 16, 3000, 300_000, (1 << 29) - 1];

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Varint(usize, u64),
    Sint(usize, i32),
    Fixed32(usize, u32),
    Fixed64(usize, u64),
    Bytes(usize, Vec<u8>),
    Gather(usize, Vec<Vec<u8>>),
    Packed(usize, Vec<u64>),
    PackedFixed(usize, Vec<u32>),
    Message(usize, Vec<Op>),
    Padded(usize, Vec<Op>),
    Group(usize, Vec<Op>),
    /// A message of encoded fields with an announced length.
    Sized(usize, Vec<u8>),
}

macro_rules! by_number {
    ($at:expr, $n:ident => $call:expr) => {
        match $at {
            0 => {
                const $n: u32 = NUMBERS[0];
                $call
            }
            1 => {
                const $n: u32 = NUMBERS[1];
                $call
            }
            2 => {
                const $n: u32 = NUMBERS[2];
                $call
            }
            3 => {
                const $n: u32 = NUMBERS[3];
                $call
            }
            4 => {
                const $n: u32 = NUMBERS[4];
                $call
            }
            _ => {
                const $n: u32 = NUMBERS[5];
                $call
            }
        }
    };
}

pub(crate) fn write(scope: &mut Scope<'_>, ops: &[Op]) {
    for op in ops {
        match op {
            Op::Varint(n, v) => by_number!(n, N => rt::uint64::<N>(scope, *v)),
            Op::Sint(n, v) => by_number!(n, N => rt::sint32::<N>(scope, *v)),
            Op::Fixed32(n, v) => by_number!(n, N => rt::fixed32::<N>(scope, *v)),
            Op::Fixed64(n, v) => by_number!(n, N => rt::fixed64::<N>(scope, *v)),
            Op::Bytes(n, v) => by_number!(n, N => rt::bytes::<N>(scope, v)),
            Op::Gather(n, v) => {
                let pieces: Vec<&[u8]> = v.iter().map(Vec::as_slice).collect();
                by_number!(n, N => rt::bytes_gather::<N>(scope, &pieces));
            }
            Op::Packed(n, v) => {
                by_number!(n, N => rt::packed_uint64::<N>(scope, v.iter().copied()));
            }
            Op::PackedFixed(n, v) => {
                by_number!(n, N => rt::packed_fixed32::<N>(scope, v.iter().copied()));
            }
            Op::Message(n, v) => by_number!(n, N => write(&mut scope.nested::<N>(), v)),
            Op::Padded(n, v) => by_number!(n, N => write(&mut scope.nested_padded::<N>(), v)),
            Op::Group(n, v) => by_number!(n, N => write(&mut scope.group::<N>(), v)),
            Op::Sized(n, v) => {
                let len = v.len() as u32;
                by_number!(n, N => v.chunks(9).fold(scope.nested_sized::<N>(len), |mut s, piece| {
                    s.raw(piece);
                    s
                }));
            }
        }
    }
}

pub(crate) fn slow_varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Encodes `ops` in one piece. Lengths of messages and packed fields have one byte if they fit it;
/// otherwise `long` writes them.
pub(crate) fn naive(ops: &[Op], long: fn(&mut Vec<u8>, usize)) -> Vec<u8> {
    let mut out = Vec::new();
    let tag = |out: &mut Vec<u8>, n: usize, kind: u64| {
        slow_varint(out, u64::from(NUMBERS[n]) << 3 | kind);
    };
    let run = |out: &mut Vec<u8>, n: usize, body: Vec<u8>| {
        tag(out, n, 2);
        if body.len() < 128 {
            out.push(body.len() as u8)
        } else {
            long(out, body.len())
        }
        out.extend(body);
    };
    for op in ops {
        match op {
            Op::Varint(n, v) => {
                tag(&mut out, *n, 0);
                slow_varint(&mut out, *v);
            }
            Op::Sint(n, v) => {
                tag(&mut out, *n, 0);
                let wide = i64::from(*v);
                slow_varint(
                    &mut out,
                    if wide < 0 { (-wide * 2 - 1) as u64 } else { wide as u64 * 2 },
                );
            }
            Op::Fixed32(n, v) => {
                tag(&mut out, *n, 5);
                out.extend(v.to_le_bytes());
            }
            Op::Fixed64(n, v) => {
                tag(&mut out, *n, 1);
                out.extend(v.to_le_bytes());
            }
            Op::Bytes(n, v) => {
                tag(&mut out, *n, 2);
                slow_varint(&mut out, v.len() as u64);
                out.extend(v);
            }
            Op::Gather(n, v) => {
                tag(&mut out, *n, 2);
                slow_varint(&mut out, v.iter().map(Vec::len).sum::<usize>() as u64);
                out.extend(v.concat());
            }
            Op::Packed(n, v) => {
                let mut body = Vec::new();
                v.iter().for_each(|&v| slow_varint(&mut body, v));
                run(&mut out, *n, body);
            }
            Op::PackedFixed(n, v) => {
                run(&mut out, *n, v.iter().flat_map(|v| v.to_le_bytes()).collect());
            }
            Op::Message(n, v) => run(&mut out, *n, naive(v, long)),
            Op::Padded(n, v) => {
                let body = naive(v, long);
                tag(&mut out, *n, 2);
                long(&mut out, body.len());
                out.extend(body);
            }
            Op::Group(n, v) => {
                tag(&mut out, *n, 3);
                out.extend(naive(v, long));
                tag(&mut out, *n, 4);
            }
            Op::Sized(n, v) => {
                tag(&mut out, *n, 2);
                slow_varint(&mut out, v.len() as u64);
                out.extend(v);
            }
        }
    }
    out
}

pub(crate) fn padded(out: &mut Vec<u8>, len: usize) {
    out.extend([
        len as u8 | 0x80,
        (len >> 7) as u8 | 0x80,
        (len >> 14) as u8 | 0x80,
        (len >> 21) as u8,
    ]);
}

fn shortest(out: &mut Vec<u8>, len: usize) {
    slow_varint(out, len as u64);
}

/// Makes the lengths in `bytes` canonical; `ops` tells which fields are messages or packed fields.
/// In one range, lengths up to 127 must have one byte, and others may be canonical or padded. In
/// several ranges, all may be padded.
fn checked(ops: &[Op], bytes: &[u8], one_range: bool) -> Vec<u8> {
    let mut reader = crate::Reader::new(bytes);
    let mut out = Vec::new();
    for op in ops {
        let field = reader.next_field().unwrap().expect("one field per op");
        let (number, body) = (u64::from(field.number), field.value.body().unwrap_or_default());
        let inner = match op {
            Op::Group(_, inner) => {
                slow_varint(&mut out, number << 3 | 3);
                out.extend(checked(inner, body, one_range));
                slow_varint(&mut out, number << 3 | 4);
                continue;
            }
            Op::Message(_, inner) | Op::Padded(_, inner) => checked(inner, body, one_range),
            Op::Packed(..) | Op::PackedFixed(..) => body.to_vec(),
            _ => {
                out.extend(field.raw);
                continue;
            }
        };
        let width = |n: u64| crate::wire::varint::len(n);
        let got = field.raw.len() - width(number << 3) - body.len();
        let padded = matches!(op, Op::Padded(..));
        let canonical = got == width(body.len() as u64) && !padded;
        assert!(canonical || got == 4 && (padded || !one_range || body.len() > 127), "{got}");
        slow_varint(&mut out, number << 3 | 2);
        slow_varint(&mut out, inner.len() as u64);
        out.extend(inner);
    }
    assert_eq!(reader.next_field(), Ok(None));
    out
}

pub(crate) fn canonical(ops: &[Op], bytes: &[u8]) -> Vec<u8> {
    checked(ops, bytes, false)
}

/// Replaces all other kinds of nested messages by messages whose length is stored at the end.
pub(crate) fn lengths_last(ops: Vec<Op>) -> Vec<Op> {
    let plain = |op| match op {
        Op::Message(n, inner) | Op::Group(n, inner) => Op::Message(n, lengths_last(inner)),
        Op::Padded(n, inner) => Op::Padded(n, lengths_last(inner)),
        Op::Sized(n, body) => Op::Bytes(n, body),
        op => op,
    };
    ops.into_iter().map(plain).collect()
}

pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let n = 0..NUMBERS.len();
    let value = (any::<u64>(), 0..64u32).prop_map(|(v, shift)| v >> shift);
    let bytes = |max| vec(any::<u8>(), 0..max);
    let leaf = prop_oneof![
        4 => (n.clone(), value.clone()).prop_map(|(n, v)| Op::Varint(n, v)),
        1 => (n.clone(), any::<i32>()).prop_map(|(n, v)| Op::Sint(n, v)),
        1 => (n.clone(), any::<u32>()).prop_map(|(n, v)| Op::Fixed32(n, v)),
        1 => (n.clone(), any::<u64>()).prop_map(|(n, v)| Op::Fixed64(n, v)),
        2 => (n.clone(), bytes(70)).prop_map(|(n, v)| Op::Bytes(n, v)),
        1 => (n.clone(), vec(bytes(20), 0..4)).prop_map(|(n, v)| Op::Gather(n, v)),
        1 => (n.clone(), vec(value, 0..30)).prop_map(|(n, v)| Op::Packed(n, v)),
        1 => (n.clone(), vec(any::<u32>(), 0..40)).prop_map(|(n, v)| Op::PackedFixed(n, v)),
    ];
    let sized = vec((1..9u8).prop_map(|n| [n << 3, n]), 0..90);
    let leaf = prop_oneof![
        14 => leaf,
        1 => (n.clone(), sized).prop_map(|(n, v)| Op::Sized(n, v.concat())),
    ];
    let op = leaf.prop_recursive(6, 60, 6, move |inner| {
        (n.clone(), 0..8, vec(inner, 0..6)).prop_map(|(n, kind, v)| match kind {
            0 => Op::Padded(n, v),
            1 => Op::Group(n, v),
            _ => Op::Message(n, v),
        })
    });
    vec(op, 0..8)
}

proptest! {
    /// In one range: never longer than with padded lengths.
    #[test]
    fn one_range(ops in ops()) {
        let mut buffer = std::vec![0; 1 << 20];
        let mut stream = FixedSink::stream(&mut buffer);
        write(&mut stream.root(), &ops);
        let got = stream.finish().unwrap();
        prop_assert_eq!(checked(&ops, got, true), naive(&ops, shortest));
        prop_assert!(got.len() <= naive(&ops, padded).len());
    }

    /// In ranges of random lengths, after all later lengths are delivered.
    #[test]
    fn many_ranges(ops in ops(), lens in vec(4usize..80, 1..20)) {
        let lens: Vec<usize> = lens.iter().copied().cycle().take(20_000).collect();
        let mut stream = Ranges::stream(&lens);
        write(&mut stream.root(), &ops);
        prop_assert_eq!(stream.error(), None);
        let sink = stream.into_sink();
        prop_assert_eq!(canonical(&ops, &sink.bytes()), naive(&ops, shortest));
        // Exactly the announced slots are filled, each once.
        let mut filled: Vec<_> = sink.filled.iter().map(|(slot, _)| *slot).collect();
        let mut open = sink.open.clone();
        filled.sort_unstable();
        open.sort_unstable();
        prop_assert_eq!(filled, open);
        // In each range, outer slots come first.
        prop_assert!(sink.open.is_sorted());
    }

    /// In blocks on the heap.
    #[test]
    fn heap(ops in ops(), capacity in 16usize..200) {
        let mut stream = HeapSink::stream_with_capacity(capacity);
        write(&mut stream.root(), &ops);
        let got = stream.finish().unwrap();
        prop_assert_eq!(canonical(&ops, &got), naive(&ops, shortest));
    }

    /// Memory that ends at any time: one error, and only announced slots are filled.
    #[test]
    fn exhaustion(ops in ops(), lens in vec(4usize..40, 0..10), more in 4usize..100) {
        let mut stream = Ranges::stream(&lens);
        write(&mut stream.root(), &ops);
        stream.sink_inside().lens.push(more);
        rt::uint32::<1>(&mut stream.root(), 7);
        let sink = stream.into_sink();
        for (slot, _) in &sink.filled {
            prop_assert!(sink.open.contains(slot));
        }
    }

    /// A buffer of random length: the message fits, or there is an error, and no byte outside of
    /// the buffer changes.
    #[test]
    fn any_buffer(ops in ops(), len in 0usize..600) {
        let mut buffer = std::vec![0xee; len + 32];
        let mut stream = FixedSink::stream(&mut buffer[..len]);
        write(&mut stream.root(), &ops);
        if let Ok(got) = stream.finish() {
            prop_assert_eq!(checked(&ops, got, true), naive(&ops, shortest));
        }
        prop_assert!(buffer[len..].iter().all(|&b| b == 0xee));
    }
}
