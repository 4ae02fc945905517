//! Where a pass puts its packets.
//!
//! ```text
//!   slices of a packet, suffix ──> ReplySink      12 LEN [0a LEN bytes 10 01]   replies of ReadBuffers
//!                              ├─> FileSink       0a LEN bytes                  a trace file
//!                              └─> FilterSink     a filter, and then one of the others
//! ```
//!
//! One [`PacketEncoder`] encodes the packets of all. What is compressed is collected first
//! ([`compressing`](super::compressing)).
#![allow(
    clippy::arithmetic_side_effects,
    reason = "all numbers are lengths of memory that is there, and a few bytes of envelope"
)]

use bytes::Bytes;
use protozero::wire::varint;

use super::encoder::{PacketEncoder, copy_packet};
use super::sequence::Suffix;
use crate::effect_queue::EffectQueue;
use crate::filter::TraceFilter;
use crate::limits;
use abi::ids::{CallId, ClientId};

/// What a sink did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PutResult {
    Taken,
    /// There is no space for it, nor for another one.
    Full,
}

/// The result of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pass {
    /// There may be more to read.
    pub(crate) has_more: bool,
    /// Bytes of packets read, also those that were not sent; more if filtering them took longer.
    pub(crate) bytes_read: usize,
}

/// Where a pass puts packets: the fields of each, without any envelope.
pub(crate) trait PacketSink {
    /// Says which buffer of the session, by index, the next packets come from; none for the service itself.
    fn comes_from(&mut self, _buffer: Option<usize>) {}

    /// The work done so far beside taking bytes, as bytes of about the same time.
    #[inline(always)]
    fn work_bytes(&self) -> usize {
        0
    }

    /// Takes one packet: the bytes of `slices`, then `suffix`.
    fn put(&mut self, slices: &[&[u8]], suffix: &Suffix) -> PutResult;

    /// Takes a packet that is in one piece.
    #[inline(always)]
    fn put_one(&mut self, packet: &[u8], suffix: &Suffix) -> PutResult {
        self.put(&[packet], suffix)
    }
}

#[inline(always)]
pub(crate) fn len_of(slices: &[&[u8]]) -> usize {
    match slices {
        [one] => one.len(),
        all => all.iter().map(|slice| slice.len()).sum(),
    }
}

// ---------------------------------------------------------------- over IPC

/// Memory of a reply in the common case, so that there is one allocation: a pass of small packets with envelopes.
const REPLY_BYTES: usize = limits::READ_PASS_BYTES * 3 / 2;

/// Packets as slices of `ReadBuffersResponse` messages, encoded as they come.
pub(crate) struct ReplySink<'a> {
    out: &'a mut EffectQueue,
    client: ClientId,
    call: CallId,
    encoder: PacketEncoder<true>,
    /// Slices so far, as upstream counts them against the size of a frame.
    counted: usize,
    sent: usize,
}

impl<'a> ReplySink<'a> {
    pub(crate) fn new(out: &'a mut EffectQueue, client: ClientId, call: CallId) -> Self {
        let encoder = PacketEncoder::new(out.pool.take());
        Self { out, client, call, encoder, counted: 0, sent: 0 }
    }

    /// Sends the last reply of the pass; returns how many bytes all of them have.
    pub(crate) fn finish(mut self, has_more: bool) -> usize {
        self.send(has_more);
        self.out.pool.set_in_use(has_more);
        self.sent
    }

    fn send(&mut self, has_more: bool) {
        let bytes = self.encoder.take();
        self.sent += bytes.len();
        self.counted = 0;
        self.out.packets(self.client, self.call, bytes, has_more);
    }

    /// A packet that is larger than what is left of the reply.
    #[cold]
    fn put_large(&mut self, slices: &[&[u8]], suffix: &Suffix, mut left: usize) {
        let mut data = SliceCursor { slices, suffix: suffix.bytes(), offset: 0 };
        loop {
            let bytes_left = self.bytes_left();
            // A packet is cut only if it fits into no reply at all: clients take any cut, but whole packets
            // are cheaper for them.
            if left > bytes_left && self.counted > 0 {
                self.send(true);
                self.encoder = PacketEncoder::new(self.out.pool.take());
                continue;
            }
            let len = left.min(bytes_left).min(limits::SLICE_BYTES_MAX);
            debug_assert!(len > 0, "a slice without bytes");
            left -= len;
            self.encoder.put(len, left == 0, REPLY_BYTES, |to| data.take_into(to, len));
            self.counted += len + limits::IPC_SLICE_OVERHEAD_BYTES;
            if left == 0 {
                return;
            }
        }
    }

    /// Bytes of one more slice that still fit into the reply.
    #[inline(always)]
    fn bytes_left(&self) -> usize {
        let counted = self.counted + limits::IPC_SLICE_OVERHEAD_BYTES;
        limits::IPC_SLICES_BYTES_MAX.saturating_sub(counted)
    }
}

