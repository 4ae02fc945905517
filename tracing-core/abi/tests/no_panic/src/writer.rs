//! What a writer does inside a chunk, in any order, with any lengths.

use core::hint::black_box;

use crate::any;
use crate::memory::Memory;
use crate::pages::header;
use crate::shm::fragment::{FRAGMENT_HEADER_BYTES, Fragments};
use crate::shm::header::ChunkFlags;

/// Any calls of the writer of a chunk.
#[inline(never)]
pub fn fragments(memory: &mut Memory) -> usize {
    let mut fragments = Fragments::new(memory, any(), header());
    let mut sum: usize = FRAGMENT_HEADER_BYTES;
    loop {
        // What is known of its state is forgotten.
        let fragments = black_box(&mut fragments);
        let outcome = match black_box(0) {
            0 => fragments.begin(any()).map_or(0, |body| body.end ^ body.start),
            1 => usize::from(fragments.end(any()).is_some()),
            2 => fragments.growth() ^ fragments.payload_len(),
            3 => short(fragments),
            4 => usize::from(fragments.patch(any(), [1; 4])),
            5 => fragments.packet_count() as usize,
            6 => usize::from(fragments.store(any(), black_box(&[0]))),
            7 => usize::from(fragments.move_forward_3(any(), any())),
            8 => usize::from(fragments.header().writer.get()),
            9 => {
                fragments.cut(any(), any() == 0);
                fragments.abandon();
                0
            }
            10 => {
                fragments.add_flags(ChunkFlags(any() as u8));
                fragments.remove_flags(ChunkFlags(any() as u8));
                fragments.publish();
                0
            }
            11 => {
                fragments.close();
                fragments.bytes().bytes().len()
            }
            _ => return sum,
        };
        sum = sum.wrapping_add(outcome);
    }
}

fn short(fragments: &mut Fragments<&mut Memory>) -> usize {
    let Some(mut short) = fragments.begin_short(any()) else { return 0 };
    while any() == 0 {
        let short = black_box(&mut short);
        short.append([any() as u8; 8], any());
        short.append_slice(black_box(&[0]));
        short.replace(any(), any() as u8);
    }
    let short = black_box(short);
    let bytes = short.bytes();
    short.end();
    bytes
}
