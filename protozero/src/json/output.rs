//! Formatted text as bytes.

use alloc::vec::Vec;
use core::fmt::{self, Write as _};

struct Bytes<'o>(&'o mut Vec<u8>);

impl fmt::Write for Bytes<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Appends formatted text.
pub(super) fn put(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    // Writing to a list cannot fail.
    let _ = Bytes(out).write_fmt(text);
}
