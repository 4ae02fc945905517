//! Streams of other encoders, whole, cut and changed.

use std::io::Write as _;

use proptest::prelude::*;

use super::contained::Contained;
use super::*;

fn text(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 7 % 11 * (at % 5)) as u8).collect()
}

fn deflated(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(plain, level)
}

fn unpacked(number: u32, stream: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    // A hostile stream may unpack to far more than it has itself.
    let unpacked = open(number, stream).unwrap().unpacked;
    unpacked.take(10_000_000).read_to_end(&mut out)?;
    Ok(out)
}

#[test]
fn streams_of_other_encoders_are_read() {
    for len in [0, 1, 1000, 300_000] {
        let plain = text(len);
        assert_eq!(unpacked(DEFLATE, &deflated(&plain)).unwrap(), plain);
        assert_eq!(unpacked(ZSTD, &zstd(&plain)).unwrap(), plain);
    }
}

#[test]
fn one_byte_at_a_time() {
    struct Slow<R>(R);
    impl<R: Read> Read for Slow<R> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let len = out.len().min(1);
            self.0.read(&mut out[..len])
        }
    }
    let plain = text(10_000);
    for (number, stream) in [(DEFLATE, deflated(&plain)), (ZSTD, zstd(&plain))] {
        let mut unpacked = Slow(unpack(number, Slow(&stream[..])).unwrap());
        let mut out = Vec::new();
        unpacked.read_to_end(&mut out).unwrap();
        assert_eq!(out, plain);
    }
}

#[test]
fn a_cut_stream_is_an_error() {
    let plain = text(2000);
    for (number, stream) in [(DEFLATE, deflated(&plain)), (ZSTD, zstd(&plain))] {
        for len in 1..stream.len() {
            assert!(unpacked(number, &stream[..len]).is_err(), "{number}: {len}");
        }
    }
    assert!(unpacked(DEFLATE, &[]).is_err());
}

#[test]
fn a_decoder_that_panics_is_an_error() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("as a broken decoder does")
        }
    }
    let mut contained = Contained::new(Broken);
    for _ in 0..2 {
        let error = contained.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}

proptest! {
    /// Whatever the bytes are: an error, or what another decoder reads, and no panic that had to be contained. Ours takes
    /// tables of codes that are not complete, which the other one refuses: the checksum of what was packed holds, then.
    #[test]
    fn changed_streams(
        len in 0usize..5000,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let plain = text(len);
        let change = |mut stream: Vec<u8>| {
            for (at, byte) in &changes {
                let at = at.index(stream.len());
                stream[at] = *byte;
            }
            stream
        };
        let stream = change(deflated(&plain));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let ours_result = inflate::Inflate::new(&stream[..]).read_to_end(&mut ours);
        let theirs_result = flate2::read::ZlibDecoder::new(&stream[..]).read_to_end(&mut theirs);
        if theirs_result.is_ok() {
            prop_assert!(ours_result.is_ok());
            prop_assert_eq!(ours, theirs);
        } else if ours_result.is_ok() {
            prop_assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&plain));
        }
        let stream = change(zstd(&plain));
        let mut ours = Vec::new();
        let reader = zrip::FrameDecoder::new(&stream[..]).take(1_000_000);
        let mut reader = reader;
        if reader.read_to_end(&mut ours).is_ok() && ours.len() < 1_000_000 {
            let mut theirs = Vec::new();
            let mut rest = &stream[..];
            if let Ok(mut decoder) = ruzstd::decoding::StreamingDecoder::new(&mut rest)
                && decoder.read_to_end(&mut theirs).is_ok()
            {
                prop_assert!(ours.starts_with(&theirs));
            }
        }
    }
}
