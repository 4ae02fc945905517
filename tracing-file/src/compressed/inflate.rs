//! A reader of a zlib stream.

use std::io::{self, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// What is read of the stream at a time.
const INPUT_BYTES: usize = 4096;

/// Reads what a zlib stream unpacks to.
pub(super) struct Inflate<R> {
    stream: R,
    state: Box<InflateState>,
    input: Box<[u8]>,
    /// The part of `input` that is not used yet.
    unused: std::ops::Range<usize>,
    is_over: bool,
}

impl<R: Read> Inflate<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            stream,
            state: InflateState::new_boxed(DataFormat::Zlib),
            input: vec![0; INPUT_BYTES].into(),
            unused: 0..0,
            is_over: false,
        }
    }
}

impl<R: Read> Read for Inflate<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.is_over && !out.is_empty() {
            if self.unused.is_empty() {
                self.unused = 0..self.stream.read(&mut self.input)?;
            }
            let is_last = self.unused.is_empty();
            let input = self.input.get(self.unused.clone()).unwrap_or_default();
            let result = inflate(&mut self.state, input, out, MZFlush::None);
            self.unused.start += result.bytes_consumed;
            self.is_over = result.status == Ok(MZStatus::StreamEnd);
            match result.status {
                Ok(_) | Err(MZError::Buf) if result.bytes_written > 0 => {
                    return Ok(result.bytes_written);
                }
                Ok(MZStatus::StreamEnd) => {}
                Ok(_) | Err(MZError::Buf) if is_last => {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "zlib stream is cut"));
                }
                Ok(_) | Err(MZError::Buf) => {}
                Err(_) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "no zlib stream"));
                }
            }
        }
        Ok(0)
    }
}
