//! Texts of a trace, as they may reach a terminal.
//!
//! Names come from any process. What does not show where it stands is escaped: it could move the cursor, forge a line,
//! or make a text look like another one.

use crate::limits::SHOWN_CHARS_MAX;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character does not show where it stands: control characters, ends of lines, marks of direction,
/// characters without width, and those that only other characters show (category `Cf` of Unicode).
///
/// ```
/// use tracing_file::escape::is_hidden;
///
/// assert!("\x1b\n\u{202e}\u{200b}\u{feff}\u{e0041}".chars().all(is_hidden));
/// assert!(!"aä漢🙂 \u{301}".chars().any(is_hidden));
/// ```
#[must_use]
pub const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}')
}

/// `text` with what is hidden in it escaped as `\u200b`, except the characters of `kept`.
///
/// ```
/// use tracing_file::escape::visible;
///
/// assert_eq!(visible("a\x1b[2J\nb", "\n"), "a\\u001b[2J\nb");
/// ```
#[must_use]
pub fn visible<'t>(text: &'t str, kept: &str) -> Cow<'t, str> {
    let is_escaped = |c: char| is_hidden(c) && !kept.contains(c);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) { push_escape(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Adds as much of `text` as a line has room for.
pub(crate) fn plain(out: &mut String, text: &str) {
    push(out, text, false, SHOWN_CHARS_MAX);
}

/// Adds as much of `text` as a line has room for, in quotes, also as JSON has it.
pub(crate) fn quoted(out: &mut String, text: &str) {
    out.push('"');
    push(out, text, true, SHOWN_CHARS_MAX);
    out.push('"');
}

/// Adds all of `text` as JSON has it.
pub(crate) fn json(out: &mut String, text: &str) {
    out.push('"');
    push(out, text, true, usize::MAX);
    out.push('"');
}

fn push(out: &mut String, text: &str, is_quoted: bool, chars_max: usize) {
    for (at, c) in text.chars().enumerate() {
        if at >= chars_max {
            out.push('…');
            break;
        }
        match c {
            '"' | '\\' if is_quoted => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => push_escape(out, c),
            c => out.push(c),
        }
    }
}

/// As JSON escapes it.
fn push_escape(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}
