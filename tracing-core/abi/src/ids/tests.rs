use super::*;

#[test]
fn chunk_ids_wrap() {
    let last = ChunkId(u32::MAX);
    assert_eq!(last.next(), ChunkId(0));
    assert_eq!(last.next().distance(last), 1);
    assert_eq!(last.distance(last.next()), -1);
}

#[test]
fn ids_print_as_what_they_are() {
    assert_eq!(format!("{:?} {}", WriterId(7), BufferId(3)), "WriterId(7) 3");
    assert!(BufferId::default().is_none());
}
