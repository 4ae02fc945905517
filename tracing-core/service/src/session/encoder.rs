//! The one encoder of packets: as fields of a `Trace`, or as slices of replies.
//!
//! It runs for every packet that is read. A packet goes from the trace buffer straight into its memory: nothing is
//! allocated per packet, and copies of what is short have a fixed length, which costs a few instructions instead of
//! a call.
#![allow(
    clippy::arithmetic_side_effects,
    reason = "all numbers are lengths of memory that is there, and a few bytes of envelope"
)]

use bytes::Bytes;
use protozero::wire::{tag, varint, write};

use super::sequence::{SUFFIX_BYTES, Suffix};

/// Bytes of an envelope at most.
const HEAD_BYTES: usize = 32;
/// Longest packet that counts as short, without suffix: with it and its envelope, lengths take one byte each.
const SHORT_PACKET_MAX: usize = 64;
/// Bytes that such a packet is written into: 4 of envelope, packet, suffix, 2 of envelope, rounded up.
const SHORT_BYTES: usize = 128;

/// Tag of `Trace.packet`, and of `Slice.data`.
const BYTES_TAG: u8 = tag::one_byte(1, tag::LEN);
/// Tag of `ReadBuffersResponse.slices`.
const SLICES_TAG: u8 = tag::one_byte(2, tag::LEN);
/// `Slice.last_slice_for_packet: true`.
const LAST: [u8; 2] = [tag::one_byte(2, tag::VARINT), 1];

/// Packets as fields of a `Trace`, or, if `SLICES`, as slices of a `ReadBuffersResponse`.
#[derive(Default)]
pub(crate) struct PacketEncoder<const SLICES: bool> {
    /// Written up to `len`; the rest is there to be written.
    bytes: Vec<u8>,
    len: usize,
}

impl<const SLICES: bool> PacketEncoder<SLICES> {
    /// Nothing yet, in memory that was used before.
    pub(crate) fn new(memory: Vec<u8>) -> Self {
        Self { bytes: memory, len: 0 }
    }

    /// Encodes a short packet if there is memory for it and its length with the suffix `fits`. Returns that length.
    #[inline(always)]
    pub(crate) fn put_short(
        &mut self,
        packet: &[u8],
        suffix: &Suffix,
        fits: impl FnOnce(usize, usize) -> bool,
    ) -> Option<usize> {
        let written = self.len;
        let to: &mut [u8; SHORT_BYTES] = self.bytes.get_mut(written..)?.first_chunk_mut()?;
        if SLICES {
            let len = copy_short::<4>(to, packet, suffix)?;
            if !fits(written, len) {
                return None;
            }
            *to.first_chunk_mut()? = [SLICES_TAG, len as u8 + 4, BYTES_TAG, len as u8];
            *to.get_mut(4 + len..)?.first_chunk_mut()? = LAST;
            self.len += 6 + len;
            Some(len)
        } else {
            let len = copy_short::<2>(to, packet, suffix)?;
            if !fits(written, len) {
                return None;
            }
            *to.first_chunk_mut()? = [BYTES_TAG, len as u8];
            self.len += 2 + len;
            Some(len)
        }
    }

    /// Encodes `len` bytes of a packet, which `fill` writes into at least `len + SUFFIX_BYTES`. `expected` is the
    /// memory that the first call makes room for.
    #[inline]
    pub(crate) fn put(
        &mut self,
        len: usize,
        last: bool,
        expected: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let start = self.len;
        let end = start + len + HEAD_BYTES + SUFFIX_BYTES;
        if end > self.bytes.len() {
            self.grow(end, expected);
        }
        let Some(to) = self.bytes.get_mut(start..end) else { return };
        let mut at = 0;
        if SLICES {
            let body = 1 + varint::len(len as u64) + len + if last { LAST.len() } else { 0 };
            at = head(to, at, SLICES_TAG, body);
        }
        at = head(to, at, BYTES_TAG, len);
        if let Some(to) = to.get_mut(at..) {
            fill(to);
        }
        at += len;
        if SLICES
            && last
            && let Some(to) = to.get_mut(at..).and_then(<[u8]>::first_chunk_mut)
        {
            *to = LAST;
            at += LAST.len();
        }
        self.len = start + at;
    }

    #[cold]
    fn grow(&mut self, end: usize, expected: usize) {
        let more = if self.bytes.is_empty() { expected } else { self.bytes.len() / 2 };
        self.bytes.resize(end.max(self.bytes.len() + more).max(self.bytes.capacity()), 0);
    }

    /// What was encoded, which the encoder forgets.
    pub(crate) fn take(&mut self) -> Bytes {
        Bytes::from(self.take_vec())
    }

    /// What was encoded, as memory that is not shared. The encoder forgets it.
    pub(crate) fn take_vec(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.truncate(std::mem::take(&mut self.len));
        bytes
    }

    /// How many bytes were encoded.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// Writes a tag and a length at an offset; returns the offset behind them.
#[inline]
fn head(to: &mut [u8], at: usize, tag: u8, len: usize) -> usize {
    if let Some([first, rest @ ..]) = to.get_mut(at..) {
        *first = tag;
        return at + 1 + write::varint(rest, len as u64);
    }
    at
}

/// Copies a short packet and its suffix behind `HEAD` bytes, and anything behind them. Returns the length of both;
/// none if it is not short.
#[inline(always)]
fn copy_short<const HEAD: usize>(
    to: &mut [u8; SHORT_BYTES],
    packet: &[u8],
    suffix: &Suffix,
) -> Option<usize> {
    let tail = suffix.short()?;
    let place: &mut [u8; SHORT_PACKET_MAX] = to.get_mut(HEAD..)?.first_chunk_mut()?;
    match packet.len() {
        // First and last of two halves that overlap: each of fixed length.
        len @ 16..=32 => halves::<16>(place, len, packet)?,
        len @ 8..16 => halves::<8>(place, len, packet)?,
        len @ 33..=64 => halves::<32>(place, len, packet)?,
        len @ 4..8 => halves::<4>(place, len, packet)?,
        0..4 => place.iter_mut().zip(packet).for_each(|(to, from)| *to = *from),
        _ => return None,
    }
    *to.get_mut(HEAD + packet.len()..)?.first_chunk_mut()? = *tail;
    Some(packet.len() + suffix.len())
}

#[inline(always)]
fn halves<const N: usize>(to: &mut [u8; SHORT_PACKET_MAX], len: usize, from: &[u8]) -> Option<()> {
    *to.first_chunk_mut::<N>()? = *from.first_chunk()?;
    *to.get_mut(len - N..)?.first_chunk_mut::<N>()? = *from.last_chunk()?;
    Some(())
}

/// Copies a packet and its suffix to the beginning of `to`, which is at least `SUFFIX_BYTES` longer than the packet.
#[inline]
pub(crate) fn copy_packet(to: &mut [u8], slices: &[&[u8]], suffix: &Suffix) {
    let mut rest = to;
    for slice in slices {
        let Some((here, behind)) = std::mem::take(&mut rest).split_at_mut_checked(slice.len())
        else {
            return;
        };
        copy(here, slice);
        rest = behind;
    }
    if let Some(place) = rest.first_chunk_mut() {
        *place = *suffix.padded();
    }
}

/// Copies what is mostly a few bytes; both have one length.
#[inline]
fn copy(to: &mut [u8], from: &[u8]) {
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
