//! The arithmetic of pages, chunks, fragments and patches, for every input of a small range, against the obvious way
//! to say the same. That it cannot overflow for any other input is proven by `cargo xtask no-panic`.

use super::bounds::{self, BLOCK_WORDS, Part};
use super::fragment::Fragments;
use super::words::{Bytes, ChunkBytes};
use super::*;
use crate::ids::{ChunkId, WriterId};
use crate::sync::AtomicU32;

fn page_sizes() -> impl Iterator<Item = PageSize> {
    (1..=16).map(|units| PageSize::new(units * 4096).unwrap())
}

/// All there are: 16 sizes, five layouts.
#[test]
fn chunks_lie_side_by_side_in_their_page() {
    for page in page_sizes() {
        for layout in Layout::ALL {
            let mut next = 8;
            for idx in 0..layout.chunk_count() {
                assert_eq!(layout.chunk_off(page, idx), Some(next));
                next += layout.chunk_bytes(page);
            }
            let unused = page.bytes() - next;
            assert!(unused < 4 * layout.chunk_count(), "chunks are as large as can be");
            for idx in [layout.chunk_count(), 14, 15, usize::MAX / 2, usize::MAX] {
                assert_eq!(layout.chunk_off(page, idx), None);
            }
        }
    }
}

#[test]
fn page_sizes_are_whole_units() {
    for bytes in 0..=65536 + 4096 {
        let is_legal = (1..=16).any(|units| units * 4096 == bytes);
        let page = PageSize::new(bytes);
        assert_eq!(page.ok().map(PageSize::bytes), is_legal.then_some(bytes));
    }
    for page in page_sizes() {
        for bytes in [0, 4095, 4096, 65535, 65536, 1 << 25, usize::MAX] {
            assert_eq!(page.whole_pages(bytes), bytes / page.bytes());
        }
    }
}

/// All 2^16 of them.
#[test]
fn packets_are_a_count_and_flags() {
    for word in 0..=u16::MAX {
        let packets = Packets(word);
        let (count, flags) = (word % 1024, (word / 1024 % 8) as u8);
        assert_eq!((packets.count(), packets.flags()), (count, ChunkFlags(flags)));
        assert_eq!(Packets::new(count, ChunkFlags(flags)).0, word % 8192);
        assert_eq!(Packets::new(word, ChunkFlags(flags)).count(), count);
        let header = ChunkHeader { chunk: ChunkId::new(7), writer: WriterId::new(word), packets };
        assert_eq!(ChunkHeader::from_words(header.to_words()), header);
        assert_eq!(ChunkHeader::from_bytes(&header.to_bytes()), Some(header));
    }
}

fn states(layout: Layout) -> impl Iterator<Item = Vec<ChunkState>> {
    let all =
        [ChunkState::Free, ChunkState::BeingWritten, ChunkState::BeingRead, ChunkState::Complete];
    let count = layout.chunk_count();
    // Of seven and fourteen chunks the last four have every combination.
    (0..4_usize.pow(count.min(4) as u32)).map(move |number| {
        let digit = |idx: usize| number / 4_usize.pow((count - 1 - idx).min(12) as u32) % 4;
        (0..count).map(|idx| all[digit(idx)]).collect()
    })
}

/// A word made of states has them, for each state that a chunk of it may get.
#[test]
fn page_words_are_lists_of_states() {
    for layout in Layout::ALL {
        for states in states(layout) {
            let word = states.iter().enumerate().fold(PageWord::partitioned(layout), |word, at| {
                PageWord(word.0 | (*at.1 as u32) << (2 * at.0))
            });
            let free = |states: &[ChunkState]| {
                states.iter().rev().fold(0, |mask, state| mask * 2 + u32::from(*state as u8 == 0))
            };
            assert_eq!((word.layout(), word.free_chunks()), (Some(layout), free(&states)));
            assert_eq!(word.is_complete(), states.iter().all(|s| *s == ChunkState::Complete));
            assert!(!word.is_free());
            for idx in 0..states.len() {
                assert_eq!(word.state(idx), states[idx]);
                let mut next = states.clone();
                next[idx] = ChunkState::BeingRead;
                let after = word.with_state(idx, ChunkState::BeingRead);
                assert_eq!((after.state(idx), after.free_chunks()), (next[idx], free(&next)));
                let others = states.iter().enumerate().filter(|(at, _)| *at != idx);
                let is_last = others.clone().all(|(_, state)| *state == ChunkState::Free);
                let freed = word.with_state(idx, ChunkState::Free);
                assert_eq!(freed == PageWord::FREE, is_last, "the last free clears the page");
                others.for_each(|(at, state)| assert_eq!(after.state(at), *state));
            }
        }
    }
}

