//! Fragments: a varint, and as many bytes as it says.

use abi::shm::header::PACKET_DROPPED;
use protozero::wire::{hostile, trusted};

/// What comes next in the fragments of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Fragment {
        /// Bytes of the packet.
        len: usize,
        /// The same with the length before them.
        taken: usize,
    },
    /// Nothing: they are over.
    End,
    /// The mark of a writer that gave the packet up.
    PacketDropped,
    /// A length that does not end, or one that leads too far.
    Corrupted,
}

/// Reads the length in front of `rest`, which is all there is up to the end of the chunk.
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
