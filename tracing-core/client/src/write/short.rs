//! Packets of few bytes: written straight behind the one before, without a stream.
//!
//! A stream checks each field against the end of the chunk, because every field may be the one that goes on in another.
//! A caller that knows how long a packet can be checks once.

use core::fmt;

use protozero::rt;
use protozero::wire::varint;

use abi::shm::ShortFragment;

/// A packet of [`TraceWriter::new_short_packet`](super::TraceWriter::new_short_packet). If it is dropped without
/// [`end`](Self::end), there is none.
///
/// Each field takes the bytes of its longest value out of those that were asked for.
pub struct ShortPacket<'w> {
    fragment: ShortFragment<'w>,
    /// Of the writer: bytes of packets like this.
    bytes: &'w mut u64,
}

impl<'w> ShortPacket<'w> {
    #[inline(always)]
    pub(super) fn new(fragment: ShortFragment<'w>, bytes: &'w mut u64) -> Self {
        Self { fragment, bytes }
    }

    /// Appends encoded bytes.
    #[inline(always)]
    pub fn raw<const BYTES: usize>(&mut self, bytes: [u8; BYTES]) {
        self.fragment.append(bytes, BYTES);
    }

    /// Appends the first `len` of `bytes`.
    #[inline(always)]
    pub fn raw_up_to<const BYTES: usize>(&mut self, bytes: [u8; BYTES], len: usize) {
        self.fragment.append(bytes, len);
    }

    /// Appends encoded bytes.
    #[inline(always)]
    pub fn raw_slice(&mut self, bytes: &[u8]) {
        self.fragment.append_slice(bytes);
    }

    /// Appends a varint: at most ten bytes.
    #[inline(always)]
    pub fn raw_varint(&mut self, value: u64) {
        if value < 1 << 56 {
            let (word, len) = varint::word(value);
            self.fragment.append(word.to_le_bytes(), len);
        } else {
            let (word, tail, len) = varint::wide(value);
            self.fragment.append(word.to_le_bytes(), 8);
            self.fragment.append(tail.to_le_bytes(), len - 8);
        }
    }

    /// Appends varint field `N`, which is below 2048: its tag, and at most ten bytes.
    #[inline(always)]
    pub fn varint<const N: u32>(&mut self, value: u64) {
        let ([first, second], tag_len) = const { tag(N, rt::VARINT) };
        if value < 0x80 {
            // In one store.
            match tag_len {
                1 => self.raw([first, value as u8]),
                _ => self.raw([first, second, value as u8]),
            }
            return;
        }
        self.fragment.append([first, second], tag_len);
        self.raw_varint(value);
    }

    /// Appends eight-byte field `N`, which is below 2048.
    #[inline(always)]
    pub fn fixed64<const N: u32>(&mut self, value: u64) {
        let (tag, tag_len) = const { tag(N, rt::FIXED64) };
        self.fragment.append(tag, tag_len);
        self.raw(value.to_le_bytes());
    }

    /// How many bytes it has so far.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.fragment.bytes()
    }

    /// Stores the length of the message that begins at byte `begin`, and goes up to here, into the byte before it.
    #[inline(always)]
    pub fn end_message(&mut self, begin: usize) {
        self.fragment.replace(begin - 1, (self.bytes() - begin) as u8);
    }

    /// Ends the packet.
    #[inline(always)]
    pub fn end(self) {
        *self.bytes += self.fragment.bytes() as u64;
        self.fragment.end();
    }
}

impl fmt::Debug for ShortPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShortPacket").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

/// A tag and its length.
const fn tag(field: u32, wire_type: u32) -> ([u8; 2], usize) {
    assert!(field < 2048, "the tag has two bytes at most");
    let (word, len) = varint::word(rt::tag(field, wire_type) as u64);
    ((word as u16).to_le_bytes(), len)
}
