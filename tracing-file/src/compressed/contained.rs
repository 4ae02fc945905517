//! A reader whose panics are errors.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Reads from a decoder that may have an error of its own: an input must not end the program.
pub(super) struct Contained<R>(Option<R>);

impl<R: Read> Contained<R> {
    pub(super) fn new(decoder: R) -> Self {
        Self(Some(decoder))
    }
}

impl<R: Read> Read for Contained<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let failed = || io::Error::new(io::ErrorKind::InvalidData, "the decoder failed");
        let Some(decoder) = &mut self.0 else { return Err(failed()) };
        // A decoder that panicked is not used any more.
        let result = catch_unwind(AssertUnwindSafe(|| decoder.read(out)));
        result.unwrap_or_else(|_| {
            self.0 = None;
            Err(failed())
        })
    }
}
