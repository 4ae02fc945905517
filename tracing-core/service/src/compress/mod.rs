//! Compression of the packets of a reading pass.
//!
//! ```text
//!   pass     0a LEN packet | 0a LEN packet | ...      a piece of a Trace
//!   stream   zlib, or one zstd frame                  made by a `Job`, in pieces of bounded cost
//!   out      one packet: field 50 or 133 = stream     in slices of at most 130560 bytes
//! ```
//!
//! Each pass is a stream of its own, so that a file that ends early has all passes before.
//!
//! Producers choose the data, and a consumer chooses codec and level. So the codecs have no unsafe code, a panic in one
//! only means that a pass is not compressed, and no level searches long. What can be asked for beyond is clamped.
//! The codecs need the feature `compression`; without it traces are not compressed.
//! (`zlib_compressor.cc`, `zstd_compressor.cc`)

mod codec;
#[cfg(any(test, feature = "compression"))]
mod deflate;
mod encoder;
mod job;
#[cfg(any(test, feature = "compression"))]
mod zstd;

#[cfg(test)]
mod tests;

pub use self::codec::{Codec, Codecs};
pub use self::job::{Compressed, Job, Progress};
