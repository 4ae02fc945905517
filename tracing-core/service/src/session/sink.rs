//! Where a pass puts its packets.
//!
//! ```text
//!   slices of a packet, suffix ──> ReplySink   12 LEN [0a LEN bytes 10 01]   replies of ReadBuffers
//!                              ├─> FileSink    0a LEN bytes                  a trace file
//!                              └─> Shaper      filter, compression, and then one of the others
//! ```
//!
//! A packet goes from the trace buffer straight into the sink's bytes: nothing is allocated per packet, and
//! copies of what is short have a fixed length, which costs a few instructions instead of a call.

use bytes::Bytes;

use super::sequence::{SUFFIX_BYTES, Suffix};
use crate::compress::Codec;
use crate::filter::TraceFilter;
use crate::limits;
use crate::outbox::Outbox;
use abi::ids::{CallId, ClientId};

/// Whether a sink takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It does.
    More,
    /// It does not, and did not take this one either.
    Full,
}

/// Where a pass puts packets: the fields of each, without any envelope.
pub(crate) trait PacketSink {
    /// What follows comes from this buffer of the session, by index; none for the service itself.
    fn comes_from(&mut self, _buffer: Option<usize>) {}

    /// What it did so far beside taking bytes, as bytes of about the same time.
    #[inline(always)]
    fn worked(&self) -> usize {
        0
    }

    /// Takes one packet: the bytes of `slices`, then `suffix`.
    fn put(&mut self, slices: &[&[u8]], suffix: &Suffix) -> Room;

    /// The same for a packet in one piece.
    #[inline(always)]
    fn put_one(&mut self, packet: &[u8], suffix: &Suffix) -> Room {
        self.put(&[packet], suffix)
    }
}

/// Appends `value` to a buffer of at least ten bytes; returns how many it took.
#[inline]
pub(crate) fn put_varint(out: &mut [u8], mut value: u64) -> usize {
    let mut len = 0;
    while value >= 0x80 {
        out[len] = value as u8 | 0x80;
        value >>= 7;
        len += 1;
    }
    out[len] = value as u8;
    len + 1
}

/// How many bytes the varint takes.
#[inline]
fn varint_len(value: usize) -> usize {
    if value < 0x80 { 1 } else { (64 - (value as u64).leading_zeros() as usize).div_ceil(7) }
}

/// Copies, to the beginning of `to`, what is mostly a few bytes.
#[inline]
fn copy(to: &mut [u8], from: &[u8]) {
    let to = &mut to[..from.len()];
    match from.len() {
        // First and last of two halves that overlap: each of fixed length.
        16..=32 => ends::<16>(to, from),
        8..16 => ends::<8>(to, from),
        33..=64 => ends::<32>(to, from),
        4..8 => ends::<4>(to, from),
        _ => to.copy_from_slice(from),
    }
}

#[inline]
fn ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *to = *from;
    }
}

/// Bytes that are written at the end, in place.
#[derive(Default)]
struct Batch {
    /// Written up to `len`; the rest is there to be written.
    bytes: Vec<u8>,
    len: usize,
}

impl Batch {
    /// Nothing yet, in memory that was used before.
    fn new(memory: Vec<u8>) -> Self {
        Self { bytes: memory, len: 0 }
    }

    /// Room for `count` bytes behind what was written; `expected` is what the first call makes room for.
    #[inline]
    fn room(&mut self, count: usize, expected: usize) -> &mut [u8] {
        let end = self.len + count;
        if end > self.bytes.len() {
            self.grow(end, expected);
        }
        &mut self.bytes[self.len..end]
    }

    #[cold]
    fn grow(&mut self, end: usize, expected: usize) {
        let more = if self.bytes.is_empty() { expected } else { self.bytes.len() / 2 };
        self.bytes.resize(end.max(self.bytes.len() + more).max(self.bytes.capacity()), 0);
    }

    /// Room for a short packet and its envelope, if it is there already.
    #[inline(always)]
    fn short(&mut self) -> Option<&mut [u8; SHORT_BYTES]> {
        self.bytes.get_mut(self.len..)?.first_chunk_mut()
    }

    fn take(&mut self) -> Bytes {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.truncate(std::mem::take(&mut self.len));
        Bytes::from(bytes)
    }
}

/// Bytes of an envelope at most.
const HEAD_BYTES: usize = 32;
/// Longest packet that counts as short, without suffix: with it and its envelope, lengths take one byte each.
const SHORT_PACKET_MAX: usize = 64;
/// Bytes that such a packet is written into: 4 of envelope, packet, suffix, 2 of envelope, rounded up.
const SHORT_BYTES: usize = 128;

