//! A stream that is compressed in pieces: each costs a bounded time, whatever the stream is.

use std::panic::{AssertUnwindSafe, catch_unwind};

use protozero::wire::write::Prefix;

use super::codec::Codec;
#[cfg(any(test, feature = "compression"))]
use super::deflate::Deflate;
use super::encoder::Encoder;
#[cfg(any(test, feature = "compression"))]
use super::zstd::{self, Zstd};
use crate::limits;

/// A stream on its way through a codec.
///
/// ```
/// use tracing_core_service::compress::{Codec, Job, Progress};
///
/// // A packet of two bytes, as a field of a trace.
/// let mut job = Job::new(Codec::Deflate, vec![0x0a, 2, 0x40, 5]);
/// while let Progress::More = job.step(3) {}
/// assert!(job.is_over());
/// ```
pub struct Job {
    codec: Codec,
    stream: Vec<u8>,
    /// Bytes of it that the encoder has.
    done: usize,
    encoder: Option<Box<dyn Encoder>>,
    is_over: bool,
}

/// What a piece led to.
#[derive(Debug)]
pub enum Progress {
    /// More pieces are needed.
    More,
    /// The stream as a packet.
    Compressed(Compressed),
    /// The codec failed, or the stream is empty: its packets are to be taken as they are.
    Failed,
}

impl Job {
    /// A job that nothing is done of yet. `stream`: the packets of a pass, as fields of a `Trace`.
    #[must_use]
    pub fn new(codec: Codec, stream: Vec<u8>) -> Self {
        Self { codec, stream, done: 0, encoder: None, is_over: false }
    }

    #[cfg(test)]
    pub(super) fn set_encoder(&mut self, encoder: Box<dyn Encoder>) {
        self.encoder = Some(encoder);
    }

    /// Compresses the next `bytes_max` bytes of the stream, at least one of them.
    pub fn step(&mut self, bytes_max: usize) -> Progress {
        if self.is_over || self.stream.is_empty() {
            self.is_over = true;
            return Progress::Failed;
        }
        let progress = contained(|| self.step_unchecked(bytes_max.max(1)));
        let progress = progress.unwrap_or(Progress::Failed);
        if !matches!(progress, Progress::More) {
            self.is_over = true;
            self.encoder = None;
        }
        progress
    }

    fn step_unchecked(&mut self, bytes_max: usize) -> Option<Progress> {
        if self.encoder.is_none()
            && self.stream.len() <= bytes_max
            && let Some(data) = self.codec.encode_short(&self.stream)
        {
            return Some(Progress::Compressed(Compressed::new(self.codec, data)));
        }
        if self.encoder.is_none() {
            self.encoder = Some(self.codec.encoder()?);
        }
        let rest = self.stream.get(self.done..)?;
        let piece = rest.get(..bytes_max).unwrap_or(rest);
        let is_last = piece.len() == rest.len();
        self.encoder.as_mut()?.put(piece, is_last)?;
        self.done += piece.len();
        if !is_last {
            return Some(Progress::More);
        }
        let data = self.encoder.take()?.finish()?;
        Some(Progress::Compressed(Compressed::new(self.codec, data)))
    }

    /// What the codec will need at most, beside the stream itself, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.codec.memory_bytes(self.stream.len())
    }

    /// Whether no piece is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Bytes of the stream that no piece had yet.
    #[must_use]
    pub fn bytes_left(&self) -> usize {
        if self.is_over { 0 } else { self.stream.len() - self.done }
    }

    /// The stream as it was.
    #[must_use]
    pub fn stream(&self) -> &[u8] {
        &self.stream
    }

    /// The same, to take its packets uncompressed.
    #[must_use]
    pub fn into_stream(self) -> Vec<u8> {
        self.stream
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { codec, stream, done, .. } = self;
        write!(f, "{codec:?}: {done} of {} bytes", stream.len())
    }
}

/// The result of `encode`; none if it panics: an error in a codec must not end the service. What `encode` changed is
/// not used after a panic.
fn contained<T>(encode: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(encode)).ok().flatten()
}

impl Codec {
    /// A packet with `stream` in it: the packets of a pass, as fields of a `Trace`. For more than a few KiB make it in
    /// pieces, with a [`Job`].
    ///
    /// None if `stream` is empty, or the codec fails.
    #[must_use]
    pub fn compress(self, stream: &[u8]) -> Option<Compressed> {
        let mut job = Job::new(self, stream.to_vec());
        match job.step(usize::MAX) {
            Progress::Compressed(packet) => Some(packet),
            Progress::More | Progress::Failed => None,
        }
    }

    #[cfg(any(test, feature = "compression"))]
    fn encoder(self) -> Option<Box<dyn Encoder>> {
        Some(match self {
            Self::Deflate => Box::new(Deflate::new()),
            Self::Zstd(level) => Box::new(Zstd::new(level)?),
        })
    }

    #[cfg(not(any(test, feature = "compression")))]
    fn encoder(self) -> Option<Box<dyn Encoder>> {
        None
    }

    /// The most that it needs for a stream of so many bytes, beside the stream, bytes.
    #[cfg(any(test, feature = "compression"))]
    fn memory_bytes(self, stream_len: usize) -> usize {
        let state = match self {
            Self::Deflate => Deflate::memory_bytes(),
            Self::Zstd(level) => Zstd::memory_bytes(level, stream_len),
        };
        // What comes out, in memory that doubles when it is full.
        state.saturating_add(stream_len.saturating_mul(2))
    }

    #[cfg(not(any(test, feature = "compression")))]
    fn memory_bytes(self, _: usize) -> usize {
        0
    }

    /// All of a short stream at once, if the codec has a better way for that.
    #[cfg(any(test, feature = "compression"))]
    fn encode_short(self, stream: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Deflate => None,
            Self::Zstd(level) => zstd::encode_short(stream, level),
        }
    }

    #[cfg(not(any(test, feature = "compression")))]
    fn encode_short(self, _: &[u8]) -> Option<Vec<u8>> {
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
    fn new(codec: Codec, data: Vec<u8>) -> Self {
        let mut head = Prefix::new();
        head.head(codec.field(), data.len());
        Self { head, data }
    }

    /// The packet in slices, none larger than [`limits::SLICE_BYTES_MAX`].
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        core::iter::once(self.head.as_bytes()).chain(self.data.chunks(limits::SLICE_BYTES_MAX))
    }
}
