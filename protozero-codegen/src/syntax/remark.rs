//! Which comment belongs to which declaration, and blocks, at whose edges that is decided.
//!
//! A comment belongs to a declaration when it stands directly before it, without an empty line in
//! between, or behind it on the same line.

use super::grammar::{Done, Grammar};
use super::lexer::{Comment, Token};
use crate::notes::{Note, Place, join};

impl Grammar<'_> {
    /// At the start of a statement: gives the comments before it to whom they belong.
    pub fn begin(&mut self) {
        let line = self.place().line;
        let upto = self.spots.get(self.at).map_or(0, |s| s.comments);
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

    /// A comment that stands alone: the first of a file is the file's.
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

    /// Notes a place that has a count instead of a name.
    pub fn counted(&mut self, what: &str, count: usize, at: Place) {
        let path = format!("{}#{what}{count}", self.scope);
        self.notes.insert(path, Note { at, ..Note::default() });
    }

    /// A statement's last token has just been taken.
    pub fn end(&mut self, path: Option<String>) {
        let line = self.spots.get(self.at.saturating_sub(1)).map_or(0, |s| s.at.line);
        self.ended = path.map(|path| (path, line));
    }

    /// `{`, statements until `}`, in the scope `path`.
    pub fn block(&mut self, path: String, mut statement: impl FnMut(&mut Self) -> Done) -> Done {
        let open = self.place();
        self.expect('{')?;
        // What `extend` opens is no declaration to comment on: there is no such note.
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

/// Without empty lines at either end.
pub(super) fn trim(mut lines: Vec<String>) -> Vec<String> {
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|l| l.is_empty()).count();
    lines.drain(..blank);
    lines
}
