//! Makes comments of a schema plain text for rustdoc.
//!
//! The author of a schema did not write for rustdoc, so brackets must not become links, angle brackets no tags, and
//! indented or fenced lines no doc-tests. Marks for the direction of text are removed, because rustc refuses them.

/// Returns `lines` with markup escaped, possibly with more lines.
pub(crate) fn safe(lines: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut indented = false;
    let mut blank = true;
    // Whether the line before may end a paragraph, which an indented line continues.
    let mut paragraph = false;
    for line in lines {
        let shown = line
            .chars()
            .filter(|c| !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
        let line: String = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        let line = line.trim_end();
        let text = line.trim_start();
        let mark = mark(text);
        if let Some((open, len)) = fence {
            // The closing fence is as long as the opening one and stands alone.
            let closes = |(c, n)| c == open && n >= len && text.trim_start_matches(c).is_empty();
            // One with more than three spaces in front would not close: the opening one is written without any.
            let end = mark.is_some_and(closes);
            out.push(if end { text } else { line }.to_owned());
            if end {
                fence = None;
            }
            continue;
        }
        if indented && (text.is_empty() || line.len() - text.len() >= 4) {
            out.push(line.to_owned());
            continue;
        }
        if core::mem::take(&mut indented) {
            close(&mut out, ('`', 3));
        }
        if let Some((c, len)) = mark {
            fence = mark;
            out.push(format!("{}text", c.to_string().repeat(len)));
        } else if blank && !text.is_empty() && line.len() - text.len() >= 4 {
            indented = true;
            out.push("```text".to_owned());
            out.push(line.to_owned());
        } else {
            let deep = !paragraph && line.len() - text.len() >= 4;
            let line = if deep { &format!("   {text}") } else { line };
            out.push(escape(&without_code(line)));
        }
        paragraph = mark.is_none() && ends_paragraph(text);
        blank = text.is_empty();
    }
    if let Some(mark) = fence.or(indented.then_some(('`', 3))) {
        close(&mut out, mark);
    }
    out
}

/// Shortens the spaces behind marks of lists: after five, the rest of the line would be code.
fn without_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, inside)) = item(rest) {
        let spaces = inside.len() - inside.trim_start().len();
        let kept = if spaces > 4 { 1 } else { spaces };
        out.push_str(before);
        rest = &inside[spaces - kept..];
    }
    out + rest
}

/// A line that begins an item of a list, up to the end of the mark, and the rest.
fn item(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mark = match (digits, text[digits..].chars().next()?) {
        (0, '-' | '*' | '+') | (1..=9, '.' | ')') => digits + 1,
        _ => return None,
    };
    let (before, inside) = line.split_at(line.len() - text.len() + mark);
    (inside.is_empty() || inside.starts_with(' ')).then_some((before, inside))
}

/// Whether a line outside of code may be part of a paragraph: no title, no line below one, no line between paragraphs,
/// no row of a table and no empty item of a list.
fn ends_paragraph(text: &str) -> bool {
    let mut text = text;
    while let Some((_, inside)) = item(text) {
        text = inside.trim_start();
    }
    let is_line = text.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | ' '));
    !is_line && !text.starts_with('#') && !text.contains('|')
}

/// Ends a block of code, before the empty lines behind it.
fn close(out: &mut Vec<String>, (mark, len): (char, usize)) {
    let blank = out.iter().rev().take_while(|l| l.is_empty()).count();
    out.insert(out.len() - blank, mark.to_string().repeat(len));
}

/// The fence before or after a block of code.
pub(crate) fn mark(text: &str) -> Option<(char, usize)> {
    let (first, text) = (text.chars().next()?, text);
    let len = text.chars().take_while(|c| *c == first).count();
    // More backticks after the fence would make it inline code.
    let fence = matches!(first, '`' | '~') && len >= 3;
    (fence && (first == '~' || !text[len..].contains('`'))).then_some((first, len))
}

/// Escapes markup outside of `code`, and puts addresses in angle brackets.
fn escape(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let before = out.chars().last();
        let address = ["http://", "https://"].iter().any(|p| rest.starts_with(p));
        if address && before.is_none_or(|c| !c.is_alphanumeric()) {
            let end = rest.find(|c: char| c.is_whitespace() || "<>()[]\"'`".contains(c));
            let (address, behind) = rest.split_at(end.unwrap_or(rest.len()));
            let bare = address.trim_end_matches(['.', ',', ';', ':', '!', '?']);
            out.push_str(&format!("<{bare}>{}", &address[bare.len()..]));
            rest = behind;
            continue;
        }
        if c == '`' {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            let (mark, inside) = rest.split_at(ticks);
            if let Some(end) = inside.find(mark) {
                out.push_str(&rest[..ticks + end + ticks]);
                rest = &inside[end + ticks..];
                continue;
            }
        }
        // Keeps an escape that the author wrote.
        if !matches!(before, Some('\\')) && matches!(c, '[' | ']' | '<' | '>' | '`') {
            out.push('\\');
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests;
