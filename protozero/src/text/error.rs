//! Errors in a text, each with its position and source line.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// Maximum number of reported errors.
pub(super) const ERRORS_MAX: usize = 20;

/// Maximum number of shown characters of a source line, so that a long line does not fill the
/// terminal.
const LINE_MAX: usize = 160;

/// One error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// Line, from 1.
    pub line: usize,
    /// Character in the line, from 1. A tab is one character.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
    /// The field to which the place belongs, from the full name of the message on: `shop.Order.lines[3].price`. In JSON
    /// with the names of the text. Empty if it belongs to no field.
    pub path: String,
    /// Offset in the text.
    start: usize,
    /// The line, or the part of it around `column`.
    shown: String,
    /// Number of characters before the caret in `shown`.
    before: usize,
    /// Number of underlined characters.
    width: usize,
}

impl TextError {
    pub(crate) fn new(text: &[u8], span: Range<usize>, message: String) -> Self {
        let start = span.start.min(text.len());
        let (head, tail) = text.split_at(start);
        let line = 1 + head.iter().filter(|&&byte| byte == b'\n').count();
        let begin = head.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let end = tail.iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| start + at);
        let chars = |range: Range<usize>| String::from_utf8_lossy(&text[range]).into_owned();
        let before = chars(begin..start).chars().count();
        let width = chars(start..span.end.clamp(start, end)).chars().count().max(1);
        // Shows a part of the line that contains the caret.
        let skipped = before.saturating_sub(LINE_MAX / 2);
        let whole = chars(begin..end);
        let shown: String =
            whole.trim_end_matches('\r').chars().skip(skipped).take(LINE_MAX).collect();
        Self {
            line,
            column: before + 1,
            message,
            path: String::new(),
            start,
            width: width.min(LINE_MAX - (before - skipped)),
            before: before - skipped,
            shown,
        }
    }

    /// Adds the path, which `find` returns for the offset in the text.
    pub(crate) fn with_path(self, find: impl FnOnce(usize) -> String) -> Self {
        Self { path: find(self.start), ..self }
    }
}

/// All errors of one text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextErrors {
    /// Name of the text.
    pub file: String,
    /// The errors, in the order of detection; at least one.
    pub errors: Vec<TextError>,
}

impl TextErrors {
    pub(crate) fn new(file: &str, errors: Vec<TextError>) -> Self {
        Self { file: file.to_owned(), errors }
    }
}

/// For each error: `file:line:col error: message`, the source line, and a line that marks the
/// position, with the path of the field if there is one.
impl fmt::Display for TextErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            if i != 0 {
                f.write_str("\n")?;
            }
            let TextError { line, column, message, .. } = error;
            writeln!(f, "{}:{line}:{column} error: {message}", self.file)?;
            // Control characters would disturb the terminal. Tabs remain, to keep the caret in its
            // column.
            let visible = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
            writeln!(f, "{}", error.shown.chars().map(visible).collect::<String>())?;
            let pad: String = error
                .shown
                .chars()
                .take(error.before)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            // A position after the end of the line has no character.
            let missing = error.before.saturating_sub(error.shown.chars().count());
            write!(f, "{pad}{}^{}", " ".repeat(missing), "~".repeat(error.width - 1))?;
            if !error.path.is_empty() {
                write!(f, " in {}", error.path)?;
            }
        }
        Ok(())
    }
}

impl core::error::Error for TextErrors {}

/// `bytes` for an error message: shortened, without control characters.
pub(crate) fn quote(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut quoted: String = text.chars().take(40).map(visible).collect();
    if text.chars().nth(40).is_some() {
        quoted.push_str("...");
    }
    quoted
}

/// The most similar name, if it is similar enough for a suggestion.
pub(crate) fn nearest<'n>(typed: &[u8], names: impl Iterator<Item = &'n str>) -> Option<String> {
    if typed.len() > 64 {
        return None;
    }
    let limit = (typed.len() / 3).clamp(1, 3);
    names
        .map(|name| (distance(typed, name.as_bytes()), name))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name.to_string())
}

/// Number of characters to change, insert or remove to turn `a` into `b`; ignores case.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