/// Writes a short packet and its suffix behind `HEAD` bytes, and anything behind them. Returns the length of
/// both; none if it is not short.
#[inline(always)]
fn put_short<const HEAD: usize>(
    to: &mut [u8; SHORT_BYTES],
    packet: &[u8],
    suffix: &Suffix,
) -> Option<usize> {
    let tail = suffix.short()?;
    let place: &mut [u8; SHORT_PACKET_MAX] = to[HEAD..].first_chunk_mut()?;
    match packet.len() {
        // First and last of two halves that overlap: each of fixed length.
        len @ 16..=32 => halves::<16>(place, len, packet)?,
        len @ 8..16 => halves::<8>(place, len, packet)?,
        len @ 33..=64 => halves::<32>(place, len, packet)?,
        len @ 4..8 => halves::<4>(place, len, packet)?,
        0..4 => place.iter_mut().zip(packet).for_each(|(to, from)| *to = *from),
        _ => return None,
    }
    *to[HEAD + packet.len()..].first_chunk_mut()? = *tail;
    Some(packet.len() + suffix.len())
}

#[inline(always)]
fn halves<const N: usize>(to: &mut [u8; SHORT_PACKET_MAX], len: usize, from: &[u8]) -> Option<()> {
    *to.first_chunk_mut::<N>()? = *from.first_chunk()?;
    *to.get_mut(len - N..)?.first_chunk_mut::<N>()? = *from.last_chunk()?;
    Some(())
}

#[inline(always)]
pub(crate) fn len_of(slices: &[&[u8]]) -> usize {
    match slices {
        [one] => one.len(),
        all => all.iter().map(|slice| slice.len()).sum(),
    }
}

/// Copies a packet to the beginning of `to`, which has [`SUFFIX_BYTES`] to spare. Returns its length.
#[inline]
fn put_packet(to: &mut [u8], slices: &[&[u8]], suffix: &Suffix) -> usize {
    let mut at = 0;
    for slice in slices {
        copy(&mut to[at..], slice);
        at += slice.len();
    }
    to[at..at + SUFFIX_BYTES].copy_from_slice(suffix.padded());
    at + suffix.len()
}

// ---------------------------------------------------------------- over IPC

/// Packets as slices of `ReadBuffersResponse` messages, encoded as they come.
pub(crate) struct ReplySink<'a> {
    out: &'a mut Outbox,
    client: ClientId,
    call: CallId,
    batch: Batch,
    /// Slices so far, as upstream counts them against the size of a frame.
    counted: usize,
    sent: usize,
}

/// Tag of `ReadBuffersResponse.slices`.
const SLICES_TAG: u8 = 2 << 3 | 2;
/// Tag of `Slice.data`.
const DATA_TAG: u8 = 1 << 3 | 2;
/// `last_slice_for_packet: true`.
const LAST: [u8; 2] = [2 << 3, 1];

impl<'a> ReplySink<'a> {
    pub(crate) fn new(out: &'a mut Outbox, client: ClientId, call: CallId) -> Self {
        let batch = Batch::new(out.spares.take());
        Self { out, client, call, batch, counted: 0, sent: 0 }
    }

    /// Sends the last reply of the pass; returns how many bytes all of them have.
    pub(crate) fn finish(mut self, has_more: bool) -> usize {
        self.send(has_more);
        self.out.spares.want(has_more);
        self.sent
    }

    fn send(&mut self, has_more: bool) {
        let bytes = self.batch.take();
        self.sent += bytes.len();
        self.counted = 0;
        self.out.packets(self.client, self.call, bytes, has_more);
    }

    /// Writes `slices { data: <len bytes> last_slice_for_packet: last }` but for the bytes, which `fill`
    /// writes into at least `len + SUFFIX_BYTES`.
    #[inline]
    fn slice(&mut self, len: usize, last: bool, fill: impl FnOnce(&mut [u8])) {
        // One allocation per reply in the common case: a pass of packets that are small, with envelopes.
        let to = self.batch.room(len + HEAD_BYTES + SUFFIX_BYTES, limits::READ_PASS_BYTES * 3 / 2);
        let last_len = if last { 2 } else { 0 };
        let body = 1 + varint_len(len) + len + last_len;
        to[0] = SLICES_TAG;
        let mut at = 1 + put_varint(&mut to[1..], body as u64);
        to[at] = DATA_TAG;
        at += 1;
        at += put_varint(&mut to[at..], len as u64);
        fill(&mut to[at..]);
        at += len;
        if last {
            to[at..at + 2].copy_from_slice(&LAST);
            at += 2;
        }
        self.batch.len += at;
        self.counted += len + limits::IPC_SLICE_OVERHEAD_BYTES;
    }

