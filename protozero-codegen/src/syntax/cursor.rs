//! The state of the parser, and the cursor over the tokens: how the grammar reads them.

use protobuf::EnumOrUnknown;

use super::lexer::{Comment, PlacedMessage, PlacedToken, Token};
use super::output::WrittenOption;
use super::visibility::Visibility;
use crate::notes::{Notes, Place};

/// How deep messages, groups and option literals may be nested.
pub(super) const DEPTH_MAX: usize = 32;

pub(super) type ParseResult<T = ()> = Result<T, PlacedMessage>;

/// The syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyntaxVersion {
    Proto2,
    Proto3,
    Edition2023,
    Edition2024,
}

impl SyntaxVersion {
    pub fn is_edition(self) -> bool {
        matches!(self, Self::Edition2023 | Self::Edition2024)
    }
}

pub(super) struct Grammar<'a> {
    pub path: &'a str,
    pub tokens: Vec<PlacedToken<'a>>,
    pub at: usize,
    pub comments: Vec<Comment>,
    /// Index of the first comment that is not yet assigned.
    pub comments_seen: usize,
    pub notes: Notes,
    pub options: Vec<WrittenOption>,
    /// `import option`, in their order.
    pub option_imports: Vec<String>,
    /// Types that other files cannot use.
    pub visibility: Visibility,
    pub beyond: bool,
    pub version: SyntaxVersion,
    /// Path of the current declaration.
    pub scope: String,
    pub depth: usize,
    /// Comment above the current statement.
    pub above: Vec<String>,
    /// The declaration that ended last, and the line it ended on: a comment may follow on that line.
    pub ended: Option<(String, u32)>,
}

/// A label or type as the descriptor stores it.
pub(super) fn known<E: protobuf::Enum>(value: E) -> Option<EnumOrUnknown<E>> {
    Some(EnumOrUnknown::new(value))
}

impl<'a> Grammar<'a> {
    pub fn new(path: &'a str, tokens: Vec<PlacedToken<'a>>, comments: Vec<Comment>) -> Self {
        Self {
            path,
            tokens,
            at: 0,
            comments,
            comments_seen: 0,
            notes: Notes::new(),
            options: Vec::new(),
            option_imports: Vec::new(),
            visibility: Visibility::default(),
            beyond: false,
            version: SyntaxVersion::Proto2,
            scope: String::new(),
            depth: 0,
            above: Vec::new(),
            ended: None,
        }
    }

    pub fn peek(&self) -> &Token<'a> {
        self.ahead(0)
    }

    pub fn ahead(&self, by: usize) -> &Token<'a> {
        self.tokens.get(self.at + by).map_or(&Token::End, |s| &s.token)
    }

    pub fn place(&self) -> Place {
        self.tokens.get(self.at).or(self.tokens.last()).map(|s| s.at).unwrap_or_default()
    }

    pub fn bump(&mut self) -> Token<'a> {
        let token = self.peek().clone();
        self.at += usize::from(token != Token::End);
        token
    }

    pub fn fail<T>(&self, wanted: &str) -> ParseResult<T> {
        let found = match self.peek() {
            Token::Word(w) => format!("`{w}`"),
            Token::Int(i) => format!("`{i}`"),
            Token::Float(x) => format!("`{x}`"),
            Token::Text(_) => "a string".into(),
            Token::Symbol(c) => format!("`{c}`"),
            Token::End => "the end of the file".into(),
        };
        Err((self.place(), format!("expected {wanted}, found {found}")))
    }

    pub fn is(&self, c: char) -> bool {
        *self.peek() == Token::Symbol(c)
    }

    pub fn eat(&mut self, c: char) -> bool {
        let is = self.is(c);
        self.at += usize::from(is);
        is
    }

    pub fn expect(&mut self, c: char) -> ParseResult {
        if self.eat(c) { Ok(()) } else { self.fail(&format!("`{c}`")) }
    }

    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if *w == word)
    }

    pub fn eat_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.at += usize::from(is);
        is
    }

    pub fn word(&mut self, wanted: &str) -> ParseResult<&'a str> {
        match *self.peek() {
            Token::Word(w) => {
                self.at += 1;
                Ok(w)
            }
            _ => self.fail(wanted),
        }
    }

    /// A name with dots in it; the name of a type may also start with a dot.
    pub fn dotted(&mut self, wanted: &str) -> ParseResult<String> {
        let mut name = String::new();
        if self.eat('.') {
            name.push('.');
        }
        name.push_str(self.word(wanted)?);
        while self.eat('.') {
            name.push('.');
            name.push_str(self.word(wanted)?);
        }
        Ok(name)
    }

    /// A string; adjacent ones are joined.
    pub fn text(&mut self) -> ParseResult<Vec<u8>> {
        let Token::Text(mut text) = self.bump() else {
            self.at = self.at.saturating_sub(usize::from(*self.peek() != Token::End));
            return self.fail("a string");
        };
        while let Token::Text(more) = self.peek() {
            text.extend_from_slice(more);
            self.at += 1;
            self.beyond = true;
        }
        Ok(text)
    }

    pub fn utf8(&mut self) -> ParseResult<String> {
        let at = self.place();
        if !matches!(self.peek(), Token::Text(_)) {
            return self.fail("a string");
        }
        String::from_utf8(self.text()?).map_err(|_| (at, "this string is not UTF-8".into()))
    }

    /// A number with an optional sign.
    pub fn int(&mut self, wanted: &str) -> ParseResult<i64> {
        let at = self.place();
        let minus = self.eat('-');
        let Token::Int(value) = *self.peek() else { return self.fail(wanted) };
        self.at += 1;
        let value = i64::try_from(value).ok().map(|v| if minus { -v } else { v });
        value.ok_or_else(|| (at, format!("{wanted} is out of range")))
    }

    pub fn deeper(&mut self) -> ParseResult {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err((self.place(), format!("nested more than {DEPTH_MAX} deep")));
        }
        Ok(())
    }
}
