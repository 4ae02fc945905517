use super::*;

#[test]
fn chunk_ids_wrap() {
    let last = ChunkId::new(u32::MAX);
    assert_eq!(last.next(), ChunkId::new(0));
    assert_eq!(last.next().distance(last), 1);
    assert_eq!(last.distance(last.next()), -1);
}

#[test]
fn ids_print_as_what_they_are() {
    assert_eq!(format!("{:?} {}", WriterId::new(7), BufferId::new(3)), "WriterId(7) 3");
    assert!(BufferId::default().is_none());
}
