//! Splicing: appends encoded fields to a message without decoding them.
//!
//! ```text
//!  input    | 1: ... | 7: ?????? | 2: ... |        a reader yields fields, each with its `raw` bytes
//!                    └────┬─────┘
//!  output   | 5: ... | 7: ?????? | ...            tag and value copied, nothing decoded or encoded
//! ```
//!
//! A program passes on fields that it does not know, or moves a nested message into another
//! message, at the cost of a copy. Generated writers have the same method from the trait
//! [`Writer`](crate::Writer), and `append_raw` for encoded bytes. A message body without a tag is
//! appended with [`Scope::bytes`] or a writer's `NAME_raw`.

use crate::decode::{Field, Reader};
use crate::encode::Scope;
use crate::error::ReadError;

#[cfg(all(test, feature = "alloc"))]
mod tests;

impl Scope<'_> {
    /// Appends a field of a reader, with its tag: same number, same bytes.
    #[inline]
    pub fn append_field(&mut self, field: &Field<'_>) {
        self.raw(field.raw);
    }

    /// Appends the fields of the message in `bytes` for which `keep` returns true, in their order.
    ///
    /// ```
    /// use protozero::{FixedSink, field};
    ///
    /// let mut buffer = [0; 64];
    /// let mut stream = FixedSink::stream(&mut buffer);
    /// {
    ///     let mut message = stream.root();
    ///     field::uint32::<1>(&mut message, 7);
    ///     message.append_fields(b"\x08\x01\x12\x02hi", |field| field.number != 1)?;
    /// }
    /// assert_eq!(stream.finish()?, b"\x08\x07\x12\x02hi");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ReadError`] if `bytes` is not a valid message; the fields before the error are appended.
    pub fn append_fields(
        &mut self,
        bytes: &[u8],
        mut keep: impl FnMut(&Field<'_>) -> bool,
    ) -> Result<(), ReadError> {
        let mut reader = Reader::new(bytes);
        while let Some(field) = reader.next_field()? {
            if keep(&field) {
                self.append_field(&field);
            }
        }
        Ok(())
    }

    /// Appends the unknown fields of an owned message.
    #[cfg(feature = "alloc")]
    #[inline]
    pub fn append_unknown(&mut self, fields: &crate::UnknownFields) {
        self.raw(fields.as_bytes());
    }
}