    /// A packet that is larger than what is left of the reply.
    #[cold]
    fn put_large(&mut self, slices: &[&[u8]], suffix: &Suffix, mut left: usize) {
        let mut data = SliceCursor { slices, suffix: suffix.bytes(), offset: 0 };
        loop {
            let room = self.room();
            // A packet is cut only if it fits into no reply at all: clients take any cut, but whole packets
            // are cheaper for them.
            if left > room && self.counted > 0 {
                self.send(true);
                self.batch = Batch::new(self.out.spares.take());
                continue;
            }
            let len = left.min(room).min(limits::SLICE_BYTES_MAX);
            left -= len;
            self.slice(len, left == 0, |to| data.take_into(&mut to[..len]));
            if left == 0 {
                return;
            }
        }
    }

    #[inline(always)]
    fn room(&self) -> usize {
        let counted = self.counted + limits::IPC_SLICE_OVERHEAD_BYTES;
        limits::IPC_SLICES_BYTES_MAX.saturating_sub(counted)
    }
}

impl PacketSink for ReplySink<'_> {
    #[inline(always)]
    fn put_one(&mut self, packet: &[u8], suffix: &Suffix) -> Room {
        let room = self.room();
        if let Some(to) = self.batch.short()
            && let Some(len) = put_short::<4>(to, packet, suffix)
            && len <= room
        {
            to[..4].copy_from_slice(&[SLICES_TAG, len as u8 + 4, DATA_TAG, len as u8]);
            to[4 + len..6 + len].copy_from_slice(&LAST);
            self.batch.len += 6 + len;
            self.counted += len + limits::IPC_SLICE_OVERHEAD_BYTES;
            return Room::More;
        }
        self.put(&[packet], suffix)
    }

    #[inline(never)]
    fn put(&mut self, slices: &[&[u8]], suffix: &Suffix) -> Room {
        let len = len_of(slices) + suffix.len();
        if len > self.room() {
            self.put_large(slices, suffix, len);
        } else {
            self.slice(len, true, |to| {
                put_packet(to, slices, suffix);
            });
        }
        Room::More
    }
}

/// Walks over slices and suffix as over one string of bytes.
struct SliceCursor<'a> {
    slices: &'a [&'a [u8]],
    suffix: &'a [u8],
    offset: usize,
}

impl SliceCursor<'_> {
    fn take_into(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            let current = self.slices.first().map_or(self.suffix, |slice| *slice);
            let rest = &current[self.offset.min(current.len())..];
            if rest.is_empty() {
                // The caller never asks for more than there is, so a slice is left.
                let Some((_, after)) = self.slices.split_first() else { return };
                self.slices = after;
                self.offset = 0;
                continue;
            }
            let count = rest.len().min(out.len());
            let (here, behind) = std::mem::take(&mut out).split_at_mut(count);
            here.copy_from_slice(&rest[..count]);
            self.offset += count;
            out = behind;
        }
    }
}

// ---------------------------------------------------------------- into a file

/// Packets as fields of a `Trace`, up to the size the file may have.
pub(crate) struct FileSink {
    batch: Batch,
    /// What still fits, exclusive: a file never reaches its limit.
    room: u64,
    full: bool,
}

/// Tag of `Trace.packet`.
const PACKET_TAG: u8 = 1 << 3 | 2;

impl FileSink {
    /// A sink that takes less than `room` bytes, into `memory`.
    pub(crate) fn new(room: u64, memory: Vec<u8>) -> Self {
        Self { batch: Batch::new(memory), room, full: false }
    }

    /// What is to be written, and whether a packet found no room.
    pub(crate) fn finish(mut self) -> (Bytes, bool) {
        (self.batch.take(), self.full)
    }
}

impl PacketSink for FileSink {
    #[inline(always)]
    fn put_one(&mut self, packet: &[u8], suffix: &Suffix) -> Room {
        let written = self.batch.len;
        if let Some(to) = self.batch.short()
            && let Some(len) = put_short::<2>(to, packet, suffix)
            && ((written + 2 + len) as u64) < self.room
        {
            to[..2].copy_from_slice(&[PACKET_TAG, len as u8]);
            self.batch.len += 2 + len;
            return Room::More;
        }
        self.put(&[packet], suffix)
    }

