//! Bytes of known messages, and what happens where ranges end.

use std::vec::Vec;

use super::{Range, Scope, Sink, Slot, StreamOf};
use crate::error::WriteError;
use crate::rt;
use crate::sink::FixedSink;

/// Ranges of given lengths in one buffer each, as a shared-memory sink would have; fails when they
/// run out.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    pub lens: Vec<usize>,
    pub memory: Vec<Vec<u8>>,
    pub used: Vec<usize>,
    pub open: Vec<Slot>,
    pub filled: Vec<(Slot, [u8; 4])>,
    pub ends: usize,
}

impl Ranges {
    pub(super) fn stream(lens: &[usize]) -> StreamOf<Self> {
        let lens = lens.iter().rev().copied().collect();
        StreamOf::new(Self { lens, ..Self::default() })
    }

    /// What a reader gets once all patches are in.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut memory = self.memory.clone();
        for (slot, length) in &self.filled {
            let at = slot.offset as usize;
            memory[slot.range as usize][at..at + 4].copy_from_slice(length);
        }
        memory.iter().zip(&self.used).flat_map(|(m, &used)| &m[..used]).copied().collect()
    }
}

#[allow(unsafe_code)]
// SAFETY:
// - valid and unshared: each range is a heap buffer of its own, not touched until the stream is
//   done with it, but by `bytes`, which tests call between messages.
unsafe impl Sink for Ranges {
    fn next_range(
        &mut self,
        used: usize,
        open: &mut super::OpenSlots<'_>,
    ) -> Result<Range, WriteError> {
        if !self.memory.is_empty() {
            self.used.truncate(self.memory.len() - 1);
            self.used.push(used);
        }
        let len = self.lens.pop().ok_or(WriteError::Exhausted)?;
        self.open.extend(open);
        let mut memory = vec![0xee; len];
        let ptr = std::ptr::NonNull::from(memory.as_mut_slice()).cast();
        self.memory.push(memory);
        Ok(Range::from_raw(ptr, len))
    }

    fn fill(&mut self, slot: Slot, length: [u8; 4]) {
        assert!((slot.range as usize) < self.memory.len() - 1, "only earlier ranges are filled");
        self.filled.push((slot, length));
    }

    fn end_root(&mut self, used: usize) -> usize {
        self.ends += 1;
        if !self.memory.is_empty() && self.used.len() < self.memory.len() {
            self.used.push(used);
        } else if let Some(last) = self.used.last_mut() {
            *last = used;
        }
        used
    }
}

/// Encodes in one range.
fn check(write: impl FnOnce(&mut Scope<'_>), hex: &str) {
    let mut buffer = [0; 4096];
    let mut stream = FixedSink::stream(&mut buffer);
    write(&mut stream.root());
    let got: std::string::String =
        stream.finish().unwrap().iter().map(|b| std::format!("{b:02x}")).collect();
    assert_eq!(got, hex.replace(' ', ""));
}

#[test]
fn golden_scalars() {
    check(|s| rt::int32::<1>(s, 0), "0800");
    check(|s| rt::uint32::<2>(s, u32::MAX), "10ffffffff0f");
    check(|s| rt::uint64::<4>(s, u64::MAX), "20ffffffffffffffffff01");
    check(|s| rt::float::<5>(s, f32::from_bits(0x4049_0e56)), "2d560e4940");
    check(|s| rt::double::<6>(s, std::f64::consts::PI), "31182d4454fb210940");
    check(|s| rt::sint32::<3>(s, -21), "1829");
    check(|s| rt::int32::<1>(s, -100), "089cffffffffffffffff01");
    check(|s| rt::enumeration::<1>(s, -1), "08ffffffffffffffffff01");
    check(|s| rt::bool::<7>(s, true), "3801");
    check(
        |s| rt::string::<257>(s, "abcdefghijklmnopqrstuv"),
        "8a1016 6162636465666768696a6b6c6d6e6f70 717273747576",
    );
    check(|s| rt::bytes::<1>(s, b""), "0a00");
    check(|s| rt::bytes_gather::<1>(s, &[b"ab", b"", b"c"]), "0a03616263");
    check(|s| rt::message_raw::<3>(s, &[8, 1]), "1a020801");
    check(|s| rt::raw(s, &[8, 1]), "0801");
}

#[test]
fn golden_nested() {
    check(|s| rt::uint32::<2>(&mut s.nested::<128>(), 2), "8208 02 1002");
    check(|s| drop(s.nested::<1>()), "0a00");
    check(|s| rt::packed_uint32::<1>(s, [1, 300]), "0a03 01 ac02");
    check(|s| rt::packed_uint32::<1>(s, []), "0a00");
    check(|s| rt::packed_float::<1>(s, [1.0]), "0a04 0000803f");
}

#[test]
fn a_message_over_three_ranges() {
    // 24 bytes of body do not fit 16: the length comes later, in four bytes.
    let mut stream = Ranges::stream(&[16, 16, 16]);
    {
        let mut root = stream.root();
        let mut outer = root.nested::<1>();
        let mut inner = outer.nested::<2>();
        rt::bytes::<3>(&mut inner, &[7; 22]);
        drop(inner);
        rt::uint32::<4>(&mut outer, 5);
    }
    let sink = stream.into_sink();
    let inner = Slot { range: 0, offset: 6 };
    let outer = Slot { range: 0, offset: 1 };
    assert_eq!(sink.open, [outer, inner], "outermost first");
    assert_eq!(sink.filled, [(inner, [0x98, 0x80, 0x80, 0]), (outer, [0x9f, 0x80, 0x80, 0])]);
    let mut want = vec![0x0a, 0x9f, 0x80, 0x80, 0, 0x12, 0x98, 0x80, 0x80, 0, 0x1a, 22];
    want.extend([7; 22]);
    want.extend([0x20, 5]);
    assert_eq!(sink.bytes(), want);
    assert_eq!(sink.ends, 1);
}
