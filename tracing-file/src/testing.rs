//! Traces of tests.

use protozero::text::{Options, parse};

/// The bytes of a trace in the text format.
#[track_caller]
pub(crate) fn trace_bytes(text: &str) -> Vec<u8> {
    parse(protos::Trace::DESCRIPTOR, text.as_bytes(), &Options::default()).unwrap()
}

thread_local! {
    /// Bytes of texts that were converted, hashed or compared in this thread.
    pub(crate) static TEXT_BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many bytes of texts `run` converts, hashes or compares.
pub(crate) fn text_bytes(run: impl FnOnce()) -> usize {
    let before = TEXT_BYTES.get();
    run();
    TEXT_BYTES.get() - before
}

/// A field with this tag.
pub(crate) fn field(tag: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out = tag.to_vec();
    let mut len = body.len();
    while len > 0x7f {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend(body);
    out
}

/// A file with one packet, which holds `packets` in the format of zlib.
#[cfg(feature = "compressed")]
pub(crate) fn zlib(packets: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(packets).unwrap();
    let stream = zlib.finish().unwrap();
    field(b"\x0a", &field(b"\x92\x03", &stream))
}
