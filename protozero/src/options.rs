//! Decoding with other limits than those of `Message::decode`.

use crate::decode::limits::DEPTH_MAX;
use crate::decode::{DecodeContext, DecodeMemory};
#[cfg(feature = "text")]
use crate::dynamic::{DynamicMessage, MEMORY_MAX, MessageDescriptor};
use crate::error::DecodeError;
use crate::message::{Message, MessageView, growth};
#[cfg(feature = "bytes")]
use crate::owned::merge_buf;

/// Limits for decoding owned messages, views and dynamic messages.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use protozero::{DecodeErrorKind, DecodeOptions, Message, UnknownFields};
///
/// #[derive(Clone, PartialEq, Debug, Default, Message)]
/// struct Tree {
///     #[pb(message, 1, repeated)]
///     children: Vec<Tree>,
///     #[pb(unknown)]
///     unknown_fields: UnknownFields,
/// }
///
/// // A hundred thousand empty messages: two bytes each.
/// let request = b"\x0a\0".repeat(100_000);
/// let refused = DecodeOptions::new().memory_max(1 << 20).decode::<Tree>(&request);
/// assert_eq!(refused.unwrap_err().kind, DecodeErrorKind::TooMuchMemory);
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeOptions {
    depth_max: u32,
    memory_max: Option<usize>,
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl DecodeOptions {
    /// The limits of [`Message::decode`].
    #[must_use]
    pub const fn new() -> Self {
        Self { depth_max: DEPTH_MAX, memory_max: None }
    }

    /// Allows `levels` levels of nested messages below the outermost one. The default is
    /// [`DEPTH_MAX`], for which it says how much stack it takes; more levels take more.
    ///
    /// A message that has more than [`DEPTH_MAX`] levels cannot be encoded, nor become JSON, text or a dynamic message:
    /// [`Message::try_encode_to_vec`] returns [`WriteError::TooDeep`](crate::WriteError::TooDeep), and
    /// [`Message::encode_to_vec`] panics.
    #[must_use]
    pub const fn depth_max(self, levels: u32) -> Self {
        Self { depth_max: levels, ..self }
    }

    /// Allows `bytes` of memory for what an input can make large at will: the structs of nested
    /// messages of any size, what the first unknown field of a message takes besides its content, numbers
    /// that a closed enum lacks, the `String`s and `Vec`s of lists without their content, and the keys
    /// and values of maps. Not counted are the content of strings, `bytes` and unknown fields, which is
    /// as long as in the input, lists of numbers, which have at most eight bytes for each byte of the
    /// input, and what a `Vec` reserves to grow. `usize::MAX` is no limit.
    #[must_use]
    pub const fn memory_max(self, bytes: usize) -> Self {
        Self { memory_max: Some(bytes), ..self }
    }

    /// Decodes the message in `bytes`.
    ///
    /// # Errors
    /// Those of [`Message::decode`], with these limits.
    pub fn decode<M: Message>(&self, bytes: &[u8]) -> Result<M, DecodeError> {
        let mut message = M::default();
        self.merge(&mut message, bytes)?;
        Ok(message)
    }

    /// Merges all fields of `bytes` into `message`.
    ///
    /// # Errors
    /// Those of [`Message::merge`], with these limits.
    pub fn merge<M: Message>(&self, message: &mut M, bytes: &[u8]) -> Result<(), DecodeError> {
        let memory = DecodeMemory::new(self.memory_max.unwrap_or_else(|| growth(bytes)));
        message.merge_within(bytes, DecodeContext::with_depth(self.depth_max).with_growth(&memory))
    }

    /// Decodes the message in `bytes`, whose strings and bytes the result borrows.
    ///
    /// # Errors
    /// Those of [`MessageView::decode`], with these limits.
    pub fn decode_view<'a, M: MessageView<'a>>(&self, bytes: &'a [u8]) -> Result<M, DecodeError> {
        let mut message = M::default();
        let memory = DecodeMemory::new(self.memory_max.unwrap_or_else(|| growth(bytes)));
        let context = DecodeContext::with_depth(self.depth_max).with_growth(&memory);
        message.merge_within(bytes, context)?;
        Ok(message)
    }

    /// Decodes the message of type `descriptor` in `bytes`. By default it takes at most [`MEMORY_MAX`] bytes of memory.
    ///
    /// # Errors
    /// Those of [`DynamicMessage::merge_within`], with these limits.
    #[cfg(feature = "text")]
    pub fn decode_dynamic(
        &self,
        descriptor: MessageDescriptor,
        bytes: &[u8],
    ) -> Result<DynamicMessage, DecodeError> {
        let memory = DecodeMemory::new(self.memory_max.unwrap_or(MEMORY_MAX));
        let mut message = DynamicMessage::new(descriptor);
        let context = DecodeContext::with_depth(self.depth_max).with_growth(&memory);
        message.merge_within(bytes, context)?;
        Ok(message)
    }

    /// Decodes the message in `input` as [`Message::decode_buf`] does, with these limits.
    ///
    /// # Errors
    /// Those of [`Message::decode_buf`].
    #[cfg(feature = "bytes")]
    pub fn decode_buf<M: Message>(&self, input: impl bytes::Buf) -> Result<M, DecodeError> {
        let mut message = M::default();
        self.merge_buf(&mut message, input)?;
        Ok(message)
    }

    /// Merges all fields of `input` into `message` as [`Message::merge_buf`] does, with these limits.
    ///
    /// # Errors
    /// Those of [`Message::merge_buf`].
    #[cfg(feature = "bytes")]
    pub fn merge_buf<M: Message>(
        &self,
        message: &mut M,
        mut input: impl bytes::Buf,
    ) -> Result<(), DecodeError> {
        merge_buf(message, &mut input, self.depth_max, self.memory_max)
    }
}
