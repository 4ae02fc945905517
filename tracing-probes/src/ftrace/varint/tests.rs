use protozero::wire::varint;

use super::{LONG_END, SHORT_END, long, short};

/// Around each power of two, where lengths change.
fn values(end: u64) -> impl Iterator<Item = u64> {
    let near = (0..64).map(|bit| 1_u64 << bit).flat_map(|at| at.saturating_sub(2)..=at + 2);
    near.filter(move |value| *value < end).chain([0, end - 1])
}

#[test]
fn as_any_value_is_encoded() {
    for value in values(SHORT_END) {
        let (word, len) = short(u32::try_from(value).unwrap());
        assert_eq!((u64::from(word), len), varint::word(value), "{value:x}");
    }
    for value in values(LONG_END) {
        assert_eq!(long(value), varint::word(value), "{value:x}");
    }
}
