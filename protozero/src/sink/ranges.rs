//! Ranges of the caller: several buffers, from a table, an iterator or a closure.
#![allow(unsafe_code)]

use core::mem;

use super::borrowed::Borrowed;
use crate::encode::{OpenSlots, Range, Sink, Slot, StreamOf};
use crate::error::WriteError;

/// Shorter pieces are not used.
const PIECE_MIN: usize = 16;

/// The source of the pieces, which also keeps them while they have open lengths: [`Table`], and
/// `Collected` with feature `alloc`.
pub trait Pieces<'b>: Sealed {
    /// The next piece; `None` if there are no more.
    fn next_piece(&mut self) -> Option<&'b mut [u8]>;

    /// Keeps a written piece, which is truncated to its content. Must not panic. The pieces come
    /// back in order; pieces that are too short do not come back.
    fn put_back(&mut self, piece: &'b mut [u8]);

    /// Returns piece `at` of those that came back. Returning another one corrupts the message, and
    /// has no other effect.
    fn earlier(&mut self, at: usize) -> Option<&mut [u8]>;
}

/// Sealed, because a piece that came back must not be used elsewhere before the stream has the next
/// one.
pub trait Sealed {}

impl Sealed for Table<'_, '_> {}
#[cfg(feature = "alloc")]
impl<I> Sealed for Collected<'_, I> {}

/// The pieces of a table. Needs no allocator.
#[derive(Debug)]
pub struct Table<'a, 'b> {
    pieces: &'a mut [&'b mut [u8]],
    front: usize,
    back: usize,
}

impl<'b> Pieces<'b> for Table<'_, 'b> {
    fn next_piece(&mut self) -> Option<&'b mut [u8]> {
        let piece = self.pieces.get_mut(self.front)?;
        self.front += 1;
        Some(mem::take(piece))
    }

    fn put_back(&mut self, piece: &'b mut [u8]) {
        if let Some(place) = self.pieces.get_mut(self.back) {
            *place = piece;
            self.back += 1;
        }
    }

    fn earlier(&mut self, at: usize) -> Option<&mut [u8]> {
        self.pieces.get_mut(at).map(|piece| &mut **piece)
    }
}

/// The pieces of an iterator. They are collected when they come back.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct Collected<'b, I> {
    pieces: I,
    back: alloc::vec::Vec<&'b mut [u8]>,
}

#[cfg(feature = "alloc")]
impl<'b, I: Iterator<Item = &'b mut [u8]>> Pieces<'b> for Collected<'b, I> {
    fn next_piece(&mut self) -> Option<&'b mut [u8]> {
        self.pieces.next()
    }

    fn put_back(&mut self, piece: &'b mut [u8]) {
        self.back.push(piece);
    }

    fn earlier(&mut self, at: usize) -> Option<&mut [u8]> {
        self.back.get_mut(at).map(|piece| &mut **piece)
    }
}

/// Writes into several buffers of the caller.
///
/// ```text
///  pieces   | 0 ............ | | 1 .. | | 2 .............. |      any lengths and addresses
///  written  | header | field ==== field  field ==== body   |      fields continue in the next piece
/// ```
///
/// Afterwards each piece is truncated to its content. Together they are the message, ready for a
/// vectored write to a socket. A piece may have a few unused bytes at its end, because a length is
/// never split. Pieces of less than 16 bytes are not used.
///
/// ```
/// use protozero::{RangesSink, field};
///
/// let (mut a, mut b) = ([0; 20], [0; 40]);
/// let mut pieces = [&mut a[..], &mut b[..]];
/// let mut stream = RangesSink::table(&mut pieces);
/// field::bytes::<1>(&mut stream.root(), &[7; 30]);
/// let written = stream.finish()?;
/// assert_eq!(written.len(), 2);
/// assert_eq!(written.concat(), [&[10, 30][..], &[7; 30]].concat());
/// # Ok::<(), protozero::WriteError>(())
/// ```
pub struct RangesSink<'b, P> {
    pieces: P,
    current: Option<Borrowed<'b>>,
}

