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

/// Shared bytes are a text only if they were checked, or are those of a text.
#[cfg(feature = "bytes")]
#[test]
fn one_bad_byte_is_no_shared_text() {
    use std::string::String;

    use super::super::{CheckedBytes, DecodeContext, DecodeMemory};
    use bytes::Bytes;

    let checked = |bytes: Bytes| CheckedBytes::new(bytes).map(|text| String::from(text.as_str()));
    assert_eq!(checked(Bytes::from_static(b"ab")), Ok("ab".into()));
    assert_eq!(checked(Bytes::from_static(b"a\xff")), Err(crate::DecodeErrorKind::Utf8));

    let whole = Bytes::from(b"abcdef".to_vec());
    let input = whole.slice(1..4);
    let memory = DecodeMemory::sharing(0, &input);
    let context = DecodeContext::new().with_growth(&memory);
    let share = |text: &str, context: DecodeContext<'_>| {
        CheckedBytes::share(text, |part| context.share(part))
            .map(|text| String::from(text.as_str()))
    };
    let text = |from: usize, to: usize| core::str::from_utf8(&whole[from..to]).unwrap();
    assert_eq!(share(text(1, 4), context), Some("bcd".into()));
    assert_eq!(share(text(2, 3), context), Some("c".into()));
    // Not all of it is in the input, nothing of it is, or there is no input.
    for outside in [text(0, 2), text(2, 5), text(4, 6), "bcd"] {
        assert_eq!(share(outside, context), None);
    }
    assert_eq!(share(text(1, 4), DecodeContext::new()), None);
}
