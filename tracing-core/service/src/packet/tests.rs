use super::{PacketStreamValidator, Slices};

/// Checks a packet whole and cut in two everywhere, and byte by byte.
#[track_caller]
fn check(bytes: &[u8], valid: bool) {
    assert_eq!(PacketStreamValidator::validate(&[bytes]), valid, "whole");
    for at in 0..=bytes.len() {
        let (a, b) = bytes.split_at(at);
        assert_eq!(PacketStreamValidator::validate(&[a, b]), valid, "cut at {at}");
    }
    let singles: Vec<&[u8]> = bytes.chunks(1).collect();
    if singles.len() != 1 {
        assert_eq!(PacketStreamValidator::validate(&singles), valid, "byte by byte");
    }
}

#[test]
fn null_packet() {
    check(&[], true);
    assert!(PacketStreamValidator::validate(&[]));
    assert!(PacketStreamValidator::validate(&[&[], &[]]));
}

#[test]
fn simple_packet() {
    // timestamp = 150; for_testing-like bytes; a fixed64, a fixed32.
    check(&[0x40, 0x96, 0x01], true);
    check(&[0x12, 0x03, 1, 2, 3], true);
    check(&[0x11, 1, 2, 3, 4, 5, 6, 7, 8], true);
    check(&[0x15, 1, 2, 3, 4], true);
    check(&[0x12, 0x00], true);
    // A redundant length, as the writers make them.
    check(&[0x12, 0x82, 0x80, 0x80, 0x00, 9, 9], true);
}

#[test]
fn complex_packet() {
    let mut packet = Vec::new();
    for field in 1u32..200 {
        if super::validate::is_reserved(field) {
            continue;
        }
        for wire in [0u32, 1, 2, 5] {
            let tag = field << 3 | wire;
            if tag >= 0x80 {
                packet.push((tag & 0x7f) as u8 | 0x80);
                packet.push((tag >> 7) as u8);
            } else {
                packet.push(tag as u8);
            }
            match wire {
                0 => packet.extend([0xff, 0x01]),
                1 => packet.extend([0x1a; 8]),
                2 => packet.extend([2, 0x18, 0x07]), // looks like trusted_uid, but nested
                _ => packet.extend([0x1a; 4]),
            }
        }
    }
    assert!(PacketStreamValidator::validate(&[&packet]));
    for at in (0..packet.len()).step_by(7) {
        let (a, b) = packet.split_at(at);
        assert!(PacketStreamValidator::validate(&[a, b]));
    }
}

#[test]
fn reserved_fields() {
    for field in [3u32, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133] {
        for wire in [0u32, 1, 2, 5] {
            let tag = u64::from(field << 3 | wire);
            let mut packet = varint(tag);
            packet.extend([0; 8]);
            assert!(!PacketStreamValidator::validate(&[&packet]), "{field} {wire}");
        }
        // An id that is only reserved once its upper bits are cut off.
        let mut packet = varint(((1u64 << 32) + u64::from(field)) << 3);
        packet.push(1);
        check(&packet, false);
    }
    // What a producer may write though the service writes it too.
    for field in [6u64, 46, 45, 89, 107, 72, 134, 42] {
        let mut packet = varint(field << 3);
        packet.push(1);
        check(&packet, true);
    }
}

#[test]
fn trusted_uid_after_valid_fields() {
    check(&[0x40, 0x01, 0x18, 0x07], false);
}

#[test]
fn malformed_ends() {
    check(&[0x40], false);
    check(&[0x40, 0x96], false);
    check(&[0x12, 0x03, 1, 2], false);
    check(&[0x12, 0x80], false);
    check(&[0x12], false);
    check(&[0x11, 1, 2, 3, 4, 5, 6, 7], false);
    check(&[0x15, 1, 2, 3], false);
    check(&[0x80], false);
}

#[test]
fn lengths() {
    let mut packet = vec![0x12];
    packet.extend(varint(1 << 28));
    packet.extend([0; 64]);
    check(&packet, false);
    let mut packet = vec![0x12];
    packet.extend(varint(u64::MAX));
    check(&packet, false);
}

#[test]
fn wire_types() {
    for wire in [3u8, 4, 6, 7] {
        check(&[0x08 | wire, 0, 0, 0], false);
    }
}

#[test]
fn overlong_varints() {
    let mut value = vec![0x40];
    value.extend([0xff; 9]);
    value.push(0x01);
    check(&value, true);
    let mut value = vec![0x40];
    value.extend([0x80; 10]);
    value.push(0x01);
    check(&value, false);
    // Strict parsers take no more than five bytes for a tag or a length.
    for (zeros, valid) in [(3, true), (4, false), (8, false)] {
        let mut tag = vec![0xc0];
        tag.extend(vec![0x80; zeros]);
        tag.extend([0x00, 0x05]);
        check(&tag, valid);
        let mut length = vec![0x12, 0x81];
        length.extend(vec![0x80; zeros]);
        length.extend([0x00, b'x']);
        check(&length, valid);
    }
}

