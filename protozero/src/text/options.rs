//! Options for parsing.

/// Options for parsing.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Name of the text in errors.
    pub file: &'a str,
    /// Skip unknown fields, extensions and enumeration names instead of refusing them. A known
    /// field with a wrong type is still an error.
    pub lossy: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { file: "<text>", lossy: false }
    }
}
