//! Limits for decoding owned messages, and what all levels of one decoding share beside them: the input, and the
//! parser if fields come from JSON. Readers need no limits, because they neither recurse nor allocate; a caller that
//! does so while reading uses [`Limits`](super::Limits).

#[cfg(all(feature = "json", feature = "std"))]
use alloc::{borrow::Cow, vec::Vec};
#[cfg(feature = "bytes")]
use bytes::Bytes;
use core::cell::Cell;
use core::fmt;
#[cfg(not(feature = "bytes"))]
use core::marker::PhantomData;

#[cfg(all(feature = "json", feature = "std"))]
use super::field::Field;
use crate::error::DecodeErrorKind;
#[cfg(all(feature = "json", feature = "std"))]
use crate::error::ReadError;

/// Maximum levels of nested messages in an owned message. Protobuf implementations agree on this
/// number.
///
/// Decoding this depth takes about 128 KiB of stack, up to four times as much without optimization,
/// and does not depend on the size of the structs, because values are created in place. The derived
/// `clone` has each struct in its stack frame once or twice: cloning a struct of ten kilobytes that
/// is nested a hundred levels deep needs more than the usual 2 MiB stack of a thread.
pub const DEPTH_MAX: u32 = 100;

/// Maximum length of an encoded owned message: 2 GiB minus one byte, the limit of protobuf.
pub const BYTES_MAX: usize = i32::MAX as usize;

/// Memory that decoding may allocate for structs of nested messages, in bytes per byte of input.
///
/// An empty nested message has two bytes on the wire and a whole struct in memory: without a limit,
/// a small request could allocate gigabytes.
#[cfg(feature = "alloc")]
pub(crate) const GROWTH_MAX: usize = 512;

/// Bytes that decoding may allocate for nested messages of any input. Thousands of regular messages
/// with hundreds of mostly unset fields fit.
#[cfg(feature = "alloc")]
pub(crate) const GROWTH_FREE: usize = 32 << 20;

/// Bytes that decoding may allocate for nested messages of a large input.
#[cfg(feature = "alloc")]
const GROWTH_TOTAL: usize = 512 << 20;

/// The same in bytes per byte of input, if that is more.
#[cfg(feature = "alloc")]
const GROWTH_LARGE: usize = 4;

/// Bytes of memory that decoding `bytes` may allocate for structs.
#[cfg(feature = "alloc")]
pub(crate) fn growth(bytes: &[u8]) -> usize {
    growth_of(bytes.len())
}

#[cfg(feature = "alloc")]
pub(crate) fn growth_of(len: usize) -> usize {
    let large = len.saturating_mul(GROWTH_LARGE).max(GROWTH_TOTAL);
    len.saturating_mul(GROWTH_MAX).saturating_add(GROWTH_FREE).min(large)
}

/// Memory for one decoding: how much the structs of nested messages may take, and the input that fields
/// may share. All levels use the same one.
#[derive(PartialEq, Eq)]
pub struct DecodeMemory<'i> {
    /// Bytes that may still be allocated for nested messages.
    left: Cell<usize>,
    /// Fields of type `bytes::Bytes` share it.
    #[cfg(feature = "bytes")]
    input: Option<&'i Bytes>,
    #[cfg(not(feature = "bytes"))]
    input: PhantomData<&'i [u8]>,
    /// Fields are parsed from JSON.
    #[cfg(all(feature = "json", feature = "std"))]
    json: Option<&'i dyn JsonSource>,
}

impl<'i> DecodeMemory<'i> {
    /// `bytes` bytes for structs of nested messages. Fields share nothing.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        #[cfg(feature = "bytes")]
        let input = None;
        #[cfg(not(feature = "bytes"))]
        let input = PhantomData;
        Self {
            left: Cell::new(bytes),
            input,
            #[cfg(all(feature = "json", feature = "std"))]
            json: None,
        }
    }

    /// The same for fields that are parsed from JSON.
    #[cfg(all(feature = "json", feature = "std"))]
    pub(crate) const fn with_json(bytes: usize, json: &'i dyn JsonSource) -> Self {
        Self { json: Some(json), ..Self::new(bytes) }
    }

    /// The same for fields that share `input`, which is what is decoded.
    #[cfg(feature = "bytes")]
    pub(crate) const fn sharing(bytes: usize, input: &'i Bytes) -> Self {
        Self { input: Some(input), ..Self::new(bytes) }
    }

    /// Bytes that structs of nested messages may still take.
    #[must_use]
    pub fn left(&self) -> usize {
        self.left.get()
    }
}

