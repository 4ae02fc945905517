//! Tests named as in the suites of the compressors, for each codec.

use std::io::Read as _;

use protos::{
    TraceConfig, TraceConfigCompressionConfig as Config, TraceConfigCompressionConfigDeflate,
    TraceConfigCompressionConfigZstd, TraceConfigCompressionType as Legacy,
};

use super::encoder::Encoder;
use super::*;
use crate::limits;

/// `count` packets of `len` bytes as fields of a trace; random bytes cannot be compressed.
fn trace(count: usize, len: usize, random: bool) -> Vec<u8> {
    let mut state = 1u64;
    let mut out = Vec::new();
    for number in 0..count {
        out.push(0x0a);
        let mut digits = [0; protozero::wire::varint::LEN_MAX];
        let width = protozero::wire::varint::encode(len as u64, &mut digits);
        out.extend_from_slice(&digits[..width]);
        out.extend((0..len).map(|at| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if random { (state >> 56) as u8 } else { (number + at / 7) as u8 }
        }));
    }
    out
}

/// The decompressed content of a packet.
fn unpack(codec: Codec, packet: &Compressed) -> Vec<u8> {
    let bytes: Vec<u8> = packet.slices().flatten().copied().collect();
    let mut reader = protozero::Reader::new(&bytes);
    let field = reader.next_field().unwrap().unwrap();
    assert!(reader.next_field().unwrap().is_none(), "nothing but the stream");
    assert_eq!(field.number, codec.field());
    let protozero::Value::Len(stream) = field.value else { panic!("not bytes") };
    let mut out = Vec::new();
    match codec {
        Codec::Deflate => {
            flate2::read::ZlibDecoder::new(stream).read_to_end(&mut out).unwrap();
        }
        Codec::Zstd(_) => {
            let mut rest = stream;
            ruzstd::decoding::StreamingDecoder::new(&mut rest)
                .unwrap()
                .read_to_end(&mut out)
                .unwrap();
            assert!(rest.is_empty(), "one frame");
        }
    }
    out
}

fn round_trip(codec: Codec, stream: &[u8]) {
    let packet = codec.compress(stream).expect("something");
    assert_eq!(unpack(codec, &packet), stream);
}

fn slices(codec: Codec, stream: &[u8]) {
    let packet = codec.compress(stream).expect("something");
    assert!(packet.slices().count() > 3);
    assert!(packet.slices().all(|slice| slice.len() <= limits::SLICE_BYTES_MAX));
    assert_eq!(unpack(codec, &packet), stream);
}

fn len(codec: Codec, stream: &[u8]) -> usize {
    codec.compress(stream).expect("something").slices().map(<[u8]>::len).sum()
}

/// Words in random order, which take a search to compress.
fn text() -> Vec<u8> {
    let words =
        ["sched", "switch", "prev", "next", "comm", "pid", "prio", "state", "cpu", "wakeup"];
    let mut state = 7u64;
    let mut out = Vec::new();
    while out.len() < 400_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        out.extend_from_slice(words[(state >> 33) as usize % words.len()].as_bytes());
        out.push(b'0' + (state >> 60) as u8 % 10);
    }
    out
}

mod deflate {
    use super::*;

    const CODEC: Codec = Codec::Deflate;

    #[test]
    fn empty() {
        assert!(CODEC.compress(&[]).is_none());
    }

    #[test]
    fn end2_end_compress_and_decompress() {
        round_trip(CODEC, &trace(1, 5, false));
        round_trip(CODEC, &trace(20, 30, true));
    }

    #[test]
    fn max_slice_size() {
        slices(CODEC, &trace(1, 500_000, true));
    }

    #[test]
    fn many_packets_preserve_order() {
        round_trip(CODEC, &trace(10_000, 13, false));
    }

    #[test]
    fn multi_slice_output_round_trip() {
        slices(CODEC, &trace(50, 20_000, true));
    }

    #[test]
    fn a_packet_of_megabytes() {
        round_trip(CODEC, &trace(1, 3_000_000, false));
    }

    /// There is one level. Its output is smaller than that of a level without a search.
    #[test]
    fn compression_level_is_honored() {
        let text = text();
        let mut fast = Vec::new();
        flate2::read::ZlibEncoder::new(&text[..], flate2::Compression::new(1))
            .read_to_end(&mut fast)
            .unwrap();
        assert!(len(CODEC, &text) < fast.len());
    }
}

mod zstd {
    use super::*;

    const CODEC: Codec = Codec::Zstd(0);

    #[test]
    fn empty() {
        assert!(CODEC.compress(&[]).is_none());
    }

    #[test]
    fn end2_end_compress_and_decompress() {
        round_trip(CODEC, &trace(1, 5, false));
        round_trip(CODEC, &trace(20, 30, true));
    }

    #[test]
    fn max_slice_size() {
        slices(CODEC, &trace(1, 500_000, true));
    }

    #[test]
    fn many_packets_preserve_order() {
        round_trip(CODEC, &trace(10_000, 13, false));
    }

