//! Mistakes of a text, each with the place and the line it is in.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// Mistakes reported at once.
pub(super) const ERRORS_MAX: usize = 20;

/// Characters of a source line that are shown: a text of one long line must not flood the terminal.
const LINE_MAX: usize = 160;

/// One mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// Line, counted from 1.
    pub line: usize,
    /// Character in the line, counted from 1; a tab is one.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
    /// The line, or the part of it around `column`.
    shown: String,
    /// Characters before the caret in `shown`.
    before: usize,
    /// Characters underlined.
    width: usize,
}

impl TextError {
    pub(super) fn new(text: &[u8], span: Range<usize>, message: String) -> Self {
        let start = span.start.min(text.len());
        let (head, tail) = text.split_at(start);
        let line = 1 + head.iter().filter(|&&byte| byte == b'\n').count();
        let begin = head.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let end = tail.iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| start + at);
        let chars = |range: Range<usize>| String::from_utf8_lossy(&text[range]).into_owned();
        let before = chars(begin..start).chars().count();
        let width = chars(start..span.end.clamp(start, end)).chars().count().max(1);
        // A window that keeps the caret inside.
        let skipped = before.saturating_sub(LINE_MAX / 2);
        let whole = chars(begin..end);
        let shown: String =
            whole.trim_end_matches('\r').chars().skip(skipped).take(LINE_MAX).collect();
        Self {
            line,
            column: before + 1,
            message,
            width: width.min(LINE_MAX - (before - skipped)),
            before: before - skipped,
            shown,
        }
    }
}

/// All mistakes of one text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextErrors {
    /// What the text was called.
    pub file: String,
    /// The mistakes, in the order they were found; at least one.
    pub errors: Vec<TextError>,
}

impl TextErrors {
    pub(super) fn new(file: &str, errors: Vec<TextError>) -> Self {
        Self { file: file.to_owned(), errors }
    }
}

/// Per mistake `file:line:col error: message`, the source line, a line that marks the place.
impl fmt::Display for TextErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            if i != 0 {
                f.write_str("\n")?;
            }
            let TextError { line, column, message, .. } = error;
            writeln!(f, "{}:{line}:{column} error: {message}", self.file)?;
            // Control characters would garble the terminal; tabs keep the marker below its place.
            let visible = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
            writeln!(f, "{}", error.shown.chars().map(visible).collect::<String>())?;
            let pad: String = error
                .shown
                .chars()
                .take(error.before)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            // A place past the end of the line, such as the end of the text, has no character.
            let missing = error.before.saturating_sub(error.shown.chars().count());
            write!(f, "{pad}{}^{}", " ".repeat(missing), "~".repeat(error.width - 1))?;
        }
        Ok(())
    }
}

impl core::error::Error for TextErrors {}

/// `bytes` in an error message: cut, and free of control characters.
pub(super) fn quote(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut quoted: String = text.chars().take(40).map(visible).collect();
    if text.chars().nth(40).is_some() {
        quoted.push_str("...");
    }
    quoted
}

/// The one of `names` that `typed` was probably meant to be.
pub(super) fn nearest<'n>(typed: &[u8], names: impl Iterator<Item = &'n str>) -> Option<String> {
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

/// Letters to change, add or leave out to get from `a` to `b`; upper case counts as lower.
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
