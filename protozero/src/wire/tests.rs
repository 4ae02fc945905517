use super::{tag, varint, zigzag};
use std::vec::Vec;

/// A simple encoder to compare with.
fn slow(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let group = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(group);
            return out;
        }
        out.push(group | 0x80);
    }
}

fn edges() -> impl Iterator<Item = u64> {
    (0..64).flat_map(|bit| {
        let p = 1u64 << bit;
        [p - 1, p, p + 1, p | 1, !p, p.wrapping_mul(0x1234_5678_9abc_def1)]
    })
}

#[test]
fn every_width_equals_the_slow_encoder() {
    for v in edges().chain([0, u64::MAX]) {
        let want = slow(v);
        let mut out = [0; 10];
        let n = varint::encode(v, &mut out);
        assert_eq!(&out[..n], want, "{v:#x}");
        assert_eq!(varint::len(v), want.len(), "{v:#x}");
        let mut fast = Vec::new();
        if v < 1 << 56 {
            let (w, len) = varint::word(v);
            fast.extend_from_slice(&w.to_le_bytes()[..len]);
            assert_eq!(
                w.checked_shr(8 * len as u32).unwrap_or(0),
                0,
                "bytes past the varint stay zero"
            );
        } else {
            let (w, t, n) = varint::wide(v);
            fast.extend_from_slice(&w.to_le_bytes());
            fast.extend_from_slice(&t.to_le_bytes()[..n - 8]);
        }
        assert_eq!(fast, want, "{v:#x}");
        assert_eq!(varint::gather(varint::spread(v)), v & ((1 << 56) - 1));
    }
}

#[test]
fn padded_lengths() {
    // Values of proto_utils_unittest: RedundantVarIntEncoding.
    for (value, bytes) in [
        (0, [0x80, 0x80, 0x80, 0x00]),
        (1, [0x81, 0x80, 0x80, 0x00]),
        (0x80, [0x80, 0x81, 0x80, 0x00]),
        (0x33_2211, [0x91, 0xc4, 0xcc, 0x01]),
        (0x0fff_ffff, [0xff, 0xff, 0xff, 0x7f]),
    ] {
        assert_eq!(varint::padded(value), bytes, "{value:#x}");
    }
}

#[test]
fn tags() {
    for (number, want) in [
        (1, &[0x08][..]),
        (15, &[0x78]),
        (16, &[0x80, 0x01]),
        (127, &[0xf8, 0x07]),
        (128, &[0x80, 0x08]),
        (0x3fff, &[0xf8, 0xff, 0x07]),
        (0x4000, &[0x80, 0x80, 0x08]),
        (tag::NUMBER_MAX, &[0xf8, 0xff, 0xff, 0xff, 0x0f]),
    ] {
        let t = tag::Encoded::new(number, tag::VARINT);
        assert_eq!(&t.bytes.to_le_bytes()[..t.len], want, "{number}");
    }
}

#[test]
fn zig_zag() {
    for (v, want) in
        [(0, 0), (-1, 1), (1, 2), (-2, 3), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)]
    {
        assert_eq!(zigzag::encode64(v), want);
        assert_eq!(zigzag::decode64(want), v);
    }
    for (v, want) in [(0, 0), (-1, 1), (i32::MAX, u32::MAX - 1), (i32::MIN, u32::MAX)] {
        assert_eq!(zigzag::encode32(v), want);
        assert_eq!(zigzag::decode32(want), v);
    }
}
