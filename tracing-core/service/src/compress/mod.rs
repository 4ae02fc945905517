//! Compression of what a reading pass gives.
//!
//! ```text
//!   pass     0a LEN packet | 0a LEN packet | ...      a piece of a Trace
//!   stream   zlib (level 6), or one zstd frame
//!   out      one packet: field 50 or 133 = stream     in slices of at most 130560 bytes
//! ```
//!
//! Layer 2. Each pass is a stream of its own, so that a file which ends early still has all passes before.
//! The codecs come with the feature `compression`; without it nothing is chosen and traces are plain.
//! (`zlib_compressor.cc`, `zstd_compressor.cc`)

#[cfg(any(test, feature = "compression"))]
mod deflate;
#[cfg(any(test, feature = "compression"))]
mod zstd;

#[cfg(test)]
mod tests;

use protos::{TraceConfig, TraceConfigCompressionType};

use crate::limits;

/// How a session compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// zlib format, level 6.
    Deflate,
    /// One frame, of this level; 0 is the library's default.
    Zstd(i32),
}

/// Which codecs may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codecs {
    /// [`Codec::Deflate`].
    pub deflate: bool,
    /// [`Codec::Zstd`].
    pub zstd: bool,
}

impl Codecs {
    /// None.
    pub const NONE: Self = Self { deflate: false, zstd: false };
    /// Those that there are in this build.
    pub const BUILT: Self = Self {
        deflate: cfg!(any(test, feature = "compression")),
        zstd: cfg!(any(test, feature = "compression")),
    };

    /// The one of these that a config asks for: zstd if it is asked for at all, else deflate in the new way or
    /// the old; none if nothing known is asked for, or it is not among these.
    #[must_use]
    #[allow(deprecated, reason = "what configs of today still say")]
    pub fn choose(self, config: &TraceConfig) -> Option<Codec> {
        let asked = config.compression.as_ref();
        if let Some(zstd) = asked.and_then(|asked| asked.zstd.as_ref())
            && self.zstd
        {
            return Some(Codec::Zstd(zstd.level.unwrap_or(0)));
        }
        let legacy = TraceConfigCompressionType::COMPRESSION_TYPE_DEFLATE;
        let deflate = asked.is_some_and(|asked| asked.deflate.is_some())
            || config.compression_type == Some(legacy);
        (deflate && self.deflate).then_some(Codec::Deflate)
    }
}

impl Codec {
    /// The one of all in this build that a config asks for: [`Codecs::choose`].
    #[must_use]
    pub fn choose(config: &TraceConfig) -> Option<Self> {
        Codecs::BUILT.choose(config)
    }

    /// Whether a config asks for a codec, built or not.
    #[must_use]
    pub fn is_asked_for(config: &TraceConfig) -> bool {
        Codecs { deflate: true, zstd: true }.choose(config).is_some()
    }

    /// The field of `TracePacket` that holds such a stream.
    #[must_use]
    pub const fn field(self) -> u32 {
        match self {
            Self::Deflate => 50,
            Self::Zstd(_) => 133,
        }
    }

    /// The packet for `stream`, the packets of a pass as fields of a `Trace`. Nothing for nothing.
    ///
    /// None also when the codec fails, which it does only without memory: the pass is then given as it is.
    #[must_use]
    pub fn compress(self, stream: &[u8]) -> Option<Compressed> {
        if stream.is_empty() {
            return None;
        }
        let data = self.encode(stream)?;
        Some(Compressed { preamble: Preamble::new(self.field(), data.len()), data })
    }

    #[cfg(any(test, feature = "compression"))]
    fn encode(self, stream: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Deflate => deflate::encode(stream),
            Self::Zstd(level) => Some(zstd::encode(stream, level)),
        }
    }

    #[cfg(not(any(test, feature = "compression")))]
    fn encode(self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// A packet with nothing but a compressed stream.
#[derive(Clone, Debug)]
pub struct Compressed {
    preamble: Preamble,
    data: Vec<u8>,
}

impl Compressed {
    /// The packet in slices, none larger than [`limits::SLICE_BYTES_MAX`].
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        core::iter::once(self.preamble.bytes()).chain(self.data.chunks(limits::SLICE_BYTES_MAX))
    }
}

/// Tag and length.
#[derive(Clone, Copy, Debug)]
struct Preamble {
    bytes: [u8; 20],
    len: usize,
}

impl Preamble {
    fn new(field: u32, len: usize) -> Self {
        let mut this = Self { bytes: [0; 20], len: 0 };
        this.put(u64::from(field) << 3 | 2);
        this.put(len as u64);
        this
    }

    fn put(&mut self, value: u64) {
        let mut digits = [0; protozero::wire::varint::LEN_MAX];
        let count = protozero::wire::varint::encode(value, &mut digits);
        self.bytes[self.len..self.len + count].copy_from_slice(&digits[..count]);
        self.len += count;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
