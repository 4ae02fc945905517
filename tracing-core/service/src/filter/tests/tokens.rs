//! The fields of a message: tests named as in `message_tokenizer_unittest.cc`.

use super::super::message::{Token, token};
use super::*;

/// All fields up to the end or an error.
fn tokens(bytes: &[u8]) -> (Vec<(u64, Token)>, Option<FilterError>) {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match token(bytes, at, bytes.len()) {
            Ok((field, token, next)) => {
                at = next
                    + match token {
                        Token::Varint(_) => 0,
                        Token::Fixed64 => 8,
                        Token::Fixed32 => 4,
                        Token::Len(len) => len,
                    };
                all.push((field, token));
            }
            Err(error) => return (all, Some(error)),
        }
    }
    (all, None)
}

#[test]
fn flat_message() {
    let bytes = [
        &[0x08, 0x00, 0x10, 0xff, 0x01][..],
        &[0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x2a, 0x03, b'a', b'b', b'c', 0xfa, 0xff, 0xff, 0xff, 0x0f, 0x00],
    ]
    .concat();
    let expected = [
        (1, Token::Varint(0)),
        (2, Token::Varint(255)),
        (3, Token::Fixed32),
        (4, Token::Fixed64),
        (5, Token::Len(3)),
        ((1 << 29) - 1, Token::Len(0)),
    ];
    assert_eq!(tokens(&bytes), (expected.to_vec(), None));
}

#[test]
fn nested_message() {
    let bytes = [0x0a, 0x06, 0x12, 0x04, 0x1a, 0x02, 0x08, 0x01];
    assert_eq!(tokens(&bytes), (vec![(1, Token::Len(6))], None));
    assert_eq!(tokens(&bytes[2..]), (vec![(2, Token::Len(4))], None));
    assert_eq!(tokens(&bytes[6..]), (vec![(1, Token::Varint(1))], None));
}

#[test]
fn invlid_cases() {
    for wire in [3, 4, 6, 7] {
        let (fields, error) = tokens(&[0x08, 1, 0x10 | wire, 0]);
        assert_eq!(fields.len(), 1);
        assert_eq!(error, Some(FilterError::WireType { offset: 2 }));
    }
    // A length of 2^28, and a length that leads out of the message.
    for length in [&[0x80, 0x80, 0x80, 0x80, 0x01][..], &[0x05, 1, 2, 3, 4]] {
        let (_, error) = tokens(&[&[0x0a], length].concat());
        assert_eq!(error, Some(FilterError::Length { offset: 1 }));
    }
    let long = [[0x08].as_slice(), &[0x80; 10], &[1]].concat();
    assert_eq!(tokens(&long).1, Some(FilterError::Varint { offset: 1 }));
    assert_eq!(tokens(&long[1..]).1, Some(FilterError::Varint { offset: 0 }));
    for cut in [&[0x80][..], &[0x08], &[0x08, 0x80], &[0x0a], &[0x0a, 0x80], &[0x0d, 1, 2, 3]] {
        assert_eq!(tokens(cut).1, Some(FilterError::Truncated { offset: cut.len() }));
    }
    // Upstream ignores the first, and reads the content of the second as fields.
    for zero in [&[0x00, 0x01][..], &[0x02, 0x02, 0x08, 0x01]] {
        assert_eq!(tokens(zero).1, Some(FilterError::FieldZero { offset: 0 }));
    }
}
