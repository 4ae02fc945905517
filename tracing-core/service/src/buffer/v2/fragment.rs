//! Fragments: a length, and as many bytes.

use abi::shm::header::PACKET_DROPPED;
use protozero::wire::{hostile, trusted};

/// What comes next in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Fragment {
        /// Bytes of the packet in it.
        len: usize,
        /// The same and the bytes of the length.
        taken: usize,
    },
    /// Nothing: the chunk has no more bytes.
    End,
    /// The mark of a packet that its writer dropped.
    PacketDropped,
    /// A length without an end, or one that leads out of the chunk.
    Corrupted,
}

/// Reads the length at the front of `rest`, the unread bytes of a chunk.
#[inline]
pub(super) fn next(rest: &[u8]) -> Next {
    match rest.first_chunk().copied().and_then(trusted::padded) {
        Some(len) => within(len.into(), 4, rest.len()),
        None if rest.is_empty() => Next::End,
        None => next_of_any_width(rest),
    }
}

fn next_of_any_width(rest: &[u8]) -> Next {
    match hostile::varint(rest) {
        Ok((value, behind)) => within(value, rest.len().saturating_sub(behind.len()), rest.len()),
        Err(_) => Next::Corrupted,
    }
}

#[inline]
fn within(value: u64, header_len: usize, rest_len: usize) -> Next {
    let len = usize::try_from(value).unwrap_or(usize::MAX);
    let taken = header_len.saturating_add(len);
    if taken <= rest_len {
        Next::Fragment { len, taken }
    } else if value == u64::from(PACKET_DROPPED) {
        Next::PacketDropped
    } else {
        Next::Corrupted
    }
}
