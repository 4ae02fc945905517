//! Assigns comments to declarations, and reads blocks, because their edges matter for that.
//!
//! A comment belongs to a declaration if it ends on the line before it, or follows it on the same line.

use super::cursor::{Grammar, ParseResult};
use super::lexer::{Comment, Token, trim};
use crate::notes::{Note, Place, join};

impl Grammar<'_> {
    /// Called at the start of a statement: assigns the comments before it.
    pub fn begin(&mut self) {
        let line = self.place().line;
        let upto = self.tokens.get(self.at).map_or(0, |s| s.comments);
        let mut pending: Vec<String> = Vec::new();
        let mut end = 0;
        let fresh = self.comments_seen.min(upto)..upto;
        self.comments_seen = upto;
        for at in fresh {
            let Comment { lines, first, last } = self.comments[at].clone();
            if let Some((path, line)) = &self.ended
                && *line == first
                && end == 0
            {
                if let Some(note) = self.notes.get_mut(path)
                    && note.lines.is_empty()
                {
                    note.lines = trim(lines);
                }
                continue;
            }
            if first > end + 1 {
                self.detached(core::mem::take(&mut pending));
            }
            pending.extend(lines);
            end = last;
        }
        let first = self.is_word("syntax") || self.is_word("edition");
        if line > end + 1 || first {
            self.detached(core::mem::take(&mut pending));
        }
        self.above = trim(pending);
    }

    /// Handles a comment that belongs to no declaration: the first one of a file describes the file.
    fn detached(&mut self, lines: Vec<String>) {
        let lines = trim(lines);
        if !lines.is_empty() && self.notes.is_empty() {
            self.notes.insert(String::new(), Note { lines, ..Note::default() });
        }
    }

    /// Notes a declaration in the current scope.
    pub fn note(&mut self, name: &str, note: Note) -> String {
        let path = join(&self.scope, name);
        let lines = core::mem::take(&mut self.above);
        self.notes.insert(path.clone(), Note { lines, ..note });
        path
    }

    /// Notes the place of a declaration without a name, by a counter.
    pub fn counted(&mut self, what: &str, count: usize, at: Place) {
        let path = format!("{}#{what}{count}", self.scope);
        self.notes.insert(path, Note { at, ..Note::default() });
    }

    /// Called after the last token of a statement.
    pub fn end(&mut self, path: Option<String>) {
        let line = self.tokens.get(self.at.saturating_sub(1)).map_or(0, |s| s.at.line);
        self.ended = path.map(|path| (path, line));
    }

    /// Reads `{`, statements and `}`, in the scope `path`.
    pub fn block(
        &mut self,
        path: String,
        mut statement: impl FnMut(&mut Self) -> ParseResult,
    ) -> ParseResult {
        let open = self.place();
        self.expect('{')?;
        // An `extend` block has no note of its own, so no comment is assigned to it.
        let extend = path == self.scope;
        self.end(Some(if extend { "#extend".into() } else { path.clone() }));
        self.deeper()?;
        let outer = core::mem::replace(&mut self.scope, path);
        loop {
            self.begin();
            if self.eat('}') {
                break;
            }
            if *self.peek() == Token::End {
                return Err((open, "this brace is never closed".into()));
            }
            if !self.eat(';') {
                statement(self)?;
            }
        }
        self.scope = outer;
        self.depth -= 1;
        self.end(None);
        Ok(())
    }
}
