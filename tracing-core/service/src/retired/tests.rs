use super::Retired;
use crate::buffer::{ChunkMeta, Identity, Policy, Remains, TraceBuffer, Version};
use crate::limits::FREE_PIECE_SEQUENCES;
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

/// Bytes of a piece.
const PIECE: usize = 4 << 20;

#[test]
fn memory_is_freed_in_pieces_from_its_end() {
    let mut retired = Retired::default();
    retired.add(None, Remains::of(vec![1; PIECE]));
    assert!(retired.is_empty(), "one piece is freed at once");
    let mut memory = Vec::with_capacity(4 * PIECE);
    memory.resize(2 * PIECE + 1, 1);
    retired.add(None, Remains::of(memory));
    retired.add(None, Remains::of(vec![1; PIECE + 1]));
    let mut freed = Vec::new();
    while !retired.is_empty() {
        let before = retired.bytes();
        freed.push(retired.free_piece().0);
        assert!(retired.bytes() < before);
    }
    assert_eq!(freed, [PIECE, 1, PIECE, PIECE, 1]);
    assert_eq!((retired.bytes(), retired.free_piece()), (0, (0, 0)));
}

#[test]
fn memory_that_was_only_reserved_is_freed_with_the_first_piece() {
    let mut retired = Retired::default();
    let mut memory = Vec::with_capacity(8 * PIECE);
    memory.resize(PIECE + 1, 1);
    retired.add(None, Remains::of(memory));
    assert!(retired.bytes() >= 8 * PIECE);
    assert_eq!(retired.free_piece(), (PIECE, 0));
    assert!(retired.bytes() <= PIECE);
}

/// A buffer with the chunks of thousands of writers has as many pieces of memory.
#[test]
fn sequences_are_freed_in_pieces() {
    const WRITERS: usize = 2 * FREE_PIECE_SEQUENCES + 10;
    for version in [Version::V1, Version::V2] {
        let mut buffer = TraceBuffer::new(16 << 20, Policy::Ring, version).expect("memory");
        for number in 0..WRITERS as u16 {
            let meta = ChunkMeta {
                producer: ProducerId::new(1),
                identity: Identity::default(),
                writer: WriterId::new(number + 1),
                chunk: ChunkId::new(0),
                fragments: 1,
                flags: ChunkFlags::default(),
                complete: true,
            };
            buffer.copy_chunk(&meta, &[1, 2]);
        }
        let mut retired = Retired::default();
        retired.add(None, buffer.into_remains());
        let mut freed = Vec::new();
        while !retired.is_empty() {
            freed.push(retired.free_piece());
        }
        let piece = (0, FREE_PIECE_SEQUENCES);
        assert_eq!(freed, [piece, piece, (32 * WRITERS, 10)]);
    }
}