/// What parsers take for another field, or refuse with the whole trace.
#[test]
fn numbers_that_no_field_has() {
    for field in [3u64, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133, 900] {
        let mut packet = varint(field << 3 | 1 << 32);
        packet.push(5);
        check(&packet, false);
    }
    check(&[0, 0], false);
    check(&[0x02, 1, b'x'], false);
    let mut largest = varint(u64::from(u32::MAX) & !7);
    largest.push(5);
    check(&largest, true);
}

/// A varint field behind `packet`.
fn with_field(mut packet: Vec<u8>, field: u64, value: i64) -> Vec<u8> {
    packet.extend(varint(field << 3));
    packet.extend(varint(value as u64));
    packet
}

/// A timestamp and a nested message.
fn some() -> Vec<u8> {
    vec![0x40, 0x96, 0x01, 0xa2, 0x38, 3, 0x0a, 1, b'x']
}

/// A message of many fields, cut in two within one of them.
fn check_fragments(bytes: &[u8], valid: bool) {
    for at in 0..=bytes.len() {
        let (a, b) = bytes.split_at(at);
        for middle in 0..b.len() {
            let (b, c) = b.split_at(middle);
            assert_eq!(PacketStreamValidator::validate(&[a, b, c]), valid);
        }
    }
}

fn longer() -> Vec<u8> {
    [some(), vec![0x12, 2, 8, 1], some()].concat()
}

#[test]
fn simple_packet_with_uid() {
    check(&with_field(some(), 3, 42), false);
}

#[test]
fn simple_packet_with_zero_uid() {
    check(&with_field(some(), 3, 0), false);
}

#[test]
fn simple_packet_with_negative_one_uid() {
    check(&with_field(some(), 3, -1), false);
}

#[test]
fn simple_packet_with_pid() {
    check(&with_field(some(), 79, 42), false);
}

#[test]
fn simple_packet_with_zero_pid() {
    check(&with_field(some(), 79, 0), false);
}

#[test]
fn simple_packet_with_negative_one_pid() {
    check(&with_field(some(), 79, -1), false);
}

#[test]
fn simple_packet_with_machine_id() {
    check(&with_field(some(), 98, 42), false);
}

#[test]
fn simple_packet_with_zero_machine_id() {
    check(&with_field(some(), 98, 0), false);
}

#[test]
fn complex_packet_with_uid() {
    check(&with_field(longer(), 3, 42), false);
}

#[test]
fn complex_packet_with_pid() {
    check(&with_field(longer(), 79, 42), false);
}

#[test]
fn simple_packet_with_service_event() {
    check(&[some(), vec![0xaa, 0x04, 2, 0x10, 1]].concat(), false);
}

#[test]
fn simple_packet_with_trace_provenance() {
    check(&[some(), vec![0xe2, 0x07, 0]].concat(), false);
}

#[test]
fn simple_packet_with_proto_vms() {
    check(&[some(), vec![0xea, 0x07, 0]].concat(), false);
}

#[test]
fn fragmented_packet() {
    check_fragments(&[some(), some()].concat(), true);
}

#[test]
fn fragmented_packet_with_uid() {
    check_fragments(&with_field(some(), 3, 42), false);
}

#[test]
fn fragmented_packet_with_pid() {
    check_fragments(&with_field(some(), 79, 42), false);
}

#[test]
fn truncated_packet() {
    let packet = some();
    // Where one field ends and the next begins, a prefix is a packet of its own.
    for len in (0..packet.len()).filter(|len| ![0, 3].contains(len)) {
        check(&packet[..len], false);
    }
}

#[test]
fn trailing_garbage() {
    for garbage in [&b"and some words behind it"[..], &[0xff], &[0x07], &[0x12, 9]] {
        check(&[&some(), garbage].concat(), false);
    }
}

#[test]
fn slices_read_as_one_packet() {
    let one = Slices::one(b"abc");
    assert_eq!((one.len(), one.bytes_len(), one.to_vec()), (1, 3, b"abc".to_vec()));
    let many: Slices<'_> = [&b"ab"[..], b"", b"c"].into_iter().collect();
    assert_eq!((many.len(), many.bytes_len(), many.to_vec()), (3, 3, b"abc".to_vec()));
    let none: Slices<'_> = core::iter::empty().collect();
    assert!(none.is_empty());
}

pub(super) fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}
