//! Whether a packet of a producer may go into a trace.
//!
//! The service appends its own fields to every packet (who sent it, on which sequence), and a
//! reader takes the last occurrence of a field. A producer must therefore be kept from two things:
//! writing those fields itself, and leaving its last field open, which would swallow ours
//! (`packet_stream_validator.cc`). Nested messages are not looked into.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation
)]

use protozero::wire::hostile::{self, SplitVarint};

/// The check of a packet's top level, over slices as they lie.
#[derive(Clone, Copy, Debug)]
pub struct PacketStreamValidator;

/// Largest length a field may claim: 2^28 - 1, the largest a four-byte varint can hold.
const FIELD_BYTES_MAX: u64 = (1 << 28) - 1;
/// Most bytes of a tag or length: strict parsers refuse a trace with a longer one.
const HEADER_BYTES_MAX: usize = 5;

/// Fields of `TracePacket` that only the service writes.
pub(super) const fn is_reserved(field: u32) -> bool {
    matches!(
        field,
        3 // trusted_uid
        | 10 // trusted_packet_sequence_id
        | 33 // trace_config
        | 35 // trace_stats
        | 36 // synchronization_marker
        | 50 // compressed_packets
        | 69 // service_event
        | 79 // trusted_pid
        | 98 // machine_id
        | 124 // trace_provenance
        | 125 // protovms
        | 133 // compressed packets, the newer field
    )
}

/// What a preamble asks for next.
enum Next {
    Varint,
    Skip(u64),
    Length,
    Refuse,
}

#[inline]
const fn after_preamble(tag: u64) -> Next {
    // Parsers keep 32 bits of a tag: what has more reads as any field there. None has the number 0, and for many
    // a packet with it spoils the whole trace.
    #[allow(clippy::cast_possible_truncation, reason = "of what has no more bits")]
    let field = (tag >> 3) as u32;
    if tag > u32::MAX as u64 || field == 0 || is_reserved(field) {
        return Next::Refuse;
    }
    match tag & 7 {
        0 => Next::Varint,
        1 => Next::Skip(8),
        2 => Next::Length,
        5 => Next::Skip(4),
        _ => Next::Refuse,
    }
}

impl PacketStreamValidator {
    /// Whether the slices, read as one packet, are whole fields without a reserved one among them.
    ///
    /// False for: a varint longer than ten bytes, a tag or length longer than five, a field number of 0 or above
    /// 2^29 - 1, a group or an unknown wire type, a length above 2^28 - 1, an end inside a field, a reserved field
    /// whatever its value. An empty packet is valid.
    #[inline(always)]
    #[must_use]
    pub fn validate(slices: &[&[u8]]) -> bool {
        match slices {
            [whole] => contiguous(whole),
            _ => scattered(slices),
        }
    }
}

/// Takes a tag or a length off the front of `bytes`.
#[inline]
fn header(bytes: &[u8]) -> Option<(u64, &[u8])> {
    hostile::varint_within::<HEADER_BYTES_MAX>(bytes).ok()
}

/// What each tag of one byte asks for.
const SHORT_TAGS: [Short; 128] = {
    let mut table = [Short::Refuse; 128];
    let mut tag = 0;
    while tag < 128 {
        #[allow(clippy::indexing_slicing, reason = "done by the compiler")]
        #[allow(clippy::cast_possible_truncation, reason = "below 128")]
        {
            table[tag as usize] = match after_preamble(tag) {
                Next::Varint => Short::Varint,
                Next::Length => Short::Length,
                Next::Skip(_) => Short::Fixed,
                Next::Refuse => Short::Refuse,
            };
        }
        tag = tag.wrapping_add(1);
    }
    table
};

/// [`Next`] in a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Short {
    Varint,
    Length,
    Fixed,
    Refuse,
}

/// The same check for a packet in one piece: jumps over payloads.
#[inline(always)]
fn contiguous(mut bytes: &[u8]) -> bool {
    while let Some((&tag, rest)) = bytes.split_first() {
        let short = SHORT_TAGS.get(usize::from(tag)).copied();
        // Nearly all fields have short tags and short lengths.
        let behind = if short == Some(Short::Varint) {
            hostile::skip_varint(rest).ok()
        } else if short == Some(Short::Length)
            && let Some((&length, rest)) = rest.split_first()
            && length < 0x80
        {
            rest.get(usize::from(length)..)
        } else {
            behind_field(bytes)
        };
        let Some(behind) = behind else { return false };
        bytes = behind;
    }
    true
}

/// What is behind a field of any shape; none if it is refused.
#[inline(never)]
fn behind_field(bytes: &[u8]) -> Option<&[u8]> {
    let (tag, rest) = header(bytes)?;
    let (skip, rest) = match after_preamble(tag) {
        Next::Varint => return hostile::skip_varint(rest).ok(),
        Next::Skip(count) => (count, rest),
        Next::Length => header(rest).filter(|(length, _)| *length <= FIELD_BYTES_MAX)?,
        Next::Refuse => return None,
    };
    usize::try_from(skip).ok().and_then(|count| rest.get(count..))
}

/// What the next byte is part of.
enum State {
    Preamble,
    Varint,
    Length,
}

/// A state machine fed byte by byte, except that payloads are skipped slice by slice.
#[inline(never)]
fn scattered(slices: &[&[u8]]) -> bool {
    let mut state = State::Preamble;
    let mut skip = 0u64;
    let mut varint = SplitVarint::new();
    for slice in slices {
        let mut rest = *slice;
        loop {
            if skip > 0 {
                let here = skip.min(rest.len() as u64);
                skip = skip.wrapping_sub(here);
                rest = usize::try_from(here).ok().and_then(|n| rest.get(n..)).unwrap_or_default();
            }
            let Some((byte, tail)) = rest.split_first() else { break };
            rest = tail;
            let (whole, width) = match varint.push(*byte) {
                Ok(Some(taken)) => taken,
                Ok(None) => continue,
                Err(_) => return false,
            };
            if width > HEADER_BYTES_MAX && !matches!(state, State::Varint) {
                return false;
            }
            state = match state {
                State::Preamble => match after_preamble(whole) {
                    Next::Varint => State::Varint,
                    Next::Length => State::Length,
                    Next::Skip(n) => {
                        skip = n;
                        State::Preamble
                    }
                    Next::Refuse => return false,
                },
                State::Varint => State::Preamble,
                State::Length if whole <= FIELD_BYTES_MAX => {
                    skip = whole;
                    State::Preamble
                }
                State::Length => return false,
            };
        }
    }
    matches!(state, State::Preamble) && varint.is_empty() && skip == 0
}
