//! What the codecs have in common.

/// An encoder that keeps its state between the pieces of a stream.
pub(super) trait Encoder: Send {
    /// Takes the next bytes. None if it fails; it is of no more use then.
    fn put(&mut self, piece: &[u8], is_last: bool) -> Option<()>;
    /// The whole stream, after the last piece.
    fn finish(self: Box<Self>) -> Option<Vec<u8>>;
}
