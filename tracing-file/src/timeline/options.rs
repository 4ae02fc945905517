//! What a timeline shows, and how.

use super::filter::Filter;

/// How a line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For people, with the colours of a terminal.
    ColouredText,
    /// One JSON object.
    Json,
}

/// What a timeline shows, and how. The default shows everything, as text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How lines are written.
    pub format: Format,
    /// Times are those of the trace's clock. Otherwise they count from the first event.
    pub is_absolute: bool,
    /// Which events are shown.
    pub filter: Filter,
    /// Lines that are written at most.
    pub lines_max: u64,
    /// Bytes that the rows in memory may take. The fewer, the more often the trace is read.
    pub rows_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: Format::default(),
            is_absolute: false,
            filter: Filter::default(),
            lines_max: u64::MAX,
            rows_bytes_max: 256 << 20,
        }
    }
}
