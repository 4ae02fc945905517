//! Compression of the packets of a reading pass.
//!
//! ```text
//!   pass     0a LEN packet | 0a LEN packet | ...      a piece of a Trace
//!   stream   zlib (level 6), or one zstd frame
//!   out      one packet: field 50 or 133 = stream     in slices of at most 130560 bytes
//! ```
//!
//! Each pass is a stream of its own, so that a file that ends early has all passes before.
//! The codecs need the feature `compression`; without it traces are not compressed.
//! (`zlib_compressor.cc`, `zstd_compressor.cc`)

#[cfg(any(test, feature = "compression"))]
mod deflate;
#[cfg(any(test, feature = "compression"))]
mod zstd;

#[cfg(test)]
mod tests;

use protos::{TraceConfig, TraceConfigCompressionType};
use protozero::wire::write::Prefix;

use crate::limits;

/// A codec and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// zlib format, level 6.
    Deflate,
    /// One frame, of this level; 0 is the library's default.
    Zstd(i32),
}

/// A set of codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codecs {
    /// [`Codec::Deflate`].
    pub deflate: bool,
    /// [`Codec::Zstd`].
    pub zstd: bool,
}

impl Codecs {
    /// No codec.
    pub const NONE: Self = Self { deflate: false, zstd: false };
    /// The codecs of this build.
    pub const BUILT: Self = Self {
        deflate: cfg!(any(test, feature = "compression")),
        zstd: cfg!(any(test, feature = "compression")),
    };

    /// The codec of this set that a config asks for: zstd if it asks for it, else deflate, by the new or the
    /// old field. None if it asks for no codec, or for one that is not in this set.
    #[must_use]
    #[allow(deprecated, reason = "configs still use the old field")]
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
    /// The codec of this build that a config asks for: [`Codecs::choose`].
    #[must_use]
    pub fn choose(config: &TraceConfig) -> Option<Self> {
        Codecs::BUILT.choose(config)
    }

    /// Whether a config asks for a codec, whether or not this build has it.
    #[must_use]
    pub fn is_asked_for(config: &TraceConfig) -> bool {
        Codecs { deflate: true, zstd: true }.choose(config).is_some()
    }

    /// The field of `TracePacket` that holds a stream of this codec.
    #[must_use]
    pub const fn field(self) -> u32 {
        match self {
            Self::Deflate => 50,
            Self::Zstd(_) => 133,
        }
    }

    /// A packet with `stream` in it: the packets of a pass, as fields of a `Trace`.
    ///
    /// None if `stream` is empty, or the codec has no memory: the pass is then not compressed.
    #[must_use]
    pub fn compress(self, stream: &[u8]) -> Option<Compressed> {
        if stream.is_empty() {
            return None;
        }
        let data = self.encode(stream)?;
        let mut head = Prefix::new();
        head.head(self.field(), data.len());
        Some(Compressed { head, data })
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

/// A packet that holds a compressed stream.
#[derive(Clone, Debug)]
pub struct Compressed {
    /// Tag and length of the stream.
    head: Prefix<16>,
    data: Vec<u8>,
}

impl Compressed {
    /// The packet in slices, none larger than [`limits::SLICE_BYTES_MAX`].
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        core::iter::once(self.head.as_bytes()).chain(self.data.chunks(limits::SLICE_BYTES_MAX))
    }
}