/// Without the input, which can be long.
impl fmt::Debug for DecodeMemory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodeMemory").field("left", &self.left()).finish_non_exhaustive()
    }
}

/// A message that gets its fields.
#[cfg(all(feature = "json", feature = "std"))]
pub(crate) trait Slot<'a> {
    fn merge_field(&mut self, field: Field<'a>, context: DecodeContext<'_>) -> Option<()>;
}

/// A parser of JSON, whose values structs get as fields. The functions return what a field cannot hold: a struct asks
/// for the one that was passed last, and any other is an error.
#[cfg(all(feature = "json", feature = "std"))]
pub(crate) trait JsonSource {
    /// Parses the message that `text` begins with.
    fn message<'a>(
        &self,
        slot: &mut dyn Slot<'a>,
        text: &'a [u8],
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError>;

    /// Reads a text with escapes, in quotes.
    fn text<'a>(&self, text: &'a [u8]) -> Result<Cow<'a, str>, ReadError>;

    /// Reads base64.
    fn bytes(&self, text: &[u8]) -> Result<Vec<u8>, ReadError>;

    /// Parses the entry that `text` begins with: its key, and its value or the place of that.
    fn entry<'a>(&self, text: &'a [u8]) -> Result<[Field<'a>; 2], ReadError>;
}

/// Two are the same only if they are one.
#[cfg(all(feature = "json", feature = "std"))]
impl PartialEq for dyn JsonSource + '_ {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::addr_eq(self, other)
    }
}

#[cfg(all(feature = "json", feature = "std"))]
impl Eq for dyn JsonSource + '_ {}

/// The unused budget of one decoding. Each level gets a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeContext<'b> {
    depth_left: u32,
    // One pointer, so that a context has two words and stays in registers.
    memory: Option<&'b DecodeMemory<'b>>,
}

impl<'b> DecodeContext<'b> {
    /// The default budget for an outermost message.
    #[must_use]
    pub const fn new() -> Self {
        Self { depth_left: DEPTH_MAX, memory: None }
    }

    /// A budget with `depth` levels below the outermost message.
    #[must_use]
    pub const fn with_depth(depth: u32) -> Self {
        Self { depth_left: depth, memory: None }
    }

    /// The budget for one level below.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooDeep`] if no level is left.
    #[inline]
    pub const fn enter(self) -> Result<Self, DecodeErrorKind> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Self { depth_left, ..self }),
            None => Err(DecodeErrorKind::TooDeep),
        }
    }

    /// The same budget, with `memory` for structs of nested messages.
    #[must_use]
    pub const fn with_growth(self, memory: &'b DecodeMemory<'b>) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// Subtracts `bytes` of allocated memory from the budget.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooMuchMemory`] if the budget has less left.
    #[inline]
    pub fn grow(self, bytes: usize) -> Result<(), DecodeErrorKind> {
        let Some(DecodeMemory { left, .. }) = self.memory else { return Ok(()) };
        left.set(left.get().checked_sub(bytes).ok_or(DecodeErrorKind::TooMuchMemory)?);
        Ok(())
    }

    /// The parser of JSON that the fields come from.
    #[cfg(all(feature = "json", feature = "std"))]
    pub(crate) fn json(self) -> Option<&'b dyn JsonSource> {
        self.memory?.json
    }

    /// The memory of `part`, if it lies in the input that fields share.
    #[cfg(feature = "bytes")]
    #[must_use]
    pub(crate) fn share(self, part: &[u8]) -> Option<Bytes> {
        let input = self.memory?.input?;
        let start = part.as_ptr().addr().checked_sub(input.as_ptr().addr())?;
        let end = start.checked_add(part.len()).filter(|end| *end <= input.len())?;
        Some(input.slice(start..end))
    }
}

impl Default for DecodeContext<'_> {
    fn default() -> Self {
        Self::new()
    }
}
