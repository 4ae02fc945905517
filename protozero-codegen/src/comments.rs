//! Comments and places of declarations, by path.
//!
//! The parser drops comments and reports no position once it is past the syntax, so this reads the
//! text a second time, only as closely as it must: words, strings, braces and comments. It never
//! fails: what it does not understand it skips, and the parser has the last word on syntax.
//!
//! A comment belongs to a declaration when it stands directly before it, without an empty line in
//! between, or behind it on the same line.

use std::collections::BTreeMap;

/// Where something is declared and what was written about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// Lines without comment marks and common indentation.
    pub lines: Vec<String>,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

/// Notes of one file: path within the package (`Outer.Inner.field`, `Enum.VALUE`, `Service.Method`,
/// empty for the file itself) to note.
pub(crate) type Notes = BTreeMap<String, Note>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    Message,
    Oneof,
    Enum,
    Service,
    /// `extend`, rpc bodies, option literals: nothing inside is ours.
    Opaque,
}

struct Word {
    text: String,
    line: u32,
    column: u32,
}

struct Scanner {
    notes: Notes,
    scopes: Vec<(ScopeKind, String)>,
    statement: Vec<Word>,
    /// Comment lines seen since the last statement.
    pending: Vec<String>,
    /// Line the pending comment ended on.
    pending_end: u32,
    /// The comment above the current statement.
    above: Vec<String>,
    /// Path of the declaration that ended last and the line it ended on, for trailing comments.
    ended: Option<(String, u32)>,
    /// Depth of `[...]` and of option literals, in which braces mean nothing.
    depth: u32,
    /// No declaration yet: a comment now may be the file's own.
    top: bool,
}

/// Scans one file.
pub(crate) fn scan(text: &str) -> Notes {
    let mut s = Scanner {
        notes: Notes::new(),
        scopes: Vec::new(),
        statement: Vec::new(),
        pending: Vec::new(),
        pending_end: 0,
        above: Vec::new(),
        ended: None,
        depth: 0,
        top: true,
    };
    s.run(text);
    s.notes
}

impl Scanner {
    fn run(&mut self, text: &str) {
        let mut chars = Cursor { rest: text, line: 1, column: 1 };
        loop {
            chars.skip_white();
            let (line, column) = (chars.line, chars.column);
            if chars.rest.starts_with("//") {
                let body = chars.take_while(|c| c != '\n');
                self.comment(vec![body.trim_start_matches('/').to_owned()], line, line);
            } else if chars.rest.starts_with("/*") {
                let body = chars.take_until("*/");
                let lines = body
                    .trim_start_matches("/*")
                    .trim_start_matches('*')
                    .trim_end_matches("*/")
                    .lines()
                    .map(|l| {
                        let l = l.trim();
                        l.strip_prefix('*').unwrap_or(l).to_owned()
                    })
                    .collect();
                self.comment(lines, line, chars.line);
            } else if let Some(c) = chars.rest.chars().next() {
                let word = if c.is_alphanumeric() || c == '_' || c == '.' {
                    chars.take_while(|c| c.is_alphanumeric() || c == '_' || c == '.')
                } else if c == '"' || c == '\'' {
                    chars.take_string(c)
                } else {
                    chars.bump();
                    c.to_string()
                };
                self.word(Word { text: word, line, column });
            } else {
                return;
            }
        }
    }