impl PacketSink for ReplySink<'_> {
    #[inline(always)]
    fn put_one(&mut self, packet: &[u8], suffix: &Suffix) -> PutResult {
        let bytes_left = self.bytes_left();
        if let Some(len) = self.encoder.put_short(packet, suffix, |_, len| len <= bytes_left) {
            self.counted += len + limits::IPC_SLICE_OVERHEAD_BYTES;
            return PutResult::Taken;
        }
        self.put(&[packet], suffix)
    }

    #[inline(never)]
    fn put(&mut self, slices: &[&[u8]], suffix: &Suffix) -> PutResult {
        let len = len_of(slices) + suffix.len();
        if len > self.bytes_left() {
            self.put_large(slices, suffix, len);
        } else {
            self.encoder.put(len, true, REPLY_BYTES, |to| copy_packet(to, slices, suffix));
            self.counted += len + limits::IPC_SLICE_OVERHEAD_BYTES;
        }
        PutResult::Taken
    }
}

/// Walks over slices and suffix as over one string of bytes.
struct SliceCursor<'a> {
    slices: &'a [&'a [u8]],
    suffix: &'a [u8],
    offset: usize,
}

impl SliceCursor<'_> {
    /// Copies the next `len` bytes to the beginning of `out`.
    fn take_into(&mut self, out: &mut [u8], len: usize) {
        let mut out = out.get_mut(..len).unwrap_or_default();
        while !out.is_empty() {
            let current = self.slices.first().map_or(self.suffix, |slice| *slice);
            let rest = current.get(self.offset..).unwrap_or_default();
            let count = rest.len().min(out.len());
            let (Some((here, behind)), Some(bytes)) =
                (std::mem::take(&mut out).split_at_mut_checked(count), rest.get(..count))
            else {
                return;
            };
            here.copy_from_slice(bytes);
            self.offset += count;
            out = behind;
            if count == rest.len() {
                // The caller never asks for more bytes than there are, so the suffix is the last piece.
                let Some((_, after)) = self.slices.split_first() else { return };
                self.slices = after;
                self.offset = 0;
            }
        }
    }
}

// ---------------------------------------------------------------- into a file

/// Packets as fields of a `Trace`, up to the size the file may have.
pub(crate) struct FileSink {
    encoder: PacketEncoder<false>,
    /// Bytes that still fit, exclusive: a file never reaches its limit.
    bytes_left: u64,
    full: bool,
}

impl FileSink {
    /// A sink that takes less than `bytes_left` bytes, into `memory`.
    pub(crate) fn new(bytes_left: u64, memory: Vec<u8>) -> Self {
        Self { encoder: PacketEncoder::new(memory), bytes_left, full: false }
    }

    /// What is to be written, and whether a packet did not fit.
    pub(crate) fn finish(mut self) -> (Bytes, bool) {
        (self.encoder.take(), self.full)
    }
}

impl PacketSink for FileSink {
    #[inline(always)]
    fn put_one(&mut self, packet: &[u8], suffix: &Suffix) -> PutResult {
        let bytes_left = self.bytes_left;
        let fits = |written, len| ((written + 2 + len) as u64) < bytes_left;
        if self.encoder.put_short(packet, suffix, fits).is_some() {
            return PutResult::Taken;
        }
        self.put(&[packet], suffix)
    }

    #[inline(never)]
    fn put(&mut self, slices: &[&[u8]], suffix: &Suffix) -> PutResult {
        let len = len_of(slices) + suffix.len();
        let total = self.encoder.len() + 1 + varint::len(len as u64) + len;
        if total as u64 >= self.bytes_left {
            self.full = true;
            return PutResult::Full;
        }
        let expected = limits::FILE_PIECE_BYTES + limits::FILE_PIECE_BYTES / 4;
        self.encoder.put(len, true, expected, |to| copy_packet(to, slices, suffix));
        PutResult::Taken
    }
}

// ---------------------------------------------------------------- filtered

/// Filters packets before another sink gets them.
pub(crate) struct FilterSink<'s, 'f> {
    sink: &'s mut dyn PacketSink,
    filter: &'f mut TraceFilter,
    buffer: Option<usize>,
    /// A packet in one piece, and what the filter left of it.
    whole: Vec<u8>,
    kept: Vec<u8>,
}

impl<'s, 'f> FilterSink<'s, 'f> {
    pub(crate) fn new(sink: &'s mut dyn PacketSink, filter: &'f mut TraceFilter) -> Self {
        filter.begin_pass();
        Self { sink, filter, buffer: None, whole: Vec::new(), kept: Vec::new() }
    }
}

impl PacketSink for FilterSink<'_, '_> {
    fn comes_from(&mut self, buffer: Option<usize>) {
        self.buffer = buffer;
    }

    fn work_bytes(&self) -> usize {
        (self.filter.steps() / limits::FILTER_STEPS_PER_BYTE) as usize
    }

    fn put(&mut self, slices: &[&[u8]], suffix: &Suffix) -> PutResult {
        self.whole.clear();
        slices.iter().for_each(|slice| self.whole.extend_from_slice(slice));
        self.whole.extend_from_slice(suffix.bytes());
        self.kept.clear();
        self.filter.apply(&self.whole, self.buffer, &mut self.kept);
        self.sink.put(&[&self.kept], &Suffix::EMPTY)
    }
}
