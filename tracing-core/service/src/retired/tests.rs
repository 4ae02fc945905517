use super::Retired;
use crate::accounts::{Accounts, BufferCharge, Resource, User};
use crate::buffer::{ChunkMeta, Identity, Policy, Remains, TraceBuffer, Version};
use crate::limits::FREE_PIECE_SEQUENCES;
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

/// Bytes of a piece.
const PIECE: usize = 4 << 20;

#[test]
fn memory_is_freed_in_pieces_from_its_end() {
    let mut retired = Retired::default();
    retired.add(Remains::of(vec![1; PIECE]));
    assert!(retired.is_empty(), "one piece is freed at once");
    let mut memory = Vec::with_capacity(4 * PIECE);
    memory.resize(2 * PIECE + 1, 1);
    retired.add(Remains::of(memory));
    retired.add(Remains::of(vec![1; PIECE + 1]));
    let mut freed = Vec::new();
    while !retired.is_empty() {
        let before = retired.bytes();
        freed.push(retired.free_piece(&mut Accounts::default()).0);
        assert!(retired.bytes() < before);
    }
    assert_eq!(freed, [PIECE, PIECE, 1, PIECE, 1]);
    assert_eq!((retired.bytes(), retired.free_piece(&mut Accounts::default())), (0, (0, 0)));
}

#[test]
fn memory_that_was_only_reserved_is_freed_with_the_first_piece() {
    let mut retired = Retired::default();
    let mut memory = Vec::with_capacity(8 * PIECE);
    memory.resize(PIECE + 1, 1);
    retired.add(Remains::of(memory));
    assert!(retired.bytes() >= 8 * PIECE);
    assert_eq!(retired.free_piece(&mut Accounts::default()), (PIECE, 0));
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
        retired.add(buffer.into_remains());
        let mut freed = Vec::new();
        while !retired.is_empty() {
            freed.push(retired.free_piece(&mut Accounts::default()));
        }
        let piece = (0, FREE_PIECE_SEQUENCES);
        assert_eq!(freed, [piece, piece, (32 * WRITERS, 10)]);
    }
}

/// What came first is freed first, and is on the account of its user until then.
#[test]
fn nobody_waits_for_what_came_later() {
    let mut accounts = Accounts::default();
    let [first, later] = [42, 43].map(User::local);
    let mut charge = |uid| {
        let mut charge = BufferCharge::new(uid);
        charge.raise_to(100, &mut accounts).expect("room");
        charge
    };
    let mut retired = Retired::default();
    retired.add(Remains::of(vec![1; 4 * PIECE]));
    retired.add_charge(charge(42));
    let mut charges = (0..100).map(|_| charge(43)).collect::<Vec<_>>();
    for turn in 1..=4 {
        assert!(retired.has_of(first), "{turn}");
        retired.add(Remains::of(vec![1; 2 * PIECE]));
        charges.drain(..25).for_each(|charge| retired.add_charge(charge));
        retired.free_piece(&mut accounts);
    }
    assert!(!retired.has_of(first) && retired.has_of(later));
    assert_eq!(accounts.all(Resource::Buffers).collect::<Vec<_>>(), [100 * 100]);
    while !retired.is_empty() {
        retired.free_piece(&mut accounts);
    }
    assert_eq!(accounts.all(Resource::Buffers).sum::<usize>(), 0);
}
