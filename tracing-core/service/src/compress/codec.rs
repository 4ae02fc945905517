//! Codecs, and which of them a config asks for.

use protos::{TraceConfig, TraceConfigCompressionType};
/// A codec and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// zlib format.
    Deflate,
    /// One frame, of the level that a config asks for. 0 is the default; those beyond what the encoder has, -7
    /// to 4, are its last.
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
}