impl<'a, 'b> RangesSink<'b, Table<'a, 'b>> {
    /// A stream into the pieces of a table, one after another.
    pub fn table(pieces: &'a mut [&'b mut [u8]]) -> StreamOf<Self> {
        Self::stream(Table { pieces, front: 0, back: 0 })
    }
}

#[cfg(feature = "alloc")]
impl<'b, I: Iterator<Item = &'b mut [u8]>> RangesSink<'b, Collected<'b, I>> {
    /// A stream into the pieces of an iterator, or of a closure with [`core::iter::from_fn`].
    ///
    /// A panic of the iterator aborts the program, as for every [`Sink`].
    pub fn iter(pieces: impl IntoIterator<IntoIter = I>) -> StreamOf<Self> {
        Self::stream(Collected { pieces: pieces.into_iter(), back: alloc::vec::Vec::new() })
    }
}

impl<'b, P: Pieces<'b>> RangesSink<'b, P> {
    /// A stream into `pieces`.
    pub const fn stream(pieces: P) -> StreamOf<Self> {
        StreamOf::new(Self { pieces, current: None })
    }

    /// Returns the current piece to its source. `used` bytes of it are content.
    fn put_back(&mut self, used: usize) {
        if let Some(current) = self.current.take() {
            // SAFETY:
            // - initialized: it was a `&mut [u8]`;
            // - the stream does not write it any more: this function is called when the stream
            //   requests the next range, which ends its use of this one, or after the stream is
            //   consumed.
            let piece = unsafe { current.into_front(used) };
            self.pieces.put_back(piece);
        }
    }
}

// SAFETY:
// - valid and unshared: each range is a piece that is borrowed mutably for `'b`, and no reference
//   to it is kept until the stream has left it;
// - handed out once: `current` is replaced only in `next_range`, after the last access to `open`
//   and the last call that may panic, and after the stream is consumed;
// - thread: a `&mut [u8]` may be used from any thread.
unsafe impl<'b, P: Pieces<'b>> Sink for RangesSink<'b, P> {
    fn next_range(&mut self, used: usize, open: &mut OpenSlots<'_>) -> Result<Range, WriteError> {
        // The iterator may panic, so the stream keeps this piece until the next one is there.
        let next = loop {
            match self.pieces.next_piece() {
                Some(piece) if piece.len() < PIECE_MIN => {}
                next => break next,
            }
        };
        // Iterating zeroes the bytes of the slots.
        open.for_each(drop);
        self.put_back(used);
        let current = Borrowed::new(next.ok_or(WriteError::Exhausted)?);
        let range = current.range();
        self.current = Some(current);
        Ok(range)
    }

    fn fill(&mut self, slot: Slot, length: [u8; 4]) {
        let piece = self.pieces.earlier(slot.range as usize);
        let at = slot.offset as usize;
        if let Some(bytes) = piece.and_then(|p| p.get_mut(at..)).and_then(<[u8]>::first_chunk_mut) {
            *bytes = length;
        }
    }
}

impl<'a, 'b> StreamOf<RangesSink<'b, Table<'a, 'b>>> {
    /// The written pieces, each truncated to its content, without the pieces that were too short.
    ///
    /// # Errors
    /// The first [`WriteError`], usually because there were too few pieces.
    pub fn finish(self) -> Result<&'a mut [&'b mut [u8]], WriteError> {
        let table = settle(self)?;
        Ok(table.pieces.get_mut(..table.back).unwrap_or_default())
    }
}

#[cfg(feature = "alloc")]
impl<'b, I: Iterator<Item = &'b mut [u8]>> StreamOf<RangesSink<'b, Collected<'b, I>>> {
    /// The written pieces, each truncated to its content, without the pieces that were too short.
    ///
    /// # Errors
    /// The first [`WriteError`], usually because there were too few pieces.
    pub fn finish(self) -> Result<alloc::vec::Vec<&'b mut [u8]>, WriteError> {
        settle(self).map(|collected| collected.back)
    }
}

fn settle<'b, P: Pieces<'b>>(stream: StreamOf<RangesSink<'b, P>>) -> Result<P, WriteError> {
    if let Some(error) = stream.first_error() {
        return Err(error);
    }
    let used = stream.used();
    let mut sink = stream.into_sink();
    sink.put_back(used);
    Ok(sink.pieces)
}
