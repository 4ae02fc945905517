use super::*;

/// Reads a few bytes at a time.
struct Slow<'b>(&'b [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = buf.len().min(3);
        self.0.read(&mut buf[..len])
    }
}

fn places(input: impl Read) -> Vec<(Place, Vec<u8>)> {
    let mut packets = Packets::new(input);
    let mut found = Vec::new();
    while let Some(packet) = packets.next_packet().unwrap() {
        found.push((packet.place, packet.bytes.to_vec()));
    }
    found
}

fn place(packet: u64, offset: u64, unpacked_offset: Option<u64>) -> Place {
    Place { packet, offset, unpacked_offset }
}

#[test]
fn packets_have_their_place_however_they_arrive() {
    // Fields of the trace that are no packets are skipped.
    let bytes = b"\x0a\x02\x40\x01\x12\x01x\x18\x05\x0a\x00\x0a\x04\x40\x80\x80\x01";
    let expected = vec![
        (place(0, 2, None), b"\x40\x01".to_vec()),
        (place(1, 11, None), vec![]),
        (place(2, 13, None), b"\x40\x80\x80\x01".to_vec()),
    ];
    assert_eq!(places(bytes.as_slice()), expected);
    assert_eq!(places(Slow(bytes)), expected);
}

#[cfg(feature = "compressed")]
#[test]
fn compressed_packets_are_unpacked() {
    use std::io::Write;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(b"\x0a\x02\x40\x01\x0a\x02\x40\x02").unwrap();
    let stream = zlib.finish().unwrap();
    let mut bytes = vec![0x0a, stream.len() as u8 + 3, 0x92, 0x03, stream.len() as u8];
    bytes.extend(&stream);
    let behind = bytes.len() as u64 + 2;
    bytes.extend(b"\x0a\x02\x40\x03");
    let expected = vec![
        (place(0, 2, Some(2)), b"\x40\x01".to_vec()),
        (place(1, 2, Some(6)), b"\x40\x02".to_vec()),
        (place(2, behind, None), b"\x40\x03".to_vec()),
    ];
    assert_eq!(places(Slow(&bytes)), expected);
    // A broken stream costs its own packets only.
    bytes[9] ^= 0xff;
    let mut packets = Packets::new(io::Cursor::new(bytes));
    let mut errors = 0;
    let last = loop {
        match packets.next_packet() {
            Ok(Some(packet)) if packet.bytes == b"\x40\x03" => break packet.place.offset,
            Ok(Some(_)) => {}
            Ok(None) => panic!("the last packet is missing"),
            Err(error) => {
                assert!(error.is_recoverable());
                errors += 1;
            }
        }
    };
    assert_eq!((errors, last), (1, behind));
}

#[cfg(feature = "compressed")]
#[test]
fn compressed_packets_have_a_bound() {
    use std::io::Write;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(&b"\x0a\x02\x40\x01".repeat(100)).unwrap();
    let stream = zlib.finish().unwrap();
    let mut bytes = vec![0x0a, stream.len() as u8 + 3, 0x92, 0x03, stream.len() as u8];
    bytes.extend(&stream);
    let mut packets = Packets::new(bytes.as_slice());
    assert_eq!(packets.unpacked_bytes_max, UNPACKED_BYTES_MAX);
    packets.unpacked_bytes_max = 100;
    let mut count = 0;
    let error = loop {
        match packets.next_packet() {
            Ok(packet) => count += u64::from(packet.unwrap().bytes.len() == 2),
            Err(error) => break error.to_string(),
        }
    };
    assert_eq!(count, 25);
    assert!(error.ends_with("they unpack to more than 256 MiB"), "{error}");
}

#[cfg(feature = "compressed")]
#[test]
fn compressed_packets_of_a_file_have_a_bound() {
    // 1 MiB of padding in some KiB, again and again.
    let padding = [b"\x0a\x84\x80\x40\x32\x80\x80\x40".to_vec(), vec![0; 1 << 20]].concat();
    let one = crate::testing::zlib(&padding);
    assert!(one.len() as u64 * UNPACKED_PER_BYTE > 1 << 20, "{}", one.len());
    let read = |bytes: &[u8], unpacked_bytes_max| {
        let mut packets = Packets::new(bytes);
        packets.unpacked_bytes_max = unpacked_bytes_max;
        // As if the file were so much shorter.
        packets.unpacked_bytes = 1000 * bytes.len() as u64 - (4 << 20);
        let mut count = 0;
        loop {
            match packets.next_packet() {
                Ok(Some(_)) => count += 1,
                Ok(None) => return (count, None),
                Err(error) => {
                    assert!(!error.is_recoverable());
                    assert!(packets.next_packet().unwrap().is_none());
                    return (count, Some(error.to_string()));
                }
            }
        }
    };
    let bytes = one.repeat(20);
    assert_eq!(read(&bytes, 20 << 20), (20, None));
    let (count, error) = read(&bytes, 6 << 20);
    assert_eq!(count, 9);
    assert!(error.unwrap().contains("unpack to more than 1000 times the file"));
    assert_eq!(Packets::new(&bytes[..]).unpacked_left(), UNPACKED_BYTES_MAX);
}

#[test]
fn errors_say_where() {
    let error = |bytes: &[u8]| {
        let mut packets = Packets::new(bytes);
        loop {
            if let Err(error) = packets.next_packet() {
                assert!(packets.next_packet().unwrap().is_none());
                break error.to_string();
            }
        }
    };
    assert_eq!(
        error(b"\x0a\x00\x0a\x05abc"),
        "packet 1 at 2: the trace is cut off; copy the whole file"
    );
    assert_eq!(
        error(b"\x0a\x00\x07"),
        "packet 1 at 2: this is not a trace: field number out of range"
    );
}
