//! Texts of a trace, as they may reach a terminal.

/// Characters of a text that are shown.
const CHARS_MAX: usize = 4096;

/// Adds `text`. Names come from any process: control characters are escaped, and those that change the direction of
/// what follows.
pub(super) fn plain(out: &mut String, text: &str) {
    push(out, text, false);
}

/// Adds `text` in quotes, also as JSON has it.
pub(super) fn quoted(out: &mut String, text: &str) {
    out.push('"');
    push(out, text, true);
    out.push('"');
}

fn push(out: &mut String, text: &str, is_quoted: bool) {
    for (at, c) in text.chars().enumerate() {
        if at >= CHARS_MAX {
            out.push('…');
            break;
        }
        match c {
            '"' | '\\' if is_quoted => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_invisible(c) => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
}

/// Ends of lines, and marks of direction.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
