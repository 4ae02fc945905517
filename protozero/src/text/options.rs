//! Options for parsing.

/// Options for parsing.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Name of the text in errors.
    pub file: &'a str,
    /// Skip unknown fields, extensions and enumeration names instead of refusing them. A known
    /// field with a wrong type is still an error.
    pub lossy: bool,
    /// Bytes of memory that the message may take, as [`DynamicMessage::decode`](crate::dynamic::DynamicMessage::decode)
    /// counts them. A message that takes more is an error. None is [`MEMORY_MAX`](crate::dynamic::MEMORY_MAX).
    pub memory_max: Option<usize>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { file: "<text>", lossy: false, memory_max: None }
    }
}
