//! Enough of Rust's grammar to search code without comments and strings.

/// The text with comments, strings and character literals blanked; lines stay where they are.
pub fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => block_comment_end(bytes, at),
            b'"' => string_end(bytes, at),
            b'r' | b'b' | b'c' if !in_word(bytes, at) => raw_string_end(bytes, at),
            b'\'' => char_end(bytes, at),
            _ => at,
        };
        if end == at {
            out.push(bytes[at]);
            at += 1;
        } else {
            out.extend(bytes[at..end].iter().map(|&b| if b == b'\n' { b } else { b' ' }));
            at = end;
        }
    }
    // Only whole tokens were blanked, and those byte by byte with ASCII.
    String::from_utf8_lossy(&out).into_owned()
}

/// Is the byte before `at` part of a word, so that `at` starts none?
fn in_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_')
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n)
}

fn block_comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The end of `r"…"`, `br#"…"#`, `b"…"` and the like; `at` itself if it is only a word.
fn raw_string_end(bytes: &[u8], at: usize) -> usize {
    let mut quote = at;
    while quote < bytes.len() && quote < at + 2 && matches!(bytes[quote], b'r' | b'b' | b'c') {
        quote += 1;
    }
    let is_raw = bytes[at..quote].contains(&b'r');
    let hashes = bytes[quote..].iter().take_while(|&&b| b == b'#').count();
    match bytes.get(quote + hashes) {
        Some(b'"') if is_raw => {}
        Some(b'"') if hashes == 0 => return string_end(bytes, quote),
        _ => return at,
    }
    let mut closing = vec![b'"'];
    closing.resize(hashes + 1, b'#');
    let body = quote + hashes + 1;
    let found = bytes[body..].windows(closing.len()).position(|w| w == closing);
    found.map_or(bytes.len(), |n| body + n + closing.len())
}

/// The end of a character literal; `at` itself for a lifetime.
fn char_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at + 1..];
    if rest.first() == Some(&b'\\') {
        let close = rest.iter().skip(2).position(|&b| b == b'\'');
        return close.map_or(at, |n| at + 1 + 2 + n + 1);
    }
    // One character of one to four bytes, then the quote.
    let close = rest.iter().take(5).position(|&b| b == b'\'');
    match close {
        Some(n) if n > 0 && (n == 1 || !rest[0].is_ascii()) => at + n + 2,
        _ => at,
    }
}

/// A function in code without comments: its name, its first line (from 1), its length in lines.
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// All functions with a body, nested ones too.
pub fn functions(code: &str) -> Vec<Function> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name: String =
            code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if in_word(bytes, at) || name.is_empty() {
            continue;
        }
        let Some(length) = body_end(&bytes[at..]) else { continue };
        let line = code[..at].matches('\n').count() + 1;
        let lines = code[at..at + length].matches('\n').count() + 1;
        found.push(Function { name, line, lines });
    }
    found
}

/// The end of the body that belongs to the signature at the start; none for a mere declaration.
fn body_end(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut brackets = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets = brackets.saturating_sub(1),
            b';' if depth == 0 && brackets == 0 => return None,
            // A type of the signature such as `[u8; { N }]` is inside brackets.
            b'{' if brackets == 0 || depth > 0 => depth += 1,
            b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
