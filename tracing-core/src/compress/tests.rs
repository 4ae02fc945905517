use super::*;

#[test]
fn nothing_gives_nothing() {
    assert!(Codec::Deflate.compress(&[]).is_none());
}
