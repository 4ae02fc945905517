use protos::{ReadBuffersResponse, ReadBuffersResponseSlice};
use protozero::Message as _;

use super::*;

fn slice(data: &[u8], last: bool) -> ReadBuffersResponseSlice {
    ReadBuffersResponseSlice {
        data: Some(data.to_vec()),
        last_slice_for_packet: last.then_some(true),
        ..Default::default()
    }
}

fn reply(slices: Vec<ReadBuffersResponseSlice>) -> Vec<u8> {
    ReadBuffersResponse { slices, ..Default::default() }.encode_to_vec()
}

/// Packets of some replies, and the file they make.
fn read(replies: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut packets, mut writer) = (Vec::new(), TraceFileWriter::new(Vec::new()));
    let mut reader = ReplyReader::new();
    for reply in replies {
        let take = |packet: ReadPacket<'_>| {
            packets.push(packet.bytes().to_vec());
            writer.write(packet)
        };
        reader.read(reply, take).unwrap();
    }
    writer.flush().unwrap();
    let bytes = packets.iter().map(|packet| packet.len() as u64).sum();
    assert_eq!(reader.summary(), ReadSummary { packets: packets.len() as u64, bytes });
    (packets, writer.get_ref().clone())
}

#[test]
fn whole_packets() {
    let large = vec![7; 100_000];
    let (packets, file) = read(&[
        reply(vec![slice(b"a", true), slice(b"", true), slice(&[9; 128], true)]),
        reply(vec![slice(&large, true)]),
    ]);
    assert_eq!(packets, [&b"a"[..], b"", &[9; 128], &large]);
    assert_eq!(file[..5], [0x0a, 1, b'a', 0x0a, 0]);
    assert_eq!(file.len(), 3 + 2 + 131 + 100_004);
}

#[test]
fn packets_over_slices_and_replies() {
    let (packets, file) = read(&[
        reply(vec![slice(b"a", false), slice(b"", false), slice(b"b", true), slice(b"c", false)]),
        reply(vec![]),
        reply(vec![slice(b"d", false)]),
        reply(vec![slice(b"", true), slice(b"e", true)]),
    ]);
    assert_eq!(packets, [&b"ab"[..], b"cd", b"e"]);
    assert_eq!(file, b"\x0a\x02ab\x0a\x02cd\x0a\x01e");
}

/// Fields in another order, lengths in other widths, fields of the future.
#[test]
fn replies_of_other_services() {
    let odd = [
        &[0x12, 5, 0x10, 1, 0x0a, 1, b'a'][..],
        &[0x12, 0x86, 0x80, 0x80, 0x00, 0x0a, 0x81, 0x00, b'b', 0x10, 1],
        &[0x18, 1, 0x12, 8, 0x0a, 1, b'c', 0x10, 1, 0x1a, 1, 0],
        &[0x12, 6, 0x0a, 1, b'x', 0x0a, 1, b'd', 0x12, 2, 0x10, 1],
    ]
    .concat();
    let (packets, _) = read(&[odd]);
    assert_eq!(packets, [&b"a"[..], b"b", b"c", b"d"]);
}

#[test]
fn malformed_replies() {
    for bytes in [&[0x12][..], &[0x12, 4, 0x0a, 9, 0x10, 1], &[0x12, 9, 0x0a], &[0x0b]] {
        let read = ReplyReader::new().read(bytes, |_| Ok(()));
        assert!(matches!(read, Err(ReadError::Malformed(_))), "{bytes:x?}");
    }
}

#[test]
fn who_takes_can_end_it() {
    let replies = reply(vec![slice(b"a", true), slice(b"b", true)]);
    let mut taken = 0;
    let read = ReplyReader::new().read(&replies, |_| {
        taken += 1;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert!(matches!(read, Err(ReadError::Taking(_))));
    assert_eq!(taken, 1);
}

#[test]
fn writes_end_with_whole_packets() {
    struct Ends(Vec<usize>, usize);
    impl Write for Ends {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 += bytes.len();
            self.0.push(self.1);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut writer = TraceFileWriter::new(Ends(Vec::new(), 0));
    let mut ends = vec![0];
    for len in [10, WRITE_BYTES - 100, 300, WRITE_BYTES * 2, 5, WRITE_BYTES - 20, 100] {
        let framed = vec![1; len];
        writer.write(ReadPacket { framed: &framed, head_len: 1 }).unwrap();
        ends.push(ends.last().unwrap() + len);
    }
    writer.flush().unwrap();
    let Ends(written, all) = writer.get_ref();
    assert_eq!(all, ends.last().unwrap());
    assert!(written.iter().all(|end| ends.contains(end)), "{written:?} {ends:?}");
}

/// A service could send slices without an end.
#[test]
fn a_packet_in_slices_has_a_limit() {
    const SLICE: usize = 1 << 20;
    let mut reader = ReplyReader::new();
    let part = reply(vec![slice(&vec![7; SLICE], false)]);
    let mut read = |reply: &[u8]| {
        let mut packets = 0;
        let result = reader.read(reply, |packet| {
            assert_eq!(packet.bytes().len(), JOINED_BYTES_MAX);
            packets += 1;
            Ok(())
        });
        result.map(|()| packets)
    };
    for _ in 0..JOINED_BYTES_MAX / SLICE {
        assert_eq!(read(&part).unwrap(), 0);
    }
    assert_eq!(read(&reply(vec![slice(b"", true)])).unwrap(), 1);
    for _ in 0..JOINED_BYTES_MAX / SLICE {
        assert_eq!(read(&part).unwrap(), 0);
    }
    let error = read(&part).unwrap_err();
    assert!(matches!(error, ReadError::TooLong));
    let text = ConsumerError::from(error).to_string();
    assert_eq!(text, "the service's answer to ReadBuffers has more than 64 MiB in one piece");
    // The rest of that packet is no packet.
    assert_eq!(read(&part).unwrap(), 0);
    let next = vec![7; JOINED_BYTES_MAX];
    assert_eq!(read(&reply(vec![slice(b"a", true), slice(&next, true)])).unwrap(), 1);
}

#[test]
fn the_state_of_a_service_has_a_limit() {
    use crate::consumer::join_state;
    // Field 1 with so many bytes.
    let part = |bytes: usize| {
        let mut digits = [0; varint::LEN_MAX];
        let width = varint::encode(bytes as u64, &mut digits);
        [&[PACKET_TAG], &digits[..width], &vec![7; bytes]].concat()
    };
    let mut state = Vec::new();
    join_state(&mut state, &part(JOINED_BYTES_MAX)).unwrap();
    let error = join_state(&mut state, &part(1)).unwrap_err();
    assert!(matches!(error, ConsumerError::AnswerTooLong("QueryServiceState")), "{error}");
    assert_eq!(state.len(), JOINED_BYTES_MAX);
}
