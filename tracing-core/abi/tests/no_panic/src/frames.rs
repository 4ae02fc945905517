//! Frames of any bytes, cut anywhere.

use core::hint::black_box;

use crate::cut::{Cuts, header};

/// Takes frames out of a stream, in any order of calls.
#[inline(never)]
pub fn cut(bytes: &[u8]) -> usize {
    let mut cuts = Cuts::default();
    let mut sum: usize = 0;
    loop {
        // What is known of the positions is forgotten.
        let cuts = black_box(&mut cuts);
        let outcome = match black_box(0) {
            0 => cuts.advance(black_box(bytes)).unwrap_or_else(|error| error.len as usize),
            1 => cuts.pop(black_box(bytes)).map_or(0, <[u8]>::len),
            2 => cuts.remove_taken(black_box(bytes).len()),
            3 => cuts.partial_len(black_box(bytes).len()),
            4 => usize::from(cuts.has_frames()),
            _ => return sum,
        };
        sum = sum.wrapping_add(outcome);
    }
}

/// The length of a frame of any length.
#[inline(never)]
pub fn framed(len: usize) -> bool {
    header(len).is_ok()
}
