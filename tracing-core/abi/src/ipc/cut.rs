//! Where frames begin and end in a byte stream: their lengths and the limit of them.
//!
//! ```text
//!  taken out    complete frames    a part of a frame
//! |------------|------------------|-----------------|
//! 0           next             partial            bytes.len()
//! ```
//!
//! `cargo xtask no-panic` proves that nothing here overflows or leaves the bytes, whatever they are.

use core::fmt;
use core::ops::Range;

use crate::limits::IPC_FRAME_BYTES_MAX;

/// Bytes of a frame's length.
pub const HEADER_BYTES: usize = 4;

/// A frame was longer than the protocol allows. The connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameError {
    /// The length that it claimed or had, bytes; at most [`IPC_FRAME_BYTES_MAX`] would be legal.
    pub len: u64,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IPC frame too large: {} bytes, the limit is {IPC_FRAME_BYTES_MAX}", self.len)
    }
}

impl core::error::Error for FrameError {}

/// Which of the received bytes are frames. See the [module](self).
#[derive(Debug, Default)]
pub struct Cuts {
    next: usize,
    partial: usize,
}

impl Cuts {
    /// The bytes that were taken out are to be removed. Gives their number, at most `len`.
    #[inline]
    pub fn remove_taken(&mut self, len: usize) -> usize {
        self.partial = self.partial.saturating_sub(self.next);
        core::mem::take(&mut self.next).min(len)
    }

    /// Finds the frames that are complete in `bytes`. Gives how many bytes are missing of the one behind them, 0 if
    /// its length has not arrived.
    ///
    /// # Errors
    /// When a frame claims to be too long.
    #[inline]
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, FrameError> {
        while let Some((len, body)) = frame_at(bytes, self.partial) {
            if len > IPC_FRAME_BYTES_MAX {
                return Err(FrameError { len: len as u64 });
            }
            if bytes.len() < body.end {
                return Ok(body.end.saturating_sub(bytes.len()));
            }
            self.partial = body.end;
        }
        Ok(0)
    }

    /// The next complete frame of `bytes`, without its length. Empty ones are skipped.
    #[inline]
    pub fn pop<'b>(&mut self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        while self.next < self.partial {
            let (len, body) = frame_at(bytes, self.next)?;
            self.next = body.end;
            if len > 0 {
                return bytes.get(body);
            }
        }
        None
    }

    /// Whether there are complete frames that were not taken out.
    #[inline]
    pub fn has_frames(&self) -> bool {
        self.next < self.partial
    }

    /// How many of `len` received bytes belong to a frame that is not complete.
    #[inline]
    pub fn partial_len(&self, len: usize) -> usize {
        len.saturating_sub(self.partial)
    }
}

/// The length of the frame that begins at `off`, and its place without this length; `None` before the length has
/// arrived.
#[inline]
fn frame_at(bytes: &[u8], off: usize) -> Option<(usize, Range<usize>)> {
    let header = bytes.get(off..)?.first_chunk::<HEADER_BYTES>()?;
    let len = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
    let start = off.saturating_add(HEADER_BYTES);
    Some((len, start..start.saturating_add(len)))
}

/// The length in front of a frame of `len` bytes.
///
/// # Errors
/// When the frame is too long for any receiver.
#[inline]
pub fn header(len: usize) -> Result<[u8; HEADER_BYTES], FrameError> {
    match u32::try_from(len) {
        Ok(length) if len <= IPC_FRAME_BYTES_MAX => Ok(length.to_le_bytes()),
        _ => Err(FrameError { len: len as u64 }),
    }
}
