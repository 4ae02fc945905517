//! Splicing: fields that are encoded already go into a message as they are.
//!
//! ```text
//!  input    | 1: ... | 7: ?????? | 2: ... |        a reader yields fields, each with its `raw` bytes
//!                    └────┬─────┘
//!  output   | 5: ... | 7: ?????? | ...            tag and value copied, nothing decoded or encoded
//! ```
//!
//! A program passes on what it does not know, or moves a sub-message from one message into another,
//! without paying for its content. A generated writer has the same method, by the trait
//! [`Writer`](crate::Writer), and `append_raw` for the bytes; a message body without its tag goes into
//! a field by [`Scope::bytes`] or a writer's `NAME_raw`.

use crate::decode::{Field, Reader};
use crate::encode::Scope;
use crate::error::DecodeError;

#[cfg(all(test, feature = "alloc"))]
mod tests;

impl Scope<'_> {
    /// Appends `field` as its reader met it, tag included: same number, same bytes.
    #[inline]
    pub fn append_field(&mut self, field: &Field<'_>) {
        self.raw(field.raw);
    }

    /// Appends those fields of the message in `bytes` that `keep` says yes to, in their order.
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
    /// [`DecodeError`] where `bytes` are no message; the fields before are appended by then.
    pub fn append_fields(
        &mut self,
        bytes: &[u8],
        mut keep: impl FnMut(&Field<'_>) -> bool,
    ) -> Result<(), DecodeError> {
        let mut reader = Reader::new(bytes);
        while let Some(field) = reader.next_field()? {
            if keep(&field) {
                self.append_field(&field);
            }
        }
        Ok(())
    }

    /// Appends fields that an owned message did not know and kept.
    #[cfg(feature = "alloc")]
    #[inline]
    pub fn append_unknown(&mut self, fields: &crate::UnknownFields) {
        self.raw(fields.as_bytes());
    }
}
