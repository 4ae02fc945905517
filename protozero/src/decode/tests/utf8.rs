//! The inline UTF-8 check agrees with the standard library.

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::utf8::utf8;

fn check(bytes: &[u8]) {
    assert_eq!(utf8(bytes).ok(), core::str::from_utf8(bytes).ok(), "{bytes:02x?}");
}

#[test]
fn one_bad_byte_anywhere_in_any_length() {
    // All lengths with a code path of their own, and some others; Miri gets the ends of each path.
    let ends = [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33];
    for len in (0..70).filter(|len| !cfg!(miri) || ends.contains(len)) {
        let mut bytes = vec![b'a'; len];
        check(&bytes);
        for at in 0..len {
            for bad in [0x7f, 0x80, 0xc3, 0xff] {
                bytes[at] = bad;
                check(&bytes);
            }
            bytes[at] = b'a';
        }
    }
}

proptest! {
    #[test]
    fn any_text(text in "\\PC{0,40}", cut in 0..9usize) {
        check(text.as_bytes());
        check(text.as_bytes().get(cut..).unwrap_or_default());
    }

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..50)) {
        check(&bytes);
        let ascii: Vec<_> = bytes.iter().map(|byte| byte & 0x7f).collect();
        check(&ascii);
    }
}
