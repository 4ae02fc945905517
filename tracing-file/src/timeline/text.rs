//! A line for people.

use std::fmt::Write;

use super::details::push_value;
use super::labels::Label;
use super::row::{Note, Row, RowKind};
use crate::escape;

/// Columns that the tracks of lines share at most. Longer ones move the rest of their line.
const TRACK_COLUMNS_MAX: usize = 40;

/// Depth up to which lines are indented.
const INDENT_MAX: u16 = 32;

/// Writes lines for people.
#[derive(Debug)]
pub(super) struct TextLines {
    has_colours: bool,
    /// Columns of the tracks so far.
    track_columns: usize,
}

impl TextLines {
    pub(super) const fn new(has_colours: bool) -> Self {
        Self { has_colours, track_columns: 0 }
    }

    /// Makes place for the track of a line that follows.
    pub(super) fn fit(&mut self, label: &Label) {
        let columns = label.shown.chars().count();
        self.track_columns = self.track_columns.max(columns.min(TRACK_COLUMNS_MAX));
    }

    /// Adds the line of `row`. `begin` is the row of the slice that ends.
    pub(super) fn push(
        &self,
        out: &mut String,
        time_ns: i128,
        row: &Row,
        begin: Option<&Row>,
        note: Note,
        label: &Label,
    ) {
        let columns = label.shown.chars().count();
        let padding = self.track_columns.saturating_sub(columns);
        self.painted(out, "2", |out| {
            let seconds = time_ns / 1_000_000_000;
            let _ = write!(out, "{seconds:>4}.{:09}", time_ns % 1_000_000_000);
        });
        out.push_str("  ");
        self.painted(out, "36", |out| out.push_str(&label.shown));
        let indent = 2 + 2 * usize::from(note.depth.min(INDENT_MAX));
        out.extend(std::iter::repeat_n(' ', 2 + padding));
        let colour = if row.kind == RowKind::Lost { "31" } else { "33" };
        self.painted(out, colour, |out| {
            let _ = write!(out, "{:<7}", row.kind.name());
        });
        out.extend(std::iter::repeat_n(' ', indent));
        let name = row.name.as_deref().or_else(|| begin?.name.as_deref());
        self.painted(out, "1", |out| push_name(out, row, name, label));
        if let RowKind::Counter(value) = row.kind {
            out.push_str(" = ");
            push_value(out, value, false);
            if let Some(unit) = &label.unit {
                out.push(' ');
                escape::plain(out, unit);
            }
        }
        // The end of a slice is read below its begin, so it need not repeat what that says.
        if !row.categories.is_empty() && row.kind != RowKind::End {
            let _ = write!(out, "  [{}]", row.categories);
        }
        if let Some(ns) = note.duration_ns {
            out.push_str("  ");
            push_duration(out, ns);
        }
        if !row.details.is_empty() {
            let _ = write!(out, " {}", row.details);
        }
        // No blanks at the end of a line.
        out.truncate(out.trim_end().len());
        out.push('\n');
    }

    fn painted(&self, out: &mut String, colour: &str, write: impl FnOnce(&mut String)) {
        if !self.has_colours {
            return write(out);
        }
        let _ = write!(out, "\x1b[{colour}m");
        write(out);
        out.push_str("\x1b[m");
    }
}

fn push_name(out: &mut String, row: &Row, name: Option<&str>, label: &Label) {
    match row.kind {
        RowKind::Lost => {
            let _ = write!(out, "packets of sequence {} are missing before this", row.sequence);
        }
        RowKind::State => escape::plain(out, name.unwrap_or("(none)")),
        RowKind::Counter(_) => escape::plain(out, &label.numbered_name().unwrap_or_default()),
        RowKind::Legacy(phase) => {
            escape::plain(out, &format!("{} ", char::from(phase)));
            escape::plain(out, name.unwrap_or_default());
        }
        _ => escape::plain(out, name.unwrap_or_default()),
    }
}

/// With at most three digits behind the point; the rest is cut off.
fn push_duration(out: &mut String, ns: u64) {
    let (unit, name) = match ns {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let _ = write!(out, "{}", ns / unit);
    if unit > 1 {
        let digits = unit.ilog10() as usize;
        let fraction = format!("{:0digits$}", ns % unit);
        let fraction = fraction.get(..3).unwrap_or_default().trim_end_matches('0');
        if !fraction.is_empty() {
            let _ = write!(out, ".{fraction}");
        }
    }
    let _ = write!(out, " {name}");
}
