//! The fragments of a payload that a peer may be changing, and patches of a copy: lengths and offsets, no memory.
//!
//! `cargo xtask no-panic` proves that nothing here overflows or leaves the payload, whatever the bytes are.

use protozero::wire::hostile::SplitVarint;

use crate::shm::header::PACKET_DROPPED;

/// Most bytes of the length of a fragment, as in every reader of fragments.
const LENGTH_BYTES_MAX: usize = 4;

/// Where the first `count` fragments of a payload of `len` bytes end, at most `len`. `byte` gives a byte below
/// `len`, or `None` where there is none.
///
/// A peer may change a length after it was read here. So a reader of the copy may find another one there, and
/// must check it.
#[inline]
pub fn fragments_end(count: u16, len: usize, byte: impl Fn(usize) -> Option<u8>) -> usize {
    let mut end = 0;
    for _ in 0..count {
        let (mut size, mut length) = (0, SplitVarint::new());
        for _ in 0..LENGTH_BYTES_MAX {
            let Some(byte) = (end < len).then(|| byte(end)).flatten() else { break };
            end += 1;
            if let Ok(Some((value, _))) = length.push(byte) {
                size = usize::try_from(value).unwrap_or(usize::MAX);
                break;
            }
        }
        if size == PACKET_DROPPED as usize {
            size = 0;
        }
        end = end.saturating_add(size).min(len);
    }
    end
}

/// Stores a patch, the length of a message, at `off` of the copy of a payload. `None`, and nothing stored, if it does
/// not lie within.
#[inline]
pub fn patch(payload: &mut [u8], off: u32, length: [u8; 4]) -> Option<()> {
    let start = usize::try_from(off).ok()?;
    let place = payload.get_mut(start..start.checked_add(length.len())?)?;
    *place.first_chunk_mut()? = length;
    Some(())
}
