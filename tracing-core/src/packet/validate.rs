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

/// The check of a packet's top level, over slices as they lie.
#[derive(Clone, Copy, Debug)]
pub struct PacketStreamValidator;

/// Largest length a field may claim: 2^28 - 1, the largest a four-byte varint can hold.
const FIELD_BYTES_MAX: u64 = (1 << 28) - 1;
/// A varint has at most this many bytes.
const VARINT_BYTES_MAX: u32 = 10;

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
    // Upstream keeps 32 bits of the field id, so must we: 2^32 + 3 reads as 3 there.
    #[allow(clippy::cast_possible_truncation, reason = "the truncation is the rule")]
    let field = (tag >> 3) as u32;
    if is_reserved(field) {
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
    /// False for: a varint longer than ten bytes, a group or an unknown wire type, a length above
    /// 2^28 - 1, an end inside a field, a reserved field whatever its value. An empty packet is valid.
    #[must_use]
    pub fn validate(slices: &[&[u8]]) -> bool {
        match slices {
            [whole] => contiguous(whole),
            _ => scattered(slices),
        }
    }
}

/// One varint off the front of `bytes`.
#[inline]
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    if let [first, rest @ ..] = bytes
        && *first < 0x80
    {
        return Some((u64::from(*first), rest));
    }
    let mut value = 0u64;
    let mut shift = 0u32;
    let mut rest = bytes;
    while shift < VARINT_BYTES_MAX.wrapping_mul(7) {
        let (byte, tail) = rest.split_first()?;
        value |= u64::from(byte & 0x7f).wrapping_shl(shift);
        rest = tail;
        if *byte < 0x80 {
            return Some((value, rest));
        }
        shift = shift.wrapping_add(7);
    }
    None
}

/// The same check for a packet in one piece: jumps over payloads.
fn contiguous(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some((tag, rest)) = varint(bytes) else { return false };
        bytes = rest;
        let skip = match after_preamble(tag) {
            Next::Varint => match varint(bytes) {
                Some((_, rest)) => {
                    bytes = rest;
                    continue;
                }
                None => return false,
            },
            Next::Skip(count) => count,
            Next::Length => match varint(bytes) {
                Some((length, rest)) if length <= FIELD_BYTES_MAX => {
                    bytes = rest;
                    length
                }
                _ => return false,
            },
            Next::Refuse => return false,
        };
        let Some(rest) = usize::try_from(skip).ok().and_then(|n| bytes.get(n..)) else {
            return false;
        };
        bytes = rest;
    }
    true
}

/// What the next byte is part of.
enum State {
    Preamble,
    Varint,
    Length,
}

/// A state machine fed byte by byte, except that payloads are skipped slice by slice.
fn scattered(slices: &[&[u8]]) -> bool {
    let mut state = State::Preamble;
    let mut skip = 0u64;
    let mut value = 0u64;
    let mut count = 0u32;
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
            value |= u64::from(byte & 0x7f).wrapping_shl(count.wrapping_mul(7));
            count = count.wrapping_add(1);
            if *byte >= 0x80 {
                if count == VARINT_BYTES_MAX {
                    return false;
                }
                continue;
            }
            let whole = core::mem::take(&mut value);
            count = 0;
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
    matches!(state, State::Preamble) && count == 0 && skip == 0
}
