use super::*;

/// One that has many sessions does not get more turns.
#[test]
fn users_compress_in_turn() {
    let mut queue = CompressionQueue::default();
    let session = SessionId::new;
    (1..=3).for_each(|id| queue.push(7, session(id)));
    queue.push(7, session(2));
    queue.push(8, session(10));
    let mut order = Vec::new();
    for _ in 0..4 {
        let id = queue.pop().unwrap();
        // It has more pieces.
        queue.push(if id == session(10) { 8 } else { 7 }, id);
        order.push(id);
    }
    assert_eq!(order, [1, 10, 2, 10].map(session));
    let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
    assert_eq!(rest, [3, 10, 1, 2].map(session));
    assert!(queue.is_empty());
}
