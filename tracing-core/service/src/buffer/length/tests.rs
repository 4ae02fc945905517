use super::*;

#[test]
fn takes_four_bytes_or_none() {
    for value in [0, 1, 0x7f, 0x80, 0x3fff, 0x1f_ffff, 0x20_0000, 0x0fff_ffff, 0x0abc_def1] {
        let byte = |i: u32| (value >> (7 * i) & 0x7f) as u8 | if i < 3 { 0x80 } else { 0 };
        let bytes = [byte(0), byte(1), byte(2), byte(3)];
        assert_eq!(of_four_bytes(bytes), Some(value));
        for i in 0..4 {
            let mut other = bytes;
            other[i] ^= 0x80;
            assert_eq!(of_four_bytes(other), None);
        }
    }
}
