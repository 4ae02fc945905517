//! Codecs of the service, over packets of producers.

use std::io::Read as _;

use service::compress::{Codec, Job, Progress};

/// The longest stream. Blocks and windows of the codecs are shorter.
const STREAM_BYTES_MAX: usize = 1 << 20;
/// The most pieces of a stream.
const PIECES_MAX: usize = 64;

/// Any stream, by any codec and level, in pieces of any size: each piece is one step, the packet is within the memory
/// that the job said, and other decoders unpack the same.
pub fn codecs(input: &[u8]) {
    let Some((&[kind, level, piece], input)) = input.split_first_chunk() else { return };
    let codec = match kind & 1 {
        0 => Codec::Deflate,
        _ => Codec::Zstd(level.cast_signed().into()),
    };
    // What repeats is found far back, and fills several blocks.
    let mut stream = input.repeat(1 << (kind >> 1 & 15));
    stream.truncate(STREAM_BYTES_MAX);
    let piece = (1 << (piece % 21)).max(stream.len().div_ceil(PIECES_MAX)).max(1);
    let mut job = Job::new(codec, stream.clone());
    let memory_bytes = job.memory_bytes();
    for _ in 1..stream.len().div_ceil(piece) {
        assert!(matches!(job.step(piece), Progress::More), "a piece is one step");
    }
    match job.step(piece) {
        Progress::Compressed(packet) => {
            let bytes: Vec<u8> = packet.slices().flatten().copied().collect();
            assert!(bytes.len() <= memory_bytes, "{} of {memory_bytes} bytes", bytes.len());
            assert!(unpack(codec, &bytes) == stream, "another stream");
        }
        Progress::Failed => assert!(stream.is_empty(), "the codec failed"),
        Progress::More => panic!("nothing is left"),
    }
    assert!(job.is_over());
}

/// The stream in a packet.
fn unpack(codec: Codec, packet: &[u8]) -> Vec<u8> {
    let mut reader = protozero::Reader::new(packet);
    let field = reader.next_field().expect("a packet").expect("a field");
    assert!(field.number == codec.field() && reader.next_field() == Ok(None));
    let mut rest = field.value.bytes().expect("a stream");
    let mut out = Vec::new();
    match codec {
        Codec::Deflate => {
            flate2::read::ZlibDecoder::new(rest).read_to_end(&mut out).expect("zlib");
        }
        Codec::Zstd(_) => {
            let mut frame = ruzstd::decoding::StreamingDecoder::new(&mut rest).expect("a frame");
            frame.read_to_end(&mut out).expect("zstd");
            drop(frame);
            assert!(rest.is_empty(), "one frame");
        }
    }
    out
}
