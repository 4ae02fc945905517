//! The two validators agree with each other and with a plain reader.

use proptest::prelude::*;

use super::PacketStreamValidator;
use super::validate::is_reserved;

/// The rules again, written for one slice and byte by byte.
fn oracle(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let varint = |rest: &mut &[u8], bytes_max: usize| -> Option<u64> {
        let mut value = 0u64;
        for i in 0..bytes_max {
            let (byte, tail) = rest.split_first()?;
            *rest = tail;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    };
    while !rest.is_empty() {
        let Some(tag) = varint(&mut rest, 5) else { return false };
        if tag >> 32 != 0 || tag >> 3 == 0 || is_reserved((tag >> 3) as u32) {
            return false;
        }
        let skip = match tag & 7 {
            0 => varint(&mut rest, 10).map(|_| 0),
            1 => Some(8),
            2 => varint(&mut rest, 5).filter(|n| *n < 1 << 28),
            5 => Some(4),
            _ => None,
        };
        match skip {
            Some(n) if n as usize <= rest.len() => rest = &rest[n as usize..],
            _ => return false,
        }
    }
    true
}

/// Bytes that are often valid fields, sometimes not.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    let field = prop_oneof![
        (1u8..16, any::<u8>()).prop_map(|(f, v)| vec![f << 3, v & 0x7f]),
        (1u8..16, proptest::collection::vec(any::<u8>(), 0..20)).prop_map(|(f, v)| {
            let mut out = vec![f << 3 | 2, v.len() as u8];
            out.extend(v);
            out
        }),
        (1u8..16).prop_map(|f| [vec![f << 3 | 1], vec![7; 8]].concat()),
        (1u8..16).prop_map(|f| [vec![f << 3 | 5], vec![7; 4]].concat()),
        proptest::collection::vec(any::<u8>(), 0..14),
        proptest::collection::vec(0x7e_u8..=0x82, 0..14),
    ];
    proptest::collection::vec(field, 0..6).prop_map(|f| f.concat())
}

proptest! {
    #[test]
    fn agrees_with_oracle_however_cut(
        packet in packets(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let expected = oracle(&packet);
        prop_assert_eq!(PacketStreamValidator::validate(&[&packet]), expected);
        let mut at: Vec<usize> = cuts.iter().map(|c| c.index(packet.len() + 1)).collect();
        at.push(0);
        at.push(packet.len());
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|w| &packet[w[0]..w[1]]).collect();
        prop_assert_eq!(PacketStreamValidator::validate(&pieces), expected);
    }
}
