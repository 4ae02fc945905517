use super::*;
use bytes::Buf as _;

fn sent(len: usize) -> Bytes {
    let mut bytes = Bytes::from(vec![1; len]);
    bytes.advance(len);
    bytes
}

#[test]
fn what_was_sent_is_used_again_while_somebody_reads() {
    let mut spares = Spares::default();
    spares.give(sent(SPARE_BYTES_MIN));
    assert_eq!(spares.take().capacity(), 0, "nobody reads");
    spares.want(true);
    spares.give(sent(SPARE_BYTES_MIN));
    spares.give(sent(SPARE_BYTES_MIN - 1));
    let bytes = Bytes::from(vec![1; SPARE_BYTES_MIN]);
    let held = bytes.clone();
    spares.give(bytes);
    drop(held);
    assert_eq!(spares.take().capacity(), SPARE_BYTES_MIN);
    assert_eq!(spares.take().capacity(), 0);
    for _ in 0..10 {
        spares.give(sent(SPARE_BYTES_MAX / 4));
    }
    assert_eq!((spares.kept.len(), spares.bytes), (4, SPARE_BYTES_MAX));
    spares.want(false);
    assert_eq!((spares.kept.len(), spares.bytes), (0, 0));
}