/// Numbers near both ends.
fn numbers() -> impl Iterator<Item = usize> + Clone {
    (0..20).chain((0..20).map(|less| usize::MAX - less))
}

#[test]
fn bounds_are_sets_of_bytes() {
    for whole in 0..16_usize {
        for off in numbers() {
            assert_eq!(
                bounds::contains_word(whole, off),
                off.is_multiple_of(4) && off.checked_add(4).is_some_and(|end| end <= whole)
            );
            for len in numbers() {
                let end = off.checked_add(len);
                let word_and = bounds::contains_word_and(whole, 4, off, len);
                assert_eq!(word_and, off >= 8 && end.is_some_and(|end| end <= whole));
                assert_eq!(bounds::contains(whole, off, len), end.is_some_and(|end| end <= whole));
                let end = end.and_then(|end| end.checked_add(3));
                let moved = bounds::contains_moved(whole, off, len, 3);
                assert_eq!(moved, end.is_some_and(|end| end <= whole), "{whole} {off} {len}");
            }
        }
    }
}

#[test]
fn parts_cover_each_byte_once() {
    for off in numbers() {
        for len in 0..200 {
            let (mut next, mut words, mut blocks) = (0, 0, 0);
            bounds::parts(off, len, |at, part| {
                assert_eq!(at, next, "in order");
                next += part.bytes();
                if part != Part::Byte {
                    assert!(off.wrapping_add(at).is_multiple_of(8));
                    words += part.bytes() / 8;
                    blocks += usize::from(part == Part::Block);
                }
            });
            assert_eq!(next, len);
            let is_word = |at: &usize| off.wrapping_add(*at).is_multiple_of(8) && at + 8 <= len;
            assert_eq!(words, (0..len).filter(is_word).count());
            assert_eq!(blocks, words / BLOCK_WORDS, "as few parts as there can be");
        }
    }
}

/// The obvious way along lengths.
fn naive_end(count: u16, payload: &[u8]) -> usize {
    let mut end = 0;
    for _ in 0..count {
        let rest = &payload[end..];
        let len_bytes = rest.iter().take(4).take_while(|byte| **byte >= 0x80).count() + 1;
        let is_whole = len_bytes <= 4 && len_bytes <= rest.len();
        let len_bytes = len_bytes.min(4).min(rest.len());
        let digits = rest[..len_bytes].iter().rev();
        let len = digits.fold(0, |len, byte| len * 128 + usize::from(byte % 128));
        let len = if is_whole && len != 0x0fff_ffff { len } else { 0 };
        end = (end + len_bytes + len).min(payload.len());
    }
    end
}

#[test]
fn fragments_end_where_their_lengths_say() {
    let digits = [0, 1, 2, 5, 0x7f, 0x80, 0x81, 0xff];
    let mut payload = Vec::new();
    for len in 0..=5 {
        for number in 0..digits.len().pow(len) {
            payload.clear();
            payload.extend((0..len).map(|at| digits[number / digits.len().pow(at) % digits.len()]));
            for count in [0, 1, 2, 3, 7] {
                // It asks for nothing behind the end.
                let byte = |at: usize| Some(payload[at]);
                let end = super::lengths::fragments_end(count, payload.len(), byte);
                assert_eq!(end, naive_end(count, &payload), "{count} in {payload:x?}");
            }
        }
    }
}

#[test]
fn patches_replace_four_bytes_of_the_payload() {
    for len in 0..24_u32 {
        let payload: Vec<u8> = (0..len as u8).collect();
        for off in (0..30).chain(u32::MAX - 5..=u32::MAX) {
            let mut patched = payload.clone();
            let is_inside = u64::from(off) + 4 <= u64::from(len);
            assert_eq!(store_patch(&mut patched, off, [99; 4]).is_some(), is_inside);
            for (at, (old, new)) in payload.iter().zip(&patched).enumerate() {
                let is_patched = is_inside && (off as usize..off as usize + 4).contains(&at);
                assert_eq!(*new, if is_patched { 99 } else { *old }, "{at} at {off} of {len}");
            }
        }
    }
}

/// A chunk of a vector.
struct Memory {
    header: AtomicU32,
    bytes: Vec<u8>,
}

/// A part of it.
struct Slice<'a>(&'a mut [u8]);

