use super::Retired;

/// Bytes of a piece.
const PIECE: usize = 4 << 20;

#[test]
fn memory_is_freed_in_pieces_from_its_end() {
    let mut retired = Retired::default();
    retired.add(None, vec![1; PIECE]);
    assert!(retired.is_empty(), "one piece is freed at once");
    let mut memory = Vec::with_capacity(4 * PIECE);
    memory.resize(2 * PIECE + 1, 1);
    retired.add(None, memory);
    retired.add(None, vec![1; PIECE + 1]);
    let mut freed = Vec::new();
    while !retired.is_empty() {
        let before = retired.bytes();
        freed.push(retired.free_piece());
        assert!(retired.bytes() < before);
    }
    assert_eq!(freed, [PIECE, 1, PIECE, PIECE, 1]);
    assert_eq!((retired.bytes(), retired.free_piece()), (0, 0));
}

#[test]
fn memory_that_was_only_reserved_is_freed_with_the_first_piece() {
    let mut retired = Retired::default();
    let mut memory = Vec::with_capacity(8 * PIECE);
    memory.resize(PIECE + 1, 1);
    retired.add(None, memory);
    assert!(retired.bytes() >= 8 * PIECE);
    assert_eq!(retired.free_piece(), PIECE);
    assert!(retired.bytes() <= PIECE);
}