    #[inline(never)]
    fn put(&mut self, slices: &[&[u8]], suffix: &Suffix) -> Room {
        let len = len_of(slices) + suffix.len();
        let total = self.batch.len + 1 + varint_len(len) + len;
        if total as u64 >= self.room {
            self.full = true;
            return Room::Full;
        }
        let expected = limits::FILE_PIECE_BYTES + limits::FILE_PIECE_BYTES / 4;
        let to = self.batch.room(len + HEAD_BYTES + SUFFIX_BYTES, expected);
        to[0] = PACKET_TAG;
        let at = 1 + put_varint(&mut to[1..], len as u64);
        self.batch.len += at + put_packet(&mut to[at..], slices, suffix);
        Room::More
    }
}

// ---------------------------------------------------------------- filtered, compressed

/// Filters what comes and collects it for a codec, before another sink gets it.
pub(crate) struct Shaper<'a, S> {
    sink: &'a mut S,
    filter: Option<TraceFilter>,
    codec: Option<Codec>,
    buffer: Option<usize>,
    /// A packet in one piece, and what the filter left of it.
    whole: Vec<u8>,
    kept: Vec<u8>,
    /// Packets as fields of a `Trace`, for the codec.
    stream: Vec<u8>,
}

impl<'a, S: PacketSink> Shaper<'a, S> {
    pub(crate) fn new(
        sink: &'a mut S,
        mut filter: Option<TraceFilter>,
        codec: Option<Codec>,
    ) -> Self {
        if let Some(filter) = &mut filter {
            filter.begin_pass();
        }
        let (whole, kept, stream) = (Vec::new(), Vec::new(), Vec::new());
        Self { sink, filter, codec, buffer: None, whole, kept, stream }
    }

    /// Gives the filter back: what is put from now on passes as it is.
    pub(crate) fn take_filter(&mut self) -> Option<TraceFilter> {
        self.filter.take()
    }

    /// Compresses what was collected.
    pub(crate) fn finish(self) -> Room {
        let Some(codec) = self.codec else { return Room::More };
        match codec.compress(&self.stream) {
            Some(packet) => {
                let slices: Vec<&[u8]> = packet.slices().collect();
                self.sink.put(&slices, &Suffix::EMPTY)
            }
            None => {
                // Nothing there, or no memory for the codec: better plain than lost.
                let mut reader = protozero::Reader::new(&self.stream);
                while let Ok(Some(field)) = reader.next_field() {
                    if let protozero::Value::Len(packet) = field.value
                        && self.sink.put(&[packet], &Suffix::EMPTY) == Room::Full
                    {
                        return Room::Full;
                    }
                }
                Room::More
            }
        }
    }

    fn pass_on(&mut self, slices: &[&[u8]], suffix: &Suffix) -> Room {
        if self.codec.is_none() {
            return self.sink.put(slices, suffix);
        }
        let mut head = [0u8; 11];
        head[0] = PACKET_TAG;
        let len = len_of(slices) + suffix.len();
        let head_len = 1 + put_varint(&mut head[1..], len as u64);
        self.stream.extend_from_slice(&head[..head_len]);
        slices.iter().for_each(|slice| self.stream.extend_from_slice(slice));
        self.stream.extend_from_slice(suffix.bytes());
        Room::More
    }
}

impl<S: PacketSink> PacketSink for Shaper<'_, S> {
    fn comes_from(&mut self, buffer: Option<usize>) {
        self.buffer = buffer;
    }

    fn worked(&self) -> usize {
        let steps = self.filter.as_ref().map_or(0, TraceFilter::steps);
        (steps / limits::FILTER_STEPS_PER_BYTE) as usize
    }

    fn put(&mut self, slices: &[&[u8]], suffix: &Suffix) -> Room {
        let Some(filter) = &mut self.filter else { return self.pass_on(slices, suffix) };
        self.whole.clear();
        slices.iter().for_each(|slice| self.whole.extend_from_slice(slice));
        self.whole.extend_from_slice(suffix.bytes());
        self.kept.clear();
        filter.apply(&self.whole, self.buffer, &mut self.kept);
        let kept = std::mem::take(&mut self.kept);
        let room = self.pass_on(&[&kept], &Suffix::EMPTY);
        self.kept = kept;
        room
    }
}