    #[test]
    fn multi_slice_output_round_trip() {
        slices(CODEC, &trace(50, 20_000, true));
    }

    #[test]
    fn a_packet_of_megabytes() {
        round_trip(CODEC, &trace(1, 3_000_000, false));
    }

    #[test]
    fn compression_level_is_honored() {
        let text = text();
        for level in [i32::MIN, -5, 0, 1, 3, 6, 12, 19, i32::MAX] {
            round_trip(Codec::Zstd(level), &text[..50_000]);
        }
        assert!(len(Codec::Zstd(19), &text) < len(Codec::Zstd(1), &text));
    }
}

fn asked(deflate: bool, zstd: Option<i32>, legacy: bool) -> TraceConfig {
    let deflate = deflate.then(TraceConfigCompressionConfigDeflate::default);
    let zstd = zstd
        .map(|level| TraceConfigCompressionConfigZstd { level: Some(level), ..Default::default() });
    let legacy = if legacy { Legacy::COMPRESSION_TYPE_DEFLATE } else { Legacy(0) };
    #[allow(deprecated, reason = "configs still use the old field")]
    TraceConfig {
        compression: Some(Config { deflate, zstd, ..Default::default() }),
        compression_type: Some(legacy),
        ..Default::default()
    }
}

#[test]
fn what_may_not_be_used_is_not_chosen() {
    for config in [asked(true, None, false), asked(false, Some(3), false), asked(false, None, true)]
    {
        assert_eq!(Codecs::NONE.choose(&config), None);
        assert!(Codec::is_asked_for(&config));
    }
    assert!(!Codec::is_asked_for(&TraceConfig::default()));
    let deflate = Codecs { deflate: true, zstd: false };
    assert_eq!(deflate.choose(&asked(false, Some(3), true)), Some(Codec::Deflate));
    assert_eq!(deflate.choose(&asked(true, Some(3), false)), Some(Codec::Deflate));
    assert_eq!(deflate.choose(&asked(false, Some(3), false)), None);
}

#[test]
fn zstd_comes_first() {
    assert_eq!(Codec::choose(&asked(true, Some(3), true)), Some(Codec::Zstd(3)));
    assert_eq!(Codec::choose(&asked(true, None, false)), Some(Codec::Deflate));
    assert_eq!(Codec::choose(&asked(false, None, true)), Some(Codec::Deflate));
    assert_eq!(Codec::choose(&asked(false, None, false)), None);
}

mod pieces {
    use super::*;

    fn in_pieces(codec: Codec, stream: &[u8], piece: usize) -> (Compressed, usize) {
        let mut job = Job::new(codec, stream.to_vec());
        for steps in 1.. {
            let before = job.bytes_left();
            match job.step(piece) {
                Progress::More => {
                    assert_eq!(before - job.bytes_left(), piece, "a step takes one piece");
                }
                Progress::Compressed(packet) => {
                    assert!(job.is_over() && job.bytes_left() == 0);
                    return (packet, steps);
                }
                Progress::Failed => panic!("failed"),
            }
        }
        unreachable!()
    }

    #[test]
    fn a_stream_in_pieces_is_one_stream() {
        let text = text();
        for codec in [Codec::Deflate, Codec::Zstd(0), Codec::Zstd(22), Codec::Zstd(i32::MIN)] {
            for (len, piece) in [(1, 1), (1000, 7), (1000, 1000), (200_000, 64 * 1024)] {
                let (packet, steps) = in_pieces(codec, &text[..len], piece);
                assert_eq!(unpack(codec, &packet), &text[..len]);
                assert_eq!(steps, len.div_ceil(piece), "{codec:?}, {len} by {piece}");
            }
        }
    }

    #[test]
    fn pieces_cost_little_space() {
        let text = text();
        for codec in [Codec::Deflate, Codec::Zstd(0)] {
            let packet = in_pieces(codec, &text, 4096).0;
            let (whole, pieces) = (len(codec, &text), packet.slices().map(<[u8]>::len).sum());
            assert!(whole.abs_diff(pieces) < whole / 20, "{codec:?}: {whole}, {pieces}");
        }
    }

    struct Broken(bool);

    impl Encoder for Broken {
        fn put(&mut self, _: &[u8], _: bool) -> Option<()> {
            if self.0 { panic!("as a broken codec does") } else { None }
        }
        fn finish(self: Box<Self>) -> Option<Vec<u8>> {
            Some(Vec::new())
        }
    }

    #[test]
    fn a_codec_that_fails_or_panics_harms_nobody() {
        for panics in [false, true] {
            let mut job = Job::new(Codec::Deflate, vec![1, 2, 3]);
            job.set_encoder(Box::new(Broken(panics)));
            for _ in 0..2 {
                assert!(matches!(job.step(1), Progress::Failed));
                assert!(job.is_over());
            }
            assert_eq!(job.into_stream(), [1, 2, 3]);
        }
    }
}
