use super::testing::encode;
use super::*;

/// Bytes that services and their tools have agreed on.
#[test]
fn golden_bytecode() {
    let none: [u32; 0] = [];
    assert_eq!(encode(&none), [0xa5, 0xc6, 0x88, 0xa1, 0x08]);
    assert_eq!(encode(&[9, 0]), [0x09, 0x00, 0xac, 0x81, 0x95, 0xa5, 0x07]);
    assert_eq!(encode(&[1, 0x1d, 2]), [0x01, 0x1d, 0x02, 0xbb, 0xf3, 0xba, 0xa2, 0x05]);
    assert_eq!(Program::parse(&encode(&none), None).unwrap().message_count(), 0);
}