fn store(to: &mut [u8], off: usize, bytes: &[u8]) -> bool {
    let place = off.checked_add(bytes.len()).and_then(|end| to.get_mut(off..end));
    place.map(|place| place.copy_from_slice(bytes)).is_some()
}

impl Bytes for Slice<'_> {
    fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        store(self.0, off, bytes)
    }
}

impl Bytes for Memory {
    fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        store(&mut self.bytes, off, bytes)
    }
}

impl ChunkBytes for Memory {
    type Piece<'a> = Slice<'a>;

    fn word(&self, off: usize) -> Option<&AtomicU32> {
        (off == 4).then_some(&self.header)
    }

    fn word_and_piece(
        &mut self,
        off: usize,
        piece_off: usize,
        len: usize,
    ) -> Option<(&AtomicU32, Slice<'_>)> {
        let piece = self.bytes.get_mut(piece_off..piece_off.checked_add(len)?)?;
        (off == 4).then_some((&self.header, Slice(piece)))
    }

    fn move_forward_3(&mut self, off: usize, len: usize) -> bool {
        let fits = off.checked_add(len).and_then(|end| end.checked_add(3));
        let fits = fits.is_some_and(|end| end <= self.bytes.len());
        if fits {
            self.bytes.copy_within(off..off + len, off + 3);
        }
        fits
    }
}

fn chunk(payload_len: usize, packets: Packets) -> Fragments<Memory> {
    let bytes = Memory { header: AtomicU32::new(0), bytes: vec![0xee; payload_len + 8] };
    let header = ChunkHeader { chunk: ChunkId::new(0), writer: WriterId::new(1), packets };
    Fragments::new(bytes, payload_len + 8, header)
}

/// A fragment of every length in chunks of every length, that begins or goes on there, and a second one behind it:
/// their ends are found by their lengths, and nothing lies outside.
#[test]
fn fragments_of_every_length() {
    for payload_len in 4..=140_usize {
        for used in (0..payload_len + 8).chain([65535, 65536, usize::MAX]) {
            for is_continued in [false, true] {
                let flags = ChunkFlags::CONTINUES_FROM_PREV;
                let packets = if is_continued { Packets::new(1, flags) } else { Packets(0) };
                let mut chunk = chunk(payload_len, packets);
                let body = if is_continued { Some(4..payload_len) } else { chunk.begin(4) };
                let body = body.unwrap();
                assert!(body.end <= payload_len);
                let end = chunk.end(used);
                let is_short = !is_continued && used.wrapping_sub(body.start) < 127;
                let growth = if is_short || is_continued { 0 } else { 3 };
                let expected = used.saturating_add(growth);
                let is_legal = used >= body.start && (is_short || expected <= payload_len);
                assert_eq!(end.is_some(), is_legal, "{used} of {payload_len}");
                let Some(is_full) = end else { continue };
                let payload = |chunk: &Fragments<Memory>| chunk.bytes().bytes[8..].to_vec();
                if expected <= payload_len {
                    assert_eq!(naive_end(1, &payload(&chunk)), expected);
                    assert_eq!(is_full, expected == payload_len);
                } else {
                    assert!(is_full, "the caller stored too much: no fragment follows");
                }
                if let Some(second) = chunk.begin(4) {
                    assert_eq!(second.start, expected + 1);
                    assert_eq!(chunk.end(second.start), Some(second.start == payload_len));
                    assert_eq!(naive_end(2, &payload(&chunk)), second.start);
                }
            }
        }
    }
}

/// A patch reaches a fragment that was cut, and nothing before it.
#[test]
fn patches_of_every_offset() {
    for payload_len in [16, 17, 32] {
        for first in 0..payload_len - 12 {
            for off in (0..payload_len + 12).chain(usize::MAX - 12..=usize::MAX) {
                let mut chunk = chunk(payload_len, Packets(0));
                let body = chunk.begin(4).unwrap();
                chunk.end(body.start + first).unwrap();
                let Some(body) = chunk.begin(4) else { continue };
                chunk.cut(body.end, true);
                let before = chunk.bytes().bytes.clone();
                let begin = body.start - 1;
                let is_inside =
                    off >= begin + 4 && off.checked_add(4).is_some_and(|end| end <= payload_len);
                assert_eq!(chunk.patch(off, [0x55; 4]), is_inside, "{off} of {payload_len}");
                for (at, (old, new)) in before.iter().zip(&chunk.bytes().bytes).enumerate() {
                    let is_patched = is_inside && (off + 8..off + 12).contains(&at);
                    assert_eq!(*new, if is_patched { 0x55 } else { *old });
                }
            }
        }
    }
}
