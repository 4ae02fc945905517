//! Bytes of known messages, and the ends of ranges.

use std::cell::Cell;
use std::rc::Rc;
use std::vec::Vec;

use super::{Range, Scope, Sink, Slot, StreamOf};
use crate::error::WriteError;
use crate::rt;
use crate::sink::FixedSink;

/// Ranges of given lengths, one buffer each, like a sink for shared memory. Fails when there are no
/// more.
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

    /// The bytes after all lengths are filled in.
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
// - valid and unshared: each range is a separate heap buffer. It is not accessed until the stream
//   has left it, except by `bytes`, which tests call between messages.
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
        let earlier = (slot.range as usize) < self.memory.len() - 1 || slot.range > 1 << 30;
        assert!(earlier, "only earlier ranges are filled");
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
fn golden_groups() {
    check(|s| drop(s.group::<1>()), "0b 0c");
    check(|s| rt::uint32::<2>(&mut s.group::<16>(), 2), "8301 1002 8401");
    check(|s| rt::group_raw::<3>(s, &[8, 1]), "1b 0801 1c");
    check(
        |s| rt::uint32::<2>(&mut s.nested::<1>().group::<2>().nested::<3>(), 5),
        "0a06 13 1a02 1005 14",
    );
}

#[test]
fn a_message_over_three_ranges() {
    // A body of 24 bytes does not fit 16: its length has four bytes and comes later.
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

#[test]
fn lengths_up_to_127_take_one_byte() {
    // Upstream tests: FinalizeWithCompaction (7 in 8 bytes), FinalizeWithoutCompaction (24 in 28).
    for len in [0usize, 1, 5, 16, 17, 33, 125, 126, 127, 200] {
        let mut buffer = [0; 512];
        let mut stream = FixedSink::stream(&mut buffer);
        let body: Vec<u8> = (0..len as u8).collect();
        {
            let mut root = stream.root();
            rt::raw(&mut root.nested::<1>(), &body);
            rt::uint32::<2>(&mut root, 1);
        }
        let got = stream.finish().unwrap();
        let mut want = vec![0x0a];
        if len <= 127 {
            want.push(len as u8);
        } else {
            want.extend([len as u8, 0x81, 0x80, 0]);
        }
        want.extend(&body);
        want.extend([0x10, 1]);
        assert_eq!(got, want, "{len}");
    }
}

#[test]
fn short_children_shorten_the_length_of_their_parent() {
    // The child makes 131 bytes wide, and three of them are saved at its end; the second has 128 -
    // 3 * 2.
    let mut buffer = [0; 512];
    let mut stream = FixedSink::stream(&mut buffer);
    {
        let mut root = stream.root();
        let mut outer = root.nested::<1>();
        rt::raw(&mut outer.nested::<2>(), &[9; 60]);
        rt::raw(&mut outer.nested::<2>(), &[9; 60]);
        assert_eq!(outer.body_len(), 124);
    }
    let got = stream.finish().unwrap();
    assert_eq!((got.len(), got[1]), (126, 124));
}

#[test]
fn a_body_that_ends_at_the_end_of_its_range_is_compacted() {
    // Without space for block moves, the slow path is used and writes no byte after the end.
    for spare in 0..20 {
        let mut buffer = std::vec![0xee; 30 + spare];
        let mut stream = FixedSink::stream(&mut buffer[..25 + spare]);
        rt::raw(&mut stream.root().nested::<1>(), &[7; 20]);
        let mut want = vec![0x0a, 20];
        want.extend([7; 20]);
        assert_eq!(stream.finish().unwrap(), want);
        assert_eq!(buffer[25 + spare..], [0xee; 5]);
    }
}

#[test]
fn a_buffer_of_the_exact_size_is_enough() {
    let mut buffer = [0; 2 + 6 + 9 + 4];
    let mut stream = FixedSink::stream(&mut buffer);
    {
        let mut root = stream.root();
        rt::uint32::<1>(&mut root, 1);
        rt::uint32::<1>(&mut root, u32::MAX);
        rt::double::<1>(&mut root, 0.5);
        rt::bytes::<1>(&mut root, &[1, 2]);
    }
    assert_eq!(stream.finish().unwrap().len(), 21);
}

#[test]
fn a_full_buffer_is_one_error_at_the_end() {
    let mut buffer = [0; 20];
    let mut stream = FixedSink::stream(&mut buffer);
    {
        let mut root = stream.root();
        let mut outer = root.nested::<1>();
        rt::bytes::<2>(&mut outer, &[1; 10]);
        let mut inner = outer.nested::<3>();
        rt::uint64::<4>(&mut inner, u64::MAX);
        rt::string::<5>(&mut inner, "these bytes are discarded but counted");
        assert_eq!(inner.body_len(), 11 + 39);
        assert_eq!(inner.error(), Some(WriteError::Full { capacity: 20 }));
    }
    drop(stream.root());
    assert_eq!(stream.written(), 5 + 12 + 5 + 50);
    assert_eq!(stream.finish().unwrap_err(), WriteError::Full { capacity: 20 });
}

#[test]
fn after_an_error_the_next_root_is_written_again() {
    let mut stream = Ranges::stream(&[16]);
    {
        let mut root = stream.root();
        let mut outer = root.nested::<1>();
        rt::bytes::<2>(&mut outer, &[1; 30]);
    }
    assert_eq!(stream.error(), Some(WriteError::Exhausted));
    stream.sink_inside().lens.push(16);
    rt::uint32::<1>(&mut stream.root(), 5);
    assert_eq!((stream.error(), stream.first_error()), (None, Some(WriteError::Exhausted)));
    let sink = stream.into_sink();
    assert_eq!(sink.filled, [], "the slot of the lost range stays open");
    assert_eq!(sink.memory[1][..2], [8, 5]);
}

#[test]
fn lengths_deferred_before_an_error_still_come() {
    let mut stream = Ranges::stream(&[16, 16]);
    {
        let mut root = stream.root();
        let mut outer = root.nested::<1>();
        rt::bytes::<2>(&mut outer, &[1; 14]);
        let mut inner = outer.nested::<3>();
        rt::bytes::<4>(&mut inner, &[1; 18]);
    }
    let sink = stream.into_sink();
    let outer = Slot { range: 0, offset: 1 };
    assert_eq!(sink.filled, [(outer, [0x80 | 41, 0x80, 0x80, 0])], "discarded bytes are counted");
}

#[test]
fn a_slot_that_does_not_fit_leaves_the_tail_unwritten() {
    let mut stream = Ranges::stream(&[16, 16]);
    {
        let mut root = stream.root();
        rt::raw(&mut root, &[0x0a; 12]);
        rt::uint32::<1>(&mut root.nested::<1>(), 3);
    }
    let sink = stream.into_sink();
    assert_eq!(sink.used, [13, 3]);
    assert_eq!(sink.memory[0][12..], [0x0a, 0xee, 0xee, 0xee]);
    assert_eq!(sink.memory[1][..3], [2, 8, 3]);
    assert_eq!(sink.open, []);
}

#[test]
fn no_range_is_asked_for_on_exact_fill() {
    let mut stream = Ranges::stream(&[16]);
    rt::raw(&mut stream.root(), &[1; 16]);
    assert_eq!((stream.error(), stream.used(), stream.free_bytes()), (None, 16, 0));
}

#[test]
fn a_range_too_short_for_a_length_is_an_error() {
    let mut stream = Ranges::stream(&[3]);
    rt::uint32::<1>(&mut stream.root(), 1);
    assert_eq!(stream.error(), Some(WriteError::RangeTooShort { len: 3 }));
}

#[test]
fn numbers_of_ranges_end_and_do_not_wrap() {
    for left in 0..5 {
        let mut stream = Ranges::stream(&[40; 30]);
        drop(stream.root());
        stream.skip_ranges(u32::MAX - 1 - left);
        let mut body = 0;
        while stream.error().is_none() {
            body += 30;
            let mut root = stream.root();
            rt::bytes::<1>(&mut root.nested::<1>().nested::<2>(), &vec![0; body]);
        }
        assert_eq!(stream.error(), Some(WriteError::Exhausted));
        rt::uint32::<1>(&mut stream.root().nested::<1>(), 1);
        assert_eq!(stream.error(), Some(WriteError::Exhausted));
    }
}

/// A sink whose ranges are empty and have no memory.
struct Nothing;

#[allow(unsafe_code)]
// SAFETY:
// - valid and unshared: there are no bytes.
unsafe impl Sink for Nothing {
    fn next_range(
        &mut self,
        _used: usize,
        _open: &mut super::OpenSlots<'_>,
    ) -> Result<Range, WriteError> {
        Ok(Range::from_raw(std::ptr::NonNull::dangling(), 0))
    }
    fn fill(&mut self, _slot: Slot, _length: [u8; 4]) {}
}

#[test]
fn a_range_of_nothing_is_not_used() {
    let mut stream = StreamOf::new(Nothing);
    rt::uint32::<1>(&mut stream.root().nested::<1>(), 1);
    assert_eq!(stream.error(), Some(WriteError::RangeTooShort { len: 0 }));
}

#[test]
fn a_thousand_levels() {
    fn deeper(scope: &mut Scope<'_>, levels: u32) {
        if levels > 0 {
            let mut child = scope.nested::<1>();
            rt::uint32::<2>(&mut child, levels);
            deeper(&mut child, levels - 1);
        }
    }
    // Miri would need minutes for a thousand.
    let levels: u32 = if cfg!(miri) { 100 } else { 1000 };
    for range in [64, 1 << 20] {
        let mut stream = Ranges::stream(&[range; 400]);
        deeper(&mut stream.root(), levels);
        assert_eq!(stream.error(), None);
        let bytes = stream.into_sink().bytes();
        let mut rest = &bytes[..];
        for level in (1..=levels.into()).rev() {
            let mut reader = crate::Reader::new(rest);
            let child = reader.next_field().unwrap().unwrap();
            assert_eq!(reader.next_field(), Ok(None));
            rest = child.value.bytes().unwrap();
            let mut reader = crate::Reader::new(rest);
            assert_eq!(reader.next_field().unwrap().unwrap().value, crate::Value::Varint(level));
            rest = reader.remaining();
        }
        assert_eq!(rest, []);
    }
}

#[test]
fn a_forgotten_scope_fails_its_root_message() {
    let mut stream = Ranges::stream(&[32; 5]);
    {
        let mut root = stream.root();
        let mut outer = root.nested::<1>();
        let mut inner = outer.nested::<2>();
        rt::uint32::<3>(&mut inner, 1);
        std::mem::forget(inner.nested::<4>());
        assert_eq!(inner.error(), None);
        rt::uint32::<5>(&mut inner, 1);
        assert_eq!(inner.error(), Some(WriteError::Forgotten));
        std::mem::forget(inner);
        rt::bytes::<5>(&mut outer, &[0; 40]);
    }
    assert_eq!(stream.error(), Some(WriteError::Forgotten));
    // A leaked child without later writes: its parent detects it, or the root, or the next root.
    std::mem::forget(stream.root().nested::<1>());
    assert_eq!(stream.error(), Some(WriteError::Forgotten));
    drop(stream.root().nested::<1>().group::<1>());
    assert_eq!(stream.error(), None);
    std::mem::forget(stream.root().nested::<1>().group::<2>().nested_sized::<3>(0));
    assert_eq!(stream.error(), Some(WriteError::Forgotten));
    let root = stream.root();
    assert_eq!(root.error(), None);
    std::mem::forget(root);
    // A leaked root ends when the next one begins.
    assert_eq!((stream.sink().ends, stream.error()), (4, Some(WriteError::Forgotten)));
    rt::uint32::<6>(&mut stream.root(), 1);
    assert_eq!((stream.error(), stream.first_error()), (None, Some(WriteError::Forgotten)));
    let sink = stream.into_sink();
    assert_eq!((sink.ends, sink.filled.len()), (6, 0));
    assert_eq!(sink.memory.last().unwrap()[..2], [0x30, 1]);
}

#[test]
fn finishing_behind_a_forgotten_root_is_an_error() {
    let mut buffer = [0; 64];
    let mut stream = FixedSink::stream(&mut buffer);
    rt::uint32::<1>(&mut stream.root(), 7);
    std::mem::forget(stream.root());
    assert_eq!(stream.finish(), Err(WriteError::Forgotten));
}

#[test]
fn a_length_announced_wrongly_is_an_error() {
    for (len, by) in [(2, None), (1, Some(1)), (3, Some(-1)), (200, Some(-198))] {
        let mut buffer = [0; 64];
        let mut stream = FixedSink::stream(&mut buffer);
        rt::uint32::<2>(&mut stream.root().nested::<1>().nested_sized::<3>(len), 7);
        assert_eq!(stream.error(), by.map(|by| WriteError::LengthMismatch { by }));
    }
}

#[test]
fn long_messages_make_outer_slots_wide() {
    // A child that begins after more than 127 bytes, and a string of more: few bytes must move.
    // With more than 512 bytes inside other narrow slots, all slots are made wide at once.
    for (first, second, third) in [(100, 60, 0), (128, 0, 5), (3, 2000, 60), (127, 127, 127)] {
        let mut buffer = std::vec![0; 1 << 14];
        let mut stream = FixedSink::stream(&mut buffer);
        {
            let mut root = stream.root();
            let mut outer = root.nested::<1>();
            rt::packed_uint32::<2>(&mut outer, 0..first);
            let mut inner = outer.nested::<3>();
            rt::packed_uint32::<4>(&mut inner, 0..second);
            rt::uint32::<5>(&mut inner.nested::<6>(), 1);
            drop(inner);
            rt::bytes::<7>(&mut outer, &vec![7; third as usize]);
            let after = outer.body_len();
            rt::uint32::<8>(&mut outer, 1);
            assert_eq!(outer.body_len(), after + 2);
        }
        let got = stream.finish().unwrap();
        let mut root = crate::Reader::new(got);
        let outer = root.next_field().unwrap().unwrap();
        assert_eq!(root.next_field(), Ok(None));
        let mut outer = crate::Reader::new(outer.value.bytes().unwrap());
        let mut numbers = Vec::new();
        while let Some(field) = outer.next_field().unwrap() {
            numbers.push(field.number);
        }
        assert_eq!(numbers, [2, 3, 7, 8]);
    }
}

/// A sink of one buffer in which each root has a frame of four bytes, like packets in a chunk.
struct Framed {
    buffer: Vec<u8>,
    calls: Vec<(&'static str, usize)>,
}

#[allow(unsafe_code)]
// SAFETY:
// - valid and unshared: one heap buffer, which is not accessed while the stream exists.
unsafe impl Sink for Framed {
    fn next_range(
        &mut self,
        used: usize,
        _open: &mut super::OpenSlots<'_>,
    ) -> Result<Range, WriteError> {
        self.calls.push(("next", used));
        Err(WriteError::Exhausted)
    }
    fn fill(&mut self, _slot: Slot, _length: [u8; 4]) {}
    fn begin_root(&mut self, used: usize) -> Result<Option<Range>, WriteError> {
        self.calls.push(("begin", used));
        if used + 4 > self.buffer.len() {
            return Err(WriteError::Exhausted);
        }
        let ptr = std::ptr::NonNull::from(self.buffer.as_mut_slice()).cast();
        Ok(Some(Range::from_raw(ptr, self.buffer.len()).after(used + 4)))
    }
    fn end_root(&mut self, used: usize) -> usize {
        self.calls.push(("end", used));
        used - used.min(1)
    }
}

#[test]
fn roots_begin_behind_what_the_sink_put_there() {
    let mut stream = StreamOf::new(Framed { buffer: vec![0; 64], calls: Vec::new() });
    {
        let mut root = stream.root();
        assert_eq!(root.body_len(), 0);
        drop(root.nested::<1>());
        assert_eq!(root.body_len(), 2);
    }
    rt::bytes::<1>(&mut stream.root(), &[0; 70]);
    drop(stream.root());
    let sink = stream.into_sink();
    assert_eq!(
        sink.calls,
        // 4 + 2 bytes, minus the one that was removed. After the error there is no range and no
        // position.
        [
            ("begin", 0),
            ("end", 6),
            ("begin", 5),
            ("next", 64),
            ("end", 0),
            ("begin", 0),
            ("end", 4)
        ]
    );
}

/// What another process writes over links: every byte; under Miri those with at most one bit set or one bit clear.
fn forged() -> impl Iterator<Item = u8> {
    (0..=255u8).filter(|byte| !cfg!(miri) || byte.count_ones() <= 1 || byte.count_zeros() <= 1)
}

/// A sink whose memory is overwritten by another process.
struct Hostile {
    memory: Vec<Vec<Cell<u8>>>,
    scribble: u8,
    seen: usize,
}

#[allow(unsafe_code)]
// SAFETY:
// - valid and unshared: each range is a separate heap buffer of cells, so that references to it
//   allow changes. The changes happen while the stream is in this call.
unsafe impl Sink for Hostile {
    fn next_range(
        &mut self,
        _used: usize,
        open: &mut super::OpenSlots<'_>,
    ) -> Result<Range, WriteError> {
        self.memory.iter().flatten().for_each(|byte| byte.set(self.scribble));
        self.seen += open.count();
        let memory = vec![Cell::new(0); 64];
        let ptr = std::ptr::NonNull::from(memory.as_slice()).cast();
        self.memory.push(memory);
        Ok(Range::from_raw(ptr, 64))
    }
    fn fill(&mut self, _slot: Slot, _length: [u8; 4]) {}
}

#[test]
fn forged_links_cost_lengths_and_nothing_else() {
    for scribble in forged() {
        let mut stream = StreamOf::new(Hostile { memory: Vec::new(), scribble, seen: 0 });
        {
            let mut root = stream.root();
            let mut a = root.nested::<1>();
            let mut b = a.nested::<1>();
            let mut c = b.nested::<1>();
            rt::bytes::<1>(&mut c, &[0; 100]);
        }
        assert_eq!(stream.error(), None);
        assert!((1..=3).contains(&stream.sink().seen));
    }
}

/// A sink that returns the same memory again and again, like a writer that discards everything.
struct Scratch(Vec<u8>);

#[allow(unsafe_code)]
// SAFETY:
// - valid and unshared: one heap buffer, which is not accessed while the stream exists.
unsafe impl Sink for Scratch {
    fn next_range(
        &mut self,
        _used: usize,
        _open: &mut super::OpenSlots<'_>,
    ) -> Result<Range, WriteError> {
        let ptr = std::ptr::NonNull::from(self.0.as_mut_slice()).cast();
        Ok(Range::from_raw(ptr, self.0.len()))
    }
    fn fill(&mut self, _slot: Slot, length: [u8; 4]) {
        assert_ne!(length[0], 0, "a filled length differs from an empty slot");
    }
}

#[test]
fn a_length_that_no_slot_can_tell_is_an_error() {
    let chunk = vec![0; 1 << 16];
    let mut stream = StreamOf::new(Scratch(vec![0; 1 << 16]));
    let fits = vec![&chunk[..]; (1 << 12) - 1];
    rt::bytes_gather::<1>(&mut stream.root().nested::<1>(), &fits);
    assert_eq!(stream.error(), None);
    let mut too_long = fits;
    too_long.extend([&chunk[..], &chunk[..]]);
    rt::bytes_gather::<1>(&mut stream.root().nested::<1>(), &too_long);
    let len = ((1 << 12) + 1) * (1 << 16) + 6;
    assert_eq!(stream.error(), Some(WriteError::TooLong { len }));
    rt::bytes_gather::<1>(&mut stream.root(), &vec![&chunk[..]; 1 << 15]);
    assert_eq!(stream.error(), Some(WriteError::TooLong { len: 1 << 31 }));
}

/// Memory that begins with eight bytes of an earlier packet. A peer writes to the rest.
struct Published(Rc<[Cell<u8>]>);

#[allow(unsafe_code)]
// SAFETY:
// - valid and unshared: each range is one heap buffer that outlives the stream. It consists of
//   cells, so that references to it allow changes.
unsafe impl Sink for Published {
    fn next_range(
        &mut self,
        _used: usize,
        open: &mut super::OpenSlots<'_>,
    ) -> Result<Range, WriteError> {
        open.for_each(drop);
        let ptr = std::ptr::NonNull::from(&*self.0).cast();
        Ok(Range::from_raw(ptr, self.0.len()).after(8))
    }
    fn fill(&mut self, _slot: Slot, _length: [u8; 4]) {}
}

/// A scraper may be reading the published bytes, so a forged link must not make the writer change
/// them.
#[test]
fn forged_links_do_not_lead_out_of_the_packet() {
    for scribble in forged() {
        let memory: Rc<[Cell<u8>]> = (0..96).map(|_| Cell::new(0xaa)).collect();
        let forge = || memory[8..].iter().for_each(|byte| byte.set(scribble));
        let mut stream = StreamOf::new(Published(memory.clone()));
        {
            let mut root = stream.root();
            let mut a = root.nested::<1>();
            let mut b = a.nested::<1>();
            let mut c = b.nested::<1>();
            forge();
            let mut d = c.nested_padded::<1>();
            forge();
            let mut e = d.nested_padded::<1>();
            forge();
            rt::bytes::<1>(&mut e, &[0; 10]);
            drop(e);
            forge();
            rt::bytes::<1>(&mut d.nested::<2>().nested::<3>(), &[0; 100]);
        }
        assert!(memory[..8].iter().all(|byte| byte.get() == 0xaa), "{scribble}");
    }
}
