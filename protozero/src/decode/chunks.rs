//! Takes whole fields out of a `Buf`, whose bytes lie in several chunks.
//!
//! ```text
//!  chunks   | 0a 02 a b 0a | 01 c 0a 01 d |
//!  taken      └ 1 ────┘ └ 2 ────┘ └ 3 ──┘     1 and 3 by copy_to_bytes, 2 copied
//! ```
//!
//! Nothing is decoded here, and nothing is an error: a malformed field is taken as far as its head can be read, so that
//! the decoder finds the same fault in it as in the whole message.

use alloc::vec::Vec;
use bytes::{Buf, BufMut, Bytes};

use super::group::{Source, skip_group};
use super::reader::Reader;
use super::take;
use crate::error::DecodeErrorKind;
use crate::wire::tag;
use crate::wire::varint::LEN_MAX;

/// Takes the next fields out of `input`: all that lie in its first chunk, or else one that lies in several. Empty only
/// if `input` breaks the contract of `Buf`, or is empty.
pub(crate) fn take_fields(input: &mut dyn Buf) -> Bytes {
    let (chunk, all) = (input.chunk(), input.remaining());
    let whole = if chunk.len() < all { whole_fields(chunk) } else { all };
    if whole == 0 { take_field(input) } else { input.copy_to_bytes(whole) }
}

/// Length of the fields at the start of `chunk` that end in it.
fn whole_fields(chunk: &[u8]) -> usize {
    let mut reader = Reader::new(chunk);
    loop {
        let end = reader.position();
        let Ok(Some(_)) = reader.next_field() else { return end };
    }
}

/// Takes one field, in a copy.
fn take_field(input: &mut dyn Buf) -> Bytes {
    let mut field = Taken { input, bytes: Vec::new() };
    // After an error, the bytes that were read have the same error.
    let _ = field.read();
    field.bytes.into()
}

/// A field that is being taken.
struct Taken<'i> {
    input: &'i mut dyn Buf,
    /// What was taken.
    bytes: Vec<u8>,
}

impl Taken<'_> {
    fn read(&mut self) -> Result<(), DecodeErrorKind> {
        let tag = self.tag()?;
        match tag & 7 {
            tag::VARINT => self.varint().map(drop),
            tag::FIXED64 => self.skip(8),
            tag::LEN => {
                let len = self.varint()?;
                self.skip(len)
            }
            tag::FIXED32 => self.skip(4),
            tag::BEGIN_GROUP => skip_group(self, tag >> 3).map(drop),
            _ => Err(DecodeErrorKind::WireType),
        }
    }

    /// Takes the bytes of a varint, at most ten, and returns them.
    fn take_varint(&mut self) -> &[u8] {
        let start = self.bytes.len();
        while self.bytes.len() - start < LEN_MAX {
            let Some(&byte) = self.input.chunk().first() else { break };
            self.input.advance(1);
            self.bytes.push(byte);
            if byte < 0x80 {
                break;
            }
        }
        self.bytes.get(start..).unwrap_or_default()
    }
}

impl Source for Taken<'_> {
    fn left(&self) -> usize {
        self.input.remaining()
    }

    fn tag(&mut self) -> Result<u32, DecodeErrorKind> {
        take::tag(self.take_varint()).map(|(tag, _)| tag)
    }

    fn varint(&mut self) -> Result<u64, DecodeErrorKind> {
        take::varint(self.take_varint()).map(|(value, _)| value)
    }

    fn skip(&mut self, len: u64) -> Result<(), DecodeErrorKind> {
        // Checked first, so that no announced length allocates memory.
        let len = usize::try_from(len).ok().filter(|len| *len <= self.left());
        let len = len.ok_or(DecodeErrorKind::Truncated)?;
        self.bytes.put(Buf::take(&mut *self.input, len));
        Ok(())
    }
}
