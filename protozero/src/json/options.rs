//! Options of both directions.

/// Options for printing.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// Names of fields as in the schema, not in `lowerCamelCase`.
    pub original_names: bool,
    /// Also print fields without presence that have their default value, and empty lists and maps.
    pub defaults: bool,
    /// Numbers of enums in place of names.
    pub enums_as_numbers: bool,
    /// One line for each field and element, indented by two spaces.
    pub pretty: bool,
}

/// Options for parsing.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions<'a> {
    /// Name of the text in errors.
    pub file: &'a str,
    /// Skip unknown fields, and fields and elements with an unknown name of an enum, instead of refusing them. A known
    /// field with a wrong type is still an error.
    pub ignore_unknown: bool,
    /// Bytes of memory that the message may take: for structs as
    /// [`DecodeOptions::memory_max`](crate::DecodeOptions::memory_max) counts them, for dynamic messages as
    /// [`DynamicMessage::decode`](crate::dynamic::DynamicMessage::decode) does. A message that takes more is an error.
    /// None is the limit of [`Message::decode`](crate::Message::decode), or of `DynamicMessage::decode`. Not counted is
    /// what parsing itself needs: at most a few times the length of the text. [`json::parse`](crate::json::parse)
    /// makes no message and has no such limit.
    pub memory_max: Option<usize>,
}

impl Default for ParseOptions<'_> {
    fn default() -> Self {
        Self { file: "<json>", ignore_unknown: false, memory_max: None }
    }
}
