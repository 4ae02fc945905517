use super::*;

/// Bytes of these lengths, in fields with the numbers 1, 2, ...
struct Parts(Vec<usize>);

impl Encode for Parts {
    fn encode_fields<O: Output>(&self, out: &mut O) {
        for (index, len) in self.0.iter().enumerate().rev() {
            let number = index as u8 + 1;
            out.field(number.into(), &alloc::vec![number; *len]);
        }
    }
}

impl Parts {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (len, number) in self.0.iter().zip(1..) {
            bytes.push(number << 3 | 2);
            match *len {
                0..0x80 => bytes.push(*len as u8),
                _ => bytes.extend([*len as u8 | 0x80, (*len >> 7) as u8]),
            }
            bytes.extend(core::iter::repeat_n(number, *len));
        }
        bytes
    }
}

/// Lengths around those of the buffers, in one field or in several.
#[test]
fn a_message_is_the_same_in_each_buffer() {
    for len in [0, 1, 5, 506, 507, 508, 509, 510, 511, 4093, 4094, 4600, 9000] {
        for parts in [Parts(alloc::vec![len]), Parts(alloc::vec![len / 3, 2, 300, len / 2, 9])] {
            let expected = parts.bytes();
            assert_eq!(count(&parts), expected.len());
            assert_eq!(to_vec(&parts, false).unwrap(), expected);
            let framed = to_vec(&parts, true).unwrap();
            assert!(framed.ends_with(&expected) && framed.len() > expected.len());
            let same = encoded(&parts, true, |bytes| Ok(bytes == framed));
            assert_eq!(same, Ok(true));
            let mut buffer = alloc::vec![0xaa; expected.len() + 3];
            assert_eq!(to_front(&parts, &mut buffer), Ok(expected.len()));
            assert_eq!(buffer[..expected.len()], expected);
            let capacity = expected.len() - 1;
            let full = to_front(&parts, &mut buffer[..capacity]);
            assert_eq!(full, Err(WriteError::Full { capacity }));
            assert_eq!(to_front(&parts, &mut []), Err(WriteError::Full { capacity: 0 }));
            let mut exact = alloc::vec![0; expected.len()];
            assert_eq!(to_front(&parts, &mut exact), Ok(expected.len()));
            assert_eq!(exact, expected);
        }
    }
}
