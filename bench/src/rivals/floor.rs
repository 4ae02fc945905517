//! A lower bound: a copy of the finished bytes, and one pass over them, eight at a time.

use std::sync::OnceLock;

use crate::input::Input;

static FINISHED: OnceLock<[Vec<u8>; 4]> = OnceLock::new();

/// The encoded payloads, which are copied.
pub fn remember(finished: [Vec<u8>; 4]) {
    let _ = FINISHED.set(finished);
}

#[inline(always)]
fn copy(payload: usize, to: &mut [u8]) -> usize {
    let Some(finished) = FINISHED.get() else { return 0 };
    let from = &finished[payload];
    to[..from.len()].copy_from_slice(from);
    from.len()
}

fn scan(from: &[u8]) -> u64 {
    let (words, rest) = from.as_chunks();
    let words = words.iter().fold(0, |sum, word| sum ^ u64::from_le_bytes(*word));
    rest.iter().fold(words, |sum, byte| sum ^ u64::from(*byte))
}

encoders!(
    |_: &Input, to| copy(0, to),
    |_: &Input, to| copy(1, to),
    |_: &Input, to| copy(2, to),
    |_: &Input, to| copy(3, to)
);
decoders!(scan, scan, scan, scan);
