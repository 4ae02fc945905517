use super::*;
use bytes::Buf as _;

fn sent(len: usize) -> Bytes {
    let mut bytes = Bytes::from(vec![1; len]);
    bytes.advance(len);
    bytes
}

#[test]
fn memory_is_recycled_only_while_in_use() {
    let mut pool = BufferPool::default();
    pool.give(sent(POOL_BYTES_MIN));
    assert_eq!(pool.take().capacity(), 0, "not in use");
    pool.set_in_use(true);
    pool.give(sent(POOL_BYTES_MIN));
    pool.give(sent(POOL_BYTES_MIN - 1));
    let bytes = Bytes::from(vec![1; POOL_BYTES_MIN]);
    let held = bytes.clone();
    pool.give(bytes);
    drop(held);
    assert_eq!(pool.take().capacity(), POOL_BYTES_MIN);
    assert_eq!(pool.take().capacity(), 0);
    for _ in 0..10 {
        pool.give(sent(POOL_BYTES_MAX / 4));
    }
    assert_eq!((pool.kept.len(), pool.bytes), (4, POOL_BYTES_MAX));
    pool.set_in_use(false);
    assert_eq!((pool.kept.len(), pool.bytes), (0, 0));
}