    fn comment(&mut self, mut lines: Vec<String>, first: u32, last: u32) {
        for line in &mut lines {
            let line_text = line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned();
            *line = line_text;
        }
        while lines.first().is_some_and(String::is_empty) {
            lines.remove(0);
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        if let Some((path, line)) = &self.ended
            && *line == first
            && self.statement.is_empty()
        {
            if let Some(note) = self.notes.get_mut(path)
                && note.lines.is_empty()
            {
                note.lines = lines;
            }
            return;
        }
        if !self.statement.is_empty() {
            return;
        }
        if first > self.pending_end + 1 {
            self.detach();
        }
        if first == last && lines.is_empty() {
            lines.push(String::new());
        }
        self.pending.append(&mut lines);
        self.pending_end = last;
    }

    /// The pending comment stands alone: the first of a file is the file's.
    fn detach(&mut self) {
        let lines = core::mem::take(&mut self.pending);
        if self.top && !lines.is_empty() {
            self.notes.entry(String::new()).or_default().lines = lines;
        }
        self.top &= self.notes.is_empty();
    }

    fn word(&mut self, word: Word) {
        if self.statement.is_empty() && self.depth == 0 {
            if word.text == "syntax" || word.line > self.pending_end + 1 {
                self.detach();
            }
            self.above = core::mem::take(&mut self.pending);
        }
        match word.text.as_str() {
            "[" => self.depth += 1,
            "]" => self.depth = self.depth.saturating_sub(1),
            "{" if self.depth > 0 || self.first() == Some("option") => self.depth += 1,
            "}" if self.depth > 0 => self.depth -= 1,
            "{" => {
                self.open(word.line);
                return;
            }
            "}" => {
                self.scopes.pop();
                self.statement.clear();
                self.ended = None;
                return;
            }
            ";" if self.depth == 0 => {
                self.end(word.line);
                return;
            }
            _ => {}
        }
        if self.depth == 0 {
            self.statement.push(word);
        }
    }

    fn first(&self) -> Option<&str> {
        self.statement.first().map(|w| w.text.as_str())
    }

    fn path(&self) -> &str {
        self.scopes.last().map_or("", |(_, path)| path)
    }

    fn join(&self, name: &str) -> String {
        let outer = self.path();
        if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
    }

    fn declare(&mut self, index: usize) -> Option<String> {
        let word = self.statement.get(index)?;
        let path = self.join(&word.text);
        let note =
            Note { lines: core::mem::take(&mut self.above), line: word.line, column: word.column };
        self.notes.insert(path.clone(), note);
        Some(path)
    }

    /// A statement that opens a block.
    fn open(&mut self, line: u32) {
        let here = self.scopes.last().map(|(kind, _)| *kind);
        let kind = match (self.first(), here) {
            (Some("message"), None | Some(ScopeKind::Message)) => ScopeKind::Message,
            (Some("enum"), None | Some(ScopeKind::Message)) => ScopeKind::Enum,
            (Some("service"), None) => ScopeKind::Service,
            (Some("oneof"), Some(ScopeKind::Message)) => ScopeKind::Oneof,
            _ => ScopeKind::Opaque,
        };
        let outer = self.path().to_owned();
        let declared = match kind {
            // An rpc with a body, or a group.
            ScopeKind::Opaque => match (here, self.equals()) {
                (Some(ScopeKind::Service), _) => self.declare(1),
                (Some(ScopeKind::Message | ScopeKind::Oneof), Some(at)) => self.declare(at - 1),
                _ => None,
            },
            _ => self.declare(1),
        };
        self.ended = declared.clone().map(|path| (path, line));
        let path = match (kind, declared) {
            (ScopeKind::Oneof | ScopeKind::Opaque, _) | (_, None) => outer,
            (_, Some(path)) => path,
        };
        self.scopes.push((kind, path));
        self.statement.clear();
        self.above.clear();
    }

    /// A statement that ends with `;`.
    fn end(&mut self, line: u32) {
        let keyword =
            self.first().is_some_and(|w| {
                matches!(w, "option" | "reserved" | "extensions" | "import" | "package" | "syntax")
            }) && self.statement.get(1).is_none_or(|w| w.text != "=" || self.scopes.is_empty());
        let declared = match self.scopes.last().map(|(kind, _)| *kind) {
            Some(ScopeKind::Message | ScopeKind::Oneof) if !keyword => {
                self.equals().filter(|at| *at > 0).and_then(|at| self.declare(at - 1))
            }
            Some(ScopeKind::Enum) if !keyword => self.equals().and_then(|_| self.declare(0)),
            Some(ScopeKind::Service) if self.first() == Some("rpc") => self.declare(1),
            _ => None,
        };
        self.ended = declared.map(|path| (path, line));
        self.statement.clear();
        self.above.clear();
    }

    fn equals(&self) -> Option<usize> {
        self.statement.iter().position(|w| w.text == "=")
    }
}

struct Cursor<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
}

impl<'a> Cursor<'a> {
    fn bump(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(c)
    }

    fn skip_white(&mut self) {
        while self.rest.starts_with(char::is_whitespace) {
            self.bump();
        }
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let mut out = String::new();
        while let Some(c) = self.rest.chars().next().filter(|c| keep(*c)) {
            out.push(c);
            self.bump();
        }
        out
    }

    fn take_until(&mut self, end: &str) -> String {
        let mut out = String::new();
        while !self.rest.is_empty() {
            let done = self.rest.starts_with(end) && out.len() >= 2;
            if done {
                for _ in end.chars() {
                    out.extend(self.bump());
                }
                break;
            }
            out.extend(self.bump());
        }
        out
    }

    fn take_string(&mut self, quote: char) -> String {
        let mut out = String::new();
        out.extend(self.bump());
        while let Some(c) = self.bump() {
            out.push(c);
            if c == '\\' {
                out.extend(self.bump());
            } else if c == quote || c == '\n' {
                break;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests;
