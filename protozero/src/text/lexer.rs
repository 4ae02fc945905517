//! Splits text into tokens. It reads bytes, because comments and strings may contain any encoding.

use core::ops::Range;

/// Kind of a token. Its bytes are found through its span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A letter or `_`, then letters, digits and `_`.
    Word,
    /// A digit, or a point and a digit, and the following characters of the number.
    Number,
    /// A string with its quotes.
    String,
    /// Any other byte.
    Sign(u8),
    /// The end of the text.
    End,
}

/// A token and its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Token {
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// Why there is no next token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LexError {
    /// The string that begins here has no closing quote.
    OpenString(usize),
}

pub(super) struct Lexer<'t> {
    text: &'t [u8],
    at: usize,
    /// Strings may contain line breaks, as in Perfetto's parser.
    multiline: bool,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t [u8], multiline: bool) -> Self {
        // Skips a byte order mark, which editors on Windows write.
        let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { text, at, multiline }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn skip_while(&mut self, mut take: impl FnMut(u8) -> bool) {
        while self.peek(0).is_some_and(&mut take) {
            self.at += 1;
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            self.skip_while(|byte| byte.is_ascii_whitespace() || byte == 0x0b);
            if self.peek(0) != Some(b'#') {
                return;
            }
            self.skip_while(|byte| byte != b'\n');
        }
    }

    pub(super) fn next(&mut self) -> Result<Token, LexError> {
        self.skip_blanks();
        let start = self.at;
        let Some(first) = self.peek(0) else {
            return Ok(Token { kind: Kind::End, start, end: start });
        };
        let point = first == b'.' && self.peek(1).is_some_and(|next| next.is_ascii_digit());
        let kind = match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                Kind::Word
            }
            _ if first.is_ascii_digit() || point => {
                self.number();
                Kind::Number
            }
            b'"' | b'\'' => {
                self.string(first).ok_or(LexError::OpenString(start))?;
                Kind::String
            }
            _ => {
                self.at += 1;
                Kind::Sign(first)
            }
        };
        Ok(Token { kind, start, end: self.at })
    }

    /// Includes letters: `12ab` is one invalid number, not a number and a name.
    fn number(&mut self) {
        let hex = self.peek(0) == Some(b'0') && matches!(self.peek(1), Some(b'x' | b'X'));
        let mut last = 0;
        self.skip_while(|byte| {
            let sign = matches!(byte, b'+' | b'-') && matches!(last, b'e' | b'E') && !hex;
            last = byte;
            sign || byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')
        });
    }

    /// Reads up to the same quote.
    fn string(&mut self, quote: u8) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek(0)? {
                b'\\' => self.at += 2,
                b'\n' if !self.multiline => return None,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return Some(());
                    }
                }
            }
        }
    }
}
