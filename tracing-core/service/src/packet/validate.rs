//! The check whether a packet of a producer may go into a trace.
//!
//! The service appends fields of its own to every packet, such as the user and the sequence. A
//! reader takes the last occurrence of a field. So a producer must not write these fields itself, and its last field
//! must end inside the packet: otherwise it would contain the fields of the service
//! (`packet_stream_validator.cc`). Nested messages are not checked.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation
)]

use abi::limits::FIELD_BYTES_MAX;
use protozero::wire::hostile::{self, SplitVarint};

/// Checks the top level of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketStreamValidator;

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

/// What follows a tag.
enum Next {
    Varint,
    Skip(u64),
    Length,
    Refuse,
}

#[inline]
const fn after_tag(tag: u64) -> Next {
    // Parsers keep 32 bits of a tag, so that a longer one could be any field. No field has the number 0, and many
    // parsers refuse a whole trace because of it.
    #[allow(clippy::cast_possible_truncation, reason = "larger tags are refused below")]
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

/// What follows each tag of one byte.
const SHORT_TAGS: [Short; 128] = {
    let mut table = [Short::Refuse; 128];
    let mut tag = 0;
    while tag < 128 {
        #[allow(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        #[allow(clippy::cast_possible_truncation, reason = "below 128")]
        {
            table[tag as usize] = match after_tag(tag) {
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

/// The check of a packet in one slice: skips payloads.
#[inline(always)]
fn contiguous(mut bytes: &[u8]) -> bool {
    while let Some((&tag, rest)) = bytes.split_first() {
        let short = SHORT_TAGS.get(usize::from(tag)).copied();
        // Nearly all fields have a tag of one byte and a length of one byte.
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

/// The bytes after a field with any tag and length; none if the field is refused.
#[inline(never)]
fn behind_field(bytes: &[u8]) -> Option<&[u8]> {
    let (tag, rest) = header(bytes)?;
    let (skip, rest) = match after_tag(tag) {
        Next::Varint => return hostile::skip_varint(rest).ok(),
        Next::Skip(count) => (count, rest),
        Next::Length => header(rest).filter(|(length, _)| *length <= FIELD_BYTES_MAX)?,
        Next::Refuse => return None,
    };
    usize::try_from(skip).ok().and_then(|count| rest.get(count..))
}

/// What the next byte belongs to.
enum State {
    Tag,
    Varint,
    Length,
}

/// The check of a packet in several slices: tags and varints byte by byte, payloads slice by slice.
#[inline(never)]
fn scattered(slices: &[&[u8]]) -> bool {
    let mut state = State::Tag;
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
                State::Tag => match after_tag(whole) {
                    Next::Varint => State::Varint,
                    Next::Length => State::Length,
                    Next::Skip(n) => {
                        skip = n;
                        State::Tag
                    }
                    Next::Refuse => return false,
                },
                State::Varint => State::Tag,
                State::Length if whole <= FIELD_BYTES_MAX => {
                    skip = whole;
                    State::Tag
                }
                State::Length => return false,
            };
        }
    }
    matches!(state, State::Tag) && varint.is_empty() && skip == 0
}
