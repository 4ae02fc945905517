//! The order of chunks, whatever their ids.

use super::*;
use abi::shm::Packets;

fn found(looks: [&[(u16, u32)]; 2]) -> Vec<(u16, u32, usize)> {
    let mut found = Uncommitted::default();
    for look in looks {
        for (page, (writer, chunk)) in look.iter().enumerate() {
            let (writer, chunk) = (WriterId::new(*writer), ChunkId::new(*chunk));
            found.note(&ChunkHeader { chunk, writer, packets: Packets::default() }, page, 0);
        }
        found.end_look();
    }
    assert_eq!(found.page(), None);
    let takes = std::iter::from_fn(|| found.take());
    takes.map(|place| (place.writer.get(), place.chunk.get(), place.page)).collect()
}

#[test]
fn chunks_of_a_writer_come_in_order() {
    let look: &[_] = &[(2, 9), (1, 7), (2, 8), (1, 5), (1, 6)];
    assert_eq!(found([look, look]), [(1, 5, 3), (1, 6, 4), (1, 7, 1), (2, 8, 2), (2, 9, 0)]);
}

#[test]
fn ids_wrap() {
    let look: &[_] = &[(1, 0), (1, u32::MAX), (1, 1)];
    assert_eq!(found([look, look]), [(1, u32::MAX, 1), (1, 0, 0), (1, 1, 2)]);
}

#[test]
fn what_a_writer_began_after_the_first_look_is_left() {
    let looks: [&[_]; 2] = [&[(1, 5), (1, 6)], &[(1, 7), (1, 6), (1, 5), (2, 0), (1, 8)]];
    assert_eq!(found(looks), [(1, 5, 2), (1, 6, 1)]);
}

/// Ids that no honest writer has together: any order, and no panic.
#[test]
fn ids_around_the_whole_circle_are_sorted() {
    let look: Vec<_> = (0..64u32).map(|i| (1, i.wrapping_mul(0x9e37_79b9))).collect();
    let taken = found([&look, &look]);
    assert!(!taken.is_empty() && taken.len() <= 64, "{taken:?}");
}
